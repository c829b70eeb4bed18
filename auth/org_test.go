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
		Roles: auth.RolesDoNotLimit, OrgIDs: true,
		BaseURL: "https://api.example.test", Directory: d, Mechanisms: []auth.Mechanism{inKey{letter{name: "Wax", presence: auth.InHeader}}},
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
		g.Directory, g.OrgIDs = d, id != ""
		mux := g.Mux()
		mux.Handle("GET /me", auth.Authenticated, whoami)
		if w := do(mux, "GET", "/acme/v2/me"); w.Code != status {
			t.Errorf("ID %q: %d, want %d", id, w.Code, status)
		}
	}
}

// An org without an ID has its code as key. That may be the ID of another org, which had this
// code before. So a Guard serves only orgs with an ID, or only orgs without one. One request for
// an org of the wrong kind changes nothing for the others.
func TestOrgsWithAndWithoutIDs(t *testing.T) {
	plain := auth.Org{Code: "acme"}
	known := auth.Org{Code: "acme", ID: "globex"}
	former := auth.Org{Code: "acme", FormerCodes: []string{"home"}}
	renamed := auth.Org{Code: "acme", ID: "7", FormerCodes: []string{"home"}}
	for name, c := range map[string]struct {
		ids   bool
		org   auth.Org
		want  int
		other auth.Org // is served all the time
	}{
		"no org has one":                         {false, plain, 200, auth.Org{Code: "globex"}},
		"one has one":                            {false, known, 500, auth.Org{Code: "globex"}},
		"one has an ID that is no code":          {false, auth.Org{Code: "acme", ID: "NOT-A-CODE"}, 500, auth.Org{Code: "globex"}},
		"a former code, and so a former key":     {false, former, 500, auth.Org{Code: "globex"}},
		"all have one":                           {true, known, 200, auth.Org{Code: "globex", ID: "1"}},
		"its ID is its code":                     {true, auth.Org{Code: "acme", ID: "acme"}, 200, auth.Org{Code: "globex", ID: "1"}},
		"one has none":                           {true, plain, 500, auth.Org{Code: "globex", ID: "1"}},
		"one has none, and its code is an ID":    {true, plain, 500, auth.Org{Code: "globex", ID: "acme"}},
		"one has none, with a former code":       {true, former, 500, auth.Org{Code: "globex", ID: "1"}},
		"a former code of an org with an ID":     {true, renamed, 200, auth.Org{Code: "globex", ID: "1"}},
		"a former code, and the Guard has no ID": {false, renamed, 500, auth.Org{Code: "globex"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := new(auth.Memory)
			d.PutOrg(c.org)
			d.PutOrg(c.other)
			g := guard()
			g.Directory, g.OrgIDs = d, c.ids
			var reported error
			g.Observe = func(_ context.Context, e auth.Event) { reported = e.Err }
			mux := g.Mux()
			mux.Handle("GET /me", auth.Public, whoami)
			for _, request := range []struct {
				code string
				want int
			}{{c.other.Code, 200}, {"acme", c.want}, {c.other.Code, 200}} {
				if w := do(mux, "GET", "/"+request.code+"/v2/me"); w.Code != request.want {
					t.Errorf("%s: got %d, want %d", request.code, w.Code, request.want)
				}
				if (reported != nil) != (request.want == 500) {
					t.Errorf("%s: reported %v", request.code, reported)
				}
			}
		})
	}
}

func TestAudiencesOfATenant(t *testing.T) {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "new", ID: "o-1", FormerCodes: []string{"old", "older"}})
	g := guard()
	g.Directory, g.OrgIDs, g.Audiences = d, true, []string{"v1"}
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
	m := &bindable{letter: letter{name: "Wax", presence: auth.InHeader}}
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

// TestSettingsThatDiffer are those of a Guard that a bound mechanism cannot serve: it would decide by the
// settings of the other.
func TestSettingsThatDiffer(t *testing.T) {
	now := func() time.Time { return time.Unix(1, 0) }
	for name, change := range map[string]func(*auth.Settings){
		"brand":        func(s *auth.Settings) { s.Brand.Claims = "acme/" },
		"scopes":       func(s *auth.Settings) { s.Scopes = &scope.Grammar{} },
		"roles":        func(s *auth.Settings) { s.Roles = auth.RolesDoNotLimit },
		"ceiling":      func(s *auth.Settings) { s.Ceiling = true },
		"clock":        func(s *auth.Settings) { s.Now = now },
		"none of them": func(*auth.Settings) {},
	} {
		one, other := &auth.Settings{Roles: auth.RolesLimit}, &auth.Settings{Roles: auth.RolesLimit}
		change(other)
		if want := name == "none of them"; one.Same(other) != want || other.Same(one) != want {
			t.Errorf("%s: %v and %v, want %v", name, one.Same(other), other.Same(one), want)
		}
	}
}
