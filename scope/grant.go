package scope

import (
	"slices"
	"strings"
)

// Grant answers what a list handler asks about one verb on one kind of object.
type Grant struct {
	set    Set
	verb   Verb
	object string
}

// On returns what s permits of verb v on objects of the name.
func (s Set) On(v Verb, object string) Grant { return Grant{s, v, object} }

// IDs returns the identifiers of the instances of which any part is permitted,
// sorted; or all, when it is every instance. Put it into the query before the
// limit, so that pages stay full.
func (g Grant) IDs() (ids []string, all bool) {
	prefix := Object(g.verb, g.object, "", "")
	if !prefix.Valid() {
		return nil, false
	}
	need := strings.Split(prefix.String(), ".")
	for c := range g.set.Chains() {
		segments := strings.Split(c.text, ".")
		if matchless(c.text) || !covers(strings.Join(segments[:min(len(segments), len(need))], "."), prefix.String()) {
			continue
		}
		if len(segments) <= 3 || segments[3] == "*" {
			return nil, true
		}
		ids = append(ids, segments[3])
	}
	slices.Sort(ids)
	return slices.Compact(ids), false
}

// Property tells whether the path is permitted on every instance, so that a
// list may be filtered and sorted by it.
func (g Grant) Property(path string) bool {
	return g.set.Allows(Object(g.verb, g.object, "", path))
}

// Of returns a function that tells whether the path is permitted on the
// instance. The path "" is the whole of it.
func (g Grant) Of(id string) func(path string) bool {
	return func(path string) bool {
		return g.set.Allows(Object(g.verb, g.object, id, path))
	}
}
