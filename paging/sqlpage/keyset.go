package sqlpage

import (
	"slices"

	"github.com/tenantkit/tenantkit/paging"
)

// keyset is a cursor and the properties of its keys.
type keyset struct {
	keys       []paging.Key
	properties []property // of keys
	values     []any      // of keys
}

func nullable(p property) bool {
	c, ok := p.(column)
	return !ok || !c.NotNull
}

// inOneRow returns what follows the cursor as a comparison of rows, which is one
// range of an index. That is possible where all keys are columns of one direction
// that can have these values, and where no NULL is equal to the cursor or follows
// it. SQLite compares values of several types in a column as a sort does.
func (k *keyset) inOneRow(s *statement) (condition string, ok bool) {
	for i, p := range k.properties {
		c, plain := p.(column)
		desc := k.keys[i].Desc
		if !plain || !c.canHave(k.values[i]) || desc != k.keys[0].Desc || desc && nullable(p) {
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

// ranges returns what follows the cursor as conditions, each of one range of an
// index. No two of them hold for the same row.
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
			break // no row has this value, and none has more in common with the cursor
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
