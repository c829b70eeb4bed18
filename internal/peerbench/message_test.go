package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/remitly-oss/httpsig-go"
	"github.com/remitly-oss/httpsig-go/keyman"
	"github.com/yaronf/httpsign"

	"github.com/tenantkit/tenantkit/signing"
)

func TestMessageSignature(t *testing.T)      { check(t, "MessageSignature", messages(t)) }
func BenchmarkMessageSignature(b *testing.B) { race(b, messages(b)) }

const messageBody = `{"c_text":"thirty bytes long"}`

// signedMessage is a POST with a message signature. Each peer gets the same headers.
type signedMessage struct {
	secret, nonce, tag string
	beside             string // behind the digest of the body
	at                 time.Time
	covered            []string
	flipped            bool                // change a bit of the signature
	edit               func(*http.Request) // after signing
	body               string              // as received
}

var coveredAll = []string{"@method", "@authority", "@path", "@query", "content-digest"}

func messages(t testing.TB) []contender {
	honest := signedMessage{
		secret: secret, nonce: "Abcdefgh12345678", tag: "service-v2", at: time.Now(), covered: coveredAll,
		edit: func(*http.Request) {}, body: messageBody,
	}
	with := func(change func(*signedMessage)) signedMessage {
		in := honest
		change(&in)
		return in
	}
	bad := map[string]signedMessage{
		"another secret":           with(func(in *signedMessage) { in.secret = other }),
		"another body":             with(func(in *signedMessage) { in.body = strings.ToUpper(messageBody) }),
		"another query":            with(func(in *signedMessage) { in.edit = func(r *http.Request) { r.URL.RawQuery = "draft=2" } }),
		"one bit of the MAC":       with(func(in *signedMessage) { in.flipped = true }),
		"signed an hour ago":       with(func(in *signedMessage) { in.at = in.at.Add(-time.Hour) }),
		"signed for a day ahead":   with(func(in *signedMessage) { in.at = in.at.Add(24 * time.Hour) }),
		"the query is not covered": with(func(in *signedMessage) { in.covered = []string{"@method", "@authority", "@path", "content-digest"} }),
		"another tag":              with(func(in *signedMessage) { in.tag = "another" }),
		"a nonce of another shape": with(func(in *signedMessage) { in.nonce = "short" }),
		"a digest of md5 beside":   with(func(in *signedMessage) { in.beside = ", md5=:1B2M2Y8AsgTpgAmY7PhCfg==:" }),
	}
	of := func(name string, verifier func(testing.TB, signedMessage) func() error) contender {
		c := contender{name: name, good: verifier(t, honest), bad: map[string]func() error{}}
		for name, in := range bad {
			c.bad[name] = verifier(t, in)
		}
		return c
	}
	return []contender{
		{name: "HMAC, and SHA-256 of the body", good: floorMessage(honest)},
		of(ours, tenantkitMessage),
		of("httpsign", httpsignMessage),
		of("httpsig-go", httpsigMessage),
	}
}

// base returns the signature base of RFC 9421 and its last line.
func (in signedMessage) base(r *http.Request) (base, params string) {
	values := map[string]string{
		"@method": r.Method, "@authority": r.Host, "@path": r.URL.Path, "@query": "?" + r.URL.RawQuery,
		"content-digest": r.Header.Get("Content-Digest"),
	}
	for _, name := range in.covered {
		base += fmt.Sprintf("%q: %s\n", name, values[name])
		params += fmt.Sprintf(" %q", name)
	}
	params = fmt.Sprintf(`(%s);created=%d;nonce="%s";keyid="%s";alg="hmac-sha256";tag="%s"`,
		params[1:], in.at.Unix(), in.nonce, clientKey, in.tag)
	return base + `"@signature-params": ` + params, params
}

// request returns the request as it is received, and a function that puts its body back.
func (in signedMessage) request() (r *http.Request, again func()) {
	r = httptest.NewRequest(http.MethodPost, "https://api.example.com/acme/v2/c_notes?draft=1", nil)
	sum := sha256.Sum256([]byte(messageBody))
	r.Header.Set("Content-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":"+in.beside)
	base, params := in.base(r)
	mac := hmac.New(sha256.New, []byte(clientKey+in.secret))
	io.WriteString(mac, base)
	signature := mac.Sum(nil)
	if in.flipped {
		signature[7] ^= 1
	}
	r.Header.Set("Signature-Input", "sig="+params)
	r.Header.Set("Signature", "sig=:"+base64.StdEncoding.EncodeToString(signature)+":")
	in.edit(r)
	body := bytes.NewReader([]byte(in.body))
	r.ContentLength = body.Size()
	received := io.NopCloser(body)
	return r, func() {
		body.Seek(0, io.SeekStart)
		r.Body = received
	}
}

func floorMessage(in signedMessage) func() error {
	type keyed struct {
		hash hash.Hash
		sum  [32]byte
	}
	pool := sync.Pool{New: func() any { return &keyed{hash: hmac.New(sha256.New, []byte(clientKey+secret))} }}
	r, _ := in.request()
	text, _ := in.base(r)
	base, body := []byte(text), []byte(messageBody)
	return func() error {
		k := pool.Get().(*keyed)
		k.hash.Reset()
		k.hash.Write(base)
		k.hash.Sum(k.sum[:0])
		pool.Put(k)
		sha256.Sum256(body)
		return nil
	}
}

func tenantkitMessage(t testing.TB, in signedMessage) func() error {
	v := &signing.Verifier{Keys: oneKey{newKey(t)}, Replays: anyUse{}, BaseURL: "https://api.example.com"}
	r, again := in.request()
	return func() error {
		again()
		_, err := v.Verify(r.Context(), r, r.URL.Path)
		return err
	}
}

func httpsignMessage(t testing.TB, in signedMessage) func() error {
	config := httpsign.NewVerifyConfig().SetKeyID(clientKey).SetAllowedTags([]string{"service-v2"}).
		SetAllowedAlgs([]string{"hmac-sha256"}).SetNotOlderThan(5 * time.Minute).SetNotNewerThan(time.Minute)
	verifier, err := httpsign.NewHMACSHA256Verifier([]byte(clientKey+secret), config, httpsign.Headers(coveredAll...))
	if err != nil {
		t.Fatal(err)
	}
	r, again := in.request()
	return func() error {
		again()
		if err := httpsign.VerifyRequest("sig", *verifier, r); err != nil {
			return err
		}
		return httpsign.ValidateContentDigestHeader(r.Header.Values("Content-Digest"), &r.Body, []string{httpsign.DigestSha256})
	}
}

func httpsigMessage(t testing.TB, in signedMessage) func() error {
	keys := keyman.NewKeyFetchInMemory(map[string]httpsig.KeySpec{
		clientKey: {KeyID: clientKey, Algo: httpsig.Algo_HMAC_SHA256, Secret: []byte(clientKey + secret)},
	})
	verifier, err := httpsig.NewVerifier(keys, httpsig.VerifyProfile{
		SignatureLabel:       "sig",
		RequiredFields:       httpsig.Fields(coveredAll...),
		RequiredMetadata:     []httpsig.Metadata{httpsig.MetaCreated, httpsig.MetaKeyID, httpsig.MetaNonce, httpsig.MetaAlgorithm, httpsig.MetaTag},
		AllowedAlgorithms:    []httpsig.Algorithm{httpsig.Algo_HMAC_SHA256},
		CreatedValidDuration: 5 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	r, again := in.request()
	return func() error {
		again()
		_, err := verifier.Verify(r)
		return err
	}
}
