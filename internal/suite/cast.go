package suite

import "github.com/tenantkit/tenantkit/auth"

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

// Other returns another org than Org. In a store of texts, its name is like that of Org.
func (c *Cast) Other(suffix string) auth.OrgKey {
	if c.Features.Org == nil {
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
