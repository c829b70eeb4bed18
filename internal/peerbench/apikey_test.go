package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/scope"
)

func TestAPIKey(t *testing.T)      { check(t, "APIKey", apiKeyChecks(t)) }
func BenchmarkAPIKey(b *testing.B) { race(b, apiKeyChecks(b)) }

// keyed is a server that knows one API key.
type keyed struct {
	key     string
	check   func(*http.Request) error
	revoke  func()
	disable func() // disables the account
}

func apiKeyChecks(t testing.TB) []contender {
	of := func(name string, open func(testing.TB) keyed) contender {
		alter := func(change func(string) string) func() error {
			return func() error {
				k := open(t)
				k.key = change(k.key)
				return k.run()()
			}
		}
		return contender{name: name, good: open(t).run(), bad: map[string]func() error{
			"a typo":    alter(func(key string) string { return key[:len(key)-1] + "~" }),
			"cut":       alter(func(key string) string { return key[:len(key)-1] }),
			"no prefix": alter(func(key string) string { return key[len("acme_live_"):] }),
			"a key that was revoked": func() error {
				k := open(t)
				k.revoke()
				return k.run()()
			},
			"an account that was disabled": func() error {
				k := open(t)
				k.disable()
				return k.run()()
			},
		}}
	}
	return []contender{
		of("SHA-256 look-up", writtenByHand),
		of(ours, func(t testing.TB) keyed { return ourKey(t, false) }),
		of("tenantkit guard", func(t testing.TB) keyed { return ourKey(t, true) }),
	}
}

// run checks one request again and again.
func (k keyed) run() func() error {
	r := httptest.NewRequest(http.MethodGet, audience+"/notes/1", nil)
	r.Header.Set("Authorization", "Bearer "+k.key)
	return func() error { return k.check(r) }
}

// writtenByHand is what an application writes for itself: a map of hashes with what the keys may do.
func writtenByHand(testing.TB) keyed {
	const key = "acme_live_7h3v9q2m8kx4tn0c5rjw6ybdzgs1fpea0987654321zyx12f6g56"
	type record struct {
		hash     [32]byte
		account  string
		scope    []string
		expires  time.Time
		disabled bool
	}
	records := map[string]*record{key[10:23]: {hash: sha256.Sum256([]byte(key)), account: subject, scope: []string{"object.read.c_note"}, expires: time.Now().Add(time.Hour)}}
	accounts := map[string]bool{subject: true}
	check := func(r *http.Request) error {
		sent, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer acme_live_")
		if !ok || len(sent) < 13 {
			return errRefused
		}
		found := records[sent[:13]]
		hash := sha256.Sum256([]byte("acme_live_" + sent))
		if found == nil || subtle.ConstantTimeCompare(hash[:], found.hash[:]) != 1 || found.disabled || time.Now().After(found.expires) || !accounts[found.account] {
			return errRefused
		}
		if r.WithContext(context.WithValue(r.Context(), accountKey{}, found)) == nil {
			return errRefused
		}
		return nil
	}
	return keyed{key, check, func() { clear(records) }, func() { clear(accounts) }}
}

// ourKey is a key of a Guard that remembers it. Either the mechanism alone or the whole Guard checks it.
func ourKey(t testing.TB, whole bool) keyed {
	directory := newDirectory(0)
	mechanism := &apikey.Mechanism{Formats: []apikey.Format{{Prefix: "acme_live"}}, Store: apikey.NewMemory(), Stale: time.Hour}
	guard := &auth.Guard{BaseURL: baseURL, Directory: directory, Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{mechanism}}
	by := auth.Principal{Org: "acme", Account: subject, Caller: subject, Scope: scope.Unscoped(), Granted: scope.Unscoped(), Authenticated: time.Now()}
	var tenant *auth.Tenant
	var key apikey.Key
	var record apikey.Record
	guard.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var err error
		tenant = auth.TenantFrom(r.Context())
		grant := apikey.Grant{Scope: []string{"object.read.c_note"}, Expires: time.Now().Add(2 * time.Hour)}
		if key, record, err = mechanism.Keys().Make(r.Context(), by, tenant, grant); err != nil {
			t.Fatal(err)
		}
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, audience+"/start", nil))
	k := keyed{
		key: string(key),
		check: func(r *http.Request) error {
			_, err := mechanism.Authenticate(r.Context(), r, tenant)
			return err
		},
		revoke: func() {
			if err := mechanism.Keys().Revoke(context.Background(), "acme", record.ID); err != nil {
				t.Fatal(err)
			}
		},
		disable: func() { directory.PutAccount(auth.Account{ID: subject, Org: "acme", Disabled: true}) },
	}
	if whole {
		k.check = reaches(guard)
	}
	return k
}
