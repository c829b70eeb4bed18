package apikey_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

func wish(chains ...string) bearer.Wish {
	return bearer.Wish{Claims: token.Claims{Subject: "ann", Issuer: app, Scope: append([]string{}, chains...), Expires: noon.Add(10 * time.Minute)}}
}

// signedByApp returns the principal of a request that the app signed for ann.
func signedByApp() auth.Principal {
	p := session("ann")
	p.Mechanism, p.App = "signature", app
	return p
}

func compiled(t testing.TB, chains ...string) scope.Set {
	t.Helper()
	set, err := scope.Compile("test", chains...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

var office = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}

// The owner and all else that a body may name is judged by Make itself, whoever calls it.
func TestMakeAsksTheBound(t *testing.T) {
	w := newWorld(t)
	reader := compiled(t, "object.read.c_note")
	with := func(alter func(*auth.Principal)) auth.Principal {
		p := session("ann")
		alter(&p)
		return p
	}
	for _, c := range []struct {
		what  string
		by    auth.Principal
		grant apikey.Grant
		want  string // what is beyond, or the detail and path of the error; "": nothing
	}{
		{"for oneself", session("ann"), apikey.Grant{Scope: []string{"object"}}, ""},
		{"within one's scope", with(func(p *auth.Principal) { p.Granted = reader }), apikey.Grant{Scope: []string{"object.read.c_note.*.title"}}, ""},
		{"by an app for itself", signedByApp(), apikey.Grant{Scope: []string{"object"}, App: app}, ""},
		{"by an administrator for a service account", administrator(), apikey.Grant{Account: "bot", Scope: []string{"object"}}, ""},
		{"for another account", session("ann"), apikey.Grant{Account: "bot"}, "sub"},
		{"for an account that does not exist", session("ann"), apikey.Grant{Account: "nobody"}, "sub"},
		{"by nobody", auth.Principal{Org: "acme"}, apikey.Grant{Account: "ann"}, "sub"},
		{"by a principal of another org", with(func(p *auth.Principal) { p.Org = "globex" }), apikey.Grant{}, "sub"},
		{"by an administrator without admin.update", func() auth.Principal { p := administrator(); p.Granted = reader; return p }(), apikey.Grant{Account: "bot"}, "sub"},
		{"beyond one's scope", with(func(p *auth.Principal) { p.Granted = reader }), apikey.Grant{Scope: []string{"object.read"}}, "scope"},
		{"longer than one's credential", with(func(p *auth.Principal) { p.Expires = noon.Add(time.Hour) }), apikey.Grant{Expires: noon.Add(time.Hour + 1e6)}, "expires"},
		{"for ever, by one that ends", with(func(p *auth.Principal) { p.Expires = noon.Add(time.Hour) }), apikey.Grant{}, "expires"},
		{"from more networks", with(func(p *auth.Principal) { p.Networks = office }), apikey.Grant{Networks: []netip.Prefix{netip.MustParsePrefix("192.0.0.0/16")}}, "networks"},
		{"from anywhere, by one of the office", with(func(p *auth.Principal) { p.Networks = office }), apikey.Grant{}, "networks"},
		{"for another app", signedByApp(), apikey.Grant{App: "globexKey"}, "app"},
		{"by a permanent token", with(func(p *auth.Principal) { p.TokenID, p.Authenticated = "jti", time.Time{} }), apikey.Grant{}, "expires"},
		{"by a limited-use token", with(func(p *auth.Principal) { p.Limited = true }), apikey.Grant{}, "maxUses"},
		{"for a disabled account", administrator(), apikey.Grant{Account: "off"}, auth.DetailNotFound + " sub"},
		{"for another org's app", session("ann"), apikey.Grant{App: "globexKey"}, auth.DetailUnknownApp},
		{"with an unknown prefix", session("ann"), apikey.Grant{Prefix: "globex"}, auth.DetailOption + " prefix"},
		{"with a chain that does not parse", session("ann"), apikey.Grant{Scope: []string{"object.raed"}}, auth.DetailInvalidScope},
		{"with a long scope", session("ann"), apikey.Grant{Scope: []string{strings.Repeat("a", 9000)}}, auth.DetailOption + " scope"},
		{"with a line feed in its name", session("ann"), apikey.Grant{Name: "a\nb"}, auth.DetailOption + " name"},
		{"with a zero byte in its name", session("ann"), apikey.Grant{Name: "a\x00b"}, auth.DetailOption + " name"},
		{"with a name that is not UTF-8", session("ann"), apikey.Grant{Name: "a\xff"}, auth.DetailOption + " name"},
		{"with a long name", session("ann"), apikey.Grant{Name: strings.Repeat("n", 129)}, auth.DetailOption + " name"},
		{"ended", session("ann"), apikey.Grant{Expires: noon}, auth.DetailOption + " expires"},
		{"with negative uses", session("ann"), apikey.Grant{Uses: -1}, auth.DetailOption + " uses"},
		{"with bits behind the mask", session("ann"), apikey.Grant{Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}}, auth.DetailOption + " networks"},
		{"with many networks", session("ann"), apikey.Grant{Networks: slices.Repeat(office, 65)}, auth.DetailOption + " networks"},
	} {
		key, r, err := w.mechanism.Keys().Make(t.Context(), c.by, w.tenant, c.grant)
		if got := problem(err); got != c.want {
			t.Errorf("%s: %q (%v), want %q", c.what, got, err, c.want)
		}
		if made := err == nil; (string(key) != "") != made || (r.ID != "") != made {
			t.Errorf("%s: %q beside the error %v", c.what, r.ID, err)
		}
	}
	if page, _, _ := w.store.List(t.Context(), apikey.Of{Org: "acme"}, "", 100); len(page) != 4 {
		t.Errorf("%d keys, want the 4 that were permitted", len(page))
	}
}

// problem returns the first excess, or the detail and path of an error.
func problem(err error) string {
	if b, ok := errors.AsType[*auth.Error](err); ok && b.Detail == auth.DetailDelegation {
		return b.Faults[0].Path
	}
	if e, ok := errors.AsType[*auth.Error](err); ok {
		return strings.TrimSpace(e.Detail + " " + e.Path)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestAKeyIsATokenWithTheSameGrant compares what random keys may do with what tokens with the same grant may
// do, where the claim of a token is a ceiling, and what both may make.
func TestAKeyIsATokenWithTheSameGrant(t *testing.T) {
	w := newWorld(t, func(w *world) { w.mechanism.PerAccount = 1000 })
	chains := []string{"*", "object", "object.read", "object.read.c_note", "object.read.c_note." + note, "object.*.c_note", "object.update.c_note.*.title",
		"object.create.c_note", "admin", "admin.read", "view", "view.execute.report", "script.runner"}
	probes := []scope.Need{scope.Object(scope.Read, "c_note", "", ""), scope.Object(scope.Read, "c_note", note, "title"), scope.Object(scope.Update, "c_note", note, "title"),
		scope.Object(scope.Delete, "c_note", note, ""), scope.Object(scope.Create, "c_note", "", "body"), scope.Object(scope.Read, "c_memo", "", ""), scope.Admin(scope.Read), scope.Admin(scope.Update)}
	random := rand.New(rand.NewPCG(1, 2))
	makings := 0
	for range 500 {
		var granted []string
		for _, c := range chains {
			if random.IntN(4) == 0 {
				granted = append(granted, c)
			}
		}
		account := []string{"ann", "bot"}[random.IntN(2)] // bot has a role
		by := administrator()
		by.App, by.Mechanism = app, "signature"
		want := wish(granted...)
		want.Subject = account
		signed, _, err := w.tokens.Mint(t.Context(), by, w.tenant, want)
		if err != nil {
			t.Fatal(err)
		}
		key, _ := w.make(t, func(g *apikey.Grant) {
			g.Account, g.App, g.Scope, g.Expires = account, app, granted, want.Expires
		})
		principals := map[string]auth.Principal{}
		for name, credential := range map[string]string{"key": key, "token": string(signed)} {
			if got := w.send(t, "GET", "/me", bearing(credential)); got.Code != 200 {
				t.Fatalf("%s: %d %s", name, got.Code, got.Body)
			}
			principals[name] = *w.last.Load()
		}
		of, like := principals["key"], principals["token"]
		for _, need := range probes {
			if of.Scope.Allows(need) != like.Scope.Allows(need) || of.Granted.Allows(need) != like.Granted.Allows(need) {
				t.Fatalf("%v: a key is allowed %v: %t, and a token %t", granted, need, of.Scope.Allows(need), like.Scope.Allows(need))
			}
		}
		if !slices.Equal(of.Roles, like.Roles) || of.Account != like.Account || of.App != like.App || of.Access != like.Access || !of.Expires.Equal(like.Expires) {
			t.Fatalf("a key is %+v, and a token %+v", of, like)
		}
		// A key makes what such a token makes that ends with it, because a key can be revoked.
		for range 10 {
			m := auth.Making{Account: []string{"ann", "bot"}[random.IntN(2)], App: []string{"", app}[random.IntN(2)],
				Scope: compiled(t, chains[random.IntN(len(chains))]), Expires: noon.Add(time.Duration(5+random.IntN(8)) * time.Minute),
				Access: auth.Access{SkipACL: random.IntN(8) == 0}, EndsWithMaker: true}
			if a, b := of.MayMake(m) == nil, like.MayMake(m) == nil; a != b {
				t.Fatalf("%+v by a key: %t, by a token: %t", m, a, b)
			} else if a {
				makings++
			}
		}
	}
	if makings < 50 {
		t.Errorf("only %d makings were permitted", makings)
	}
}

// A key makes tokens of its own scope and app that end soon, and nothing that would outlive it.
func TestWhatAKeyMakes(t *testing.T) {
	w := newWorld(t)
	principalOf := func(alter func(*apikey.Grant)) auth.Principal {
		key, _ := w.make(t, alter)
		w.want(t, "the key", key, 200)
		return *w.last.Load()
	}
	ofApp := principalOf(func(g *apikey.Grant) { g.App = app })
	alone := principalOf(nil)
	limited := principalOf(func(g *apikey.Grant) { g.App, g.Uses = app, 5 })
	inOffice := principalOf(func(g *apikey.Grant) { g.App, g.Networks = app, office })
	permanent, long, other := wish("object.read.c_note"), wish("object.read.c_note"), wish("object.read.c_note")
	permanent.Permanent, permanent.Expires, long.Expires, other.Subject = true, time.Time{}, noon.Add(16*time.Minute), "bot"
	for _, c := range []struct {
		what string
		by   auth.Principal
		wish bearer.Wish
		want string
	}{
		{"an ephemeral token", ofApp, wish("object.read.c_note"), ""},
		{"an ephemeral token, by a key for the office", inOffice, wish("object.read.c_note"), ""},
		{"more scope", ofApp, wish("object.read"), "scope"},
		{"for another account", ofApp, other, "sub"},
		{"a permanent token", ofApp, permanent, "expires"},
		{"a long token", ofApp, long, "expires"},
		{"by a key without an app", alone, wish("object.read.c_note"), "app"},
		{"by a limited key", limited, wish("object.read.c_note"), "maxUses"},
	} {
		_, _, err := w.tokens.Mint(t.Context(), c.by, w.tenant, c.wish)
		if got := problem(err); got != c.want {
			t.Errorf("%s: %q (%v), want %q", c.what, got, err, c.want)
		}
	}
	for what, err := range map[string]error{
		"a session":                 ofApp.MayMake(auth.Everything("ann")),
		"a session of everything":   principalOf(func(g *apikey.Grant) { g.Scope = []string{"*"} }).AsAdministrator(true).MayMake(auth.Everything("ann")),
		"a signing secret":          signature.Within(ofApp, w.tenant, app, nil, signature.Credential{Account: "ann", Scope: []string{"object.read.c_note"}}),
		"one that ends in a minute": signature.Within(ofApp, w.tenant, app, nil, signature.Credential{Account: "ann", Scope: []string{}, NotAfter: noon.Add(time.Minute)}),
	} {
		if err == nil {
			t.Errorf("a key makes %s", what)
		}
	}
	if _, _, err := w.mechanism.Keys().Make(t.Context(), ofApp, w.tenant, apikey.Grant{Expires: noon.Add(time.Minute)}); problem(err) != "expires" {
		t.Errorf("a key makes a key: %v", err)
	}
	key, _ := w.make(t, nil)
	if got := w.send(t, "GET", "/fresh", bearing(key)); got.Code != 403 {
		t.Errorf("a key is a fresh proof: %d", got.Code)
	}
}

func TestConcurrentMakeAtTheLimit(t *testing.T) {
	w := newWorld(t, func(w *world) { w.mechanism.PerAccount = 7 })
	var made, tooMany atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			switch _, _, err := w.mechanism.Keys().Make(t.Context(), session("ann"), w.tenant, apikey.Grant{}); problem(err) {
			case "":
				made.Add(1)
			case auth.DetailTooManyTokens:
				tooMany.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 7 || tooMany.Load() != 57 {
		t.Errorf("%d made, %d refused", made.Load(), tooMany.Load())
	}
	if _, _, err := w.mechanism.Keys().Make(t.Context(), session("bot"), w.tenant, apikey.Grant{}); err != nil {
		t.Errorf("another account: %v", err)
	}
}

func TestReplace(t *testing.T) {
	w := newWorld(t)
	keys := w.mechanism.Keys()
	old, r := w.make(t, func(g *apikey.Grant) {
		g.Prefix, g.Expires, g.Networks, g.App = "acme_test", noon.Add(time.Hour), office, app
	})
	key, next, err := keys.Replace(t.Context(), signedByApp(), w.tenant, r.ID, noon.Add(10*time.Minute), noon.Add(48*time.Hour))
	if err != nil || !strings.HasPrefix(string(key), "acme_test_") {
		t.Fatal(err)
	}
	want := r.Grant
	want.Expires = noon.Add(48 * time.Hour)
	if fmt.Sprint(next.Grant) != fmt.Sprint(want) || next.Maker != "ann" {
		t.Errorf("the successor %+v, want %+v", next.Grant, want)
	}
	_, _, err = keys.Replace(t.Context(), session("ann"), w.tenant, r.ID, noon.Add(time.Minute), time.Time{})
	if !errors.Is(err, auth.ErrConflict) {
		t.Errorf("replaced twice: %v", err)
	}
	w.want(t, "the old one during the overlap", old, 200)
	w.want(t, "the new one", string(key), 200)
	w.clock.Advance(10 * time.Minute)
	w.want(t, "the old one after it", old, 401)
	w.want(t, "the new one", string(key), 200)

	old, r = w.make(t, func(g *apikey.Grant) { g.Expires = w.clock.Now().Add(time.Minute) })
	if _, _, err := keys.Replace(t.Context(), session("ann"), w.tenant, r.ID, w.clock.Now().Add(time.Hour), time.Time{}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	w.want(t, "never later than its own end", old, 401)

	_, without := w.make(t, nil)
	by := administrator()
	by.App, by.Mechanism = app, "signature"
	if _, next, err := keys.Replace(t.Context(), by, w.tenant, without.ID, time.Time{}, time.Time{}); err != nil || next.App != "" {
		t.Errorf("a key without an app, replaced by a signature of one: %q, %v", next.App, err)
	}
	_, long := w.make(t, nil)
	never := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600)) // no store has such a time in UTC
	if _, _, err := keys.Replace(t.Context(), session("ann"), w.tenant, long.ID, never, time.Time{}); problem(err) != auth.DetailOption+" until" {
		t.Errorf("an overlap into the year 10000: %v", err)
	}
	_, limited := w.make(t, func(g *apikey.Grant) { g.Uses = 3 })
	_, ended := w.make(t, func(g *apikey.Grant) { g.Expires = w.clock.Now().Add(time.Second) })
	_, wide := w.make(t, nil)
	w.clock.Advance(time.Second)
	narrow := session("ann")
	narrow.Granted = compiled(t, "object.read.c_note."+note)
	elsewhere := session("ann")
	elsewhere.Org = "globex"
	for _, c := range []struct {
		what, id, want string
		by             auth.Principal
	}{
		{"a limited key", limited.ID, auth.DetailOption + " uses", session("ann")},
		{"an ended key", ended.ID, auth.ErrNotFound.Error(), session("ann")},
		{"an unknown key", "unknown", auth.ErrNotFound.Error(), session("ann")},
		{"by who has less", wide.ID, "scope", narrow},
		{"by another account", wide.ID, "sub", session("bot")},
		{"by another org", wide.ID, "sub", elsewhere},
	} {
		_, _, err := keys.Replace(t.Context(), c.by, w.tenant, c.id, time.Time{}, time.Time{})
		if got := problem(err); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestReplaceDuringUse replaces a key that others use, several times at once: one replacement wins, no
// request fails before the end of the old key, and none passes after it.
func TestReplaceDuringUse(t *testing.T) {
	w := newWorld(t, func(w *world) { w.mechanism.Stale = time.Second })
	old, r := w.make(t, nil)
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			if i%8 != 0 {
				w.want(t, "in use", old, 200)
				return
			}
			_, _, err := w.mechanism.Keys().Replace(t.Context(), session("ann"), w.tenant, r.ID, noon.Add(time.Minute), time.Time{})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, auth.ErrConflict) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.clock.Advance(time.Minute)
	w.want(t, "after the overlap", old, 401)
	if page, _, _ := w.store.List(t.Context(), apikey.Of{Org: "acme"}, "", 100); won.Load() != 1 || len(page) != 2 {
		t.Errorf("%d replacements, %d keys", won.Load(), len(page))
	}
}

func TestRestrict(t *testing.T) {
	w := newWorld(t)
	narrow := session("ann")
	narrow.Granted = compiled(t, "object.read.c_note."+note)
	for _, c := range []struct {
		what  string
		alter func(*apikey.Record)
		by    auth.Principal
		want  string
	}{
		{"a name", func(r *apikey.Record) { r.Name = "new" }, session("bot"), ""},
		{"less scope", func(r *apikey.Record) { r.Scope = nil }, session("bot"), ""},
		{"an earlier end", func(r *apikey.Record) { r.Expires = noon.Add(time.Minute) }, session("bot"), ""},
		{"fewer networks", func(r *apikey.Record) { r.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/28")} }, session("bot"), ""},
		{"disabled", func(r *apikey.Record) { r.Disabled = true }, session("bot"), ""},
		{"more scope, by the owner", func(r *apikey.Record) { r.Scope = []string{"object"} }, session("ann"), ""},
		{"more scope, by who has less", func(r *apikey.Record) { r.Scope = []string{"object"} }, narrow, "scope"},
		{"no end, by another account", func(r *apikey.Record) { r.Expires = time.Time{} }, session("bot"), "sub"},
		{"more networks, by another account", func(r *apikey.Record) { r.Networks = nil }, session("bot"), "sub"},
		{"an end in the past", func(r *apikey.Record) { r.Expires = noon }, session("ann"), auth.DetailOption + " expires"},
		{"a long name", func(r *apikey.Record) { r.Name = strings.Repeat("n", 129) }, session("ann"), auth.DetailOption + " name"},
	} {
		_, before := w.make(t, func(g *apikey.Grant) { g.Expires, g.Networks = noon.Add(time.Hour), office })
		err := w.mechanism.Keys().Restrict(t.Context(), c.by, w.tenant, before.ID, func(r *apikey.Record) error {
			c.alter(r)
			r.Account, r.Org, r.Uses, r.Hash, r.ID = "root", "globex", 9, [32]byte{}, "other" // which cannot be altered
			return nil
		})
		if got := problem(err); got != c.want {
			t.Errorf("%s: %q (%v), want %q", c.what, got, err, c.want)
		}
		want := before
		if c.want == "" {
			c.alter(&want)
		}
		if got, _ := w.store.Store.Get(t.Context(), before.ID); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got  %+v\nwant %+v", c.what, got, want)
		}
	}
	_, r := w.make(t, nil)
	disable := func(is bool) func(*apikey.Record) error {
		return func(r *apikey.Record) error { r.Disabled = is; return nil }
	}
	keys := w.mechanism.Keys()
	if err := keys.Restrict(t.Context(), session("bot"), w.tenant, r.ID, disable(true)); err != nil {
		t.Error(err)
	}
	wider := func(r *apikey.Record) error { r.Disabled, r.Scope = true, []string{"object"}; return nil }
	if err := keys.Restrict(t.Context(), narrow, w.tenant, r.ID, wider); problem(err) != "scope" {
		t.Errorf("a disabled key is widened, for somebody else to enable: %v", err)
	}
	if err := keys.Restrict(t.Context(), session("bot"), w.tenant, r.ID, disable(false)); problem(err) != "sub" {
		t.Errorf("another account enables it: %v", err)
	}
	if err := keys.Restrict(t.Context(), session("ann"), w.tenant, "unknown", disable(false)); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("an unknown key: %v", err)
	}
	failed := errors.New("failed")
	if err := keys.Restrict(t.Context(), session("ann"), w.tenant, r.ID, func(*apikey.Record) error { return failed }); err != failed {
		t.Errorf("the error of alter is %v", err)
	}
}

func TestRevokeLeaked(t *testing.T) {
	w := newWorld(t, func(w *world) { w.mechanism.Stale = time.Hour })
	key, r := w.make(t, nil)
	keys := w.mechanism.Keys()
	w.want(t, "before", key, 200)
	for what, text := range map[string]string{"another secret": withSecret(key), "another prefix": withPrefix(key, "acme_test")} {
		if _, err := keys.RevokeLeaked(t.Context(), text); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, text := range badKeys(key) {
		if _, err := keys.RevokeLeaked(t.Context(), text); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	w.want(t, "after reports that have not all of it", key, 200)
	if got, err := keys.RevokeLeaked(t.Context(), key); err != nil || got.ID != r.ID || got.Account != "ann" {
		t.Errorf("%+v, %v", got, err)
	}
	w.want(t, "after the report", key, 401)
	if _, err := keys.RevokeLeaked(t.Context(), key); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	w.store.away.Store(true)
	if _, err := keys.RevokeLeaked(t.Context(), key); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("while the store is away: %v", err)
	}
}
