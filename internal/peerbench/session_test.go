package main

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/alexedwards/scs/v2/memstore"
	"github.com/gorilla/sessions"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

func TestSession(t *testing.T)      { check(t, "Session", sessionChecks(t)) }
func BenchmarkSession(b *testing.B) { race(b, sessionChecks(b)) }

// signedIn is a server that knows one session.
type signedIn struct {
	cookie  *http.Cookie
	check   func(*http.Request) error
	end     func()
	disable func() // disables the account
}

func sessionChecks(t testing.TB) []contender {
	of := func(name string, open func(t testing.TB, idle time.Duration) signedIn) contender {
		const idle = 50 * time.Millisecond
		return contender{name: name, good: openSession(t, open).run(), bad: map[string]func() error{
			"no cookie": func() error {
				s := openSession(t, open)
				s.cookie = nil
				return s.run()()
			},
			"an unknown token": func() error {
				s := openSession(t, open)
				s.cookie = &http.Cookie{Name: s.cookie.Name, Value: "6dM" + s.cookie.Value[3:]}
				return s.run()()
			},
			"a session that was ended": func() error {
				s := openSession(t, open)
				s.end()
				return s.run()()
			},
			"an account that was disabled": func() error {
				s := openSession(t, open)
				s.disable()
				return s.run()()
			},
			"a session unused for too long": func() error {
				s := open(t, idle)
				time.Sleep(idle * 3 / 2)
				return s.run()()
			},
		}}
	}
	return []contender{
		{name: "map", good: floorSession()},
		of(ours, func(t testing.TB, idle time.Duration) signedIn { return ourSession(t, idle, false) }),
		of("tenantkit guard", func(t testing.TB, idle time.Duration) signedIn { return ourSession(t, idle, true) }),
		of("scs", scsSession),
		of("scs without idle timeout", func(t testing.TB, _ time.Duration) signedIn { return scsSession(t, 0) }),
		of("gorilla cookie", gorillaSession),
	}
}

func openSession(t testing.TB, open func(testing.TB, time.Duration) signedIn) signedIn {
	return open(t, 30*time.Minute)
}

// run checks one request again and again.
func (s signedIn) run() func() error {
	r := httptest.NewRequest(http.MethodGet, audience+"/notes/1", nil)
	if s.cookie != nil {
		r.AddCookie(&http.Cookie{Name: s.cookie.Name, Value: s.cookie.Value})
	}
	return func() error { return s.check(r) }
}

type accountKey struct{}

func floorSession() func() error {
	const name, value = "session", "bXkgc2Vzc2lvbiBpcyBvdmVyIHRoZSBvY2VhbiBvZiBp"
	accounts := map[[32]byte]string{sha256.Sum256([]byte(value)): subject}
	r := httptest.NewRequest(http.MethodGet, "/notes/1", nil)
	r.AddCookie(&http.Cookie{Name: name, Value: value})
	return func() error {
		c, err := r.Cookie(name)
		if err != nil {
			return err
		}
		account, ok := accounts[sha256.Sum256([]byte(c.Value))]
		if !ok || r.WithContext(context.WithValue(r.Context(), accountKey{}, account)) == nil {
			return errRefused
		}
		return nil
	}
}

// newDirectory returns an org with an app and an account.
func newDirectory(idle time.Duration) *auth.Memory {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "acme", Session: auth.SessionPolicy{Idle: idle}})
	d.PutApp(auth.App{ClientKey: issuer, Org: "acme"})
	d.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	d.PutAccount(auth.Account{ID: subject, Org: "acme"})
	return d
}

// ourSession is a session of a Guard. Either the mechanism alone or the whole Guard
// checks it.
func ourSession(t testing.TB, idle time.Duration, whole bool) signedIn {
	directory := newDirectory(idle)
	manager := &session.Manager{Store: new(session.Memory).Sessions(), Attempts: new(session.Memory).Attempts()}
	guard := &auth.Guard{BaseURL: baseURL, Directory: directory, Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{manager}}
	var tenant *auth.Tenant
	var principal auth.Principal
	opened := httptest.NewRecorder()
	guard.Mount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if principal, err = manager.Start(w, r, subject, session.Proof{At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		tenant = auth.TenantFrom(r.Context())
	})).ServeHTTP(opened, httptest.NewRequest(http.MethodGet, audience+"/start", nil))

	s := signedIn{
		cookie: opened.Result().Cookies()[0],
		check: func(r *http.Request) error {
			_, err := manager.Authenticate(r.Context(), r, tenant)
			return err
		},
		end: func() {
			if err := manager.Sessions().Revoke(context.Background(), "acme", subject, principal.SessionID); err != nil {
				t.Fatal(err)
			}
		},
		disable: func() { directory.PutAccount(auth.Account{ID: subject, Org: "acme", Disabled: true}) },
	}
	if whole {
		s.check = reaches(guard)
	}
	return s
}

// reaches sends requests through a guard, and reports which ones it accepts.
func reaches(guard *auth.Guard) func(*http.Request) error {
	end := &reached{account: func(r *http.Request) string { return auth.From(r.Context()).Account }}
	h, w := guard.Mount(guard.Require(auth.Authenticated)(end)), discard{http.Header{}}
	return func(r *http.Request) error {
		before := end.times
		if h.ServeHTTP(w, r); end.times == before {
			return errRefused
		}
		return nil
	}
}

const accountField = "account"

// scsManager keeps sessions in memory and hashes their tokens, like ours.
func scsManager(t testing.TB, idle time.Duration) (m *scs.SessionManager, token string) {
	m = scs.New()
	m.Store = memstore.NewWithCleanupInterval(0)
	m.IdleTimeout = idle
	m.HashTokenInStore = true
	ctx, err := m.Load(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	m.Put(ctx, accountField, subject)
	if token, _, err = m.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	return m, token
}

func scsSession(t testing.TB, idle time.Duration) signedIn {
	m, token := scsManager(t, idle)
	return signedIn{
		cookie: &http.Cookie{Name: m.Cookie.Name, Value: token},
		check: func(r *http.Request) error {
			c, err := r.Cookie(m.Cookie.Name)
			if err != nil {
				return err
			}
			ctx, err := m.Load(r.Context(), c.Value)
			if err != nil {
				return err
			}
			if m.GetString(ctx, accountField) == "" {
				return errRefused
			}
			_, _, err = m.Commit(ctx)
			return err
		},
		end: func() {
			ctx, err := m.Load(context.Background(), token)
			if err == nil {
				err = m.Destroy(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		disable: func() {},
	}
}

const gorillaName = "session"

func gorillaStore() *sessions.CookieStore {
	return sessions.NewCookieStore([]byte("0123456789abcdef0123456789abcdef"))
}

// gorillaAccount reads a session. It calls New, because Get would find the session of
// the previous check in the request.
func gorillaAccount(store *sessions.CookieStore, r *http.Request) (string, error) {
	s, err := store.New(r, gorillaName)
	if err != nil {
		return "", err
	}
	account, ok := s.Values[accountField].(string)
	if !ok {
		return "", errRefused
	}
	return account, nil
}

func gorillaSession(t testing.TB, _ time.Duration) signedIn {
	store := gorillaStore()
	save := func(age int) *http.Cookie {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		s, err := store.New(r, gorillaName)
		if err != nil {
			t.Fatal(err)
		}
		s.Values[accountField], s.Options.MaxAge = subject, age
		if err := s.Save(r, w); err != nil {
			t.Fatal(err)
		}
		return w.Result().Cookies()[0]
	}
	return signedIn{
		cookie: save(3600),
		check: func(r *http.Request) error {
			_, err := gorillaAccount(store, r)
			return err
		},
		end:     func() { save(-1) },
		disable: func() {},
	}
}
