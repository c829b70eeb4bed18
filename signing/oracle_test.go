package signing_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// The shapes of section 5.3 of the interface, as regular expressions.
var (
	keyShape       = regexp.MustCompile(`^[\x21-\x7e]{1,128}$`)
	signatureShape = regexp.MustCompile(`^[0-9a-f]{64}$`)
	timeShape      = regexp.MustCompile(`^[1-9][0-9]{11,14}$`)
	nonceShape     = regexp.MustCompile(`^[A-Za-z0-9]{16}$`)
	accountShape   = regexp.MustCompile(`^[\x21-\x7e]{1,64}$`)
	methodShape    = regexp.MustCompile(`^[A-Z-]+$`)
)

// slowVerify is a slow and simple implementation of Verify. A missing header is nil.
func slowVerify(r *http.Request, command string) error {
	value := func(name string) string { return strings.Join(r.Header[name], "") }
	switch h := r.Header; {
	case !methodShape.MatchString(r.Method):
		return signing.ErrMethod
	case len(h[names.ClientKey]) > 1, len(h[names.Signature]) > 1, len(h[names.Timestamp]) > 1,
		len(h[names.Nonce]) > 1, len(h[names.Account]) > 1:
		return signing.ErrAmbiguous
	case h[names.Signature] == nil && h[names.Timestamp] == nil && h[names.Nonce] == nil:
		if h[names.Account] != nil {
			return signing.ErrAmbiguous
		}
		return signing.ErrNoSignature
	case !keyShape.MatchString(value(names.ClientKey)),
		!signatureShape.MatchString(value(names.Signature)),
		!timeShape.MatchString(value(names.Timestamp)),
		!nonceShape.MatchString(value(names.Nonce)),
		h[names.Account] != nil && !accountShape.MatchString(value(names.Account)):
		return signing.ErrMalformed
	}
	ms, err := strconv.ParseInt(value(names.Timestamp), 10, 64)
	if err != nil {
		return signing.ErrMalformed
	}
	if off := ms - noon.UnixMilli(); off < -300_000 || off > 60_000 {
		return signing.ErrStale
	}
	if value(names.ClientKey) != clientKey {
		return signing.ErrUnknownKey
	}
	bare := command
	for escape, c := range map[string]string{"%7C": "|", "%27": "'", "%5E": "^"} {
		bare = strings.ReplaceAll(bare, escape, c)
	}
	for _, command := range []string{command, bare} {
		if value(names.Signature) == signing.Sign(clientKey, secret, command, r.Method, value(names.Timestamp)) {
			return nil
		}
	}
	return signing.ErrMismatch
}

func FuzzVerify(f *testing.F) {
	const none, one, two = 0, 1, 2
	add := func(r *http.Request, command string, counts ...uint8) {
		count := func(i int) uint8 { return append(counts, one, one, one, one, none)[i] }
		f.Add(r.Method, command, r.Header.Get(names.ClientKey), r.Header.Get(names.Signature),
			r.Header.Get(names.Timestamp), r.Header.Get(names.Nonce), "5b0000000000000000000001",
			count(0), count(1), count(2), count(3), count(4))
	}
	add(base(), "/connections")
	add(base(), "/connections", one, one, one, one, one)
	add(base(), "/connections", one, one, one, two, none)
	add(base(), "/connections", none, one)
	add(base(), "/connections", none, none, none, none, one)
	add(signed("POST", "/a%7Cb", noon.Add(-5*time.Minute)), "/a%7Cb")
	add(signed("GET", "/a|b'c^d", noon.Add(time.Minute)), "/a%7Cb%27c%5Ed")
	add(signed("GET", "/x", noon.Add(2*time.Minute)), "/x")
	add(signed("get", "/x", noon), "/x")

	keys := keyring{clientKey: newKey(f, clientKey, secret)}
	f.Fuzz(func(t *testing.T, method, command, key, signature, timestamp, nonce, account string,
		keyCount, signatureCount, timestampCount, nonceCount, accountCount uint8) {
		h := http.Header{}
		put := func(name, value string, n uint8) {
			for range n % 3 {
				h[name] = append(h[name], value)
			}
		}
		put(names.ClientKey, key, keyCount)
		put(names.Signature, signature, signatureCount)
		put(names.Timestamp, timestamp, timestampCount)
		put(names.Nonce, nonce, nonceCount)
		put(names.Account, account, accountCount)
		r := &http.Request{Method: method, Header: h}

		claims := 0
		v := signing.Verifier{
			Keys:    keys,
			Replays: replaysFunc(func(context.Context, signing.Use) error { claims++; return nil }),
			Now:     func() time.Time { return noon },
		}
		got, err := v.Verify(r.Context(), r, command)
		want := slowVerify(r, command)
		if !errors.Is(err, want) || errors.Is(err, signing.ErrAmbiguous) != errors.Is(want, signing.ErrAmbiguous) {
			t.Fatalf("Verify = %v, want %v", err, want)
		}
		if accepted := want == nil; accepted != (got != nil) || accepted != (claims == 1) {
			t.Errorf("accepted %t: key %v, %d claims", accepted, got, claims)
		}
	})
}
