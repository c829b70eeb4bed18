package session_test

import (
	"context"
	"crypto/fips140"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

const (
	annPassword = "correct horse battery"
	cookieName  = "__Host-session-acme"
	ticketName  = "__Host-ticket-acme"
	expired     = auth.DetailSessionExpired
)

// world is a server with two orgs that is called without a network. Its clock moves only
// when a test advances it.
type world struct {
	t         testing.TB
	clock     *authtest.Clock
	directory *auth.Memory
	outage    outage // a directory that can fail, for a Guard that uses it
	memory    *session.Memory
	stores    *stores
	hasher    *counter
	manager   *session.Manager
	guard     *auth.Guard
	mux       *auth.Mux
	handled   atomic.Int64 // requests that reached a handler of a protected route
	answer    http.HandlerFunc

	mu     sync.Mutex
	events []auth.Event
	agent  string // User-Agent of browsers
}

func newWorld(t testing.TB, alter ...func(*world)) *world {
	t.Helper()
	w := &world{t: t, directory: new(auth.Memory), memory: new(session.Memory), hasher: &counter{},
		clock: authtest.NewClock(time.UnixMilli(1_790_000_000_000))}
	w.outage.Directory = w.directory
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		w.handled.Add(1)
		auth.Reply(rw, r, envelope.Result[string]{Data: auth.From(r.Context()).Account})
	}
	for _, org := range []string{"acme", "globex"} {
		w.directory.PutOrg(auth.Org{Code: org})
	}
	for _, id := range []string{"ann", "bob"} {
		w.directory.PutAccount(auth.Account{ID: id, Org: "acme"})
	}
	w.directory.PutAccount(auth.Account{ID: "gus", Org: "globex"})
	w.memory.Now = w.clock.Now
	w.stores = &stores{Store: w.memory.Sessions(), Attempts: w.memory.Attempts(), FactorStore: w.memory.Factors(), passwords: map[string]string{
		"acme/ann": annPassword, "acme/bob": "bob's password", "globex/gus": "gus's password"},
		fail: map[string]error{}, before: make(map[string]func()), calls: map[string]int{}}
	w.manager = &session.Manager{Store: w.stores, PasswordStore: w.stores, Attempts: w.stores, FactorStore: w.stores,
		Hasher: w.hasher, SHA256Codes: fips140.Enforced()}
	w.guard = &auth.Guard{Roles: auth.RolesDoNotLimit, BaseURL: "https://api.example.test", Directory: struct{ auth.Directory }{w.directory}, // without People
		Mechanisms: []auth.Mechanism{w.manager}, Now: w.clock.Now,
		Timeout: time.Minute, // so that a busy machine is not taken for an outage
		Observe: func(_ context.Context, e auth.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		}}
	for _, f := range alter {
		f(w)
	}
	w.mux = w.guard.Mux()
	w.routes()
	return w
}

// other is a mechanism that no request presents.
type other struct{ auth.Mechanism }

func (other) Name() string { return "other" }

func (other) Presented(*http.Request) auth.Presence { return auth.Absent }

func (other) Challenge(*auth.Tenant, error) string { return "" }

func (other) Bind(*auth.Settings) error { return nil }

// realTime makes the world use the clock of the test's bubble.
func realTime(w *world) { w.guard.Now, w.memory.Now = nil, nil }

func org(alter func(*auth.Org)) func(*world) {
	return func(w *world) { w.putOrg(alter) }
}

func (w *world) putOrg(alter func(*auth.Org)) {
	o := auth.Org{Code: "acme"}
	alter(&o)
	w.directory.PutOrg(o)
}

// routes registers the routes of an application with every verb of a Manager.
func (w *world) routes() {
	m := w.manager
	verb := func(pattern string, n auth.Need, do func(http.ResponseWriter, *http.Request) (any, error)) {
		w.mux.HandleFunc(pattern, n, func(rw http.ResponseWriter, r *http.Request) {
			data, err := do(rw, r)
			if err != nil {
				auth.Fail(rw, r, err)
				return
			}
			auth.Reply(rw, r, envelope.Result[any]{Data: data})
		})
	}
	account := func(p auth.Principal, err error) (any, error) { return p.Account, err }
	verb("POST /login", auth.Public, func(rw http.ResponseWriter, r *http.Request) (any, error) {
		return account(m.Login(rw, r, session.LoginForm{Login: r.PostFormValue("login"), Password: r.PostFormValue("password"),
			Code: r.PostFormValue("code"), Remember: r.PostFormValue("remember") != "", RememberDevice: r.PostFormValue("device") != ""}))
	})
	verb("POST /start", auth.Public, func(rw http.ResponseWriter, r *http.Request) (any, error) {
		return account(m.Start(rw, r, r.PostFormValue("account"), w.proof(r)))
	})
	verb("POST /verify", auth.Public, func(rw http.ResponseWriter, r *http.Request) (any, error) {
		return account(m.VerifyCode(rw, r, session.LoginForm{Code: r.PostFormValue("code"), RememberDevice: r.PostFormValue("device") != ""}))
	})
	verb("POST /reauthenticate", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) (any, error) {
		return account(m.Reauthenticate(rw, r, r.PostFormValue("login"), r.PostFormValue("password")))
	})
	verb("POST /password", auth.Authenticated.Fresh(10*time.Minute), func(rw http.ResponseWriter, r *http.Request) (any, error) {
		return "", m.Passwords().Change(rw, r, r.PostFormValue("login"), r.PostFormValue("password"), r.PostFormValue("next"),
			func(_ context.Context, encoded string, changed time.Time) error {
				return w.setPassword(r, encoded, changed)
			})
	})
	verb("POST /logout", auth.Public, func(rw http.ResponseWriter, r *http.Request) (any, error) {
		return "", m.Logout(rw, r)
	})
	verb("POST /enrol", auth.Optional.Fresh(10*time.Minute), func(rw http.ResponseWriter, r *http.Request) (any, error) {
		e, err := m.Factors().Enrol(r)
		return []byte(e.Secret), err
	})
	verb("POST /confirm", auth.Optional, func(rw http.ResponseWriter, r *http.Request) (any, error) {
		return m.Factors().Confirm(rw, r, r.PostFormValue("code"))
	})
	verb("POST /remove", auth.Authenticated.Fresh(10*time.Minute), func(rw http.ResponseWriter, r *http.Request) (any, error) {
		return "", m.Factors().Remove(r, r.PostFormValue("code"))
	})
	for _, method := range []string{"GET", "POST"} {
		w.mux.Handle(method+" /me", auth.Authenticated, w.answerer())
		w.mux.Handle(method+" /maybe", auth.Optional, w.answerer())
	}
	w.mux.Handle("GET /status", auth.Public, w.answerer())
	w.mux.Handle("POST /sudo", auth.Authenticated.Fresh(10*time.Minute), w.answerer())
}

// proof returns the proof that a test's request describes: of now, unless it has the age of one.
func (w *world) proof(r *http.Request) session.Proof {
	age, _ := time.ParseDuration(r.PostFormValue("age"))
	p := session.Proof{At: w.now().Add(-age), Issuer: r.PostFormValue("issuer"), Text: r.PostFormValue("text")}
	if methods := r.PostFormValue("methods"); methods != "" {
		p.Methods = strings.Fields(methods)
	}
	return p
}

// setPassword stores a new password and Account.Changed.
func (w *world) setPassword(r *http.Request, encoded string, changed time.Time) error {
	if err := w.stores.at("setPassword"); err != nil {
		return err
	}
	p := auth.From(r.Context())
	w.stores.passwords[string(p.Org)+"/"+p.Account] = encoded
	a := *must(w.directory.Account(r.Context(), p.Org, p.Account))
	a.Changed = changed
	w.directory.PutAccount(a)
	return nil
}

func (w *world) answerer() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.answer(rw, r) })
}

func (w *world) code(secret session.FactorSecret) string {
	return w.manager.Code(secret, w.now().Unix()/30)
}

// now returns the time of the world's Manager.
func (w *world) now() time.Time {
	if w.guard.Now == nil {
		return time.Now()
	}
	return w.guard.Now()
}

// wrong returns a code of no step around now.
func (w *world) wrong(secret session.FactorSecret) string {
	for n := 314_159; ; n++ {
		code := fmt.Sprintf("%06d", n)
		if _, ok := w.manager.Match(secret, code, w.now(), 0); !ok {
			return code
		}
	}
}

// sessions returns the records of the sessions of an account, which a Manager lists, whatever
// time limits the org has.
func (w *world) sessions(account string) []session.Session {
	w.t.Helper()
	list, err := w.manager.Sessions().List(w.t.Context(), &auth.Org{Code: "acme", Session: auth.SessionPolicy{Idle: time.Hour, Max: 24 * time.Hour}}, account)
	records := must(w.memory.Sessions().List(w.t.Context(), "acme", account))
	records = slices.DeleteFunc(records, func(s session.Session) bool {
		return !slices.ContainsFunc(list, func(i session.SessionInfo) bool { return i.ID == s.ID })
	})
	if err != nil || len(records) != len(list) {
		w.t.Fatalf("%d sessions, %d records: %v", len(list), len(records), err)
	}
	return records
}

func isUnavailable(err error) bool { return errors.Is(err, auth.ErrUnavailable) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
