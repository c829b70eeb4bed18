// Package suite has what suites share: those of package storetest, which are for every store, those of this
// module's own engines, and that of package authtest for mechanisms.
package suite

import (
	"crypto/rand"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Features are storetest.Features, which says what they mean.
type Features struct {
	Now          func() time.Time
	Pass         func(d time.Duration)
	Account, Org func() string
}

// NewAccount returns an account that no subtest has used.
func (f Features) NewAccount() string { return f.AccountNamed(Random()) }

// AccountNamed returns the name, or an account where names have another form.
func (f Features) AccountNamed(name string) string {
	if f.Account == nil {
		return name
	}
	return f.Account()
}

// NewOrg returns an org that no subtest has used.
func (f Features) NewOrg() auth.OrgKey {
	if f.Org == nil {
		return auth.OrgKey("org-" + rand.Text()) // in both cases of letters
	}
	return auth.OrgKey(f.Org())
}

// Time is that of the store.
func (f Features) Time() time.Time {
	if f.Now == nil {
		return time.Now()
	}
	return f.Now()
}

// Wait lets time pass for the store.
func (f Features) Wait(d time.Duration) {
	if f.Pass == nil {
		time.Sleep(d)
		return
	}
	f.Pass(d)
}

// Cast has the ids of the accounts and orgs of one subtest, by the names that the subtest gives
// them.
type Cast struct {
	Features
	Org auth.OrgKey // of the subtest; Features.Org returns new ones

	ids map[string]string
}

// NewCast returns the cast of a new org.
func NewCast(f Features) Cast { return Cast{Features: f, Org: f.NewOrg(), ids: map[string]string{}} }

// ID returns the id of an account. An id is its own name, and nobody has the empty one.
func (c *Cast) ID(name string) string {
	if c.Account == nil || name == "" {
		return name
	}
	if c.ids[name] == "" {
		id := c.Account()
		c.ids[name], c.ids[id] = id, id
	}
	return c.ids[name]
}

// Other returns another org than Org, unless the suffix is empty. In a store of texts, its name is like that
// of Org.
func (c *Cast) Other(suffix string) auth.OrgKey {
	if c.Features.Org == nil || suffix == "" {
		return c.Org + auth.OrgKey(suffix)
	}
	key := "org " + suffix
	if c.ids[key] == "" {
		c.ids[key] = c.Features.Org()
	}
	return auth.OrgKey(c.ids[key])
}

// Odd returns account ids that a store might split or treat as equal.
func (c *Cast) Odd() []string {
	if c.Account != nil {
		return []string{c.Account(), c.Account(), c.Account()}
	}
	return []string{
		"ann", "Ann", "ann ", " ann", "ann%", "a_n", "*", "[a]nn", "ann'; --", `"ann"`, `a\nn`, "a:n", "a/n", "{ann}",
		"ünï", "u\u0308nï", "名前", "👩‍💻", "\u202eann",
	}
}
