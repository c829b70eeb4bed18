package bearer_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

// slowOrgs is a directory whose look-up of an org takes longer than a token lives. It ignores its
// context.
type slowOrgs struct{ auth.Directory }

func (s slowOrgs) Org(ctx context.Context, code string) (*auth.Org, error) {
	time.Sleep(2 * time.Hour)
	return s.Directory.Org(ctx, code)
}

// slowKeys takes the same time, once a test tells it to.
type slowKeys struct {
	token.Keys
	wait time.Duration
}

func (s *slowKeys) Public(ctx context.Context, kid string) (*token.PublicKey, error) {
	time.Sleep(s.wait)
	return s.Keys.Public(ctx, kid)
}

// If the time were read when the request came in, an expired token would be admitted.
func TestALateTokenIsJudgedByThePresentTime(t *testing.T) {
	type server struct {
		guard *auth.Guard
		keys  *slowKeys
		late  time.Duration // between the mount and the check
	}
	for name, alter := range map[string]func(*server){
		"a slow look-up of the org":   func(s *server) { s.guard.Directory = slowOrgs{s.guard.Directory} },
		"a Check that is called late": func(s *server) { s.late = 2 * time.Hour },
		"a slow look-up of the key":   func(s *server) { s.keys.wait = 2 * time.Hour },
	} {
		for _, seen := range []bool{false, true} {
			if seen {
				name += ", seen before"
			}
			t.Run(name, func(t *testing.T) {
				pair, err := token.NewPair(keys[0]())
				if err != nil {
					t.Fatal(err)
				}
				synctest.Test(t, func(t *testing.T) {
					pair.ClientKey, pair.Org = appA, "acme"
					var memory token.MemoryKeys
					if err := memory.Put(t.Context(), pair); err != nil {
						t.Fatal(err)
					}
					directory := new(auth.Memory)
					directory.PutOrg(auth.Org{Code: "acme"})
					directory.PutApp(auth.App{ClientKey: appA, Org: "acme"})
					directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
					s := &server{keys: &slowKeys{Keys: &memory}}
					m := &bearer.Mechanism{Keys: s.keys, Cache: &token.Cache{}}
					s.guard = &auth.Guard{BaseURL: "https://api.example.test", Directory: directory, Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{m}}
					raw := honest(t)
					ask := func() (err error) {
						h := s.guard.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
							time.Sleep(s.late)
							_, err = s.guard.Check(r, auth.Authenticated)
						}))
						r := httptest.NewRequest("GET", "/acme/v2/me", nil)
						r.Header.Set("Authorization", "Bearer "+raw)
						h.ServeHTTP(httptest.NewRecorder(), r)
						return err
					}
					if seen {
						if err := ask(); err != nil {
							t.Fatal(err)
						}
					}
					alter(s)
					err := ask()
					if e, ok := errors.AsType[*auth.Error](err); !ok || e.Detail != auth.DetailTokenExpired {
						t.Errorf("got %v, want %s", err, auth.DetailTokenExpired)
					}
				})
			})
		}
	}
}
