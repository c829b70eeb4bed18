package auth_test

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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/envelope"
)

func TestValidateNamesWhatIsMissing(t *testing.T) {
	tests := []struct {
		name  string
		alter func(*auth.Guard)
		want  string
	}{
		{"a whole one", func(*auth.Guard) {}, ""},
		{"no base URL", func(g *auth.Guard) { g.BaseURL = "" }, "BaseURL"},
		{"a base URL with a trailing slash", func(g *auth.Guard) { g.BaseURL += "/" }, "BaseURL"},
		{"a base URL without scheme", func(g *auth.Guard) { g.BaseURL = "api.example.test" }, "BaseURL"},
		{"a base URL with a user", func(g *auth.Guard) { g.BaseURL = "https://u@api.example.test" }, "BaseURL"},
		{"no directory", func(g *auth.Guard) { g.Directory = nil }, "Directory"},
		{"M21 no word about roles", func(g *auth.Guard) { g.Roles = 0 }, "Guard.Roles is required: set RolesLimit"},
		{"M21 an unknown word about roles", func(g *auth.Guard) { g.Roles = 3 }, "Guard.Roles is required"},
		{"no mechanism", func(g *auth.Guard) { g.Mechanisms = nil }, "Mechanisms"},
		{"a nil mechanism", func(g *auth.Guard) { g.Mechanisms = []auth.Mechanism{nil} }, "Mechanisms"},
		{"a mechanism that lacks something", func(g *auth.Guard) { g.Mechanisms = []auth.Mechanism{lacking{}} }, "lacking a store"},
		{"two mechanisms of one name", func(g *auth.Guard) {
			g.Mechanisms = []auth.Mechanism{letter{name: "Wax"}, letter{name: "Wax"}}
		}, "two with the name Wax"},
		{"a mechanism without a name", func(g *auth.Guard) { g.Mechanisms = []auth.Mechanism{letter{}} }, "without a name"},
		{"no version", func(g *auth.Guard) { g.Versions = []string{} }, "Versions"},
		{"a header prefix with a space", func(g *auth.Guard) { g.Brand.Header = "My " }, "Brand.Header"},
		{"a fault namespace with a dot", func(g *auth.Guard) { g.Brand.Faults = "my.api" }, "Brand.Faults"},
		{"a page about errors with a fragment", func(g *auth.Guard) { g.ErrorPage = "https://example.test/errors#top" }, "ErrorPage"},
		{"a page about errors that would end its link", func(g *auth.Guard) { g.ErrorPage = "https://example.test/a>b" }, "ErrorPage"},
		{"former codes without IDs", func(g *auth.Guard) { g.FormerCodes = true }, "OrgIDs is required"},
		{"a negative timeout", func(g *auth.Guard) { g.Timeout = -1 }, "Timeout"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := guard()
			test.alter(g)
			err := g.Validate()
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want an error that names %s", err, test.want)
			}
			defer func() {
				if recover() == nil {
					t.Error("Mount took an invalid Guard")
				}
			}()
			g.Mount(whoami)
		})
	}
}

type lacking struct{ letter }

func (lacking) Bind(*auth.Settings) error { return errors.New("lacking a store") }

// Refusals come in a fixed order. So the request of each row also has every fault of the rows
// below it.
func TestRefusalsHaveAnOrder(t *testing.T) {
	g := knows(guard(), "Ink")
	mux := g.Mux()
	mux.Handle("GET /notes", auth.Authenticated.By("Ink"), whoami)
	tests := []struct {
		name, method, path string
		header             []string
		status             int
		detail             string
	}{
		{"path", "get", "/nowhere/v9//x", []string{"Letter-Wax", "forged"}, 400, "invalidArgument.path"},
		{"method name with a digit", "G3T", "/nowhere/v9/x", []string{"Letter-Wax", "forged"}, 405, "invalidArgument.method"},
		{"method name", "get", "/nowhere/v9/x", []string{"Letter-Wax", "forged"}, 405, "invalidArgument.method"},
		{"mount", "POST", "/nowhere", nil, 404, "notFound.unspecified"},
		{"version", "POST", "/nowhere/v9/x", []string{"Letter-Wax", "forged"}, 400, "invalidArgument.invalidApiVersion"},
		{"org", "POST", "/nowhere/v2/x", []string{"Letter-Wax", "forged"}, 404, "notFound.env"},
		{"org that is switched off", "POST", "/closed/v2/x", []string{"Letter-Wax", "forged"}, 404, "notFound.env"},
		{"org in another spelling", "POST", "/Acme/v2/x", []string{"Letter-Wax", "forged"}, 404, "notFound.env"},
		{"route", "POST", "/acme/v2/x", []string{"Letter-Wax", "forged"}, 404, "notFound.unspecified"},
		{"route's method", "POST", "/acme/v2/notes", []string{"Letter-Wax", "forged"}, 405, "invalidArgument.method"},
		{"credential", "GET", "/acme/v2/notes", []string{"Letter-Wax", "forged"}, 401, "accessDenied.invalidCredentials"},
		{"need", "GET", "/acme/v2/notes", []string{"Letter-Wax", "ann"}, 403, "accessDenied.unspecified"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := do(mux, test.method, test.path, test.header...)
			if got := errCode(t, w.Body.Bytes()); w.Code != test.status || got != "service."+test.detail {
				t.Errorf("got %d %s, want %d %s", w.Code, got, test.status, test.detail)
			}
			if w.Code == 405 && w.Header().Get("Allow") == "" {
				t.Error("a 405 without Allow")
			}
			if _, err := strconv.ParseInt(w.Header().Get("Service-Server-Time"), 10, 64); err != nil {
				t.Error("a refusal without the server's time")
			}
		})
	}
}

func TestServerTimeIsOnEveryReply(t *testing.T) {
	g := guard()
	at := time.UnixMilli(1_790_000_000_123)
	g.Now = func() time.Time { return at }
	mux := g.Mux()
	mux.Handle("GET /open", auth.Public, whoami)
	for _, path := range []string{"/acme/v2/open", "/acme/v2/none", "/a//b"} {
		w := do(mux, "GET", path)
		if got := w.Header().Get("Service-Server-Time"); got != "1790000000123" {
			t.Errorf("%s: server time %q", path, got)
		}
	}
}

// TestServerTimeOutsideTheMount has a handler outside the mount, a panic inside and outside
// it, and a middleware outside of both that writes a whole reply.
func TestServerTimeOutsideTheMount(t *testing.T) {
	g := guard()
	g.Brand.Header = "Acme-"
	at := time.UnixMilli(1_790_000_000_123)
	g.Now = func() time.Time { return at }
	mux := g.Mux()
	mux.Handle("GET /open", auth.Public, whoami)
	mux.HandleFunc("GET /panic", auth.Public, func(http.ResponseWriter, *http.Request) { panic("the cause") })
	whole := http.NewServeMux()
	whole.Handle("/acme/", mux)
	whole.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	whole.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("the cause") })
	recovered := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				g.Fail(w, r, errors.New("panic"))
			}
		}()
		whole.ServeHTTP(w, r)
	})
	for path, status := range map[string]int{
		"/acme/v2/open": 200, "/acme/v2/none": 404, "/acme/v2/panic": 500,
		"/healthz": 200, "/none": 404, "/panic": 500,
	} {
		w := do(g.ServerTime(recovered), "GET", path)
		if diff := cmp.Diff([]string{"1790000000123"}, w.Header()["Acme-Server-Time"]); diff != "" || w.Code != status {
			t.Errorf("%s: %d (-want +got):\n%s", path, w.Code, diff)
		}
	}
}

func TestNeeds(t *testing.T) {
	ran := 0
	g := guard()
	g.Mechanisms = []auth.Mechanism{
		letter{name: "Wax", presence: auth.InHeader, ran: &ran},
		letter{name: "Ink", presence: auth.InHeader, ran: &ran},
		letter{name: "Crumb", presence: auth.InCookie, ran: &ran},
	}
	mux := g.Mux()
	mux.Handle("GET /public", auth.Public, whoami)
	mux.Handle("GET /optional", auth.Optional, whoami)
	mux.Handle("GET /mine", auth.Authenticated, whoami)
	mux.Handle("GET /ink", auth.Authenticated.By("Ink", "Crumb"), whoami)

	tests := []struct {
		name, path string
		header     []string
		status     int
		answer     string // account, or detail of the fault
		ran        int
	}{
		{"public runs no mechanism", "/public", []string{"Letter-Wax", "ann"}, 200, "", 0},
		{"public ignores what would fail", "/public", []string{"Letter-Wax", "forged", "Letter-Ink", "x"}, 200, "", 0},
		{"optional without a credential", "/optional", nil, 200, "", 0},
		{"optional with one", "/optional", []string{"Letter-Wax", "ann"}, 200, "ann", 1},
		{"optional with a header that fails", "/optional", []string{"Letter-Wax", "forged"}, 401, "accessDenied.invalidCredentials", 1},
		{"optional with a cookie that fails", "/optional", []string{"Letter-Crumb", "forged"}, 200, "", 1},
		{"optional with a cookie and a store that is down", "/optional", []string{"Letter-Crumb", "storeless"}, 503, "error.storeUnavailable", 1},
		{"optional with two headers", "/optional", []string{"Letter-Wax", "ann", "Letter-Ink", "ann"}, 400, "invalidArgument.ambiguousCredentials", 0},
		{"authenticated without a credential", "/mine", nil, 401, "accessDenied.noCredentialsSupplied", 0},
		{"authenticated by a header", "/mine", []string{"Letter-Ink", "ann"}, 200, "ann", 1},
		{"authenticated by a cookie", "/mine", []string{"Letter-Crumb", "ann"}, 200, "ann", 1},
		{"an account that is switched off", "/mine", []string{"Letter-Ink", "off"}, 401, "accessDenied.invalidCredentials", 1},
		{"an account of another org", "/mine", []string{"Letter-Ink", "gus"}, 401, "accessDenied.invalidCredentials", 1},
		{"a header decides beside a cookie", "/mine", []string{"Letter-Crumb", "forged", "Letter-Wax", "ann"}, 200, "ann", 1},
		{"a header's failure is final beside a good cookie", "/mine", []string{"Letter-Crumb", "ann", "Letter-Wax", "forged"}, 401, "accessDenied.invalidCredentials", 1},
		{"two headers are ambiguous", "/mine", []string{"Letter-Ink", "ann", "Letter-Wax", "ann"}, 400, "invalidArgument.ambiguousCredentials", 0},
		{"another mechanism than the need allows", "/ink", []string{"Letter-Wax", "ann"}, 403, "accessDenied.unspecified", 1},
		{"one of the mechanisms the need allows", "/ink", []string{"Letter-Crumb", "ann"}, 200, "ann", 1},
		{"a mechanism that returns another org's principal", "/mine", []string{"Letter-Wax", "foreign"}, 500, "error.unspecified", 1},
		{"a store that is down", "/mine", []string{"Letter-Wax", "storeless"}, 503, "error.storeUnavailable", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ran = 0
			w := do(mux, "GET", "/acme/v2"+test.path, test.header...)
			got := strings.TrimPrefix(errCode(t, w.Body.Bytes()), "service.")
			if w.Code == 200 {
				var result envelope.Result[string]
				if err := envelope.Decode(w.Body, 1<<10, &result); err != nil {
					t.Fatal(err)
				}
				got = result.Data
			}
			if w.Code != test.status || got != test.answer || ran != test.ran {
				t.Errorf("got %d %q after %d authentications, want %d %q after %d",
					w.Code, got, ran, test.status, test.answer, test.ran)
			}
		})
	}
}

func TestChallenges(t *testing.T) {
	g := guard()
	g.Mechanisms = append(g.Mechanisms, letter{name: "Crumb", presence: auth.InCookie})
	mux := g.Mux()
	mux.Handle("GET /mine", auth.Authenticated, whoami)
	tests := []struct {
		name   string
		header []string
		want   []string
	}{
		{"nothing sent", nil, []string{"Wax", "Crumb"}},
		{"one failed", []string{"Letter-Wax", "forged"}, []string{`Wax error="invalid"`, "Crumb"}},
		{"not a 401", []string{"Letter-Wax", "storeless"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := do(mux, "GET", "/acme/v2/mine", test.header...)
			if diff := cmp.Diff(test.want, w.Header().Values("WWW-Authenticate")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// challenging is a mechanism with a challenge of its own.
type challenging struct {
	letter
	challenge string
}

func (m challenging) Challenge(*auth.Tenant, error) string { return m.challenge }

func TestOneChallengeOfEachScheme(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		want          []string
	}{
		"the same words":                  {"Wax", "Wax", []string{"Wax"}},
		"without and with parameters":     {"Wax", `Wax realm="a"`, []string{"Wax"}},
		"with and without parameters":     {`Wax realm="a"`, "Wax", []string{`Wax realm="a"`}},
		"other parameters":                {`Wax realm="a"`, `Wax realm="b"`, []string{`Wax realm="a"`}},
		"a scheme that begins another":    {"Waxed", "Wax", []string{"Waxed", "Wax"}},
		"a scheme that another begins":    {"Wax", `Waxed realm="a"`, []string{"Wax", `Waxed realm="a"`}},
		"a scheme in a parameter":         {`Ink realm="Wax "`, "Wax", []string{`Ink realm="Wax "`, "Wax"}},
		"a mechanism without a challenge": {"", "Wax", []string{"Wax"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := guard()
			g.Mechanisms = []auth.Mechanism{challenging{letter{name: "first"}, c.first}, challenging{letter{name: "second"}, c.second}}
			mux := g.Mux()
			mux.Handle("GET /mine", auth.Authenticated, whoami)
			got := do(mux, "GET", "/acme/v2/mine").Header().Values("WWW-Authenticate")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAStoreThatHangsIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, timeout := range []time.Duration{0, 80 * time.Millisecond} {
			g := guard()
			g.Timeout = timeout
			mux := g.Mux()
			mux.HandleFunc("GET /mine", auth.Authenticated, func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") })
			began := time.Now()
			w := do(mux, "GET", "/acme/v2/mine", "Letter-Wax", "hanging")
			if timeout == 0 {
				timeout = 500 * time.Millisecond
			}
			if w.Code != 503 || w.Header().Get("Retry-After") == "" || time.Since(began) != timeout {
				t.Errorf("got %d after %v, want 503 with Retry-After after %v", w.Code, time.Since(began), timeout)
			}
		}
	})
}

// N11: a store that polls its context instead of waiting gets a timeout, too.
func TestAStoreThatPollsIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mux := guard().Mux()
		mux.Handle("GET /mine", auth.Authenticated, whoami)
		began := time.Now()
		w := do(mux, "GET", "/acme/v2/mine", "Letter-Wax", "polling")
		if took := time.Since(began); w.Code != 503 || took > time.Second {
			t.Errorf("got %d after %v", w.Code, took)
		}
	})
}

// Whatever happens inside a mechanism, the request does not pass afterwards.
func TestAPanicIsNoPass(t *testing.T) {
	g, ran := guard(), 0
	g.Mechanisms = []auth.Mechanism{letter{name: "Wax", presence: auth.InHeader, ran: &ran}}
	mux := g.Mux()
	mux.HandleFunc("GET /status", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		check := func() (err error) {
			defer func() {
				if recover() != nil {
					err = errors.New("panic")
				}
			}()
			_, err = g.Check(r, auth.Authenticated)
			return err
		}
		for range 2 {
			if check() == nil {
				t.Error("a request whose authentication panicked passed")
			}
		}
	})
	do(mux, "GET", "/acme/v2/status", "Letter-Wax", "panicking")
	if ran != 1 {
		t.Errorf("the mechanism ran %d times for one request", ran)
	}
}

// The deadline applies to the store calls, not to the handler.
func TestHandlersHaveTheirOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mux := guard().Mux()
		mux.HandleFunc("GET /slow", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Minute)
			if err := r.Context().Err(); err != nil {
				t.Errorf("the handler's context ended: %v", err)
			}
		})
		do(mux, "GET", "/acme/v2/slow", "Letter-Wax", "ann")
	})
}

type brokenDirectory struct{ auth.Directory }

func (brokenDirectory) Org(context.Context, string) (*auth.Org, error) {
	return nil, errors.New("connection refused to 10.1.2.3 as user platform")
}

func TestABrokenDirectoryIsUnavailable(t *testing.T) {
	g := guard()
	g.Directory = brokenDirectory{}
	w := do(g.Mux(), "GET", "/acme/v2/x")
	if w.Code != 503 || errCode(t, w.Body.Bytes()) != "service.error.storeUnavailable" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if strings.Contains(w.Body.String(), "10.1.2.3") {
		t.Error("the cause left the server")
	}
}

// A principal that is returned with an error is nobody's, also for observers.
func TestAFailedCookieIsObservedAsNobody(t *testing.T) {
	var events []auth.Event
	g := guard()
	g.Mechanisms = []auth.Mechanism{letter{name: "Crumb", presence: auth.InCookie}}
	g.Observe = func(_ context.Context, e auth.Event) { events = append(events, e) }
	mux := g.Mux()
	mux.Handle("GET /optional", auth.Optional, whoami)
	do(mux, "GET", "/acme/v2/optional", "Letter-Crumb", "expired")
	if len(events) != 1 || !events[0].Allowed || events[0].Account != "" || events[0].Mechanism != "" {
		t.Errorf("events %+v", events)
	}
}

func TestChecksAndFailuresMayRunAtOnce(t *testing.T) {
	g := guard()
	g.Observe = func(context.Context, auth.Event) {}
	mux := g.Mux()
	mux.HandleFunc("GET /x", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		var wg sync.WaitGroup
		wg.Go(func() { g.Check(r, auth.Authenticated) })
		auth.Fail(w, r, auth.ErrNotFound)
		wg.Wait()
	})
	do(mux, "GET", "/acme/v2/x", "Letter-Wax", "ann")
}

// silent is a directory that returns neither a result nor an error.
type silent struct{ auth.Directory }

func (silent) Org(context.Context, string) (*auth.Org, error) { return nil, nil }

func TestADirectoryThatSaysNothingIsUnavailable(t *testing.T) {
	g := guard()
	g.Directory = silent{}
	if w := do(g.Mux(), "GET", "/acme/v2/x"); w.Code != 503 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestCheckDecidesWithoutWriting(t *testing.T) {
	ran := 0
	g := guard()
	g.Mechanisms = []auth.Mechanism{letter{name: "Wax", presence: auth.InHeader, ran: &ran}}
	mux := g.Mux()
	mux.HandleFunc("GET /status", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		p, err := g.Check(r, auth.Authenticated)
		again, errAgain := g.Check(r, auth.Authenticated)
		if p.Account != again.Account || (err == nil) != (errAgain == nil) {
			t.Error("two checks of one request differ")
		}
		if from := auth.From(r.Context()); from.Account != "" {
			t.Error("a check altered whom the context answers with")
		}
		auth.Reply(w, r, envelope.Result[string]{Data: fmt.Sprint(p.Account, err != nil)})
	})
	for _, test := range []struct{ letter, want string }{{"", `"true"`}, {"forged", `"true"`}, {"ann", `"annfalse"`}} {
		ran = 0
		w := do(mux, "GET", "/acme/v2/status", "Letter-Wax", test.letter)
		if w.Code != 200 || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%q: got %d %s, want %s", test.letter, w.Code, w.Body, test.want)
		}
		if ran > 1 {
			t.Errorf("a credential was spent %d times by one request", ran)
		}
	}
}

func TestOutsideTheMountNothingPasses(t *testing.T) {
	g, other := guard(), guard()
	inner := g.Require(auth.Public)(whoami)
	if w := do(inner, "GET", "/acme/v2/x"); w.Code != 500 {
		t.Errorf("Require without Mount let a request through: %d", w.Code)
	}
	if w := do(other.Mount(inner), "GET", "/acme/v2/x"); w.Code != 500 {
		t.Errorf("Require below another Guard's Mount let a request through: %d", w.Code)
	}
	if _, err := g.Check(httptest.NewRequest("GET", "/acme/v2/x", nil), auth.Public); err == nil {
		t.Error("Check without Mount found no fault")
	}
	if auth.TenantFrom(t.Context()) != nil {
		t.Error("a tenant without a Guard")
	}
}

func TestTheZeroNeedIsRefused(t *testing.T) {
	g := guard()
	for name, register := range map[string]func(){
		"Mux":          func() { g.Mux().Handle("GET /x", auth.Need{}, whoami) },
		"Require":      func() { g.Require(auth.Need{}) },
		"By nobody":    func() { auth.Authenticated.By() },
		"By on Public": func() { auth.Public.By("signature") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("taken")
				}
			}()
			register()
		})
	}
	if _, err := g.Check(httptest.NewRequest("GET", "/", nil), auth.Need{}); err == nil {
		t.Error("Check took the zero Need")
	}
}

func TestResolveServesOtherShapes(t *testing.T) {
	g := guard()
	g.Resolve = func(_ context.Context, r *http.Request) (auth.Address, error) {
		org, _, ok := strings.Cut(r.Host, ".")
		rest, found := strings.CutPrefix(r.URL.EscapedPath(), "/api/v2")
		if !ok || !found {
			return auth.Address{}, fmt.Errorf("no tenant: %w", auth.ErrNotFound)
		}
		return auth.Address{Org: org, Version: "v2", Rest: rest, Authority: org + ".example.test"}, nil
	}
	mux := g.Mux()
	mux.HandleFunc("GET /notes/{id}", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		tenant := auth.TenantFrom(r.Context())
		auth.Reply(w, r, envelope.Result[[]string]{Data: []string{tenant.Org.Code, tenant.Command, tenant.URL(), r.PathValue("id"), tenant.BaseURL(), tenant.Path()}})
	})
	w := do(mux, "GET", "http://acme.example.test/api/v2/notes/a%2Fb/")
	if want := `["acme","/notes/a%2Fb","https://api.example.test/acme/v2","a/b","https://acme.example.test","/api/v2/notes/a%2Fb/"]`; !strings.Contains(w.Body.String(), want) {
		t.Errorf("got %d %s, want %s", w.Code, w.Body, want)
	}
	for _, target := range []string{"http://acme.example.test/notes", "http://acme.example.test/api/v2notes"} {
		if w := do(mux, "GET", target); w.Code != 404 {
			t.Errorf("%s: got %d, want 404", target, w.Code)
		}
	}
}

func TestBrandRenamesWhatGoesOverTheWire(t *testing.T) {
	g := guard()
	g.Brand = auth.Brand{Header: "Acme-", Faults: "acme"}
	w := do(g.Mux(), "GET", "/acme/v2/none")
	if w.Header().Get("Acme-Server-Time") == "" || w.Header().Get("Service-Server-Time") != "" {
		t.Errorf("headers %v", w.Header())
	}
	if got := errCode(t, w.Body.Bytes()); got != "acme.notFound.unspecified" {
		t.Errorf("errCode %s", got)
	}
}

// TestObserversOfRequestsWithoutAnOrg use the tenant as usual. A path that anybody may send
// must not stop a server.
func TestObserversOfRequestsWithoutAnOrg(t *testing.T) {
	for _, path := range []string{"/", "/nowhere/v2/mine", "/off/v2/mine", "/acme/v9/mine", "/acme//v2", "/ACME/v2/mine"} {
		g, seen := guard(), false
		g.Observe = func(ctx context.Context, e auth.Event) {
			tenant := auth.TenantFrom(ctx)
			if seen = true; tenant.Org.Code != "" || e.Org != "" || tenant.Settings().Brand.Faults != "service" {
				t.Errorf("%s: of %q, and an event of %q", path, tenant.Org.Code, e.Org)
			}
			_ = tenant.URL()
			bound, cancel := tenant.Bound(ctx)
			defer cancel()
			if _, err := tenant.Account(bound, "ann"); !errors.Is(err, auth.ErrNotFound) {
				t.Errorf("%s: an account, %v", path, err)
			}
		}
		if do(g.Mux(), "GET", path); !seen {
			t.Errorf("%s: not observed", path)
		}
	}
}

// TestAnEventExplainsItsDecision reads the chain that decided from the event alone.
func TestAnEventExplainsItsDecision(t *testing.T) {
	const other = "5b0000000000000000000002"
	var last auth.Event
	g := guard()
	g.Mechanisms = []auth.Mechanism{authtest.As(auth.Principal{
		Account: "ann", Scope: compiled("object.read.c_note."+id, "admin.read"),
	})}
	g.Observe = func(_ context.Context, e auth.Event) { last = e }
	mux := g.Mux()
	mux.Handle("GET /notes/{id}", auth.Allow("object.read.c_note.{id}"), whoami)
	mux.Handle("GET /admin", auth.Allow("admin.read"), whoami)
	mux.Handle("GET /me", auth.Authenticated, whoami)
	for _, test := range []struct {
		name, path, route, need, chain string
		allowed                        bool
	}{
		{"a chain allows", "/notes/" + id, "GET /notes/{id}", "object.read.c_note." + id, "object.read.c_note." + id, true},
		{"another chain allows", "/admin", "GET /admin", "admin.read", "admin.read", true},
		{"a chain comes near", "/notes/" + other, "GET /notes/{id}", "object.read.c_note." + other, "object.read.c_note." + id, false},
		{"the route needs no operation", "/me", "GET /me", "", "", true},
		{"the path names nothing", "/notes/a.b", "GET /notes/{id}", "", "", false},
		{"no route", "/nosuch", "", "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			do(mux, "GET", "/acme/v2"+test.path)
			reason := last.Scope.Explain(last.Need)
			need := ""
			if last.Need.Valid() {
				need = last.Need.String()
			}
			if last.Route != test.route || need != test.need || last.Allowed != test.allowed ||
				reason.Chain != test.chain || test.chain != "" && reason.Allowed != test.allowed {
				t.Errorf("%+v because of %+v", last, reason)
			}
		})
	}
}

func TestObserveSeesEachDecision(t *testing.T) {
	var events []auth.Event
	g := guard()
	g.Observe = func(ctx context.Context, e auth.Event) {
		if tenant := auth.TenantFrom(ctx); tenant == nil {
			t.Error("an observer without the request's context")
		} else if tenant.Org.Code != string(e.Org) || tenant.Settings().Brand.Faults == "" || e.Org != "" && tenant.URL() == "" {
			t.Errorf("of org %q, and an event of %q", tenant.Org.Code, e.Org)
		}
		events = append(events, e)
	}
	mux := g.Mux()
	mux.Handle("GET /mine", auth.Authenticated, whoami)
	mux.HandleFunc("GET /gone", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) { auth.Fail(w, r, auth.ErrNotFound) })
	mux.HandleFunc("GET /open", auth.Public, func(w http.ResponseWriter, r *http.Request) { auth.Fail(w, r, auth.ErrForbidden) })
	mux.Handle("GET /twice", auth.Public, g.Require(auth.Authenticated)(whoami))
	do(mux, "GET", "/acme/v2/mine", "Letter-Wax", "ann")
	do(mux, "GET", "/acme/v2/mine", "Letter-Wax", "forged")
	do(mux, "GET", "/nowhere/v2/mine")
	do(mux, "GET", "/acme/v2/gone", "Letter-Wax", "ann")
	do(mux, "GET", "/acme/v2/open")
	do(mux, "GET", "/acme/v2/twice")
	do(mux, "GET", "/acme/v2/nosuch")
	want := []auth.Event{
		{Route: "GET /mine", Allowed: true, Org: "acme", Account: "ann", Mechanism: "Wax"},
		{Route: "GET /mine", Detail: "accessDenied.invalidCredentials", Org: "acme", Claimed: auth.Claimed{Mechanism: "Wax"}},
		{Detail: "notFound.env"},
		{Route: "GET /gone", Allowed: true, Org: "acme", Account: "ann", Mechanism: "Wax"},
		{Route: "GET /gone", Detail: "notFound.unspecified", Org: "acme", Account: "ann", Mechanism: "Wax", Allowed: true, Handler: true},
		{Route: "GET /open", Allowed: true, Org: "acme"},
		{Route: "GET /open", Detail: "accessDenied.unspecified", Org: "acme", Allowed: true, Handler: true},
		{Route: "GET /twice", Allowed: true, Org: "acme"},
		{Route: "GET /twice", Detail: "accessDenied.noCredentialsSupplied", Org: "acme"}, // by the inner Require
		{Detail: "notFound.unspecified", Org: "acme"},                                    // no route, so no handler
	}
	if diff := cmp.Diff(want, events, cmpopts.IgnoreFields(auth.Event{}, "Took", "Err", "Need", "Scope", "By", "Address", "Agent", "Time")); diff != "" {
		t.Error(diff)
	}
	for _, e := range events {
		if e.Took <= 0 || (e.Detail == "") != (e.Err == nil) {
			t.Errorf("event %+v", e)
		}
	}
}

func TestAGuardIsSharedByGoroutines(t *testing.T) {
	mux := guard().Mux()
	mux.Handle("GET /mine", auth.Authenticated, whoami)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if w := do(mux, "GET", "/acme/v2/mine", "Letter-Wax", "ann"); w.Code != 200 {
					t.Errorf("got %d", w.Code)
				}
			}
		})
	}
	wg.Wait()
}
