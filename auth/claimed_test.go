package auth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// claiming is a letter that says whom a rejected one names. Its names are those of letter.
type claiming struct{ letter }

func (m claiming) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	p, err := m.letter.Authenticate(ctx, r, t)
	if err != nil {
		t.Claim(auth.Claimed{App: r.Header.Get("App"), Account: r.Header.Get("Account")})
	}
	return p, err
}

// observed returns the events of one request.
func observed(t *testing.T, register func(*auth.Mux), header ...string) (events []auth.Event) {
	t.Helper()
	g := guard()
	g.Mechanisms = []auth.Mechanism{claiming{letter{name: "Wax", presence: auth.InHeader}}}
	g.Observe = func(_ context.Context, e auth.Event) { events = append(events, e) }
	mux := g.Mux()
	register(mux)
	do(mux, "GET", "/acme/v2/notes", header...)
	return events
}

var onlyNames = cmpopts.IgnoreFields(auth.Event{}, "Took", "Err", "Need", "Scope", "Route", "By", "Address", "Agent", "Time")

func TestA13TheEventOfARejectionNamesWhomTheCredentialNames(t *testing.T) {
	for name, test := range map[string]struct {
		app, account, wantApp, wantAccount string
	}{
		"plain":              {"bank-key", "ann", "bank-key", "ann"},
		"nothing":            {"", "", "", ""},
		"a line break":       {"bank\n level=ERROR", "a\tb", "bank? level=ERROR", "a?b"},
		"no valid UTF-8":     {"\xff\xfe", "é", "?", "é"},
		"a direction mark":   {"a\u202eb", "a\x1b[2Jb", "a?b", "a?[2Jb"},
		"longer than it may": {strings.Repeat("a", 1<<20), strings.Repeat("é", 100), strings.Repeat("a", 128), strings.Repeat("é", 64)},
		"cut in a character": {"a" + strings.Repeat("é", 100), "", "a" + strings.Repeat("é", 63) + "?", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := observed(t, func(mux *auth.Mux) { mux.Handle("GET /notes", auth.Authenticated, whoami) },
				"Letter-Wax", "forged", "App", test.app, "Account", test.account)
			want := []auth.Event{{Org: "acme", Detail: auth.DetailInvalidCredentials,
				Claimed: auth.Claimed{Mechanism: "Wax", App: test.wantApp, Account: test.wantAccount}}}
			if diff := cmp.Diff(want, got, onlyNames); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAdmittedRequestClaimsNothing(t *testing.T) {
	got := observed(t, func(mux *auth.Mux) { mux.Handle("GET /notes", auth.Authenticated, whoami) }, "Letter-Wax", "ann", "App", "x")
	if len(got) != 1 || got[0].Claimed != (auth.Claimed{}) || got[0].Account != "ann" {
		t.Errorf("%+v", got)
	}
}

func TestAHandlerThatAuthenticatesNamesItsCaller(t *testing.T) {
	bank := auth.Principal{Org: "acme", App: "bank", Account: "ann", Mechanism: "signature"}
	admitted := auth.Event{Org: "acme", Allowed: true}
	identified := auth.Event{Org: "acme", Allowed: true, Handler: true, App: "bank", Account: "ann", Mechanism: "signature"}
	failed := identified
	failed.Detail = auth.DetailConflict
	other := bank
	other.Org = "globex"
	for name, test := range map[string]struct {
		need   auth.Need
		handle func(http.ResponseWriter, *http.Request)
		want   []auth.Event
	}{
		"identified": {auth.Public, func(w http.ResponseWriter, r *http.Request) { auth.Identify(r, bank) }, []auth.Event{admitted, identified}},
		"and failed": {auth.Public, func(w http.ResponseWriter, r *http.Request) {
			auth.Identify(r, bank)
			auth.Fail(w, r, auth.ErrConflict)
		}, []auth.Event{admitted, identified, failed}},
		"of another org": {auth.Public, func(w http.ResponseWriter, r *http.Request) { auth.Identify(r, other) }, []auth.Event{admitted}},
		"claimed": {auth.Public, func(w http.ResponseWriter, r *http.Request) {
			auth.TenantFrom(r.Context()).Claim(auth.Claimed{Mechanism: "session", Account: "ann"})
			auth.Fail(w, r, auth.ErrForbidden)
		}, []auth.Event{admitted, {Org: "acme", Allowed: true, Handler: true, Detail: auth.DetailForbidden,
			Claimed: auth.Claimed{Mechanism: "session", Account: "ann"}}}},
		"below a principal": {auth.Authenticated, func(w http.ResponseWriter, r *http.Request) { auth.Identify(r, bank) },
			[]auth.Event{{Org: "acme", Allowed: true, Account: "ann", Mechanism: "Wax"}}},
	} {
		t.Run(name, func(t *testing.T) {
			from := auth.Principal{}
			got := observed(t, func(mux *auth.Mux) {
				mux.HandleFunc("GET /notes", test.need, func(w http.ResponseWriter, r *http.Request) {
					test.handle(w, r)
					from = auth.From(r.Context())
				})
			}, "Letter-Wax", "ann")
			if diff := cmp.Diff(test.want, got, onlyNames); diff != "" {
				t.Error(diff)
			}
			if from.App != "" {
				t.Errorf("Identify has changed From: %+v", from)
			}
		})
	}
	auth.Identify(new(http.Request), bank) // outside a Guard it does nothing
}

// unknowing is a letter whose principal has many chains with unknown roots.
type unknowing struct {
	letter
	chains []string
}

func (m unknowing) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	p, err := m.letter.Authenticate(ctx, r, t)
	if err != nil {
		return p, err
	}
	p.Scope, err = t.Compile("token", m.chains)
	return p, err
}

func TestA14UnknownChainsAreNamedUpToThirtyTwo(t *testing.T) {
	m := unknowing{letter{name: "Wax", presence: auth.InHeader}, nil}
	for i := range 700 {
		m.chains = append(m.chains, "unknown"+strings.Repeat("x", i%10)+".a")
	}
	g := guard()
	g.Mechanisms = []auth.Mechanism{m}
	var last error
	g.Observe = func(_ context.Context, e auth.Event) { last = e.Err }
	mux := g.Mux()
	mux.Handle("GET /notes", auth.Authenticated, whoami)
	bytes := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			do(mux, "GET", "/acme/v2/notes", "Letter-Wax", "ann")
		}
	}).AllocedBytesPerOp()
	text := last.Error()
	t.Logf("%d bytes allocated, %d bytes of log", bytes, len(text))
	if strings.Count(text, "unknown root") != 32 || !strings.HasSuffix(text, "668 more chains") || len(text) > 4<<10 {
		t.Errorf("%d bytes: %.200s … %s", len(text), text, text[max(0, len(text)-100):])
	}
	if bytes > 600<<10 {
		t.Errorf("a request allocates %d bytes", bytes)
	}
	var problem *scope.SyntaxError
	if errors.As(last, &problem) {
		t.Error(problem)
	}
}
