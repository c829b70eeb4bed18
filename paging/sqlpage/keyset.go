package sqlpage

import (
	"slices"

	"github.com/tenantkit/tenantkit/paging"
)

// keyset is the position of an item in a sort, behind which a page begins.
type keyset struct {
	keys       []paging.Key
	properties []property // of keys
	values     []any      // of keys
}

// findKeyset looks for a condition that says of each row whether it is behind
// some position, in the form in which package walk writes it: greater by the
// first key, or equal by that and greater by the next, and so on. It returns
// what else the filter says.
func (s *statement) findKeyset(where paging.Filter) (*keyset, paging.Filter) {
	parts := conjuncts(where)
	for i, part := range parts {
		if part.Op() != paging.OpOr {
			continue
		}
		if k := s.keyset(part.Filters()); k != nil {
			return k, paging.And(slices.Delete(parts, i, i+1)...)
		}
	}
	return nil, where
}

func conjuncts(f paging.Filter) []paging.Filter {
	if f.Op() == paging.OpAnd {
		return f.Filters()
	}
	return []paging.Filter{f}
}

// keyset returns the position that alternatives are about, or nil.
func (s *statement) keyset(alternatives []paging.Filter) *keyset {
	last := conjuncts(alternatives[len(alternatives)-1])
	if len(last) != len(s.sort) {
		return nil
	}
	k := &keyset{keys: s.sort, properties: s.sortProperties}
	for i, f := range last {
		if f.Path() != k.keys[i].Path || len(f.Values()) != 1 || !k.properties[i].places(f.Values()[0]) {
			return nil
		}
		k.values = append(k.values, f.Values()[0])
	}
	// What is behind an _id, a string, is never nothing: there is a range for it.
	if _, ok := k.values[len(k.values)-1].(string); !ok || !k.matches(alternatives) {
		return nil
	}
	return k
}

// matches reports whether the alternatives are those of the position, one for
// each key that has something behind its value.
func (k *keyset) matches(alternatives []paging.Filter) bool {
	for i := range k.keys {
		if k.isLast(i) {
			continue
		}
		if len(alternatives) == 0 || !k.matchesAt(i, conjuncts(alternatives[0])) {
			return false
		}
		alternatives = alternatives[1:]
	}
	return len(alternatives) == 0
}

// isLast reports whether nothing comes after the value of a key.
func (k *keyset) isLast(i int) bool { return k.values[i] == nil && k.keys[i].Desc }

// matchesAt reports whether parts say: equal by the keys before i, and behind by
// that one.
func (k *keyset) matchesAt(i int, parts []paging.Filter) bool {
	if len(parts) != i+1 {
		return false
	}
	for j, f := range parts[:i] {
		if !k.says(f, paging.OpEq, j) {
			return false
		}
	}
	return k.isBeyond(parts[i], i)
}

func (k *keyset) says(f paging.Filter, op paging.Op, i int) bool {
	return f.Op() == op && f.Path() == k.keys[i].Path && f.Values()[0] == k.values[i]
}

func (k *keyset) isBeyond(f paging.Filter, i int) bool {
	negated := f.Op() == paging.OpNot
	if negated {
		f = f.Filters()[0]
	}
	switch {
	case k.values[i] == nil:
		return negated && k.says(f, paging.OpEq, i)
	case !k.keys[i].Desc:
		return !negated && k.says(f, paging.OpGt, i)
	case negated:
		return k.says(f, paging.OpGte, i)
	}
	// Where null cannot be, $lt is the same.
	return k.says(f, paging.OpLt, i) && !nullable(k.properties[i])
}

func nullable(p property) bool {
	c, ok := p.(column)
	return !ok || !c.NotNull
}

// inOneRow returns the position as a comparison of rows, which is one range of
// an index. It is possible where all keys are columns of one direction, and no
// NULL is equal to the position or behind it.
func (k *keyset) inOneRow(s *statement) (condition string, ok bool) {
	for i, p := range k.properties {
		_, plain := p.(column)
		desc := k.keys[i].Desc
		if !plain || k.values[i] == nil || desc != k.keys[0].Desc || desc && nullable(p) {
			return "", false
		}
	}
	var left, right []string
	for i, p := range k.properties {
		key, value := p.keys()[0], p.(column).bound(s, k.values[i])
		if s.dialect == SQLite {
			// It uses an index for bare columns only; of two collations it
			// takes the one that is written.
			key.bytewise, value = "", value+key.bytewise
		}
		left, right = append(left, key.String()), append(right, value)
	}
	symbol := " > "
	if k.keys[0].Desc {
		symbol = " < "
	}
	return row(left) + symbol + row(right), true
}

// ranges returns the position as conditions no two of which hold for the same
// row, each of one range of an index.
func (k *keyset) ranges(s *statement) []indexRange {
	var ranges []indexRange
	var equal []string
	for i, p := range k.properties {
		for _, beyond := range p.beyond(s, k.keys[i].Desc, k.values[i]) {
			last := len(beyond) - 1
			ranges = append(ranges, indexRange{slices.Concat(equal, beyond[:last]), beyond[last]})
		}
		if i < len(k.properties)-1 {
			equal = append(equal, p.equal(s, k.values[i])...)
		}
	}
	return merge(ranges)
}

// indexRange is the rows that are equal by the leading keys, and beyond by what
// follows.
type indexRange struct {
	equal  []string // a condition on each key
	beyond string
}

func (r indexRange) String() string { return allOf(append(slices.Clone(r.equal), r.beyond)) }

func allOf(conditions []string) string { return join(conditions, " AND ", "TRUE") }

// maxRanges bounds the length of a statement, in which each of them repeats the
// filter.
const maxRanges = 12

// merge makes one of the innermost ranges where there are too many. What is
// equal in all of them leads it.
func merge(ranges []indexRange) []indexRange {
	if len(ranges) <= maxRanges {
		return ranges
	}
	inner := ranges[maxRanges-1:]
	n := common(inner)
	var alternatives []string
	for _, r := range inner {
		alternatives = append(alternatives, indexRange{r.equal[n:], r.beyond}.String())
	}
	merged := indexRange{inner[0].equal[:n], join(alternatives, " OR ", "FALSE")}
	return append(ranges[:maxRanges-1:maxRanges-1], merged)
}

// common returns how many leading keys are equal to the same in all ranges.
func common(ranges []indexRange) int {
	n := len(ranges[0].equal)
	for _, r := range ranges {
		n = min(n, len(r.equal))
		for i := range n {
			if r.equal[i] != ranges[0].equal[i] {
				n = i
				break
			}
		}
	}
	return n
}
