package signing_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// collecting records its claims.
type collecting struct {
	mu   sync.Mutex
	uses map[string]signing.Use // by nonce
}

func (c *collecting) Claim(_ context.Context, u signing.Use) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses[u.Nonce] = u
	return nil
}

// The keyed MAC states of a key are reused. No request may leave anything in one for
// the next. However many requests run at once, each must have the same result and the
// same claim as when it runs alone.
func TestRequestsOfOneKeyShareNothing(t *testing.T) {
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	store := &collecting{uses: map[string]signing.Use{}}
	v := &signing.Verifier{Keys: keyring{clientKey: key}, Replays: store}
	now := time.Now().UnixMilli()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				command := "/c/" + strings.Repeat("x", (7*i+g)%90)
				timestamp := strconv.FormatInt(now-int64(i), 10)
				nonce := fmt.Sprintf("nonce%05d%06d", g, i)
				signed, forged := signing.Sign(clientKey, secret, command, "GET", timestamp), i%3 == 0
				if forged {
					signed = signing.Sign(clientKey, secret, command+"x", "GET", timestamp)
				}
				r := httptest.NewRequest(http.MethodGet, command, nil)
				for name, value := range map[string]string{names.ClientKey: clientKey, names.Signature: signed,
					names.Timestamp: timestamp, names.Nonce: nonce} {
					r.Header.Set(name, value)
				}
				if _, err := v.Verify(t.Context(), r, command); forged != errors.Is(err, signing.ErrMismatch) || !forged && err != nil {
					t.Errorf("forged is %v, and got %v", forged, err)
				}
				store.mu.Lock()
				use, claimed := store.uses[nonce]
				store.mu.Unlock()
				if claimed == forged || claimed && fmt.Sprintf("%x", use.Signature) != signed {
					t.Errorf("forged is %v, and claimed %v: %x", forged, claimed, use.Signature)
				}
			}
		})
	}
	wg.Wait()
}

// scribbling overwrites each request after it was answered.
type scribbling struct{ base http.RoundTripper }

func (s scribbling) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.base.RoundTrip(r)
	for _, values := range r.Header {
		for i := range values {
			values[i] = "spoiled"
		}
	}
	r.URL.Path, r.URL.RawQuery = "/spoiled", "spoiled"
	return res, err
}

func TestTransportGivesItsBaseARequestOfItsOwn(t *testing.T) {
	p := newPeer(t, refuse(1, `Signature error="stale"`))
	transport := p.transport()
	transport.Base = scribbling{http.DefaultTransport}
	r := newRequest(t, "GET", p.URL+"/acme/v2/connections?limit=2", nil)
	r.Header.Set("Test-Own", "mine")
	for range 2 {
		if res := do(t, &http.Client{Transport: transport}, r); res.StatusCode != http.StatusOK {
			t.Errorf("got %d", res.StatusCode)
		}
	}
	if r.Header.Get("Test-Own") != "mine" || len(r.Header) != 1 || r.URL.Path != "/acme/v2/connections" || r.URL.RawQuery != "limit=2" {
		t.Errorf("the caller's request became %v %v", r.URL, r.Header)
	}
	for _, got := range p.got {
		if got.Header.Get("Test-Own") != "mine" || got.URL.Path != "/acme/v2/connections" {
			t.Errorf("sent %v %v", got.URL, got.Header)
		}
	}
}
