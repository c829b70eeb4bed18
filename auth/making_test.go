package auth_test

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// The principals that the tables change: the principal of each mechanism for ann, with only
// the mechanism's own limits.
var (
	soon  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later = soon.Add(time.Hour)

	session   = auth.Principal{Org: "acme", Account: "ann", Mechanism: "session", Granted: scope.Unscoped(), Authenticated: soon}
	signed    = changed(session, func(p *auth.Principal) { p.Mechanism, p.App = "signature", "key" })
	ephemeral = changed(signed, func(p *auth.Principal) { p.Mechanism, p.Expires, p.Authenticated = "bearer", soon, time.Time{} })
	permanent = changed(ephemeral, func(p *auth.Principal) { p.TokenID, p.Expires = "jti", time.Time{} })
	custom    = auth.Principal{Org: "acme", Account: "ann", Mechanism: "letter", Granted: scope.Unscoped()}
)

// changed returns a changed copy of a value.
func changed[T any](v T, alter ...func(*T)) T {
	for _, f := range alter {
		f(&v)
	}
	return v
}

func granted(chains ...string) func(*auth.Principal) {
	return func(p *auth.Principal) { p.Granted = compiled(chains...) }
}

// compiled returns the Set of chains that parse.
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

// excess lists what an error of MayMake names, nil for none.
func excess(t testing.TB, err error) (list []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	beyond, ok := err.(*auth.Error)
	if !ok || beyond.Detail != auth.DetailDelegation {
		t.Fatalf("%T: %v", err, err)
	}
	for _, e := range beyond.Faults {
		list = append(list, strings.TrimSpace(e.Path+" "+e.Reason))
	}
	return list
}

// makingCase is a row of the tables about one making.
type makingCase struct {
	name  string
	by    auth.Principal
	admin bool
	made  auth.Making
	want  []string
}

func runMakings(t *testing.T, cases []makingCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, excess(t, c.by.AsAdministrator(c.admin).MayMake(c.made))); diff != "" {
				t.Errorf("excess (-want +got):\n%s", diff)
			}
		})
	}
}

// Limits for every principal: the scope, the end and the networks of the maker.
func TestNothingMadeReachesBeyondItsCredential(t *testing.T) {
	own := auth.Making{Account: "ann", App: "key", Scope: compiled("object.read")}
	ends := func(at time.Time) func(*auth.Making) { return func(m *auth.Making) { m.Expires = at } }
	until := func(at time.Time) func(*auth.Principal) { return func(p *auth.Principal) { p.Expires = at } }
	narrow := granted("object.read.c_note", "view")
	noApp := func(p *auth.Principal) { p.App = "" }
	runMakings(t, []makingCase{
		{"a session makes its own account's", session, false, auth.Everything("ann"), nil},
		{"a signature makes what is of its own app", signed, false, own, nil},
		{"M02 a narrow token makes a role with chains", changed(ephemeral, narrow), false,
			changed(own, ends(soon)), []string{"scope object.read"}},
		{"M02 a narrow signature makes an account", changed(signed, narrow), false,
			auth.Everything("ann"), []string{"app", "scope *"}},
		{"M02 a narrow session makes an account", changed(session, narrow), false,
			auth.Everything("ann"), []string{"scope *"}},
		{"a part of what it may do", changed(signed, narrow), false,
			changed(own, func(m *auth.Making) { m.Scope = compiled("object.read.c_note."+id, "view.execute.report") }), nil},
		{"nothing at all, by one that may do nothing", changed(signed, granted()), false,
			changed(own, func(m *auth.Making) { m.Scope = scope.Set{} }), nil},
		{"a view may pass on what was granted", changed(signed, narrow).WithoutScope(), false, own, []string{"scope object.read"}},
		{"M02 an administrator's short-lived token makes an account with a role", ephemeral, true,
			changed(auth.Everything("new"), func(m *auth.Making) { m.Roles = []string{"editor"} }), []string{"expires", "roles editor", "app"}},
		{"M02 an administrator's token with an id makes an account", permanent, true,
			auth.Everything("new"), []string{"expires", "app"}},
		{"M02 a short-lived token makes a secret", ephemeral, false, own, []string{"expires"}},
		{"M02 a short-lived token makes what ends later", ephemeral, false, changed(own, ends(later)), []string{"expires"}},
		{"M02 a moment later", ephemeral, false, changed(own, ends(soon.Add(1))), []string{"expires"}},
		{"until the token ends", ephemeral, false, changed(own, ends(soon)), nil},
		{"M03 a signature with an end makes what never ends", changed(signed, until(soon)), false, own, []string{"expires"}},
		{"M03 a signature with an end makes what ends later", changed(signed, until(soon)), false, changed(own, ends(later)), []string{"expires"}},
		{"until the signature ends", changed(signed, until(soon)), false, changed(own, ends(soon)), nil},
		{"M03 a signature makes what is of another app", signed, false,
			changed(own, func(m *auth.Making) { m.App = "other" }), []string{"app"}},
		{"M03 a signature makes what is of any app", signed, false,
			changed(own, func(m *auth.Making) { m.App = "" }), []string{"app"}},
		{"a session makes what is of any app", session, false, own, nil},
		{"O21 a token without an app makes what is of an app", changed(ephemeral, noApp), true, changed(own, ends(soon)), []string{"app"}},
		{"a token without an app makes what is of none", changed(ephemeral, noApp), false,
			changed(own, func(m *auth.Making) { m.App, m.Expires = "", soon }), nil},
		{"M02 a token with an id makes a secret", permanent, false, own, []string{"expires"}},
		{"M02 a token with an id makes a secret that ends", permanent, false, changed(own, ends(soon)), []string{"expires"}},
		{"a token with an id makes what ends with it", permanent, false, changed(own, func(m *auth.Making) { m.EndsWithMaker = true }), nil},
		{"a limited-use token", changed(permanent, func(p *auth.Principal) { p.Limited = true }), true,
			changed(own, func(m *auth.Making) { m.EndsWithMaker = true }), []string{"maxUses"}},
	})
}

// By Authenticated, an application's own mechanism states that the caller proved who it is.
// Principals without that time are limited as tokens are.
func TestACustomMechanismIsHeldAsAToken(t *testing.T) {
	proven := changed(custom, func(p *auth.Principal) { p.Authenticated = soon })
	own := auth.Making{Account: "ann", Expires: soon}
	role := changed(own, func(m *auth.Making) { m.Roles = []string{"editor"} })
	level := changed(own, func(m *auth.Making) { m.Grant = 4 })
	runMakings(t, []makingCase{
		{"without an end", custom, false, auth.Everything("ann"), []string{"expires"}},
		{"without an end, by one that has proven itself", proven, false, auth.Everything("ann"), nil},
		{"with an end", custom, false, own, nil},
		{"a role that it lacks", custom, true, role, []string{"roles editor"}},
		{"a role that it lacks, by one that has proven itself", proven, true, role, nil},
		{"a role that it has", changed(custom, func(p *auth.Principal) { p.Roles = []string{"editor"} }), true, role, nil},
		{"a level that it lacks", custom, true, level, []string{"grant"}},
		{"a level that it lacks, by one that has proven itself", proven, true, level, nil},
	})
}

// Only an administrator makes something for others, and only with admin.update.
func TestWhatTakesAnAdministrator(t *testing.T) {
	administers := granted("admin.update", "object.read")
	everything := func(p *auth.Principal) {
		p.Grant, p.SkipACL, p.SkipCreateACL, p.Roles = 8, true, true, []string{"editor"}
	}
	wide := auth.Making{Account: "bob", App: "key", Expires: soon, Roles: []string{"editor"}, Claims: true, EndsWithMaker: true,
		Access: auth.Access{Grant: 8, SkipACL: true, SkipCreateACL: true}}
	each := []string{"sub", "skipAcl", "bypassCreateAcl", "grant", "claims", "roles editor"}
	lacks := []string{"skipAcl", "bypassCreateAcl", "grant", "roles editor"}
	foreign := changed(wide, func(m *auth.Making) { m.App = "other" })
	runMakings(t, []makingCase{
		{"M01 an ordinary session", session, false, wide, each},
		{"M01 an ordinary signature", signed, false, wide, each},
		{"M01 an ordinary token that has all of it", changed(ephemeral, everything), false, wide, each},
		{"M01 an administrator's narrow session", changed(session, granted("object")), true, wide, each},
		{"M01 an administrator's narrow signature", changed(signed, granted("object")), true, wide, each},
		{"M01 an administrator's narrow token that has all of it", changed(ephemeral, everything, granted("object")), true, wide, each},
		{"M01 an administrator that may read only", changed(session, granted("admin.read")), true, wide, each},
		{"M01 an administrator that may do nothing", changed(session, granted()), true, wide, each},
		{"M01 a view of an administrator's narrow token", changed(ephemeral, everything, granted("view")).WithoutScope(), true, wide, each},
		{"an administrator's session", session, true, wide, nil},
		{"an administrator's signature", signed, true, wide, nil},
		{"an administrator's narrow session that may administer", changed(session, administers), true, wide, nil},
		{"an administrator's token that has none of it", ephemeral, true, wide, lacks},
		{"an administrator's token that has all of it", changed(ephemeral, everything), true, wide, nil},
		{"an administrator's token that has a lower level", changed(ephemeral, everything, func(p *auth.Principal) { p.Grant = 7 }), true, wide, []string{"grant"}},
		{"M03 an administrator's token, for another app", changed(ephemeral, everything), true, foreign, []string{"app"}},
		{"M03 an administrator's narrow signature, for another app", changed(signed, granted("object")), true,
			auth.Making{Account: "ann", App: "other"}, []string{"app"}},
		{"an administrator's signature, for another app", signed, true, foreign, nil},
		{"an administrator may not do more itself", changed(session, administers), true,
			auth.Everything("bob"), []string{"scope *"}},
		{"M03 an administrator's signature with an end", changed(signed, func(p *auth.Principal) { p.Expires = soon }), true,
			auth.Everything("bob"), []string{"expires"}},
		{"M03 an administrator's signature of one network", changed(signed, func(p *auth.Principal) { p.Networks = networks("10.0.0.0/8") }), true,
			auth.Everything("bob"), []string{"networks"}},
	})
}

func TestNobodyMakesNothing(t *testing.T) {
	for name, by := range map[string]auth.Principal{
		"the zero Principal":           {},
		"everything without a name":    {Org: "acme", Granted: scope.Unscoped(), Authenticated: soon},
		"what From answers outside it": auth.From(t.Context()),
	} {
		t.Run(name, func(t *testing.T) {
			for _, makings := range [][]auth.Making{nil, {{}}, {auth.Everything("ann")}} {
				if diff := cmp.Diff([]string{"sub"}, excess(t, by.AsAdministrator(true).MayMake(makings...))); diff != "" {
					t.Errorf("%d makings: %s", len(makings), diff)
				}
			}
		})
	}
}

// A change that makes nothing needs no permission beyond that of its route.
func TestNoMakings(t *testing.T) {
	for name, by := range map[string]auth.Principal{"session": session, "nothing granted": changed(signed, granted()), "token": ephemeral} {
		if err := by.MayMake(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	limited := changed(permanent, func(p *auth.Principal) { p.Limited = true })
	if diff := cmp.Diff([]string{"maxUses"}, excess(t, limited.AsAdministrator(true).MayMake())); diff != "" {
		t.Errorf("a limited-use token: %s", diff)
	}
}

func TestM03NetworksOfWhatIsMade(t *testing.T) {
	none := networks()
	for _, c := range []struct {
		name      string
		by, of    []netip.Prefix
		isRefused bool
	}{
		{"from anywhere, anywhere", nil, nil, false},
		{"from anywhere, one network", nil, networks("10.0.0.0/8"), false},
		{"from anywhere, from nowhere", nil, none, false},
		{"M03 from one network, anywhere", networks("10.0.0.0/8"), nil, true},
		{"the same network", networks("10.0.0.0/8"), networks("10.0.0.0/8"), false},
		{"the same network by another address in it", networks("10.1.2.3/8"), networks("10.9.9.9/8"), false},
		{"a part of it", networks("10.0.0.0/8"), networks("10.1.0.0/16", "10.2.3.4/32"), false},
		{"from nowhere", networks("10.0.0.0/8"), none, false},
		{"M03 a wider one", networks("10.0.0.0/8"), networks("10.0.0.0/7"), true},
		{"M03 another one", networks("10.0.0.0/8"), networks("192.0.2.0/24"), true},
		{"M03 another one beside it", networks("10.0.0.0/8"), networks("10.1.0.0/16", "192.0.2.0/24"), true},
		{"one of several", networks("10.0.0.0/8", "192.0.2.0/24"), networks("192.0.2.128/25"), false},
		{"two halves do not count as the whole", networks("10.0.0.0/9", "10.128.0.0/9"), networks("10.0.0.0/8"), true},
		{"M03 from nowhere, anywhere", none, nil, true},
		{"M03 from nowhere, one address", none, networks("10.0.0.1/32"), true},
		{"from nowhere, from nowhere", none, none, false},
		{"IPv6, a part of it", networks("2001:db8::/32"), networks("2001:db8:1::/48"), false},
		{"M03 IPv6, a wider one", networks("2001:db8::/32"), networks("2001:db0::/28"), true},
		{"M03 from all of IPv4, IPv6", networks("0.0.0.0/0"), networks("2001:db8::/32"), true},
		{"M03 from all of IPv6, IPv4", networks("::/0"), networks("10.0.0.0/8"), true},
		{"M03 IPv4 as mapped into IPv6", networks("10.0.0.0/8"), networks("::ffff:10.0.0.0/104"), true},
		{"M03 all of IPv4 as mapped into IPv6", networks("10.0.0.0/8"), networks("::ffff:0.0.0.0/96"), true},
		{"M03 a network that is none", networks("10.0.0.0/8"), []netip.Prefix{{}}, true},
		{"M03 from a network that is none", []netip.Prefix{{}}, networks("10.0.0.0/8"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			by := changed(signed, func(p *auth.Principal) { p.Networks = c.by })
			err := by.MayMake(auth.Making{Account: "ann", App: "key", Networks: c.of})
			var want []string
			if c.isRefused {
				want = []string{"networks"}
			}
			if diff := cmp.Diff(want, excess(t, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEverythingHasNoBound(t *testing.T) {
	m := auth.Everything("ann")
	if m.Account != "ann" || m.App != "" || !m.Expires.IsZero() || m.Networks != nil || m.EndsWithMaker {
		t.Errorf("bounded: %+v", m)
	}
	for _, need := range probeNeeds {
		if !m.Scope.Allows(need) {
			t.Errorf("it may not %v", need)
		}
	}
}

// Each excess is named once, however many makings have it.
func TestExcessOfSeveralMakings(t *testing.T) {
	by := changed(signed, granted("object.read"), func(p *auth.Principal) { p.Expires = soon })
	err := by.MayMake(auth.Making{Account: "ann", App: "key", Expires: soon},
		auth.Making{Account: "bob", App: "key", Scope: compiled("view")},
		auth.Making{Account: "cat", App: "key", Scope: compiled("view", "admin")},
		auth.Making{Account: "ann", App: "other", Expires: soon})
	if diff := cmp.Diff([]string{"expires", "sub", "scope view", "scope admin", "app"}, excess(t, err)); diff != "" {
		t.Error(diff)
	}
}

func TestARefusalNamesUpTo32Things(t *testing.T) {
	for _, n := range []int{31, 32, 33, 1024} {
		var chains []string
		for i := range n {
			chains = append(chains, fmt.Sprintf("object.read.c_%d", i))
		}
		by := changed(session, granted("view"))
		err := by.AsAdministrator(true).MayMake(auth.Making{Account: "ann", Scope: compiled(chains...)})
		if got := excess(t, err); len(got) != min(n, 32) || got[0] != "scope object.read.c_0" {
			t.Errorf("%d chains beyond: %d were named: %v", n, len(got), got)
		}
	}
}

func TestMayMakeNamesWhatIsBeyond(t *testing.T) {
	by := changed(session, func(p *auth.Principal) { p.Granted = scope.Set{} })
	err := by.AsAdministrator(false).MayMake(auth.Making{Account: "ann", Access: auth.Access{SkipACL: true}, Scope: compiled("object.read")})
	if !strings.Contains(err.Error(), `"skipAcl" ""; "scope" "object.read"`) {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	auth.Fail(w, httptest.NewRequest("POST", "/", nil), fmt.Errorf("wrapped: %w", err))
	body := w.Body.String()
	if w.Code != 403 || !strings.Contains(body, `"errCode":"service.accessDenied.delegation"`) ||
		!strings.Contains(body, `"path":"skipAcl"`) || !strings.Contains(body, `"reason":"object.read"`) {
		t.Errorf("got %d %s", w.Code, body)
	}
}
