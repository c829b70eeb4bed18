package signature_test

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/scope"
)

// tenant returns the tenant acme of a world, as a handler gets it.
func (w *world) tenant(t testing.TB) (tenant *auth.Tenant) {
	t.Helper()
	mux := w.guard.Mux()
	mux.HandleFunc("GET /", auth.Public, func(_ http.ResponseWriter, r *http.Request) { tenant = auth.TenantFrom(r.Context()) })
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2", nil))
	return tenant
}

// The times at which the credentials of the tables begin and end.
var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	hour = func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
)

func changed[T any](v T, alter ...func(*T)) T {
	for _, f := range alter {
		f(&v)
	}
	return v
}

func compiled(chains ...string) scope.Set {
	set, err := scope.Compile("test", chains...)
	if err != nil {
		panic(err)
	}
	return set
}

func networks(texts ...string) []netip.Prefix {
	list := []netip.Prefix{}
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// excess lists what an error of Within names, nil for no error.
func excess(t testing.TB, err error) (list []string) {
	t.Helper()
	beyond, ok := errors.AsType[*auth.Error](err)
	if err != nil && !ok {
		t.Fatalf("%T: %v", err, err)
	}
	if ok {
		for _, e := range beyond.Faults {
			list = append(list, strings.TrimSpace(e.Path+" "+e.Reason))
		}
	}
	return list
}

// The makers of the tables: ann by each mechanism, with and without limits.
var (
	session   = auth.Principal{Org: "acme", Account: "ann", Mechanism: "session", Granted: scope.Unscoped(), Authenticated: noon}
	signed    = changed(session, func(p *auth.Principal) { p.Mechanism, p.App = "signature", acmeKey })
	ephemeral = changed(signed, func(p *auth.Principal) { p.Mechanism, p.Authenticated, p.Expires = "bearer", time.Time{}, hour(1) })
	permanent = changed(ephemeral, func(p *auth.Principal) { p.Expires, p.TokenID = time.Time{}, "jti" })
)

func granted(chains ...string) func(*auth.Principal) {
	return func(p *auth.Principal) { p.Granted = compiled(chains...) }
}

func TestACredentialStaysWithinItsMaker(t *testing.T) {
	until := func(at time.Time) func(*auth.Principal) { return func(p *auth.Principal) { p.Expires = at } }
	inside := func(p *auth.Principal) { p.Networks = networks("10.0.0.0/8") }
	own := signature.Credential{Account: "ann"}
	reader := signature.Credential{Account: "ann", Scope: []string{"object.read.c_note"}, NotAfter: hour(1), Networks: networks("10.1.0.0/16")}
	bobs := signature.Credential{Account: "bob"}
	several := signature.Credential{Accounts: []string{"ann", "bob", "cat", "bob", ""}}
	for _, c := range []struct {
		name  string
		by    auth.Principal
		admin bool
		app   string
		made  signature.Credential
		want  []string
	}{
		{"a session makes one for its account", session, false, acmeKey, own, nil},
		{"an ordinary session makes one for another account", session, false, acmeKey, bobs, []string{"sub"}},
		{"an ordinary session makes one for itself and others", session, false, acmeKey, several, []string{"sub"}},
		{"an administrator makes one for another account", session, true, acmeKey, bobs, nil},
		{"M01 an administrator's narrow token, for another", changed(ephemeral, granted("object")), true, acmeKey,
			changed(reader, func(c *signature.Credential) { c.Account = "bob" }), []string{"sub"}},
		{"M01 an administrator's narrow signature, for several", changed(signed, granted("object")), true, acmeKey,
			changed(several, func(c *signature.Credential) { c.Scope = []string{"object.read"} }), []string{"sub"}},
		{"M01 an administrator's narrow signature, for several, with everything", changed(signed, granted("object")), true, acmeKey,
			several, []string{"scope *", "sub"}},
		{"M02 a narrow token", changed(ephemeral, granted("object.read")), false, acmeKey,
			changed(own, func(c *signature.Credential) { c.NotAfter = hour(1) }), []string{"scope *"}},
		{"M02 a token that ends", ephemeral, false, acmeKey, own, []string{"expires"}},
		{"M02 a token with an id", permanent, false, acmeKey, own, []string{"expires"}},
		{"M02 a token with an id, until a time", permanent, false, acmeKey, reader, []string{"expires"}},
		{"M02 a limited-use token", changed(ephemeral, func(p *auth.Principal) { p.Limited = true }), false, acmeKey, reader, []string{"maxUses"}},
		{"a token that ends makes one that ends with it", ephemeral, false, acmeKey, reader, nil},
		{"M03 a signature with an end makes one that never ends", changed(signed, until(hour(1))), false, acmeKey, own, []string{"expires"}},
		{"M03 a signature with an end makes one that ends later", changed(signed, until(hour(1)), inside), false, acmeKey,
			changed(reader, func(c *signature.Credential) { c.NotAfter = hour(2) }), []string{"expires"}},
		{"M03 a signature of one network makes one for anywhere", changed(signed, inside), false, acmeKey, own, []string{"networks"}},
		{"M03 a signature of one network makes one for another", changed(signed, inside), false, acmeKey,
			changed(own, func(c *signature.Credential) { c.Networks = networks("10.0.0.0/8", "192.0.2.0/24") }), []string{"networks"}},
		{"M03 a signature of an app makes one of another", signed, false, headless, own, []string{"app"}},
		{"M03 an administrator's token makes one of another app", ephemeral, true, headless, reader, []string{"app"}},
		{"an administrator's signature makes one of another app", signed, true, headless, bobs, nil},
		{"M03 everything at once", changed(signed, until(hour(1)), inside, granted("view")), false, headless, bobs,
			[]string{"expires", "networks", "sub", "app", "scope *"}},
		{"M14 a narrow signature makes one without a scope", changed(signed, granted("object.read")), false, acmeKey, own, []string{"scope *"}},
		{"M14 a narrow signature makes a wider one", changed(signed, granted("object.read.c_note")), false, acmeKey,
			changed(own, func(c *signature.Credential) { c.Scope = []string{"object.read"} }), []string{"scope object.read"}},
		{"a narrow signature makes a narrower one", changed(signed, granted("object.read"), until(hour(1)), inside), false, acmeKey, reader, nil},
		{"a narrow signature makes one that permits nothing", changed(signed, granted("object.read")), false, acmeKey,
			changed(own, func(c *signature.Credential) { c.Scope = []string{} }), nil},
		{"one that is disabled acts as nobody", changed(ephemeral, granted("view")), false, headless,
			changed(several, func(c *signature.Credential) { c.Disabled = true }), nil},
		{"one without an account acts as nobody", changed(ephemeral, granted("view")), false, headless, signature.Credential{}, nil},
		{"nobody makes none", auth.Principal{}, true, acmeKey, own, []string{"sub"}},
		{"nobody makes none that is disabled", auth.Principal{}, true, acmeKey, signature.Credential{Disabled: true}, []string{"sub"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tenant := newWorld(t).tenant(t)
			err := signature.Within(c.by.AsAdministrator(c.admin), tenant, c.app, nil, c.made)
			if diff := cmp.Diff(c.want, excess(t, err)); diff != "" {
				t.Errorf("excess (-want +got):\n%s", diff)
			}
		})
	}
}

// change is one change of a credential.
type change struct {
	name, field string
	do          func(*signature.Credential)
}

// bounded is a credential with every kind of limit.
var bounded = signature.Credential{Account: "ann", Accounts: []string{"bob", "cat"}, Scope: []string{"object.read", "view.execute.report"},
	NotBefore: hour(0), NotAfter: hour(4), Networks: networks("10.0.0.0/8", "2001:db8::/32")}

var narrowings = []change{
	{"nothing", "", func(*signature.Credential) {}},
	{"another order of accounts", "accounts", func(c *signature.Credential) { c.Account, c.Accounts = "cat", []string{"ann", "bob", "ann", ""} }},
	{"without an account of its own", "accounts", func(c *signature.Credential) { c.Account = "" }},
	{"fewer accounts", "accounts", func(c *signature.Credential) { c.Accounts = []string{"cat"} }},
	{"no account at all", "accounts", func(c *signature.Credential) { c.Account, c.Accounts = "", nil }},
	{"fewer chains", "scope", func(c *signature.Credential) { c.Scope = []string{"view.execute.report"} }},
	{"narrower chains", "scope", func(c *signature.Credential) { c.Scope = []string{"object.read.c_note", "object.read.c_memo.*.title"} }},
	{"no chain", "scope", func(c *signature.Credential) { c.Scope = []string{} }},
	{"from later on", "from", func(c *signature.Credential) { c.NotBefore = hour(1) }},
	{"until earlier", "until", func(c *signature.Credential) { c.NotAfter = hour(3) }},
	{"until before it begins", "until", func(c *signature.Credential) { c.NotAfter = hour(-1) }},
	{"fewer networks", "networks", func(c *signature.Credential) { c.Networks = networks("2001:db8::/32") }},
	{"smaller networks", "networks", func(c *signature.Credential) { c.Networks = networks("10.1.0.0/16", "10.2.0.0/16") }},
	{"from nowhere", "networks", func(c *signature.Credential) { c.Networks = networks() }},
}

var widenings = []change{
	{"one more account", "accounts", func(c *signature.Credential) { c.Accounts = []string{"bob", "cat", "dan"} }},
	{"another account of its own", "accounts", func(c *signature.Credential) { c.Account, c.Accounts = "dan", nil }},
	{"one more chain", "scope", func(c *signature.Credential) { c.Scope = []string{"object.read", "view.execute.report", "admin.read"} }},
	{"a wider chain", "scope", func(c *signature.Credential) { c.Scope = []string{"view"} }},
	{"everything", "scope", func(c *signature.Credential) { c.Scope = []string{""} }},
	{"no scope", "scope", func(c *signature.Credential) { c.Scope = nil }},
	{"from earlier on", "from", func(c *signature.Credential) { c.NotBefore = hour(-1) }},
	{"from ever", "from", func(c *signature.Credential) { c.NotBefore = time.Time{} }},
	{"until later", "until", func(c *signature.Credential) { c.NotAfter = hour(5) }},
	{"for ever", "until", func(c *signature.Credential) { c.NotAfter = time.Time{} }},
	{"one more network", "networks", func(c *signature.Credential) { c.Networks = networks("10.0.0.0/8", "2001:db8::/32", "192.0.2.1/32") }},
	{"a larger network", "networks", func(c *signature.Credential) { c.Networks = networks("10.0.0.0/7") }},
	{"from anywhere", "networks", func(c *signature.Credential) { c.Networks = nil }},
}

// None of makers may make any credential of the tables, each for a different reason.
var makers = map[string]auth.Principal{
	"nobody":                           {},
	"a narrow session":                 changed(session, granted("admin.read")),
	"a session of another":             changed(session, granted("script"), func(p *auth.Principal) { p.Account = "eve" }),
	"a narrow token":                   changed(ephemeral, granted()),
	"a token with an id":               changed(permanent, granted("script")),
	"a limited-use token":              changed(permanent, func(p *auth.Principal) { p.Limited = true }),
	"an ended signature":               changed(signed, func(p *auth.Principal) { p.Expires = hour(-9) }),
	"a signature that is good nowhere": changed(signed, granted("script"), func(p *auth.Principal) { p.Networks = networks() }),
}

func TestM17EndingAndNarrowingIsNeverRefused(t *testing.T) {
	tenant := newWorld(t).tenant(t)
	disabled := change{"disabled", "", func(c *signature.Credential) { c.Disabled = true }}
	var cases []change
	cases = append(cases, disabled)
	cases = append(cases, narrowings...)
	for _, wider := range widenings {
		cases = append(cases, change{"disabled, and " + wider.name, "", func(c *signature.Credential) { wider.do(c); c.Disabled = true }})
	}
	for maker, by := range makers {
		for _, n := range cases {
			if err := signature.Within(by, tenant, acmeKey, &bounded, changed(bounded, n.do)); err != nil {
				t.Errorf("M17 %s, by %s: %v", n.name, maker, err)
			}
		}
		unbounded := signature.Credential{Account: "ann", Accounts: []string{"bob", "cat"}}
		for _, n := range append([]change{{"every bound at once", "", func(c *signature.Credential) { *c = bounded }}}, cases...) {
			if err := signature.Within(by, tenant, acmeKey, &unbounded, changed(bounded, n.do)); err != nil {
				t.Errorf("M17 of one without bounds, %s, by %s: %v", n.name, maker, err)
			}
		}
	}
}

func TestWideningTakesWhatMakingTakes(t *testing.T) {
	tenant := newWorld(t).tenant(t)
	off := changed(bounded, func(c *signature.Credential) { c.Disabled = true })
	for maker, by := range makers {
		for _, w := range widenings {
			if signature.Within(by, tenant, acmeKey, &bounded, changed(bounded, w.do)) == nil {
				t.Errorf("%s, by %s", w.name, maker)
			}
		}
		if signature.Within(by, tenant, acmeKey, &off, bounded) == nil {
			t.Errorf("enabled again, by %s", maker)
		}
		if signature.Within(by, tenant, acmeKey, nil, bounded) == nil {
			t.Errorf("made anew, by %s", maker)
		}
	}
	for _, w := range widenings {
		if err := signature.Within(session.AsAdministrator(true), tenant, acmeKey, &bounded, changed(bounded, w.do)); err != nil {
			t.Errorf("%s, by an administrator's session: %v", w.name, err)
		}
	}
}

func TestM15OneFieldNarrowerAndOneWider(t *testing.T) {
	tenant := newWorld(t).tenant(t)
	for _, w := range widenings {
		for _, n := range narrowings {
			both := changed(bounded, n.do, w.do)
			if n.field == w.field || both.Account == "" && both.Accounts == nil {
				continue // the second undoes the first, or the credential acts as nobody
			}
			for maker, by := range makers {
				if signature.Within(by, tenant, acmeKey, &bounded, both) == nil {
					t.Errorf("M15 %s, and %s, by %s", n.name, w.name, maker)
				}
			}
		}
	}
}

// A refusal changes nothing: the credential still has its own chains.
func TestARefusedChangeChangesNothing(t *testing.T) {
	w := newWorld(t, func(w *world) { w.credentials[acmeKey].Scope = []string{"object.read"} })
	tenant, before := w.tenant(t), w.credentials[acmeKey]
	var p auth.Principal
	h := w.guard.Mount(w.guard.Require(auth.Authenticated)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { p = auth.From(r.Context()) })))
	for range 2 {
		after := changed(*before, func(c *signature.Credential) { c.Scope = []string{"", "object..x"} })
		if signature.Within(changed(session, granted("view")), tenant, acmeKey, before, after) == nil {
			t.Error("not refused")
		}
		h.ServeHTTP(httptest.NewRecorder(), w.signed(w.request()))
		if !p.Scope.Allows(scope.Object(scope.Read, "c_note", "", "")) || p.Scope.Allows(scope.Admin(scope.Read)) {
			t.Errorf("the scope is %v", slices.Collect(chainsOf(p.Scope)))
		}
	}
}

func chainsOf(set scope.Set) func(func(string) bool) {
	return func(yield func(string) bool) {
		for chain := range set.Chains() {
			if !yield(chain) {
				return
			}
		}
	}
}

// Random pairs of credentials, and requests by the second. If nobody needs a permission to change
// the first into the second, the second admits no request that the first refuses.
func TestANarrowingAdmitsNothingNew(t *testing.T) {
	const seed = 20260102
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	tenant := newWorld(t).tenant(t)
	narrowed := 0
	for range 20_000 {
		before := randomCredential(r)
		after := changed(before, narrowings[r.IntN(len(narrowings))].do)
		if r.IntN(2) == 0 {
			after = changed(after, widenings[r.IntN(len(widenings))].do)
		}
		if r.IntN(2) == 0 {
			after = randomCredential(r)
		}
		if signature.Within(auth.Principal{}, tenant, acmeKey, &before, after) != nil {
			continue
		}
		narrowed++
		for range 20 {
			q := randomUse(r)
			if q.passes(after) && !q.passes(before) {
				t.Fatalf("%+v\npasses for %+v\nand not for %+v", q, after, before)
			}
		}
	}
	if narrowed < 1000 {
		t.Errorf("only %d were narrowed: the test tries too little", narrowed)
	}
}

// randomCredential returns bounded with some of the changes of the tables.
func randomCredential(r *rand.Rand) signature.Credential {
	c := bounded
	for range r.IntN(6) {
		narrowings[r.IntN(len(narrowings))].do(&c)
		widenings[r.IntN(len(widenings))].do(&c)
	}
	c.Disabled = r.IntN(8) == 0
	return c
}

// use holds what decides whether a signed request passes.
type use struct {
	account string
	at      time.Time
	from    netip.Addr
	need    scope.Need
}

func randomUse(r *rand.Rand) use {
	accounts := []string{"ann", "bob", "cat", "dan"}
	addrs := []string{"10.1.0.1", "10.2.0.1", "10.9.9.9", "11.0.0.1", "192.0.2.1", "2001:db8::1", "2001:db9::1"}
	needs := []scope.Need{scope.Object(scope.Read, "c_note", "", ""), scope.Object(scope.Update, "c_note", "", ""),
		asked("view.execute.report"), asked("view.execute.other"), scope.Admin(scope.Read), asked("script.runner")}
	return use{accounts[r.IntN(len(accounts))], hour(r.IntN(9) - 2).Add(time.Duration(r.IntN(3) - 1)),
		netip.MustParseAddr(addrs[r.IntN(len(addrs))]), needs[r.IntN(len(needs))]}
}

// passes is a second implementation of the rule of section 5.3 of the interface.
func (q use) passes(c signature.Credential) bool {
	set := scope.Unscoped()
	if c.Scope != nil {
		set, _ = scope.Compile("test", c.Scope...)
	}
	return !c.Disabled && (q.account == c.Account || slices.Contains(c.Accounts, q.account)) &&
		!q.at.Before(c.NotBefore) && (c.NotAfter.IsZero() || !q.at.After(c.NotAfter)) && set.Allows(q.need) &&
		(c.Networks == nil || slices.ContainsFunc(c.Networks, func(n netip.Prefix) bool { return n.Contains(q.from) }))
}

// M14: a chain that permits nothing today could permit something once a grammar knows its root.
func TestM14ChainsThatCannotBeGranted(t *testing.T) {
	tenant := newWorld(t).tenant(t)
	before := &signature.Credential{Account: "ann"}
	for _, chain := range []string{"object..x", "report.run", "deployment.create"} {
		after := signature.Credential{Account: "ann", Scope: []string{"object.read", chain}}
		for name, from := range map[string]*signature.Credential{"a new one": nil, "a narrower one": before} {
			err := signature.Within(session.AsAdministrator(true), tenant, acmeKey, from, after)
			fault, ok := errors.AsType[*auth.Error](err)
			if !ok || fault.Detail != auth.DetailInvalidScope || fault.Faults[0].Path != "scope[1]" {
				t.Errorf("%s with %s: %v", name, chain, err)
			}
		}
		kept := after
		kept.NotAfter = hour(1)
		if err := signature.Within(session, tenant, acmeKey, &after, kept); err != nil {
			t.Errorf("an older one with %s is narrowed: %v", chain, err)
		}
	}
}

// M17: a credential with another secret is another credential, however narrow.
func TestM17AnotherKeyIsNoNarrowing(t *testing.T) {
	tenant := newWorld(t).tenant(t)
	before := &signature.Credential{Account: "ann", Key: mustKey(t, acmeKey, acmeSecret)}
	after := signature.Credential{Account: "ann", Key: mustKey(t, acmeKey, olderSecret), NotAfter: hour(1)}
	if after.Narrows(before, tenant, acmeKey) {
		t.Error("a credential with another secret is taken for a narrower one")
	}
	elsewhere := session
	elsewhere.Org = "globex"
	if err := signature.Within(elsewhere.AsAdministrator(true), tenant, acmeKey, nil, after); err == nil {
		t.Error("a principal of another org makes a credential")
	}
}

// asked returns a need.
func asked(text string) scope.Need {
	n, err := scope.ParseNeed(text)
	if err != nil {
		panic(err)
	}
	return n
}
