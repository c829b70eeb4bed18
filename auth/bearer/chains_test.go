package bearer_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// TestChainsOfMakers lets random sessions, signing keys and tokens mint tokens through a Guard,
// as long as they can. For each token it checks that its maker may do whatever the token may do.
// It checks again while time passes, after a token was revoked, and after an app or an account
// was disabled.
func TestChainsOfMakers(t *testing.T) {
	testChainsOfMakers(t, func(_ testing.TB, clock *authtest.Clock) token.Ledger {
		return token.NewMemoryLedger(clock.Now)
	})
}

// testChainsOfMakers is the test for a ledger that uses a given clock.
func testChainsOfMakers(t *testing.T, newLedger func(testing.TB, *authtest.Clock) token.Ledger) {
	worlds := 6
	if testing.Short() {
		worlds = 2
	}
	var n tally
	for seed := range worlds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			l := newLab(t, uint64(seed), newLedger)
			l.passTime(t)
			l.revoke(t)
			l.disableApp(t)
			l.disableAccount(t)
			n.add(l.tally)
		})
	}
	t.Logf("%+v", n)
	if n.minted < 30*worlds || n.refused < 30*worlds || n.passed < 1000*worlds || n.ended < 1000*worlds || n.revoked < 2*worlds || n.byTokens < 30*worlds {
		t.Errorf("the test tries too little: %+v", n)
	}
}

// tally counts what happened, so that the test cannot pass without doing anything.
type tally struct{ minted, byTokens, refused, passed, ended, revoked int }

func (a *tally) add(b tally) {
	a.minted, a.byTokens, a.refused = a.minted+b.minted, a.byTokens+b.byTokens, a.refused+b.refused
	a.passed, a.ended, a.revoked = a.passed+b.passed, a.ended+b.ended, a.revoked+b.revoked
}

// holder is a credential for requests: a session, a signing key, or a token that another holder
// made.
type holder struct {
	name    string
	present func(*http.Request)
	inside  string // an address from which it can be used

	maker  *holder // of a token
	by     auth.Principal
	claims token.Claims
	made   time.Time
}

func (h *holder) isToken() bool { return h.maker != nil }

// isBrief reports whether the holder is an ephemeral token that lasts at most 15 minutes.
func (h *holder) isBrief() bool {
	return h.isToken() && h.claims.ID == "" && h.claims.Expires.Sub(h.made) <= 15*time.Minute
}

// descendsFrom reports whether a token was made by another holder, or by a descendant of it.
func (h *holder) descendsFrom(other *holder) bool {
	for h = h.maker; h != nil; h = h.maker {
		if h == other {
			return true
		}
	}
	return false
}

func (h *holder) String() string {
	if !h.isToken() {
		return h.name
	}
	c := h.claims
	return fmt.Sprintf("%s [iss %.22s sub %s exp %v scp %q rls %q gnt %d] made at %s by\n  %v",
		h.name, c.Issuer, c.Subject, c.Expires, c.Scope, c.Roles, c.Grant, h.made.Format(time.TimeOnly), h.maker)
}

const appC = "acmeKey000000000000003"

// lab is a world with three apps that sign, and all holders made in it.
type lab struct {
	*minting
	*rand.Rand
	tally
	ledger  token.Ledger
	mux     *auth.Mux
	holders []*holder

	// of the latest request that minted
	wish   bearer.Wish
	by     auth.Principal
	raw    token.Token
	claims token.Claims
}

func newLab(t testing.TB, seed uint64, newLedger func(testing.TB, *authtest.Clock) token.Ledger) *lab {
	l := &lab{Rand: rand.New(rand.NewPCG(seed, 0))}
	clock := authtest.NewClock(noon)
	l.ledger = newLedger(t, clock)
	credentials := signature.Memory{}
	l.minting = newMinting(t, func(w *world) {
		w.directory.PutApp(auth.App{ClientKey: appC, Org: "acme"})
		w.putPair(t, 3, appC, "acme")
		w.mechanism.Ledger, w.mechanism.PerSubject, w.guard.Now = l.ledger, 1000, clock.Now
		w.guard.Mechanisms = append(w.guard.Mechanisms, loggedIn{}, &signature.Mechanism{
			Credentials: credentials, Replays: accepting{},
		})
		w.guard.Proxies = auth.Proxies{Header: "Test-Address", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}
	})
	l.clock = clock
	for _, id := range []string{"ada", "bob", "cat"} {
		l.restore(id)
	}
	l.mux = l.routes()
	for _, id := range []string{"ada", "bob", "cat"} {
		l.holders = append(l.holders, &holder{name: "session of " + id, inside: "192.0.2.1",
			present: func(r *http.Request) { r.Header.Set("Test-Session", id) }})
	}
	for i, app := range []string{appA, appB, appC} {
		l.newKey(t, app, []string{"ada", "bob", "cat"}[i], credentials)
	}
	return l
}

// restore resets an account: ada and bob are administrators, cat is not.
func (l *lab) restore(id string) {
	roles := map[string][]string{"ada": {"administrator"}, "bob": {"administrator", "editor"}, "cat": {"member"}}
	l.directory.PutAccount(auth.Account{ID: id, Org: "acme", Roles: roles[id]})
}

// newKey gives an app a signing key with random restrictions, for an account of its own and for
// cat.
func (l *lab) newKey(t testing.TB, app, account string, credentials signature.Memory) {
	_, secret := signing.Generate()
	key, err := signing.NewKey(app, secret)
	if err != nil {
		t.Fatal(err)
	}
	c := &signature.Credential{Key: key, Account: account, Accounts: []string{"cat"}}
	inside := "192.0.2.1"
	if l.IntN(3) == 0 {
		c.Scope = l.chains()
	}
	if l.IntN(2) == 0 {
		c.NotAfter = noon.Add(time.Duration(1+l.IntN(180)) * time.Minute)
	}
	if l.IntN(2) == 0 {
		c.Networks = nets([]string{"192.0.2.0/24", "2001:db8::/32"}[l.IntN(2)])
		inside = c.Networks[0].Addr().Next().String()
	}
	credentials[app] = c
	for _, as := range []string{account, "cat"} {
		l.holders = append(l.holders, &holder{
			name:    fmt.Sprintf("key of %.22s as %s [until %v, from %v, scope %q]", app, as, c.NotAfter, c.Networks, c.Scope),
			inside:  inside,
			present: func(r *http.Request) { sign(r, app, secret, as, l.clock.Now()) },
		})
	}
}

// sign signs a request without package signing, by the text of the interface.
func sign(r *http.Request, app string, secret signing.Secret, account string, now time.Time) {
	timestamp := strconv.FormatInt(now.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(app+string(secret)))
	mac.Write([]byte(r.URL.Path[len("/acme/v2"):] + ";" + r.Method + ";" + timestamp))
	for name, value := range map[string]string{"Key": app, "Timestamp": timestamp, "Nonce": "abcdefgh12345678",
		"Signature": hex.EncodeToString(mac.Sum(nil)), "Account": account} {
		r.Header.Set("Service-Client-"+name, value)
	}
}

// accepting is a store of replays that accepts every request.
type accepting struct{}

func (accepting) Claim(context.Context, signing.Use) error { return nil }

// loggedIn is a mechanism whose sessions never end.
type loggedIn struct{}

func (loggedIn) Name() string { return "session" }

func (loggedIn) Bind(*auth.Settings) error { return nil }

func (loggedIn) Presented(r *http.Request) auth.Presence {
	if r.Header.Get("Test-Session") == "" {
		return auth.Absent
	}
	return auth.InCookie
}

func (loggedIn) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	account, err := t.Account(ctx, r.Header.Get("Test-Session"))
	if err != nil {
		return auth.Principal{}, &auth.Error{Detail: auth.DetailSessionExpired, Err: err}
	}
	return changed(session(account.ID), func(p *auth.Principal) { p.Roles = account.Roles }), nil
}

func (loggedIn) Challenge(*auth.Tenant, error) string { return "" }

var probes = []string{"/me", "/notes/read", "/notes/update", "/apps/read", "/apps/update", "/views/report"}

// routes returns one route that mints, and those on which tokens are tried.
func (l *lab) routes() *auth.Mux {
	mux := l.guard.Mux()
	mux.HandleFunc("POST /tokens", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		var err error
		l.by = auth.From(r.Context())
		l.raw, l.claims, err = l.mechanism.Mint(r.Context(), l.by.AsAdministrator(l.by.HasRole("administrator")), auth.TenantFrom(r.Context()), l.wish)
		if err != nil {
			auth.Fail(w, r, err)
		}
	})
	mux.HandleFunc("GET /me", auth.Authenticated, l.answer)
	mux.HandleFunc("GET /notes/read", auth.Allow("object.read.c_note"), l.answer)
	mux.HandleFunc("GET /notes/update", auth.Allow("object.update.c_note"), l.answer)
	mux.HandleFunc("GET /apps/read", auth.Allow("admin.read"), l.answer)
	mux.HandleFunc("GET /apps/update", auth.Allow("admin.update"), l.answer)
	mux.HandleFunc("GET /views/{name}", auth.Allow("view.execute.{name}"), l.answer)
	return mux
}

// send sends a request with a holder's credential, from an address.
func (l *lab) send(h *holder, method, path, from string) (int, *auth.Principal) {
	r := httptest.NewRequest(method, "/acme/v2"+path, nil)
	r.Header.Set("Test-Address", from)
	h.present(r)
	rec := httptest.NewRecorder()
	l.mux.ServeHTTP(rec, r)
	return rec.Code, l.last.Load()
}

func (l *lab) chains() []string {
	all := []string{"", "object", "object.read", "object.read.c_note", "object.update.c_note", "admin", "admin.update", "admin.read", "view"}
	list := []string{}
	for _, chain := range all {
		if l.IntN(4) == 0 {
			list = append(list, chain)
		}
	}
	return list
}

// mint lets a random holder request a random token.
func (l *lab) mint(t testing.TB) {
	maker := l.holders[l.IntN(len(l.holders))]
	status, by := l.send(maker, "GET", "/me", maker.inside)
	if status != 200 {
		by = &auth.Principal{} // it has ended, and requests anyway
	}
	l.wish = l.randomWish(by)
	if status, _ = l.send(maker, "POST", "/tokens", maker.inside); status >= 500 {
		t.Fatalf("got %d", status)
	}
	if status != 200 {
		l.refused++
		return
	}
	if l.minted++; maker.isToken() {
		l.byTokens++
	}
	raw := string(l.raw)
	l.holders = append(l.holders, &holder{
		name: fmt.Sprintf("token %d", len(l.holders)), inside: "198.51.100.1", maker: maker, by: l.by, claims: l.claims, made: l.clock.Now(),
		present: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+raw) },
	})
}

// seldom returns true once in a few calls. Most wishes must be near what the maker has, because a
// wish without anything in common with it is refused.
func (l *lab) seldom() bool { return l.IntN(6) == 0 }

func (l *lab) randomWish(by *auth.Principal) bearer.Wish {
	w := bearer.Wish{Claims: token.Claims{Subject: by.Account, Issuer: by.App, Scope: l.chains()}}
	if !l.seldom() {
		w.Scope = slices.DeleteFunc(w.Scope, func(chain string) bool {
			set, err := scope.Compile("test", chain)
			return err != nil || len(by.Granted.Missing(set)) > 0
		})
	}
	if l.seldom() {
		w.Subject = []string{"ada", "bob", "cat"}[l.IntN(3)]
	}
	if by.App == "" || l.seldom() {
		w.Issuer = []string{"", appA, appB, appC}[l.IntN(4)]
	}
	switch l.IntN(4) {
	case 0:
		w.Permanent, w.Expires = true, l.end(by)
	case 1:
		w.MaxUses, w.Expires = 1_000_000, l.end(by)
	case 2:
		w.Expires = l.soon()
	}
	if l.seldom() {
		w.Roles = []string{[]string{"editor", "administrator", "member"}[l.IntN(3)]}
	}
	if l.seldom() {
		w.Grant, w.SkipACL, w.SkipCreateACL = scope.Level(l.IntN(9)), l.IntN(2) == 0, l.IntN(2) == 0
	}
	if l.seldom() {
		w.Extra = map[string]json.RawMessage{"groups": []byte(`[]`)}
	}
	return w
}

// end returns the end of a maker, or some other one.
func (l *lab) end(by *auth.Principal) time.Time {
	if l.seldom() {
		return l.soon()
	}
	return by.Expires
}

// soon returns a time in the next minutes or hours.
func (l *lab) soon() time.Time {
	return l.clock.Now().Add([]time.Duration{time.Minute, 10 * time.Minute, 15 * time.Minute, 16 * time.Minute, 2 * time.Hour}[l.IntN(5)])
}

// passTime mints and probes while the clock passes all ends.
func (l *lab) passTime(t *testing.T) {
	for _, d := range []time.Duration{0, time.Minute - 1, 1, time.Minute, 8 * time.Minute, 5*time.Minute - 1, 1, time.Minute,
		30 * time.Minute, 44 * time.Minute, 90 * time.Minute, time.Hour} {
		l.clock.Advance(d)
		for range 30 {
			l.mint(t)
		}
		l.probe(t, func(*holder) bool { return false })
	}
}

// probe tries each token on a few routes from some address, and its maker on the routes that
// admitted the token. excused selects tokens that may outlive a change of their maker.
func (l *lab) probe(t *testing.T, excused func(*holder) bool) {
	t.Helper()
	for _, h := range l.holders {
		for range 3 {
			if h.isToken() {
				path, from := probes[l.IntN(len(probes))], []string{"192.0.2.1", "2001:db8::1", "198.51.100.1"}[l.IntN(3)]
				l.compare(t, h, path, from, excused)
			}
		}
	}
}

func (l *lab) compare(t *testing.T, h *holder, path, from string, excused func(*holder) bool) {
	t.Helper()
	status, p := l.send(h, "GET", path, from)
	if status != 200 {
		l.ended++
		return
	}
	l.passed++
	if h.isBrief() {
		from = h.maker.inside // a brief token works from any network
	}
	switch status, maker := l.send(h.maker, "GET", path, from); {
	case status == 200:
		if excess := exceeds(p, maker, h); excess != "" {
			t.Fatalf("%s: %v\nprincipal %+v\nmaker %+v", excess, h, p, maker)
		}
	case !excused(h):
		t.Fatalf("at %v GET %s from %s: its maker is refused with %d, and it is not: %v", l.clock.Now(), path, from, status, h)
	}
}

// exceeds describes what a principal has beyond its maker, except what an administrator may give
// without having it.
func exceeds(p, maker *auth.Principal, h *holder) string {
	admin := maker.HasRole("administrator") && maker.Granted.Allows(scope.Admin(scope.Update))
	proven := admin && !maker.Authenticated.IsZero()
	switch {
	case len(maker.Granted.Missing(p.Granted)) > 0:
		return "scope"
	case p.Account != maker.Account && !admin:
		return "account"
	case maker.App != "" && p.App != maker.App && !proven:
		return "app"
	case len(h.claims.Extra) > 0 && !admin:
		return "claims"
	case !proven && (p.Grant > maker.Grant || p.SkipACL && !maker.SkipACL || p.SkipCreateACL && !maker.SkipCreateACL):
		return "access"
	case !proven && slices.ContainsFunc(h.claims.Roles, func(role string) bool { return !maker.HasRole(role) }):
		return "roles"
	}
	return ""
}

// statuses returns the status of GET /me for each token.
func (l *lab) statuses() map[*holder]int {
	all := map[*holder]int{}
	for _, h := range l.holders {
		if h.isToken() {
			all[h], _ = l.send(h, "GET", "/me", h.inside)
		}
	}
	return all
}

// revoke removes tokens from the ledger. What they made must be refused: at once, or after 15
// minutes if it has no id. Nothing else may be refused.
func (l *lab) revoke(t *testing.T) {
	for range 4 {
		l.restart(t)
		before := l.statuses()
		victim := l.oneThat(before, func(h *holder) bool { return h.claims.ID != "" && l.hasChildren(h) })
		if victim == nil {
			continue
		}
		if err := l.ledger.Revoke(t.Context(), heldBy(victim.claims.Issuer, token.Any), victim.claims.ID); err != nil {
			t.Fatal(err)
		}
		ends := func(h *holder) bool { return h == victim || h.descendsFrom(victim) }
		survives := func(h *holder) bool { return throughBrief(h, victim) }
		l.checkEnded(t, before, ends, survives)
		l.probe(t, func(h *holder) bool { return h.isBrief() && ends(h) })
		l.clock.Advance(15 * time.Minute)
		l.checkEnded(t, before, ends, nil)
		l.probe(t, func(*holder) bool { return false })
		l.revoked++
	}
}

// throughBrief reports whether a token descends from another through one that no ledger has.
func throughBrief(h, from *holder) bool {
	for ; h != from; h = h.maker {
		if h.isBrief() {
			return true
		}
	}
	return false
}

func (l *lab) hasChildren(of *holder) bool {
	return slices.ContainsFunc(l.holders, func(h *holder) bool { return h.maker == of })
}

// oneThat returns one of the admitted tokens for which is returns true, or nil.
func (l *lab) oneThat(statuses map[*holder]int, is func(*holder) bool) *holder {
	var some []*holder
	for _, h := range l.holders { // in a fixed order, so that the seed determines the whole run
		if statuses[h] == 200 && is(h) {
			some = append(some, h)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[l.IntN(len(some))]
}

// checkEnded checks that tokens in ends are refused, and that all other tokens are answered as
// before. Tokens in survives may do either. If survives is nil, time has passed, and only tokens
// in ends are checked.
func (l *lab) checkEnded(t *testing.T, before map[*holder]int, ends, survives func(*holder) bool) {
	t.Helper()
	for h, status := range l.statuses() {
		switch {
		case ends(h) && (survives == nil || !survives(h)):
			if status == 200 {
				t.Fatalf("at %v it passes still: %v", l.clock.Now(), h)
			}
		case survives != nil && !ends(h) && status != before[h]:
			t.Fatalf("at %v it passed with %d before, and now with %d: %v", l.clock.Now(), before[h], status, h)
		}
	}
}

// disableApp ends the tokens of an app, and the tokens that its key made.
func (l *lab) disableApp(t *testing.T) {
	for _, app := range []string{appA, appB, appC} {
		l.restart(t)
		l.directory.PutApp(auth.App{ClientKey: app, Org: "acme", Disabled: true})
		for h, status := range l.statuses() {
			signed := !h.by.Authenticated.IsZero() && h.by.App == app
			if status == 200 && (h.claims.Issuer == app || signed && h.claims.ID != "") {
				t.Fatalf("M04 %s is disabled: %v", app, h)
			}
		}
		l.probe(t, func(h *holder) bool {
			return h.isBrief()
		})
		l.directory.PutApp(auth.App{ClientKey: app, Org: "acme"})
	}
}

// disableAccount ends the tokens of an account, and the tokens with an id that it made.
func (l *lab) disableAccount(t *testing.T) {
	for _, id := range []string{"ada", "bob", "cat"} {
		l.restart(t)
		l.directory.PutAccount(auth.Account{ID: id, Org: "acme", Disabled: true})
		for h, status := range l.statuses() {
			if status == 200 && (h.claims.Subject == id || h.by.Account == id && h.claims.ID != "") {
				t.Fatalf("M18 %s is disabled: %v", id, h)
			}
		}
		l.probe(t, func(h *holder) bool {
			return h.claims.ID == "" // a token without an id has no record of its maker
		})
		l.restore(id)
	}
}

// restart removes the ended holders, and mints new ones.
func (l *lab) restart(t *testing.T) {
	l.clock.Advance(time.Minute)
	l.holders = slices.DeleteFunc(l.holders, func(h *holder) bool {
		return h.isToken() && !h.claims.Expires.IsZero() && h.claims.Expires.Before(l.clock.Now())
	})
	for range 60 {
		l.mint(t)
	}
	l.probe(t, func(*holder) bool { return false })
}
