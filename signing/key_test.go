package signing_test

import (
	"context"
	"crypto/fips140"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

func TestUnsafeKeyRefuses(t *testing.T) {
	tests := map[string]struct {
		clientKey string
		secrets   []signing.Secret
	}{
		"S05 an empty secret":              {"acme", []signing.Secret{""}},
		"S05 an empty secret among others": {"acme", []signing.Secret{"a", "", "b"}},
		"no secret":                        {"acme", nil},
		"an empty client key":              {"", []signing.Secret{"a"}},
		"129 bytes of client key":          {strings.Repeat("a", 129), []signing.Secret{"a"}},
		"a space in the client key":        {"ac me", []signing.Secret{"a"}},
		"a tab in the client key":          {"ac\tme", []signing.Secret{"a"}},
		"NUL in the client key":            {"acme\x00", []signing.Secret{"a"}},
		"DEL in the client key":            {"acme\x7f", []signing.Secret{"a"}},
		"a client key outside ASCII":       {"acmé", []signing.Secret{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			k, err := signing.UnsafeKey(test.clientKey, test.secrets...)
			if err == nil || k != nil {
				t.Fatalf("UnsafeKey = %v, %v, want an error", k, err)
			}
			if !strings.HasPrefix(err.Error(), "signing: ") {
				t.Errorf("error %q", err)
			}
		})
	}
}

func TestUnsafeKeyTakesTheLargestClientKey(t *testing.T) {
	long := strings.Repeat("~", 128)
	k, err := signing.UnsafeKey(long, "a")
	if err != nil {
		t.Fatal(err)
	}
	if k.ClientKey() != long {
		t.Errorf("ClientKey = %q", k.ClientKey())
	}
}

// A secret that was rotated away verifies until its end, and Ends returns that time.
func TestFormerSecrets(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	end := now.Add(time.Hour)
	key, err := signing.UnsafeKey("acme-client", "current")
	if err != nil {
		t.Fatal(err)
	}
	both, err := key.WithFormer("former", end)
	if err != nil || len(both.Secrets()) != 2 || len(key.Secrets()) != 1 {
		t.Fatalf("%d and %d secrets, %v", len(both.Secrets()), len(key.Secrets()), err)
	}
	for _, c := range []struct {
		name   string
		secret signing.Secret
		at     time.Time
		err    error
		ends   time.Time
	}{
		{"the current one", "current", now, nil, time.Time{}},
		{"the former one", "former", now, nil, end},
		{"the former one, at its end", "former", end, nil, end},
		{"the former one, after it", "former", end.Add(time.Millisecond), signing.ErrMismatch, time.Time{}},
		{"the current one, after it", "current", end.Add(time.Hour), nil, time.Time{}},
		{"another one", "other", now, signing.ErrMismatch, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			timestamp := strconv.FormatInt(c.at.UnixMilli(), 10)
			r := httptest.NewRequest("GET", "/notes", nil)
			names := signing.HeadersFor("")
			r.Header.Set(names.ClientKey, "acme-client")
			r.Header.Set(names.Timestamp, timestamp)
			r.Header.Set(names.Nonce, "0123456789abcdef")
			r.Header.Set(names.Signature, signing.Sign("acme-client", c.secret, "/notes", "GET", timestamp))
			v := signing.Verifier{Keys: oneKey{both}, Replays: noReplays{}, Now: func() time.Time { return c.at }}
			by, err := v.Verify(r.Context(), r, "/notes")
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err == nil && (by.ClientKey() != "acme-client" || !by.Ends().Equal(c.ends)) {
				t.Errorf("%v ends %v, want %v", by, by.Ends(), c.ends)
			}
		})
	}
	if _, err := key.WithFormer("", end); err == nil {
		t.Error("a former secret without a text")
	}
	if _, err := key.WithFormer("former", time.Time{}); err == nil {
		t.Error("a former secret without an end")
	}
}

// Where FIPS 140 is enforced, a MAC key that crypto/hmac panics on is an error.
func TestKeysTooShortForFIPS(t *testing.T) {
	refused := fips140.Enforced()
	if _, err := signing.UnsafeKey("acme", "hunter2"); (err != nil) != refused {
		t.Errorf("UnsafeKey: %v", err)
	}
	key, err := signing.UnsafeKey("acme", "ten digits")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := key.WithFormer("nine of t", time.Now()); (err != nil) != refused {
		t.Errorf("WithFormer: %v", err)
	}
	errSent := errors.New("sent")
	base := roundTrip(func(*http.Request) (*http.Response, error) { return nil, errSent })
	client := http.Client{Transport: &signing.Transport{BaseURL: "http://a.test", ClientKey: "acme", Secret: "hunter2", Base: base}}
	if _, err := client.Get("http://a.test/x"); err == nil || errors.Is(err, errSent) == refused {
		t.Errorf("Transport: %v", err)
	}
}

type oneKey struct{ key *signing.Key }

func (o oneKey) Key(context.Context, string) (*signing.Key, error) { return o.key, nil }

type noReplays struct{}

func (noReplays) Claim(context.Context, signing.Use) error { return nil }
