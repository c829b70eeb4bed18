package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// Apps, accounts, roles and principals belong to the key of an org.
func TestAnOrgIsItsKey(t *testing.T) {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "acme", ID: "o-1"})
	d.PutAccount(auth.Account{ID: "ann", Org: "o-1"})
	d.PutAccount(auth.Account{ID: "eve", Org: "acme"}) // of an org whose key is the code of this one
	d.PutApp(auth.App{ClientKey: "mine", Org: "o-1"})
	d.PutApp(auth.App{ClientKey: "eves", Org: "acme"})
	d.PutRole("o-1", auth.Role{Name: "reader", Scope: []string{"object.read"}})
	d.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"*"}})
	var observed string
	g := &auth.Guard{
		Roles:   auth.RolesDoNotLimit,
		BaseURL: "https://api.example.test", Directory: d, Mechanisms: []auth.Mechanism{inKey{letter{name: "Wax", presence: auth.Header}}},
		Observe: func(_ context.Context, e auth.Event) { observed = string(e.Org) },
	}
	mux := g.Mux()
	mux.HandleFunc("GET /all", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		tenant := auth.TenantFrom(r.Context())
		_, mine := tenant.App(r.Context(), "mine")
		_, eves := tenant.App(r.Context(), "eves")
		roles, err := tenant.RoleScope(r.Context(), []string{"reader"})
		reads, all := scope.Object(scope.Read, "c_note", "", ""), scope.Object(scope.Delete, "c_note", "", "")
		auth.Reply(w, r, envelope.Result[[]any]{Data: []any{auth.From(r.Context()).Org, tenant.URL(), mine == nil,
			errors.Is(eves, auth.ErrNotFound), err == nil, roles.Allows(reads), roles.Allows(all)}})
	})
	w := do(mux, "GET", "/acme/v2/all", "Letter-Wax", "ann")
	if want := `["o-1","https://api.example.test/acme/v2",true,true,true,true,false]`; !strings.Contains(w.Body.String(), want) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if observed != "o-1" {
		t.Errorf("observed org %q", observed)
	}
	if w := do(mux, "GET", "/acme/v2/all", "Letter-Wax", "eve"); w.Code != 401 {
		t.Errorf("an account of another key: %d", w.Code)
	}
}

// inKey is letter with the org's key in its principal.
type inKey struct{ letter }

func (m inKey) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	p, err := m.letter.Authenticate(ctx, r, t)
	p.Org = t.Org.Key()
	return p, err
}

func TestKeysOfOrgsHaveOneShape(t *testing.T) {
	for id, status := range map[string]int{
		"":                                     401,
		"0b5c2f0e-7d1c-4f3b-9a55-1d2e3f405162": 401,
		"7":                                    401,
		strings.Repeat("a", 64):                401,
		strings.Repeat("a", 65):                500,
		"a b":                                  500,
		"a;b":                                  500,
		"a=b":                                  500,
		"é":                                    500,
	} {
		d := new(auth.Memory)
		d.PutOrg(auth.Org{Code: "acme", ID: id})
		g := guard()
		g.Directory = d
		mux := g.Mux()
		mux.Handle("GET /me", auth.Authenticated, whoami)
		if w := do(mux, "GET", "/acme/v2/me"); w.Code != status {
			t.Errorf("ID %q: %d, want %d", id, w.Code, status)
		}
	}
}

// An org without an ID has its code as key. That may be the ID of another org, which had this
// code before.
func TestOrgsWithAndWithoutIDs(t *testing.T) {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "acme"})
	d.PutOrg(auth.Org{Code: "globex"})
	d.PutOrg(auth.Org{Code: "moved", FormerCodes: []string{"home"}})
	g := guard()
	g.Directory = d
	mux := g.Mux()
	mux.Handle("GET /me", auth.Public, whoami)
	status := func(what, org string, want int) {
		t.Helper()
		if w := do(mux, "GET", "/"+org+"/v2/me"); w.Code != want {
			t.Errorf("%s: %s has %d, want %d", what, org, w.Code, want)
		}
	}
	status("no org has an ID", "acme", 200)
	status("no org has an ID", "globex", 200)
	status("a former code, and so a former key", "moved", 500)

	d.PutOrg(auth.Org{Code: "acme", ID: "acme"})
	status("the first ID", "acme", 200)
	d.PutOrg(auth.Org{Code: "new", ID: "acme", FormerCodes: []string{"acme"}})
	d.PutOrg(auth.Org{Code: "acme"})
	status("another code", "new", 200)
	status("the former code, of an org without an ID", "acme", 500)
	status("an org that still has no ID", "globex", 200)
	d.PutOrg(auth.Org{Code: "other", ID: "globex"})
	status("whose ID is the code of an org without one", "other", 200)
	status("whose code is another's ID", "globex", 500)
	d.PutOrg(auth.Org{Code: "third", ID: "NOT-A-CODE"})
	status("an ID that is no code", "third", 200)
	status("another's ID", "third", 200)
	d.PutOrg(auth.Org{Code: "acme", ID: "another"})
	status("the former code, of an org with an ID", "acme", 200)
}

func TestAudiencesOfATenant(t *testing.T) {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "new", ID: "o-1", FormerCodes: []string{"old", "older"}})
	g := guard()
	g.Directory, g.Audiences = d, []string{"v1"}
	g.Versions = []string{"v2", "v3"}
	mux := g.Mux()
	mux.HandleFunc("GET /takes", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		if !auth.TenantFrom(r.Context()).Takes(r.Header.Get("Audience")) {
			auth.Fail(w, r, auth.ErrForbidden)
		}
	})
	const base = "https://api.example.test"
	for audience, status := range map[string]int{
		base + "/new/v2":                     200,
		base + "/new/v1":                     200,
		base + "/old/v2":                     200,
		base + "/older/v1":                   200,
		base + "/new/v3":                     403,
		base + "/old/v3":                     403,
		base + "/other/v2":                   403,
		base + "/o-1/v2":                     403,
		base + "/new/v2/":                    403,
		base + "/new":                        403,
		base + "/":                           403,
		base:                                 403,
		"":                                   403,
		"https://api.example.test.evil/v2":   403,
		"http://api.example.test/new/v2":     403,
		"https://api.example.testnew/new/v2": 403,
	} {
		if w := do(mux, "GET", "/new/v2/takes", "Audience", audience); w.Code != status {
			t.Errorf("%q: %d, want %d", audience, w.Code, status)
		}
	}
}

// A look-up that fails is not an org that does not exist.
func TestResolveSeparatesUnknownFromUnavailable(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"unknown":                 {fmt.Errorf("no such host: %w", auth.ErrNotFound), 404, "service.notFound.unspecified"},
		"unavailable":             {errors.New("connection refused"), 503, "service.error.storeUnavailable"},
		"unavailable and unknown": {errors.Join(auth.ErrNotFound, auth.ErrUnavailable), 503, "service.error.storeUnavailable"},
	} {
		g := guard()
		g.Resolve = func(context.Context, *http.Request) (auth.Address, error) {
			return auth.Address{Org: "acme", Version: "v2", Rest: "/me"}, c.err
		}
		mux := g.Mux()
		mux.Handle("GET /me", auth.Public, whoami)
		if w := do(mux, "GET", "/me"); w.Code != c.status || errCode(t, w.Body.Bytes()) != c.code {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestResolveHasATimeLimit(t *testing.T) {
	g := guard()
	g.Timeout = 10 * time.Millisecond
	g.Resolve = func(ctx context.Context, _ *http.Request) (auth.Address, error) {
		<-ctx.Done()
		return auth.Address{}, ctx.Err()
	}
	if w := do(g.Mux(), "GET", "/me"); w.Code != 503 {
		t.Errorf("got %d", w.Code)
	}
}

// bindable remembers its settings, and refuses those of another brand.
type bindable struct {
	letter
	to *auth.Settings
}

func (b *bindable) Bind(s *auth.Settings) error {
	if b.to != nil && !b.to.Same(s) {
		return errors.New("bound elsewhere")
	}
	b.to = s
	return nil
}

func TestMechanismsGetTheGuardsSettings(t *testing.T) {
	grammar, now := &scope.Grammar{}, func() time.Time { return time.Unix(1, 0) }
	m := &bindable{letter: letter{name: "Wax", presence: auth.Header}}
	g := guard()
	g.Mechanisms, g.Scopes, g.Now, g.Brand.Header = []auth.Mechanism{m}, grammar, now, "Acme-"
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	if m.to != g.Settings() || m.to.Scopes != grammar || m.to.Brand != (auth.Brand{Header: "Acme-", Claims: "service/", Faults: "service"}) {
		t.Errorf("settings %+v", m.to)
	}
	mux := g.Mux()
	mux.HandleFunc("GET /me", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		tenant := auth.TenantFrom(r.Context())
		if tenant.Settings() != m.to || !tenant.Now().Equal(time.Unix(1, 0)) {
			t.Error("the tenant has other settings")
		}
	})
	do(mux, "GET", "/acme/v2/me")

	second := guard()
	second.Mechanisms = g.Mechanisms
	if err := second.Validate(); err == nil || !strings.Contains(err.Error(), "bound elsewhere") {
		t.Errorf("a second Guard: %v", err)
	}
	same := guard()
	same.Mechanisms, same.Scopes, same.Now, same.Brand.Header = g.Mechanisms, grammar, now, "Acme-"
	if err := same.Validate(); err != nil {
		t.Errorf("a Guard of the same settings: %v", err)
	}
}
