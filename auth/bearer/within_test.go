package bearer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

func compile(t testing.TB, chains ...string) scope.Set {
	t.Helper()
	set, err := new(scope.Grammar).Compile("minter", chains...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// tenant returns the tenant acme of a world, as a handler gets it.
func (w *world) tenant(t testing.TB) *auth.Tenant {
	t.Helper()
	var tenant *auth.Tenant
	mux := w.guard.Mux()
	mux.HandleFunc("GET /", auth.Public, func(_ http.ResponseWriter, r *http.Request) { tenant = auth.TenantFrom(r.Context()) })
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2", nil))
	return tenant
}

func TestWithin(t *testing.T) {
	soon := time.Now().Add(time.Minute)
	later := soon.Add(time.Hour)
	ann := auth.Principal{Org: "acme", Account: "ann", Mechanism: "session", Roles: []string{"member"},
		Scope: scope.Unscoped(), Granted: scope.Unscoped(), Authenticated: time.Now()}
	root := ann
	root.Account, root.Roles = "root", []string{"administrator"}
	by := func(p auth.Principal, alter func(*auth.Principal)) auth.Principal {
		p.Mechanism, p.App, p.Expires, p.Authenticated = "bearer", appA, soon, time.Time{}
		alter(&p)
		return p
	}
	signing := func(p auth.Principal, alter func(*auth.Principal)) auth.Principal {
		p.Mechanism, p.App = "signature", appA
		alter(&p)
		return p
	}
	same := func(*auth.Principal) {}
	narrow := func(p *auth.Principal) { p.Granted = compile(t, "object.read.c_note") }
	viewing := func(p *auth.Principal) { narrow(p); *p = p.WithoutScope() }
	bound := func(p *auth.Principal) { p.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }
	full := []string{""}
	const permanent = "permanent" // in the ID of a token that is to be permanent

	tests := []struct {
		name  string
		by    auth.Principal
		admin bool
		mint  token.Claims
		want  []string
	}{
		{"for oneself", ann, false, token.Claims{Subject: "ann", Scope: full}, nil},
		{"for oneself, a role one has", ann, false, token.Claims{Subject: "ann", Roles: []string{"member"}}, nil},
		{"T27 for another", ann, false, token.Claims{Subject: "root"}, []string{"sub", ""}},
		{"T27 with skipAcl", ann, false, token.Claims{Subject: "ann", SkipACL: true}, []string{"skipAcl", ""}},
		{"T27 with bypassCreateAcl", ann, false, token.Claims{Subject: "ann", SkipCreateACL: true}, []string{"bypassCreateAcl", ""}},
		{"T27 with a grant", ann, false, token.Claims{Subject: "ann", Grant: 4}, []string{"grant", ""}},
		{"T27 with a role it lacks", ann, false, token.Claims{Subject: "ann", Roles: []string{"editor"}}, []string{"roles", "editor"}},
		{"T27 everything at once", ann, false, token.Claims{Subject: "root", SkipACL: true, SkipCreateACL: true, Grant: 4, Roles: []string{"editor"}},
			[]string{"sub", "", "skipAcl", "", "bypassCreateAcl", "", "grant", "", "roles", "editor"}},
		{"T27 beyond its scope", by(ann, narrow), false, token.Claims{Subject: "ann", Scope: []string{"object.read", "object.read.c_note." + note}, Expires: soon},
			[]string{"scope", "object.read"}},
		{"T27 everything, with a narrow scope", by(ann, narrow), false, token.Claims{Subject: "ann", Scope: full, Expires: soon}, []string{"scope", "*"}},
		{"within its scope", by(ann, narrow), false, token.Claims{Subject: "ann", Scope: []string{"object.read.c_note." + note}, Expires: soon}, nil},
		{"C13 in a view, beyond what was granted", by(ann, viewing), false, token.Claims{Subject: "ann", Scope: []string{"object.read"}, Expires: soon},
			[]string{"scope", "object.read"}},
		{"an administrator, for another, with everything", root, true,
			token.Claims{Subject: "ann", Scope: full, Roles: []string{"editor"}, Grant: 8, SkipACL: true, SkipCreateACL: true}, nil},
		{"M01 an administrator's narrow token, for another", by(root, narrow), true, token.Claims{Subject: "ann", Expires: soon}, []string{"sub", ""}},
		{"M01 an administrator's token without scope, for another", by(root, func(p *auth.Principal) { p.Granted = scope.Set{} }), true,
			token.Claims{Subject: "ann", Expires: soon}, []string{"sub", ""}},
		{"M01 an administrator's narrow token, with own claims", by(root, narrow), true,
			token.Claims{Subject: "root", Extra: map[string]json.RawMessage{"groups": []byte(`[]`)}, Expires: soon}, []string{"claims", ""}},
		{"M01 an administrator's narrow token, with a level and skips it has", by(root, func(p *auth.Principal) { narrow(p); p.Grant, p.SkipACL = 8, true }), true,
			token.Claims{Subject: "root", Grant: 4, SkipACL: true, Expires: soon}, []string{"skipAcl", "", "grant", ""}},
		{"M01 an administrator's narrow signature, for another app", signing(root, narrow), true,
			token.Claims{Issuer: appB, Subject: "root", Expires: soon}, []string{"app", ""}},
		{"M01 an administrator's narrow session, for another", func() auth.Principal { p := root; narrow(&p); return p }(), true,
			token.Claims{Subject: "ann", Expires: soon}, []string{"sub", ""}},
		{"an administrator's token that may administer, for another", by(root, func(p *auth.Principal) { p.Granted = compile(t, "admin.update", "object.read") }), true,
			token.Claims{Subject: "ann", Scope: []string{"object.read.c_note"}, Expires: soon}, nil},
		{"an administrator's token that may administer, a role with chains", by(root, func(p *auth.Principal) {
			p.Granted = compile(t, "admin.update")
			p.Roles = append(p.Roles, "editor")
		}), true,
			token.Claims{Subject: "ann", Roles: []string{"editor"}, Expires: soon}, []string{"scope", "object.update.c_note"}},
		{"M03 an ordinary signature, for another app", signing(ann, same), false, token.Claims{Issuer: appB, Subject: "ann"}, []string{"app", ""}},
		{"an administrator's signature, for another app", signing(root, same), true, token.Claims{Issuer: appB, Subject: "ann"}, nil},
		{"an administrator's signature, an ephemeral token of a day for another app", signing(root, same), true,
			token.Claims{Issuer: appB, Subject: "ann", Expires: later}, nil},
		{"M03 permanent, by a signature that ends", signing(ann, func(p *auth.Principal) { p.Expires = soon }), false,
			token.Claims{Subject: "ann", ID: permanent}, []string{"expires", ""}},
		{"until the signature ends", signing(ann, func(p *auth.Principal) { p.Expires = soon }), false, token.Claims{Subject: "ann", ID: permanent, Expires: soon}, nil},
		{"M03 permanent, by a signature of one network", signing(ann, bound), false, token.Claims{Subject: "ann", ID: permanent}, []string{"networks", ""}},
		{"M03 ephemeral for an hour, by a signature of one network", signing(ann, bound), false,
			token.Claims{Subject: "ann", Expires: later}, []string{"networks", ""}},
		{"ephemeral for minutes, by a signature of one network", signing(ann, bound), false, token.Claims{Subject: "ann", Expires: soon}, nil},
		{"M07 an ephemeral child of a day", by(ann, func(p *auth.Principal) { p.Expires, p.TokenID = time.Time{}, "jti" }), false,
			token.Claims{Subject: "ann", Expires: later}, []string{"expires", ""}},
		{"an ephemeral child of minutes", by(ann, func(p *auth.Principal) { p.Expires, p.TokenID = time.Time{}, "jti" }), false,
			token.Claims{Subject: "ann", Expires: soon}, nil},
		{"T28 longer than the minter's token", by(ann, same), false, token.Claims{Subject: "ann", Expires: later}, []string{"expires", ""}},
		{"T28 permanent from ephemeral", by(ann, same), false, token.Claims{Subject: "ann", ID: permanent}, []string{"expires", ""}},
		{"T28 permanent from ephemeral without exp", by(ann, func(p *auth.Principal) { p.Expires = time.Time{} }), false, token.Claims{Subject: "ann", ID: permanent}, []string{"expires", ""}},
		{"T27 claims of the embedder's own", ann, false, token.Claims{Subject: "ann", Extra: map[string]json.RawMessage{"groups": []byte(`["admins"]`)}}, []string{"claims", ""}},
		{"claims of the embedder's own, by an administrator", root, true, token.Claims{Subject: "ann", Extra: map[string]json.RawMessage{"groups": []byte(`[]`)}}, nil},
		{"T27 for another app than the token's", by(ann, same), false, token.Claims{Issuer: appB, Subject: "ann", Expires: soon}, []string{"app", ""}},
		{"M03 for another app, by an administrator's token", by(root, same), true, token.Claims{Issuer: appB, Subject: "ann", Expires: soon}, []string{"app", ""}},
		{"permanent from permanent", by(ann, func(p *auth.Principal) { p.Expires, p.TokenID = time.Time{}, "jti" }), false, token.Claims{Subject: "ann", ID: permanent}, nil},
		{"T28 higher grant, for administrators too", by(root, func(p *auth.Principal) { p.Grant = 4 }), true, token.Claims{Subject: "ann", Grant: 5, Expires: soon}, []string{"grant", ""}},
		{"the same grant", by(root, func(p *auth.Principal) { p.Grant = 4 }), true, token.Claims{Subject: "ann", Grant: 4, Expires: soon}, nil},
		{"T28 skips, for administrators too", by(root, same), true, token.Claims{Subject: "ann", SkipACL: true, SkipCreateACL: true, Expires: soon},
			[]string{"skipAcl", "", "bypassCreateAcl", ""}},
		{"T28 roles, for administrators too", by(root, same), true, token.Claims{Subject: "ann", Roles: []string{"editor"}, Expires: soon}, []string{"roles", "editor"}},
		{"T28 a limited-use token mints nothing", by(root, func(p *auth.Principal) { p.Limited = true }), true, token.Claims{Subject: "root", Expires: soon}, []string{"maxUses", ""}},
		{"nobody", auth.Principal{}, true, token.Claims{Subject: "ann"}, []string{"sub", ""}},
		{"nobody of this org", auth.Principal{Org: "acme", Granted: scope.Unscoped()}, true, token.Claims{Subject: "ann"}, []string{"sub", ""}},
		{"a principal of another org", auth.Principal{Org: "globex", Account: "gus", Granted: scope.Unscoped()}, true, token.Claims{Subject: "ann"}, []string{"sub", ""}},
	}
	w := newWorld(t)
	tenant := w.tenant(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wish := bearer.Wish{Claims: test.mint, Permanent: test.mint.ID == permanent}
			wish.ID = ""
			err := bearer.Within(t.Context(), test.by, test.admin, tenant, wish)
			beyond, ok := errors.AsType[*auth.Error](err)
			if err != nil && (!ok || beyond.Detail != auth.DetailDelegation) {
				t.Fatal(err)
			}
			var got []string
			if ok {
				for _, e := range beyond.Faults {
					got = append(got, e.Path, e.Reason)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithinNeedsWhatItNames(t *testing.T) {
	w := newWorld(t)
	tenant := w.tenant(t)
	root := auth.Principal{Org: "acme", Account: "root", Granted: scope.Unscoped(), Authenticated: time.Now()}
	for name, c := range map[string]token.Claims{
		"unknown subject":        {Subject: "nobody"},
		"disabled subject":       {Subject: "off"},
		"subject of another org": {Subject: "gus"},
		"unknown role":           {Subject: "ann", Roles: []string{"emperor"}},
		"app of another org":     {Subject: "ann", Issuer: appG},
		"audience of another":    {Subject: "ann", Audience: "https://api.example.test/globex/v2"},
		"65 roles":               {Subject: "ann", Roles: make([]string, 65)},
	} {
		t.Run(name, func(t *testing.T) {
			err := bearer.Within(t.Context(), root, true, tenant, bearer.Wish{Claims: c})
			var fault *auth.Error
			if !errors.Is(err, auth.ErrNotFound) && !(errors.As(err, &fault) && fault.Detail == auth.DetailOption) {
				t.Errorf("got %v", err)
			}
		})
	}
	var syntax *scope.SyntaxError
	err := bearer.Within(t.Context(), root, true, tenant, bearer.Wish{Claims: token.Claims{Subject: "ann", Scope: []string{"object.raed"}}})
	if !errors.As(err, &syntax) {
		t.Errorf("a chain that does not parse: %v", err)
	}
	// C02b: a chain that can match nothing is refused at minting.
	err = bearer.Within(t.Context(), root, true, tenant, bearer.Wish{Claims: token.Claims{Subject: "ann", Scope: []string{"", "object.create.c_a." + note, "deployment.create"}}})
	var fault *auth.Error
	if !errors.As(err, &fault) || fault.Detail != auth.DetailInvalidScope || len(fault.Faults) != 2 ||
		fault.Faults[0].Path != "scope[1]" || fault.Faults[1].Path != "scope[2]" || fault.Faults[1].Reason == "" {
		t.Errorf("chains that can match nothing: %v", err)
	}
	w.directory.PutAccount(auth.Account{ID: "root", Org: "acme", Disabled: true})
	if err := bearer.Within(t.Context(), root, true, tenant, bearer.Wish{Claims: token.Claims{Subject: "ann"}}); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("a minter that was disabled since: %v", err)
	}
	w.directory.PutAccount(auth.Account{ID: "root", Org: "acme"})
	w.guard.Directory = withoutApps{w.directory}
	if err := bearer.Within(t.Context(), root, true, tenant, bearer.Wish{Claims: token.Claims{Subject: "ann", Issuer: appA}}); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("a directory that does not answer for apps: %v", err)
	}
	w.guard.Directory = broken{w.directory}
	if err := bearer.Within(t.Context(), root, true, tenant, bearer.Wish{Claims: token.Claims{Subject: "ann"}}); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("a directory that does not answer: %v", err)
	}
}

// An account that is no administrator gets the same answer for accounts and roles that exist and
// for those that do not.
func TestWithinTellsNobodyWhatThereIs(t *testing.T) {
	w := newWorld(t)
	tenant := w.tenant(t)
	ann := auth.Principal{Org: "acme", Account: "ann", Mechanism: "session", Granted: compile(t, "object.read"), Authenticated: time.Now()}
	for _, pair := range [][2]token.Claims{
		{{Subject: "root"}, {Subject: "nobody"}},
		{{Subject: "ann", Roles: []string{"editor"}}, {Subject: "ann", Roles: []string{"emperor"}}},
	} {
		var got [2]string
		for i, c := range pair {
			err := bearer.Within(t.Context(), ann, false, tenant, bearer.Wish{Claims: c})
			if beyond, ok := errors.AsType[*auth.Error](err); !ok || beyond.Detail != auth.DetailDelegation {
				t.Fatalf("%+v: %v", c, err)
			}
			got[i] = strings.NewReplacer("editor", "X", "emperor", "X").Replace(err.Error())
		}
		if got[0] != got[1] {
			t.Errorf("%q differs from %q", got[0], got[1])
		}
	}
}

// A refusal names only a limited number of excesses: a small request must not get a large answer.
func TestRefusalsAreBounded(t *testing.T) {
	w := newWorld(t)
	tenant := w.tenant(t)
	var chains, broken []string
	for i := range 1000 {
		chains = append(chains, fmt.Sprintf("object.read.c_%d", i))
		broken = append(broken, fmt.Sprintf("object.raed.c_%d", i))
	}
	root := auth.Principal{Org: "acme", Account: "root", Granted: compile(t, "view"), Authenticated: time.Now()}
	for name, c := range map[string]token.Claims{
		"beyond": {Subject: "root", Scope: chains}, "broken": {Subject: "root", Scope: broken},
		"a long role": {Subject: "root", Roles: []string{strings.Repeat("<", 1<<20)}},
	} {
		rec := httptest.NewRecorder()
		auth.Fail(rec, httptest.NewRequest("POST", "/", nil), bearer.Within(t.Context(), root, true, tenant, bearer.Wish{Claims: c}))
		if rec.Code < 400 || rec.Code > 403 || rec.Body.Len() > 16<<10 {
			t.Errorf("%s: %d with %d bytes", name, rec.Code, rec.Body.Len())
		}
	}
}

// Effective also works for the claims of tokens that were minted elsewhere.
func TestEffectiveOfWhatDoesNotParse(t *testing.T) {
	tenant := newWorld(t).tenant(t)
	_, err := bearer.Effective(t.Context(), tenant, token.Claims{Subject: "ann", Scope: []string{"object.raed", "object.read"}})
	var syntax *scope.SyntaxError
	if !errors.As(err, &syntax) {
		t.Errorf("got %v", err)
	}
	for _, c := range []token.Claims{{Subject: "nobody"}, {Subject: "ann", Roles: []string{"emperor"}}} {
		if _, err := bearer.Effective(t.Context(), tenant, c); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Whatever Within permits, the effective set of the token is covered by that of its minter.
func FuzzWithinIsCovered(f *testing.F) {
	f.Add("object.read.c_note", "object.read.c_note.*.title", "editor")
	f.Add("*", "", "")
	f.Add("script", "script.route.tidy", "member")
	w := newWorld(f)
	tenant := w.tenant(f)
	probes := []scope.Need{scope.Object(scope.Read, "c_note", "", ""), scope.Object(scope.Read, "c_note", note, "title"),
		scope.Object(scope.Update, "c_note", note, ""), scope.Admin(scope.Read), askedNeed("script.runner"), askedNeed("view.execute.report")}
	f.Fuzz(func(t *testing.T, granted, claimed, role string) {
		set, err := new(scope.Grammar).Compile("minter", strings.Split(granted, ",")...)
		if err != nil {
			return
		}
		c := token.Claims{Subject: "ann", Scope: strings.Split(claimed, ",")}
		if role != "" {
			c.Roles = []string{role}
		}
		by := auth.Principal{Org: "acme", Account: "ann", Mechanism: "session", Granted: set, Authenticated: time.Now()}
		if bearer.Within(context.Background(), by, true, tenant, bearer.Wish{Claims: c}) != nil {
			return
		}
		minted, err := bearer.Effective(context.Background(), tenant, c)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(probes, func(n scope.Need) bool { return minted.Allows(n) && !set.Allows(n) }); i >= 0 {
			t.Fatalf("%q may mint %q with %q, which allows %v", granted, claimed, role, probes[i])
		}
	})
}

// askedNeed returns a need.
func askedNeed(text string) scope.Need {
	n, err := scope.ParseNeed(text)
	if err != nil {
		panic(err)
	}
	return n
}
