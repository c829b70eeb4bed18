package signature_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// retention is longer than any store keeps a request of the zero Policy.
const retention = 6 * time.Minute

// slow is a directory whose look-ups take long. It ignores its context.
type slow struct {
	auth.Directory
	org, app time.Duration
}

func (s slow) Org(ctx context.Context, code string) (*auth.Org, error) {
	time.Sleep(s.org)
	return s.Directory.Org(ctx, code)
}

func (s slow) App(ctx context.Context, clientKey string) (*auth.App, error) {
	time.Sleep(s.app)
	return s.Directory.App(ctx, clientKey)
}

// slowCredentials take as long as slow.
type slowCredentials struct {
	signature.Credentials
	wait time.Duration
}

func (s slowCredentials) Credential(ctx context.Context, clientKey string) (*signature.Credential, error) {
	time.Sleep(s.wait)
	return s.Credentials.Credential(ctx, clientKey)
}

// forgetful is a store that has forgotten every request.
type forgetful struct{}

func (forgetful) Claim(context.Context, signing.Use) error { return nil }

// If the time were read when the request came in, a captured request would be admitted again once
// the store has forgotten it. A credential would be valid after its end.
func TestALateRequestIsJudgedByThePresentTime(t *testing.T) {
	tests := map[string]struct {
		alter  func(*auth.Guard, *signature.Mechanism)
		before time.Duration // between the mount and the check
		want   string
	}{
		"at once": {},
		"a slow look-up of the org": {
			alter: func(g *auth.Guard, _ *signature.Mechanism) {
				g.Directory = slow{Directory: g.Directory, org: retention}
			},
			want: auth.DetailStaleSignature,
		},
		"a Check that is called late": {before: retention, want: auth.DetailStaleSignature},
		"a slow look-up of the credential": {
			alter: func(_ *auth.Guard, m *signature.Mechanism) {
				m.Credentials = slowCredentials{m.Credentials, retention}
				m.Replays = signing.NewMemory(0) // uses its own clock
			},
			want: auth.DetailStaleSignature,
		},
		"a credential that ends during a look-up": {
			alter: func(g *auth.Guard, m *signature.Mechanism) {
				g.Directory = slow{Directory: g.Directory, app: 2 * time.Second}
				c, err := m.Credentials.Credential(t.Context(), acmeKey)
				if err != nil {
					t.Fatal(err)
				}
				ending := *c
				ending.NotAfter = time.Now().Add(time.Second)
				m.Credentials = signature.Memory{acmeKey: &ending}
			},
			want: auth.DetailInvalidSignature,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			key := mustKey(t, acmeKey, acmeSecret)
			synctest.Test(t, func(t *testing.T) {
				directory := new(auth.Memory)
				directory.PutOrg(auth.Org{Code: "acme"})
				directory.PutApp(auth.App{ClientKey: acmeKey, Org: "acme"})
				directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
				m := &signature.Mechanism{Credentials: signature.Memory{acmeKey: {Key: key, Account: "ann"}}, Replays: forgetful{}}
				g := &auth.Guard{BaseURL: "https://api.example.test", Directory: directory, Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{m}}
				if tc.alter != nil {
					tc.alter(g, m)
				}
				var err error
				h := g.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					time.Sleep(tc.before)
					_, err = g.Check(r, auth.Authenticated)
				}))
				w := &world{}
				h.ServeHTTP(httptest.NewRecorder(), w.signed(w.request()))
				var detail string
				if e, ok := errors.AsType[*auth.Error](err); ok {
					detail = e.Detail
				}
				if detail != tc.want || tc.want == "" && err != nil {
					t.Errorf("got %q, %v, want %q", detail, err, tc.want)
				}
			})
		})
	}
}
