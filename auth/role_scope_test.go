package auth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// roled admits every request as a principal with the scope of the roles in the header
// Letter-Roles.
type roled struct{ scoped }

func (roled) Name() string { return "roled" }

func (roled) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	set, err := t.RoleScope(ctx, strings.Fields(r.Header.Get("Letter-Roles")))
	return auth.Principal{Org: auth.OrgKey(t.Org.Code), Account: "ann", Mechanism: "roled", Scope: set, Granted: set}, err
}

func TestRoleScope(t *testing.T) {
	d := directory()
	d.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.c_note"}})
	d.PutRole("acme", auth.Role{Name: "writer", Scope: []string{"object.update.c_note"}})
	d.PutRole("acme", auth.Role{Name: "empty"})
	d.PutRole("acme", auth.Role{Name: "broken", Scope: []string{"object.read.c_note", "object..x"}})
	d.PutRole("globex", auth.Role{Name: "foreign", Scope: []string{"*"}})
	g := guard()
	g.Directory, g.Mechanisms = d, []auth.Mechanism{roled{}}
	var dropped error
	g.Observe = func(_ context.Context, e auth.Event) { dropped = e.Err }
	mux := g.Mux()
	mux.Handle("GET /notes", auth.Allow("object.read.c_note"), whoami)
	mux.Handle("PATCH /notes", auth.Allow("object.update.c_note"), whoami)

	for _, c := range []struct {
		name, roles, method string
		status              int
		dropped             string
	}{
		{"no role", "", "GET", 403, ""},
		{"a role that permits it", "reader", "GET", 200, ""},
		{"a role that does not", "reader", "PATCH", 403, ""},
		{"two roles", "reader writer", "PATCH", 200, ""},
		{"a role without chains", "empty", "GET", 403, ""},
		{"an unknown role adds nothing", "nobody reader", "GET", 200, ""},
		{"a role of another org", "foreign", "GET", 403, ""},
		{"a chain that does not parse is dropped, the others hold", "broken", "GET", 200, "role broken"},
		{"and permits nothing", "broken", "PATCH", 403, "role broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 { // compiled, and then cached
				dropped = nil
				if rec := do(mux, c.method, "/acme/v2/notes", "Letter-Roles", c.roles); rec.Code != c.status {
					t.Errorf("status %d, want %d: %s", rec.Code, c.status, rec.Body)
				}
				if c.dropped != "" && (dropped == nil || !strings.Contains(dropped.Error(), c.dropped)) {
					t.Errorf("the observer was told %v, want %q", dropped, c.dropped)
				}
			}
		})
	}

	d.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.c_letter"}})
	if rec := do(mux, "GET", "/acme/v2/notes", "Letter-Roles", "reader"); rec.Code != 403 {
		t.Errorf("a role that has changed since: status %d, want 403", rec.Code)
	}
}

// roleless is a directory whose roles cannot be read.
type roleless struct{ auth.Directory }

func (roleless) Roles(context.Context, auth.OrgKey, []string) ([]auth.Role, error) {
	return nil, errors.New("connection refused")
}

func TestRolesThatCannotBeReadRefuse(t *testing.T) {
	g := guard()
	g.Directory, g.Mechanisms = roleless{directory()}, []auth.Mechanism{roled{}}
	mux := g.Mux()
	mux.Handle("GET /me", auth.Authenticated, whoami)
	if rec := do(mux, "GET", "/acme/v2/me", "Letter-Roles", "reader"); rec.Code != 503 {
		t.Errorf("status %d, want 503", rec.Code)
	}
}

func TestRoleScopeOfManyRequestsAtOnce(t *testing.T) {
	d := directory()
	names := strings.Fields("a b c d e f g h")
	for _, name := range names {
		d.PutRole("acme", auth.Role{Name: name, Scope: []string{"object.read." + name}})
	}
	g := guard()
	g.Directory, g.Mechanisms = d, []auth.Mechanism{roled{}}
	mux := g.Mux()
	mux.Handle("GET /things/{name}", auth.Allow("object.read.{name}"), whoami)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			name := names[i%len(names)]
			if rec := do(mux, "GET", "/acme/v2/things/"+name, "Letter-Roles", name); rec.Code != 200 {
				t.Errorf("%s: status %d", name, rec.Code)
			}
		})
	}
	wg.Wait()
}

// A Tenant parses chains in the grammar of its Guard.
func TestTenantHasTheGuardsGrammar(t *testing.T) {
	g := guard()
	g.Scopes = &scope.Grammar{Identifier: func(segment string) bool { return strings.HasPrefix(segment, "n-") }}
	mux := g.Mux()
	mux.HandleFunc("GET /", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		tenant := auth.TenantFrom(r.Context())
		set, err := tenant.Compile("test", []string{"object.read.c_note.n-1"})
		if err != nil || !set.Allows(g.Scopes.Object(scope.Read, "c_note", "n-1", "")) {
			t.Errorf("Compile: %v, %v", set, err)
		}
		if err := tenant.Vet("scope", []string{"object.read.c_note.n-1"}); err != nil {
			t.Errorf("Vet: %v", err)
		}
		if err := tenant.Vet("scope", []string{"nothing.known"}); err == nil {
			t.Error("Vet took an unknown root")
		}
	})
	if rec := do(mux, "GET", "/acme/v2"); rec.Code != 200 {
		t.Errorf("status %d", rec.Code)
	}
}
