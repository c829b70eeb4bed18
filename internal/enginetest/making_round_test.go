package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// round is a few principals that the administrator makes, and everything that they make. Its
// requests change only its own objects.
type round struct {
	*making
	*workspace
	random
	t      *testing.T
	number int
	names  int // number of names that were used

	fresh      string              // an account made for the round
	rolesOf    map[string][]string // roles of the accounts that a principal may act as
	apps       []app               // to delete at the end
	roles      []string            // likewise
	principals []*principal
	findings   map[finding][]string
}

const (
	newcomers     = 3 // principals that the administrator makes
	maxPrincipals = 14
	maxDepth      = 6 // most makers of a principal
)

func (r *round) run() {
	r.rolesOf = map[string][]string{r.chief: {administrator, member}, r.hand: {member}}
	r.findings = make(map[finding][]string)
	defer r.cleanUp()
	defer r.tellFindings()
	roles := one(r.random, [][]string{{member}, {administrator}, {administrator, member}, {}})
	r.fresh = r.newAccount(roles)
	r.rolesOf[r.fresh] = roles
	demoted, since := r.demoted(), time.Now()
	for at := range newcomers {
		newcomer := (*round).newcomer
		if at == 0 {
			newcomer = firstNewcomers[r.number%len(firstNewcomers)]
		}
		if p := newcomer(r); p != nil {
			r.grow(p, maxPrincipals*(at+1)/newcomers)
		}
	}
	r.lookAfterEnds()
	r.endApps()
	r.revokeMakers()
	time.Sleep(time.Until(since.Add(stale)))
	r.lookAtDemoted(demoted)
}

// name returns a name that nothing else has.
func (r *round) name(what string) string {
	r.names++
	return fmt.Sprintf("%s-%d-%d", what, r.number, r.names)
}

// roleName is name for a role, which leave deletes.
func (r *round) roleName() string {
	name := r.name("role")
	r.roles = append(r.roles, name)
	return name
}

// leave deletes the roles of the round, because an org has at most a hundred.
func (r *round) leave() {
	for _, role := range r.roles {
		r.administer(r.t, "DELETE", "/admin/roles/"+role, nil)
	}
}

// newAccount makes an account without a password.
func (r *round) newAccount(roles []string) (id string) {
	body := map[string]any{"email": r.name("made") + "@acme.example", "roles": roles}
	return r.must(r.t, "POST", "/admin/accounts", body).id()
}

// ownApp returns an app that ends with the round.
func (r *round) ownApp(c credential) app {
	a := r.newApp(r.t, c)
	r.apps = append(r.apps, a)
	return a
}

// meet lets a principal send the probes, and compares it with its maker.
func (r *round) meet(p *principal) {
	if p.maker != nil {
		p.depth = p.maker.depth + 1
	}
	r.principals = append(r.principals, p)
	r.tally.countPrincipal(p)
	p.seen = r.interview(p)
	r.judge(p)
	for _, role := range p.claims.Roles {
		if slices.Contains(r.rolesOf[p.account], role) {
			r.find(pinnedRole, p, []string{"it adds the role " + role + ", which its subject has"})
		}
	}
}

func (r *round) judge(p *principal) {
	if found := p.excess(); len(found) > 0 {
		r.find(classOf(p), p, found)
	}
	if p.isOfAnotherApp() {
		r.find(anotherApp, p, []string{"its maker is a token of app " + p.maker.app.key})
	}
	if p.outlastsRevocation() {
		r.find(revokedMaker, p, []string{"it is ephemeral, and lasts for more than 15 minutes"})
	}
}

// finding is a principal that breaks a rule. It is reported once, whatever it does.
type finding struct {
	class class
	by    *principal
}

func (r *round) find(c class, p *principal, found []string) {
	key := finding{c, p}
	for _, text := range found {
		if !slices.Contains(r.findings[key], text) {
			r.findings[key] = append(r.findings[key], text)
		}
	}
}

func (r *round) tellFindings() {
	for key, found := range r.findings {
		r.tally.find(key.class, fmt.Sprintf("round %d: %s\n\t\t%s", r.number, key.by, strings.Join(found, "\n\t\t")))
	}
}

// grow lets a principal make things, and what was made makes others, until the round has enough
// principals.
func (r *round) grow(p *principal, most int) {
	r.meet(p)
	if p.seen.from < 0 {
		return
	}
	if p.delegates() && r.IntN(3) == 0 {
		r.narrow(p)
	}
	tries := 6
	if p.depth > 0 {
		tries = 3
	}
	for range tries {
		if len(r.principals) >= most || p.changed {
			return
		}
		made := r.attempt(p)
		switch {
		case made == nil:
		case made.standIn || p.depth+1 == maxDepth:
			r.meet(made)
		default:
			r.grow(made, most)
		}
	}
}

// soon is the longest time that the round waits for an expiry.
const soon = 10 * time.Second

// lookAfterEnds waits for the expiry of makers, and then checks what they made.
func (r *round) lookAfterEnds() {
	var over []*principal
	var last time.Time
	for _, p := range r.principals {
		if p.maker == nil || p.maker.ends.IsZero() || time.Until(p.maker.ends) > soon {
			continue
		}
		over = append(over, p)
		if p.maker.ends.After(last) {
			last = p.maker.ends
		}
	}
	time.Sleep(time.Until(last.Add(time.Second)))
	for _, p := range over {
		if r.isAlive(p) {
			r.find(classOf(p), p, []string{"it is let in a second or more after its maker's end"})
		}
	}
	for _, p := range r.principals {
		if p.seen.from < 0 && p.maker != nil {
			p.seen = r.interview(p) // it may not have been known at first
			r.judge(p)
		}
	}
}

// cleanUp restores the workspace for the next round.
func (r *round) cleanUp() {
	r.dropKeys()
	for _, a := range r.apps {
		r.administer(r.t, "DELETE", "/apps/"+a.key, nil)
	}
	for _, account := range slices.Concat(r.subjects(), sortedKeys(r.rolesOf)) {
		for _, a := range []app{r.home, r.away} {
			r.administer(r.t, "DELETE", "/apps/"+a.key+"/subjects/"+account+"/tokens", nil)
		}
	}
}
