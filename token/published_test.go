package token_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/token"
)

// file stands for a server that publishes keys. It counts requests.
type file struct {
	text  string
	asked int
}

func (f *file) RoundTrip(*http.Request) (*http.Response, error) {
	if f.asked++; f.text == "" {
		return nil, errBroken
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(f.text))}, nil
}

func publishedBy(f *file) *token.PublishedKeys {
	return &token.PublishedKeys{URL: "https://api.example.test/acme/v2/auth/certs/pem", Base: f}
}

func TestPublishedKeys(t *testing.T) {
	first, second := pairOf(t, 0, appA).PublicKey, pairOf(t, 1, appB).PublicKey
	f := &file{text: string(token.PEM([]token.PublicKey{first, second}))}
	keys := publishedBy(f)
	for range 2 {
		for _, want := range []token.PublicKey{first, second} {
			if got, err := keys.Public(t.Context(), want.KeyID); err != nil || got.ClientKey != want.ClientKey || !got.Key.Equal(want.Key) || got.Org != "" {
				t.Errorf("got %+v, %v", got, err)
			}
		}
	}
	if _, err := keys.Public(t.Context(), kid(t, 2)); !errors.Is(err, token.ErrNotFound) || f.asked != 1 {
		t.Errorf("an unknown kid: %v, and %d requests", err, f.asked)
	}
	w := newWorld(t)
	verifier := token.Verifier{Keys: keys, Now: w.now}
	if _, err := verifier.Verify(t.Context(), w.token(t), token.Expect{Audience: audience}); err != nil {
		t.Error(err)
	}
	inTheNameOfB := forge(t, 0, header(t, 0), payload(t, w.claims("iss", appB)))
	if _, err := verifier.Verify(t.Context(), inTheNameOfB, token.Expect{Audience: audience}); !errors.Is(err, token.ErrInvalid) {
		t.Errorf("a token in the name of another app of the org: %v", err)
	}
}

func TestPublishedKeysThatAreRefused(t *testing.T) {
	good := pairOf(t, 0, appA).PublicKey
	whole := string(token.PEM([]token.PublicKey{good}))
	block := whole[strings.Index(whole, "-----"):]
	roca := privateOf(rocaPrime(t, 1_234_567, 1024), rocaPrime(t, 89_101_112, 1024)).PublicKey
	der, err := x509.MarshalPKIXPublicKey(&roca)
	if err != nil {
		t.Fatal(err)
	}
	var weak bytes.Buffer
	fmt.Fprintf(&weak, "# app: %s\n# kid: %s\n", appA, token.Thumbprint(&roca))
	pem.Encode(&weak, &pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for name, c := range map[string]struct {
		text, kid string
		unknown   bool // and not a failure
	}{
		"no answer":                       {"", good.KeyID, false},
		"another page":                    {"<html>" + whole, good.KeyID, false},
		"cut off":                         {whole[:len(whole)-40], good.KeyID, false},
		"no keys":                         {"# no keys\n", good.KeyID, true},
		"no owner":                        {"# kid: " + good.KeyID + "\n" + block, good.KeyID, true},
		"another kid":                     {"# app: x\n# kid: " + kid(t, 1) + "\n" + block, kid(t, 1), true},
		"another kid's place":             {"# app: x\n# kid: " + kid(t, 1) + "\n" + block, good.KeyID, true},
		"two owners":                      {whole + strings.Replace(whole, appA, appB, 1), good.KeyID, true},
		"a block that is none before it":  {"# app: " + appB + "\n# kid: " + good.KeyID + "\n-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----\n" + whole, good.KeyID, false},
		"a block that has none before it": {"# app: " + appB + "\n# kid: " + good.KeyID + "\n-----BEGIN PUBLIC KEY-----\n!\n" + whole, good.KeyID, false},
		"T30 a ROCA modulus":              {weak.String(), token.Thumbprint(&roca), true},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := publishedBy(&file{text: c.text}).Public(t.Context(), c.kid)
			if key != nil || err == nil || errors.Is(err, token.ErrNotFound) != c.unknown {
				t.Errorf("got %v, %v", key, err)
			}
		})
	}
	t.Run("O13 http", func(t *testing.T) {
		f := &file{text: whole}
		keys := publishedBy(f)
		keys.URL = "http://api.example.test/acme/v2/auth/certs/pem"
		if _, err := keys.Public(t.Context(), good.KeyID); err == nil || f.asked > 0 {
			t.Errorf("%v, %d requests", err, f.asked)
		}
	})
}

// The largest file of small blocks costs little more than its text: each block is copied once.
func TestPublishedKeysOfManyBlocks(t *testing.T) {
	good := pairOf(t, 0, appA).PublicKey
	text := string(token.PEM([]token.PublicKey{good}))
	text += strings.Repeat("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", (256<<10-len(text))/60)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := publishedBy(&file{text: text}).Public(t.Context(), good.KeyID); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 16<<20 {
		t.Errorf("%d bytes", bytes)
	}
}
