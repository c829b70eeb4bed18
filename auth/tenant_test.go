package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// tenantOf returns the tenant acme of a Guard, as a handler gets it.
func tenantOf(t testing.TB, g *auth.Guard) (tenant *auth.Tenant) {
	t.Helper()
	mux := g.Mux()
	mux.HandleFunc("GET /", auth.Public, func(_ http.ResponseWriter, r *http.Request) { tenant = auth.TenantFrom(r.Context()) })
	if rec := do(mux, "GET", "/acme/v2"); rec.Code != 200 {
		t.Fatalf("status %d", rec.Code)
	}
	return tenant
}

// folding is a directory whose database ignores case when it compares text, as some do by
// default. It stores lower case.
type folding struct{ auth.Directory }

func (f folding) App(ctx context.Context, clientKey string) (*auth.App, error) {
	return f.Directory.App(ctx, strings.ToLower(clientKey))
}

func (f folding) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	return f.Directory.Account(ctx, org, strings.ToLower(id))
}

func (f folding) Roles(ctx context.Context, org auth.OrgKey, names []string) ([]auth.Role, error) {
	lower := []string{"unasked"} // such a database may find more than requested
	for _, name := range names {
		lower = append(lower, strings.ToLower(name))
	}
	return f.Directory.Roles(ctx, org, lower)
}

func foldingGuard() *auth.Guard {
	d := directory()
	for _, name := range []string{"editor", "reader", "unasked"} {
		d.PutRole("acme", auth.Role{Name: name, Scope: []string{"object.read.c_" + name}})
	}
	g := guard()
	g.Directory = folding{d}
	return g
}

func TestM11NamesAreExact(t *testing.T) {
	tenant := tenantOf(t, foldingGuard())
	for key, found := range map[string]bool{"acmekey": true, "ACMEKEY": false, "AcmeKey": false, "globexkey": false} {
		app, err := tenant.App(t.Context(), key)
		if found != (err == nil) || !found && (app != nil || !errors.Is(err, auth.ErrNotFound)) {
			t.Errorf("M11 app %s: %v, %v", key, app, err)
		}
	}
	for name, found := range map[string]bool{"ann": true, "ANN": false, "Ann": false, "off": false, "gus": false} {
		account, err := tenant.Account(t.Context(), name)
		if found != (err == nil) || !found && (account != nil || !errors.Is(err, auth.ErrNotFound)) {
			t.Errorf("M11 account %s: %v, %v", name, account, err)
		}
	}
}

func TestM11RolesAreExact(t *testing.T) {
	tenant := tenantOf(t, foldingGuard())
	for _, c := range []struct {
		name        string
		asked, want []string
	}{
		{"as they are written", []string{"editor", "reader"}, []string{"editor", "reader"}},
		{"M11 in another case", []string{"EDITOR"}, nil},
		{"M11 one in another case", []string{"Editor", "reader"}, []string{"reader"}},
		{"M11 in two cases", []string{"EDITOR", "editor"}, []string{"editor", "editor"}},
		{"none", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			roles, err := tenant.Roles(t.Context(), c.asked)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range roles {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			set, err := tenant.RoleScope(t.Context(), c.asked)
			if err != nil || set.Allows(scope.Object(scope.Read, "c_unasked", "", "")) {
				t.Errorf("the scope of a role that was not asked for: %v", err)
			}
		})
	}
}

// sharing is a directory that returns the same slice of roles to every caller.
type sharing struct {
	auth.Directory
	roles []auth.Role
}

func (s sharing) Roles(context.Context, auth.OrgKey, []string) ([]auth.Role, error) {
	return s.roles, nil
}

// What a directory returns is shared, so unrequested roles are left out of a copy.
func TestRolesLeavesTheDirectorysSliceAsItIs(t *testing.T) {
	d := sharing{directory(), []auth.Role{{Name: "other"}, {Name: "editor"}, {Name: "another"}, {Name: "reader"}}}
	g := guard()
	g.Directory = d
	roles, err := tenantOf(t, g).Roles(t.Context(), []string{"editor", "reader"})
	if err != nil || len(roles) != 2 {
		t.Errorf("got %v, %v", roles, err)
	}
	if diff := cmp.Diff([]auth.Role{{Name: "other"}, {Name: "editor"}, {Name: "another"}, {Name: "reader"}}, d.roles); diff != "" {
		t.Error(diff)
	}
}

// notFound is a directory that returns ErrNotFound for a list of roles.
type notFound struct{ auth.Directory }

func (notFound) Roles(context.Context, auth.OrgKey, []string) ([]auth.Role, error) {
	return nil, auth.ErrNotFound
}

func TestRolesThatAreNotFoundAreUnavailable(t *testing.T) {
	g := guard()
	g.Directory = notFound{directory()}
	_, err := tenantOf(t, g).Roles(t.Context(), []string{"editor"})
	if !errors.Is(err, auth.ErrUnavailable) || errors.Is(err, auth.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestRecordedIsTheSetOfItsChains(t *testing.T) {
	tenant := tenantOf(t, guard())
	read, update := scope.Object(scope.Read, "c_note", "", ""), scope.Object(scope.Update, "c_note", "", "")
	for _, c := range []struct {
		name         string
		chains       []string
		read, update bool
	}{
		{"none", nil, false, false},
		{"an empty list", []string{}, false, false},
		{"one", []string{"object.read"}, true, false},
		{"the same again", []string{"object.read"}, true, false},
		{"more", []string{"object.read", "object.update"}, true, true},
		{"fewer", []string{"object.update"}, false, true},
		{"one that does not parse is dropped", []string{"object.read", "object..x"}, true, false},
		{"one of an unknown root", []string{"report.run"}, false, false},
		{"everything", []string{""}, true, true},
		{"more than a list may hold", make([]string, 1025), false, false},
		{"none again", nil, false, false},
	} {
		for range 2 { // compiled, and then cached
			set := tenant.CompileRecord("credential", "key", c.chains)
			if set.Allows(read) != c.read || set.Allows(update) != c.update {
				t.Errorf("%s: read %v, update %v", c.name, set.Allows(read), set.Allows(update))
			}
		}
	}
}

func TestRecordedKeepsACopyOfTheChains(t *testing.T) {
	tenant := tenantOf(t, guard())
	chains := []string{"object.read"}
	tenant.CompileRecord("role", "reader", chains)
	chains[0] = "object.update"
	if set := tenant.CompileRecord("role", "reader", chains); !set.Allows(scope.Object(scope.Update, "c_note", "", "")) {
		t.Error("chains that were altered in place are not seen")
	}
}

// A Set knows the source of its chains, so that two records of one name stay different.
func TestRecordedTellsRecordsApart(t *testing.T) {
	tenant := tenantOf(t, guard())
	chains := []string{"object.read"}
	for range 2 {
		for _, source := range [][2]string{{"role", "x"}, {"credential", "x"}, {"role", "y"}, {"role x", "y"}, {"role", "x y"}} {
			set := tenant.CompileRecord(source[0], source[1], chains)
			got := set.Explain(scope.Object(scope.Read, "c_note", "", "")).Source
			if want := source[0] + " " + source[1]; got != want {
				t.Errorf("the source is %q, want %q", got, want)
			}
		}
	}
}

func TestRecordedCompilesOnce(t *testing.T) {
	tenant := tenantOf(t, guard())
	chains := []string{"object.read", "view"}
	tenant.CompileRecord("role", "reader", chains)
	if n := testing.AllocsPerRun(100, func() { tenant.CompileRecord("role", "reader", chains) }); n != 0 {
		t.Errorf("%v allocations for chains that are the same", n)
	}
}

// The observer of a request gets each chain that was dropped for it, also if the rest was
// compiled for another request.
func TestRecordedReportsWhatItDrops(t *testing.T) {
	g := guard()
	var reported []error
	g.Observe = func(_ context.Context, e auth.Event) { reported = append(reported, e.Err) }
	mux := g.Mux()
	mux.HandleFunc("GET /", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		tenant := auth.TenantFrom(r.Context())
		tenant.CompileRecord("credential", "good", []string{"object.read"})
		tenant.CompileRecord("credential", "key", []string{"object..x"})
		tenant.CompileRecord("role", "broken", []string{"objects"}) // an unknown root is reported only for what is granted
		auth.Fail(w, r, auth.ErrForbidden)
	})
	for range 2 {
		reported = nil
		do(mux, "GET", "/acme/v2")
		if len(reported) != 2 || reported[0] != nil || reported[1] == nil {
			t.Fatalf("reported %v", reported)
		}
		text := reported[1].Error()
		if !strings.Contains(text, "auth: credential key: ") || strings.Contains(text, "good") || strings.Contains(text, "broken") {
			t.Errorf("reported %s", text)
		}
	}
}

func TestVetSaysWhereAndWhat(t *testing.T) {
	tenant := tenantOf(t, guard())
	for _, c := range []struct {
		name   string
		path   string
		chains []string
		want   []string // the path and the beginning of the reason of each fault
	}{
		{"nothing is wrong with none", "scope", nil, nil},
		{"nothing is wrong with everything", "scope", []string{"", "*", "object.read"}, nil},
		{"one does not parse", "scope", []string{"object.read", "object.raed"}, []string{"scope[1] segment 2: got \"raed\""}},
		{"an unknown root", "scope", []string{"report.run"}, []string{"scope[0] segment 1: got \"report\""}},
		{"one can match nothing", "scope", []string{"object.create.c_note." + id}, []string{"scope[0] segment 4: got \"" + id + "\""}},
		{"several, below another path", "role.chains", []string{"objects", "view", "object..x"},
			[]string{"role.chains[0] segment 1: got \"objects\"", "role.chains[2] segment 2: got \"\""}},
		{"without a path", "", []string{"objects"}, []string{"[0] segment 1: got \"objects\""}},
		{"more than a list may hold", "scope", make([]string, 1025), []string{"scope[1024] segment 1: got \"\", expected at most 1024 chains"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := tenant.Vet(c.path, c.chains)
			if (err == nil) != (c.want == nil) {
				t.Fatalf("got %v", err)
			}
			got := scopeFaults(t, err)
			for i, want := range c.want {
				if i >= len(got) || !strings.HasPrefix(got[i], want) {
					t.Errorf("fault %d: %q, want %q", i, got, want)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%d faults: %q", len(got), got)
			}
		})
	}
}

// scopeFaults lists path and reason of each child of an error of Vet.
func scopeFaults(t testing.TB, err error) (list []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	fault, ok := errors.AsType[*auth.Error](err)
	if !ok || fault.Detail != auth.DetailInvalidScope || fault.Fault().Status != 400 {
		t.Fatalf("got %v", err)
	}
	for _, child := range fault.Faults {
		if child.Detail != auth.DetailInvalidScope {
			t.Errorf("a fault below it: %v", child)
		}
		list = append(list, child.Path+" "+child.Reason)
	}
	return list
}

// A refusal names at most 32 chains, which limits its size.
func TestVetNamesUpTo32Chains(t *testing.T) {
	tenant := tenantOf(t, guard())
	for _, n := range []int{31, 32, 33, 1024} {
		chains := make([]string, n)
		for i := range chains {
			chains[i] = fmt.Sprintf("object.raed.c_%d", i)
		}
		got := scopeFaults(t, tenant.Vet("scope", chains))
		if len(got) != min(n, 32) || !strings.HasPrefix(got[len(got)-1], fmt.Sprintf("scope[%d] ", min(n, 32)-1)) {
			t.Errorf("%d chains: %d faults", n, len(got))
		}
	}
}

func TestVetReachesTheClient(t *testing.T) {
	mux := guard().Mux()
	mux.HandleFunc("POST /roles", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		auth.Fail(w, r, auth.TenantFrom(r.Context()).Vet("scope", []string{"deployment.create"}))
	})
	rec := do(mux, "POST", "/acme/v2/roles")
	var fault *envelope.Fault
	if err := envelope.Decode(rec.Body, 1<<12, new(envelope.Result[string])); !errors.As(err, &fault) {
		t.Fatal(err)
	}
	if rec.Code != 400 || fault.Detail != auth.DetailInvalidScope || len(fault.Faults) != 1 ||
		fault.Faults[0].Path != "scope[0]" || !strings.Contains(fault.Faults[0].Reason, "expected") {
		t.Errorf("got %d %+v", rec.Code, fault)
	}
}

func TestTokensFromIsRoundedUp(t *testing.T) {
	at := func(seconds int, rest time.Duration) time.Time {
		return time.Date(2026, 1, 2, 3, 4, seconds, 0, time.UTC).Add(rest)
	}
	for _, c := range []struct {
		name   string
		former time.Time
		now    time.Time
		stale  time.Duration
		want   time.Time
	}{
		{"a whole second", time.Time{}, at(5, 0), 2 * time.Second, at(8, 0)},
		{"a moment later", time.Time{}, at(5, 1), 2 * time.Second, at(9, 0)},
		{"a moment earlier", time.Time{}, at(5, -1), 2 * time.Second, at(8, 0)},
		{"without a staleness: that of Cached", time.Time{}, at(5, 0), 0, at(8, 0)},
		{"a negative one: that of Cached", time.Time{}, at(5, 0), -time.Hour, at(8, 0)},
		{"a part of a second", time.Time{}, at(5, 0), time.Millisecond, at(7, 0)},
		{"parts that add up to a second", time.Time{}, at(5, 600*time.Millisecond), 400 * time.Millisecond, at(7, 0)},
		{"a minute", time.Time{}, at(5, 0), time.Minute, at(66, 0)},
		{"in another zone", time.Time{}, at(5, 1).In(time.FixedZone("", 5*3600+30*60+1)), 2 * time.Second, at(9, 0)},
		{"a former one that is over", at(4, 0), at(5, 0), 0, at(8, 0)},
		{"a former one just before", at(7, 0), at(5, 0), 0, at(8, 0)},
		{"the same as before: tokens have it as iat", at(8, 0), at(5, 0), 0, at(9, 0)},
		{"a former one that is further ahead", at(30, 0), at(5, 0), 0, at(31, 0)},
		{"one that is no whole second: tokens have the next as iat", at(7, 1), at(5, 0), 0, at(9, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := auth.Cached(nil, c.stale).TokensFrom(c.former, c.now)
			if !got.Equal(c.want) || got.Nanosecond() != 0 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
