package auth_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// The parts of the random principals, makings and probes.
var (
	someChains = []string{"*", "object", "object.read", "object.read.c_note", "object.read.c_note." + id, "object.*.c_note",
		"object.update.c_note", "object.update.c_note.*.title", "object.create.c_note.*.title", "admin", "admin.update", "admin.read", "view", "view.execute.report", "script.runner"}
	probeNeeds = []scope.Need{scope.Object(scope.Read, "c_note", "", ""), scope.Object(scope.Read, "c_note", id, ""),
		scope.Object(scope.Read, "c_note", otherID, "title"), scope.Object(scope.Update, "c_note", id, ""),
		scope.Object(scope.Update, "c_note", id, "title"), scope.Object(scope.Create, "c_note", "", "title"),
		scope.Object(scope.Delete, "c_memo", id, ""), scope.Admin(scope.Update), scope.Admin(scope.Read),
		askedNeed("view.execute.report"), askedNeed("script.runner")}
	someNetworks = networks("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "0.0.0.0/0", "2001:db8::/32", "2001:db8:1::/48", "::/0")
	someApps     = []string{"", "key", "other"}
	someRoles    = []string{"editor", "reader", "owner"}
)

// dice makes random values.
type dice struct{ *rand.Rand }

func one[T any](d dice, list []T) T { return list[d.IntN(len(list))] }

// some returns a part of a list, in its order; often an empty part or all of it.
func some[T any](d dice, list []T) (part []T) {
	odds := d.IntN(4)
	for _, v := range list {
		if d.IntN(3) < odds {
			part = append(part, v)
		}
	}
	return part
}

func (d dice) often() bool { return d.IntN(4) > 0 }

// time returns the zero time or one of four hours.
func (d dice) time() time.Time {
	if n := d.IntN(5); n > 0 {
		return soon.Add(time.Duration(n) * time.Hour)
	}
	return time.Time{}
}

func (d dice) networks() []netip.Prefix {
	if d.often() {
		return nil
	}
	return append([]netip.Prefix{}, some(d, someNetworks)...)
}

func (d dice) access() auth.Access {
	return auth.Access{Grant: scope.Level(d.IntN(9)), SkipACL: d.often(), SkipCreateACL: d.often()}
}

func (d dice) principal() auth.Principal {
	p := auth.Principal{Org: "acme", Account: one(d, []string{"ann", "bob"}), App: one(d, someApps),
		Granted: compiled(some(d, someChains)...), Roles: some(d, someRoles), Expires: d.time(), Networks: d.networks(), Limited: d.IntN(20) == 0}
	switch d.IntN(3) {
	case 0:
		p.Authenticated = soon
	case 1:
		p.TokenID, p.Access = "jti", d.access()
	default:
		p.Access = d.access()
	}
	return p
}

// making returns a making that is near the limits of a principal. One that has nothing in
// common with the principal would always be refused.
func (d dice) making(p *auth.Principal) auth.Making {
	m := auth.Making{Account: p.Account, App: p.App, Expires: p.Expires, Networks: p.Networks, EndsWithMaker: d.often()}
	if d.IntN(3) == 0 {
		m.Account = "bob"
	}
	if d.IntN(3) == 0 {
		m.App = one(d, someApps)
	}
	if d.IntN(3) == 0 {
		m.Expires = d.time()
	}
	if d.IntN(3) == 0 {
		m.Networks = d.networks()
	}
	if d.IntN(2) == 0 {
		m.Access = auth.Access{Grant: scope.Level(d.IntN(9)), SkipACL: !d.often(), SkipCreateACL: !d.often()}
	}
	if d.IntN(3) == 0 {
		m.Roles = some(d, someRoles)
	}
	m.Claims = !d.often()
	m.Scope = compiled(some(d, someChains)...)
	if d.often() {
		m.Scope = compiled(covered(d, p.Granted)...)
	}
	return m
}

// covered returns some of the chains that a Set covers.
func covered(d dice, set scope.Set) (chains []string) {
	for _, chain := range some(d, someChains) {
		if len(set.Missing(compiled(chain))) == 0 {
			chains = append(chains, chain)
		}
	}
	return chains
}

// probe is one action that somebody tries.
type probe struct {
	account, app, role string
	need               scope.Need
	at                 time.Time
	from               netip.Addr
	access             auth.Access
	claims             bool
}

func (d dice) probe() probe {
	addrs := []string{"10.0.0.1", "10.1.0.1", "10.1.2.3", "192.0.2.1", "2001:db8::1", "2001:db8:1::1", "2001:db9::1"}
	return probe{
		account: one(d, []string{"ann", "bob"}), app: one(d, someApps[1:]), role: one(d, someRoles), need: one(d, probeNeeds),
		at:   soon.Add(time.Duration(d.IntN(6))*time.Hour - time.Duration(d.IntN(2))),
		from: netip.MustParseAddr(one(d, addrs)), access: d.access(), claims: d.often(),
	}
}

// passes lists which parts of a probe are permitted, each part alone: whoever holds two
// credentials can try each.
func passes(account, app string, set scope.Set, ends time.Time, from []netip.Prefix, access auth.Access, roles []string, x probe) map[string]bool {
	return map[string]bool{
		"account":         account == x.account,
		"app":             app == "" || app == x.app,
		"scope":           set.Allows(x.need),
		"time":            ends.IsZero() || !x.at.After(ends),
		"address":         from == nil || slices.ContainsFunc(from, func(n netip.Prefix) bool { return n.Contains(x.from) }),
		"level":           access.Grant >= x.access.Grant,
		"skipAcl":         access.SkipACL,
		"bypassCreateAcl": access.SkipCreateACL,
		"role":            slices.Contains(roles, x.role),
	}
}

// excepted lists what an administrator may give without having it. An administrator's token
// may give only what it has, except for the account.
func excepted(p *auth.Principal, admin bool) []string {
	switch {
	case !admin || !p.Granted.Allows(scope.Admin(scope.Update)):
		return nil
	case p.Authenticated.IsZero():
		return []string{"account"}
	}
	return []string{"account", "app", "level", "skipAcl", "bypassCreateAcl", "role"}
}

// dices returns random values of a seed, and logs the seed.
func dices(t *testing.T) dice {
	const seed = 20260102
	t.Logf("seed %d", seed)
	return dice{rand.New(rand.NewPCG(seed, 0))}
}

func TestNothingMadePassesAProbeThatItsMakerFails(t *testing.T) {
	d := dices(t)
	allowed := 0
	for range 12_000 {
		p, admin := d.principal(), d.often()
		m := d.making(&p)
		if p.AsAdministrator(admin).MayMake(m) != nil {
			continue
		}
		allowed++
		except := excepted(&p, admin)
		if m.Claims && except == nil {
			t.Fatalf("claims of its own by %+v", p)
		}
		for range 20 {
			x := d.probe()
			mine := passes(p.Account, p.App, p.Granted, p.Expires, p.Networks, p.Access, p.Roles, x)
			for what, pass := range passes(m.Account, m.App, m.Scope, m.Expires, m.Networks, m.Access, m.Roles, x) {
				if pass && !mine[what] && !slices.Contains(except, what) {
					t.Fatalf("%s: %+v\npasses for %+v\nand not for its maker %+v (administrator: %v)", what, x, m, p, admin)
				}
			}
		}
	}
	if allowed < 600 {
		t.Errorf("only %d were allowed: the test tries too little", allowed)
	}
}

// A wider principal may make whatever a narrower one may. Whatever may be made, each part of
// it may also be made.
func TestMayMakeIsMonotone(t *testing.T) {
	d := dices(t)
	allowed := 0
	for range 12_000 {
		p, admin := d.principal(), d.often()
		m := d.making(&p)
		if p.AsAdministrator(admin).MayMake(m) != nil {
			continue
		}
		allowed++
		part := d.narrowed(m)
		if p.App == "" && p.Authenticated.IsZero() {
			part.App = m.App // for a token without an app, "" is no app, not any
		}
		if err := p.AsAdministrator(admin).MayMake(part); err != nil {
			t.Fatalf("%+v\nmay make %+v\nbut not %+v: %v", p, m, part, err)
		}
		wider := d.widened(p)
		if err := wider.AsAdministrator(admin || d.often()).MayMake(m); err != nil {
			t.Fatalf("%+v\nmay make %+v\nbut not %+v: %v", p, m, wider, err)
		}
	}
	if allowed < 600 {
		t.Errorf("only %d were allowed: the test tries too little", allowed)
	}
}

// narrowed removes one power from a making.
func (d dice) narrowed(m auth.Making) auth.Making {
	switch d.IntN(9) {
	case 0:
		m.Scope = compiled(covered(d, m.Scope)...)
	case 1:
		m.Roles = some(d, m.Roles)
	case 2:
		m.Grant = scope.Level(d.IntN(int(m.Grant) + 1))
	case 3:
		m.SkipACL, m.SkipCreateACL = m.SkipACL && d.often(), m.SkipCreateACL && d.often()
	case 4:
		m.Claims = false
	case 5:
		if m.Expires.IsZero() {
			m.Expires = d.time()
		} else {
			m.Expires = m.Expires.Add(-time.Hour)
		}
	case 6:
		if m.Networks == nil {
			m.Networks = append([]netip.Prefix{}, some(d, someNetworks)...)
		} else {
			m.Networks = append([]netip.Prefix{}, some(d, m.Networks)...)
		}
	case 7:
		m.EndsWithMaker = true
	case 8:
		if m.App == "" {
			m.App = one(d, someApps)
		}
	}
	return m
}

// widened removes one limit from a principal, or a part of a limit.
func (d dice) widened(p auth.Principal) auth.Principal {
	switch d.IntN(8) {
	case 0:
		p.Granted = p.Granted.Union(compiled(some(d, someChains)...))
	case 1:
		p.Roles = append(slices.Clone(p.Roles), one(d, someRoles))
	case 2:
		p.Grant = max(p.Grant, scope.Level(d.IntN(9)))
	case 3:
		p.SkipACL, p.SkipCreateACL = p.SkipACL || d.often(), p.SkipCreateACL || d.often()
	case 4:
		if p.Expires = p.Expires.Add(time.Hour); d.often() || p.Expires.Before(soon) {
			p.Expires = time.Time{}
		}
	case 5:
		if p.Networks == nil || d.often() {
			p.Networks = nil
		} else {
			p.Networks = append(slices.Clone(p.Networks), one(d, someNetworks))
		}
	case 6:
		if !p.Authenticated.IsZero() { // a token without an app has none, not any
			p.App = ""
		}
	case 7:
		p.Authenticated = soon // its caller has proved who it is
	}
	return p
}

// askedNeed returns a need.
func askedNeed(text string) scope.Need {
	n, err := scope.ParseNeed(text)
	if err != nil {
		panic(err)
	}
	return n
}
