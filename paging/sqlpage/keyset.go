package sqlpage

import (
	"encoding/json"
	"slices"

	"github.com/tenantkit/tenantkit/paging"
)

// keyset is the position of an item in a sort, behind which a page begins.
type keyset struct {
	keys       []paging.Key
	properties []property // of keys
	values     []any      // of keys
}

// findKeyset looks for a position that the query names, and returns what else
// it asks for.
func (s *statement) findKeyset(where paging.Filter) (*keyset, paging.Filter) {
	q := paging.Query{Where: where, Sort: s.sort}
	values, rest, ok := q.Cursor()
	if !ok {
		values, rest, ok = s.position(where)
	}
	if !ok {
		return nil, where
	}
	return &keyset{keys: s.sort, properties: s.sortProperties, values: values}, rest
}

// position finds a condition that comes to the same as a place without being
// one: where values are of one type. It may say less where package walk says not
// greater or equal, where null cannot be.
func (s *statement) position(where paging.Filter) (values []any, rest paging.Filter, ok bool) {
	parts := conjuncts(where)
	for i, part := range parts {
		if part.Op() != paging.OpOr {
			continue
		}
		if values, ok := s.placeIn(s.withNull(part)); ok && s.ofOneType(part, values) {
			return values, paging.And(slices.Delete(parts, i, i+1)...), true
		}
	}
	return nil, where, false
}

// placeIn returns the values of the place whose form f has.
func (s *statement) placeIn(f paging.Filter) (values []any, ok bool) {
	if f.Op() != paging.OpOr {
		return nil, false
	}
	alternatives := f.Filters()
	for _, c := range conjuncts(alternatives[len(alternatives)-1]) {
		values = append(values, c.Values()...)
	}
	q, err := paging.Query{Sort: s.sort}.After(values...)
	return values, err == nil && q.Where.String() == f.String()
}

func conjuncts(f paging.Filter) []paging.Filter {
	if f.Op() == paging.OpAnd {
		return f.Filters()
	}
	return []paging.Filter{f}
}

// withNull says not greater or equal for less, of columns that are never null.
func (s *statement) withNull(alternatives paging.Filter) paging.Filter {
	var or []paging.Filter
	for _, alternative := range alternatives.Filters() {
		var and []paging.Filter
		for _, f := range conjuncts(alternative) {
			if f.Op() == paging.OpLt && f.Path() != "_id" && s.neverNull(f.Path(), f.Values()[0]) {
				f = paging.Not(atLeast(f.Path(), f.Values()[0]))
			}
			and = append(and, f)
		}
		or = append(or, paging.And(and...))
	}
	return paging.Or(or...)
}

// neverNull reports whether a sort key is a column that always has a value, of
// the type of this one.
func (s *statement) neverNull(path string, value any) bool {
	i := slices.IndexFunc(s.sort, func(k paging.Key) bool { return k.Path == path })
	if i < 0 {
		return false
	}
	c, plain := s.sortProperties[i].(column)
	return plain && c.NotNull && c.hasType(value)
}

// ofOneType reports whether the position means no more than its comparisons say.
func (s *statement) ofOneType(alternatives paging.Filter, values []any) bool {
	for i, value := range values {
		c, plain := s.sortProperties[i].(column)
		switch {
		case !plain || value != nil && !c.hasType(value):
			return false
		case s.dialect == SQLite && !c.isText() && !saysLess(alternatives, s.sort[i].Path):
			return false // there may be a text, which is no less
		}
	}
	return true
}

func saysLess(alternatives paging.Filter, path string) bool {
	return slices.ContainsFunc(alternatives.Filters(), func(alternative paging.Filter) bool {
		return slices.ContainsFunc(conjuncts(alternative), func(f paging.Filter) bool {
			return f.Op() == paging.OpLt && f.Path() == path
		})
	})
}

func atLeast(path string, value any) paging.Filter {
	switch v := value.(type) {
	case bool:
		return paging.Gte(path, v)
	case json.Number:
		return paging.Gte(path, v)
	}
	return paging.Gte(path, value.(string))
}

func nullable(p property) bool {
	c, ok := p.(column)
	return !ok || !c.NotNull
}

// inOneRow returns the position as a comparison of rows, which is one range of
// an index. It is possible where all keys are columns of one direction that can
// have these values, and no NULL is equal to the position or behind it. Of
// values of several types in a column of SQLite it has those that a sort has.
func (k *keyset) inOneRow(s *statement) (condition string, ok bool) {
	for i, p := range k.properties {
		c, plain := p.(column)
		desc := k.keys[i].Desc
		if !plain || !c.places(k.values[i]) || desc != k.keys[0].Desc || desc && nullable(p) {
			return "", false
		}
	}
	var left, right []string
	for i, p := range k.properties {
		key, value := p.keys()[0], p.(column).bound(s, k.values[i])
		if s.dialect == SQLite {
			// It uses an index for bare columns only; of two collations it
			// takes the one that is written.
			key.bytewise, value = "", hidden(value, i)+key.bytewise
		}
		left, right = append(left, key.String()), append(right, value)
	}
	symbol := " > "
	if k.keys[0].Desc {
		symbol = " < "
	}
	return row(left) + symbol + row(right), true
}

// hidden keeps SQLite from looking at the first value of a row when it plans. Of
// the greatest one it would find that nothing is greater, and overlook that as
// many rows as there are may be equal: it then sorts them all.
func hidden(placeholder string, i int) string {
	if i > 0 {
		return placeholder
	}
	return "(+" + placeholder + ")"
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
		if i == len(k.properties)-1 {
			break
		}
		same := p.equal(s, k.values[i])
		if slices.Contains(same, "FALSE") {
			break // no row has this value, and none has more in common with the position
		}
		equal = append(equal, same...)
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

// anyOf returns the ranges as one condition, of which no index is read from
// where it begins.
func anyOf(ranges []indexRange) string {
	var alternatives []string
	for _, r := range ranges {
		alternatives = append(alternatives, r.String())
	}
	return join(alternatives, " OR ", "FALSE")
}

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
	rest := make([]indexRange, len(inner))
	for i, r := range inner {
		rest[i] = indexRange{r.equal[n:], r.beyond}
	}
	merged := indexRange{inner[0].equal[:n], anyOf(rest)}
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
