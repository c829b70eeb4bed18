package auth_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// stamped is a mechanism that every request presents. Its principal proved who it is at a
// given time, and has an OnAdmit function.
type stamped struct {
	presence      auth.Presence
	authenticated time.Time
	do            func(context.Context, *http.Request) error
}

func (stamped) Name() string { return "stamped" }

func (stamped) Bind(*auth.Settings) error { return nil }

func (m stamped) Presented(*http.Request) auth.Presence { return m.presence }

func (m stamped) Authenticate(context.Context, *http.Request, *auth.Tenant) (auth.Principal, error) {
	p := auth.Principal{Org: "acme", Account: "ann", Mechanism: "stamped", Authenticated: m.authenticated, Scope: scope.Unscoped()}
	return p.OnAdmit(m.do), nil
}

func (stamped) Challenge(*auth.Tenant, error) string { return "Stamped" }

func stampedGuard(m stamped) *auth.Guard {
	g := guard()
	g.Mechanisms = []auth.Mechanism{m}
	return g
}

func TestFreshAsksForARecentProof(t *testing.T) {
	now := time.UnixMilli(1_790_000_000_000)
	for name, c := range map[string]struct {
		authenticated time.Time
		status        int
	}{
		"now":               {now, 200},
		"at the limit":      {now.Add(-10 * time.Minute), 200},
		"a moment later":    {now.Add(-10*time.Minute - time.Millisecond), 403},
		"never: a token":    {time.Time{}, 403},
		"ahead of this one": {now.Add(time.Second), 200},
	} {
		t.Run(name, func(t *testing.T) {
			g := stampedGuard(stamped{presence: auth.InCookie, authenticated: c.authenticated})
			g.Now = func() time.Time { return now }
			mux := g.Mux()
			mux.Handle("GET /sudo", auth.Authenticated.Fresh(10*time.Minute), whoami)
			mux.Handle("GET /maybe", auth.Optional.Fresh(10*time.Minute), whoami)
			mux.Handle("GET /stale", auth.Authenticated, whoami)
			for _, path := range []string{"/sudo", "/maybe"} {
				rec := do(mux, "GET", "/acme/v2"+path)
				if rec.Code != c.status {
					t.Errorf("%s: got %d %s", path, rec.Code, rec.Body)
				}
				if c.status == 403 && errCode(t, rec.Body.Bytes()) != "service."+auth.DetailReauthenticate {
					t.Errorf("%s: got %s", path, rec.Body)
				}
			}
			if rec := do(mux, "GET", "/acme/v2/stale"); rec.Code != 200 {
				t.Errorf("without Fresh: got %d", rec.Code)
			}
		})
	}
}

// A token is never fresh, however long the time that a route allows.
func TestATokenIsNeverFresh(t *testing.T) {
	mux := stampedGuard(stamped{presence: auth.InHeader}).Mux()
	mux.Handle("GET /sudo", auth.Authenticated.Fresh(math.MaxInt64), whoami)
	if rec := do(mux, "GET", "/acme/v2/sudo"); rec.Code != 403 {
		t.Errorf("got %d", rec.Code)
	}
}

// A route can require freshness of some mechanisms and admit the others.
func TestFreshAsksTheNamedMechanisms(t *testing.T) {
	now := time.UnixMilli(1_790_000_000_000)
	old := stamped{presence: auth.InCookie, authenticated: now.Add(-time.Hour)}
	recent := stamped{presence: auth.InCookie, authenticated: now}
	for _, c := range []struct {
		name   string
		by     auth.Mechanism
		named  []string
		status int
	}{
		{"none is named, an old proof", old, nil, 403},
		{"none is named, a token", letter{name: "Wax", presence: auth.InHeader}, nil, 403},
		{"its own, an old proof", old, []string{"stamped"}, 403},
		{"its own, a recent proof", recent, []string{"stamped"}, 200},
		{"its own, a token", letter{name: "Wax", presence: auth.InHeader}, []string{"Wax"}, 403},
		{"its own among others, an old proof", old, []string{"Wax", "stamped"}, 403},
		{"another, an old proof", old, []string{"Wax"}, 200},
		{"another, a token", letter{name: "Wax", presence: auth.InHeader}, []string{"stamped"}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := guard()
			g.Mechanisms, g.Now = []auth.Mechanism{c.by}, func() time.Time { return now }
			knows(g, "stamped", "Wax")
			named := slices.Clone(c.named)
			need := auth.Authenticated.Fresh(10*time.Minute, named...)
			clear(named) // the need stores a copy
			mux := g.Mux()
			mux.Handle("GET /sudo", need, whoami)
			rec := do(mux, "GET", "/acme/v2/sudo", "Letter-Wax", "ann")
			if rec.Code != c.status {
				t.Errorf("got %d %s", rec.Code, rec.Body)
			}
			if c.status == 403 && errCode(t, rec.Body.Bytes()) != "service."+auth.DetailReauthenticate {
				t.Errorf("got %s", rec.Body)
			}
		})
	}
}

// Freshness that is asked of a misspelt mechanism would be asked of none, and By would close a
// route.
func TestA15AMisspeltMechanismOfFreshDoesNotOpenARoute(t *testing.T) {
	for name, c := range map[string]struct {
		named   []string
		refused string // the name in the panic
	}{
		"its name":               {[]string{"stamped"}, ""},
		"misspelt":               {[]string{"stampd"}, `"stampd"`},
		"in another case":        {[]string{"Stamped"}, `"Stamped"`},
		"one of two is misspelt": {[]string{"stamped", "wax"}, `"wax"`},
		"empty":                  {[]string{""}, `""`},
	} {
		for of, need := range map[string]auth.Need{
			"Need.Fresh": auth.Authenticated.Fresh(time.Minute, c.named...),
			"Need.By":    auth.Authenticated.By(c.named...),
		} {
			t.Run(of+" "+name, func(t *testing.T) {
				defer func() {
					text := fmt.Sprint(recover())
					if c.refused == "" && text != "<nil>" {
						t.Error(text)
					}
					for _, part := range []string{of, c.refused, `["stamped"]`} {
						if c.refused != "" && !strings.Contains(text, part) {
							t.Errorf("panic %q, want one with %s", text, part)
						}
					}
				}()
				stampedGuard(stamped{}).Require(need)
			})
		}
	}
}

// misnamed returns principals under a name that no need can know.
type misnamed struct{ stamped }

func (misnamed) Name() string { return "other" }

func TestAPrincipalHasTheNameOfItsMechanism(t *testing.T) {
	g := guard()
	g.Mechanisms = []auth.Mechanism{misnamed{}}
	mux := g.Mux()
	mux.Handle("GET /sudo", auth.Authenticated.Fresh(time.Minute, "other"), whoami)
	if rec := do(mux, "GET", "/acme/v2/sudo"); rec.Code == 200 {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
}

func TestFreshPassesNobodyOnOptionalRoutes(t *testing.T) {
	mux := guard().Mux()
	mux.Handle("GET /maybe", auth.Optional.Fresh(time.Minute), whoami)
	if rec := do(mux, "GET", "/acme/v2/maybe"); rec.Code != 200 {
		t.Errorf("got %d", rec.Code)
	}
}

// The scope is checked first, so that nobody authenticates again in vain.
func TestFreshComesAfterTheScope(t *testing.T) {
	g := knows(guard(), "other")
	g.Now = func() time.Time { return time.UnixMilli(1_790_000_000_000) }
	mux := g.Mux()
	mux.Handle("GET /notes", auth.Allow("object.read.c_note").By("other").Fresh(time.Minute), whoami)
	rec := do(mux, "GET", "/acme/v2/notes", "Letter-Wax", "ann")
	if got := errCode(t, rec.Body.Bytes()); got != "service."+auth.DetailForbidden {
		t.Errorf("got %s", got)
	}
}

func TestFreshPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"no time":                 func() { auth.Authenticated.Fresh(0) },
		"negative":                func() { auth.Authenticated.Fresh(-time.Second) },
		"public routes":           func() { auth.Public.Fresh(time.Minute) },
		"no time, of a mechanism": func() { auth.Authenticated.Fresh(0, "stamped") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			f()
		})
	}
}

func TestOnAdmitRunsOnceForWhatWasAdmitted(t *testing.T) {
	var done int
	g := knows(stampedGuard(stamped{presence: auth.InCookie, do: func(context.Context, *http.Request) error { done++; return nil }}), "other")
	mux := g.Mux()
	mux.HandleFunc("GET /me", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			if _, err := g.Check(r, auth.Authenticated); err != nil {
				t.Error(err)
			}
		}
		whoami(w, r)
	})
	mux.Handle("GET /other", auth.Authenticated.By("other"), whoami)
	mux.Handle("GET /sudo", auth.Authenticated.Fresh(time.Minute), whoami)
	mux.Handle("GET /status", auth.Public, whoami)
	mux.HandleFunc("GET /looks", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		if _, err := g.Check(r, auth.Authenticated.By("other")); err == nil {
			t.Error("Check passed")
		}
		g.Check(r, auth.Authenticated)
		whoami(w, r)
	})
	for path, times := range map[string]int{"/me": 1, "/other": 0, "/sudo": 0, "/status": 0, "/looks": 1, "/nowhere": 0} {
		done = 0
		do(mux, "GET", "/acme/v2"+path)
		if done != times {
			t.Errorf("%s: ran %d times", path, done)
		}
	}
}

func TestOnAdmitRefuses(t *testing.T) {
	expired := &auth.Error{Detail: auth.DetailSessionExpired}
	for name, c := range map[string]struct {
		err            error
		presence       auth.Presence
		panics         bool
		needed, opened int // status on a route that needs a principal, and on an open route
	}{
		"nothing left":             {nil, auth.InCookie, false, 200, 200},
		"a cookie that ended":      {expired, auth.InCookie, false, 401, 200},
		"a header that ended":      {expired, auth.InHeader, false, 401, 401},
		"another origin":           {&auth.Error{Detail: auth.DetailCrossOrigin}, auth.InCookie, false, 403, 403},
		"a store is down":          {auth.ErrUnavailable, auth.InCookie, false, 503, 503},
		"an error of no kind":      {errors.New("odd"), auth.InCookie, false, 500, 500},
		"a panic passes to nobody": {nil, auth.InCookie, true, 500, 500},
	} {
		t.Run(name, func(t *testing.T) {
			for path, status := range map[string]int{"/me": c.needed, "/maybe": c.opened} {
				handled := ""
				g := stampedGuard(stamped{presence: c.presence, do: func(context.Context, *http.Request) error {
					if c.panics {
						panic("a bug in a store")
					}
					return c.err
				}})
				var observed auth.Event
				g.Observe = func(_ context.Context, e auth.Event) { observed = e }
				next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					handled = "as " + auth.From(r.Context()).Account
					whoami(w, r)
				})
				h := func(n auth.Need) http.Handler {
					inner := g.Require(n)(next)
					return g.Mount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if c.panics {
							func() {
								defer func() { _ = recover() }()
								inner.ServeHTTP(w, r)
							}()
						}
						inner.ServeHTTP(w, r) // check again: the answer stays the same
					}))
				}
				need, as := auth.Authenticated, "as ann"
				if path == "/maybe" {
					need = auth.Optional
					if c.err != nil {
						as = "as "
					}
				}
				rec := do(h(need), "GET", "/acme/v2"+path)
				if rec.Code != status {
					t.Errorf("%s: got %d %s, want %d", path, rec.Code, rec.Body, status)
				}
				if want := map[bool]string{true: as}[status == 200]; handled != want || status == 200 && "as "+observed.Account != want {
					t.Errorf("%s: handled %q, want %q; observed %+v", path, handled, want, observed)
				}
			}
		})
	}
}

// A login on a route that admits anybody, by a browser whose session ends as the request comes.
func TestWhoLogsInBesideASessionThatEnds(t *testing.T) {
	var accounts []string
	g := stampedGuard(stamped{presence: auth.InCookie, do: func(context.Context, *http.Request) error { return &auth.Error{Detail: auth.DetailSessionExpired} }})
	g.Observe = func(_ context.Context, e auth.Event) { accounts = append(accounts, e.Account) }
	mux := g.Mux()
	mux.HandleFunc("POST /login", auth.Optional, func(_ http.ResponseWriter, r *http.Request) {
		auth.Identify(r, auth.Principal{Org: "acme", Account: "bob", Mechanism: "stamped"})
	})
	do(mux, "POST", "/acme/v2/login")
	if !slices.Equal(accounts, []string{"", "bob"}) {
		t.Errorf("observed %q", accounts)
	}
}

func TestOnAdmitHasTheGuardsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := stampedGuard(stamped{presence: auth.InCookie, do: func(ctx context.Context, _ *http.Request) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		g.Timeout = 100 * time.Millisecond
		mux := g.Mux()
		mux.Handle("GET /me", auth.Authenticated, whoami)
		start := time.Now()
		if rec := do(mux, "GET", "/acme/v2/me"); rec.Code != 503 || time.Since(start) != g.Timeout {
			t.Errorf("got %d after %s", rec.Code, time.Since(start))
		}
	})
}

func TestErrorSetsItsCookie(t *testing.T) {
	cleared := &http.Cookie{Name: "__Host-session-acme", Path: "/", MaxAge: -1, Secure: true, HttpOnly: true}
	refused := &auth.Error{Detail: auth.DetailSessionExpired, Cookie: cleared}
	g := stampedGuard(stamped{presence: auth.InCookie, do: func(context.Context, *http.Request) error { return refused }})
	h := g.Mount(g.Require(auth.Authenticated)(whoami))
	for name, do := range map[string]func() *httptest.ResponseRecorder{
		"by the Guard": func() *httptest.ResponseRecorder { return do(h, "GET", "/acme/v2/me") },
		"by Fail alone": func() *httptest.ResponseRecorder {
			rec := httptest.NewRecorder()
			auth.Fail(rec, httptest.NewRequest("GET", "/", nil), refused)
			return rec
		},
	} {
		t.Run(name, func(t *testing.T) {
			rec := do()
			if rec.Code != 401 || rec.Header().Get("Set-Cookie") != cleared.String() || rec.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("got %d %v", rec.Code, rec.Header())
			}
		})
	}
}

func TestLoopbackGoesByTheBaseURL(t *testing.T) {
	for base, loopback := range map[string]bool{
		"http://localhost":               true,
		"http://localhost:8080":          true,
		"http://127.0.0.1:8080":          true,
		"http://127.3.4.5":               true,
		"http://[::1]:8080/api":          true,
		"https://localhost":              false,
		"https://127.0.0.1":              false,
		"http://api.example.test":        false,
		"http://localhost.example.test":  false,
		"http://127.0.0.1.example.test":  false,
		"http://192.168.0.1":             false,
		"http://0.0.0.0:8080":            false,
		"http://[::ffff:192.0.2.1]:8080": false,
	} {
		t.Run(base, func(t *testing.T) {
			g := guard()
			g.BaseURL = base
			h := g.Mount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := auth.TenantFrom(r.Context()).Loopback(); got != loopback {
					t.Errorf("got %t", got)
				}
			}))
			r := httptest.NewRequest("GET", "/acme/v2/me", nil)
			r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1" // they do not matter
			h.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
}

func TestBoundEndsWithTheGuardsTimeout(t *testing.T) {
	for _, timeout := range []time.Duration{0, 50 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			g := guard()
			g.Timeout = timeout
			want := timeout
			if want == 0 {
				want = 500 * time.Millisecond
			}
			h := g.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				start := time.Now()
				ctx, cancel := auth.TenantFrom(r.Context()).Bound(r.Context())
				defer cancel()
				<-ctx.Done()
				if took := time.Since(start); took != want || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Errorf("ended after %s: %v", took, ctx.Err())
				}
			}))
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2/me", nil))
		})
	}
}
