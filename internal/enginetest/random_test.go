package enginetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tenantkit/tenantkit/paging"
)

// Values of items and filters: few, so that they often match.
var (
	texts = []any{"", " ", "a", "A", "b", "B", "Z", "z", "a%", "a_", `a\`, `'`, `"`, "10", "9", "é", "e\u0301", "ß",
		"a%b", "aa", "\uD7FF", "\uE000", "\uFFFD", "\U0010FFFFa", "😀", "null", "true", "2026-01-02T03:04:05.000Z"}
	counts   = numbers("-5", "0", "1", "2", "7")
	integers = numbers("-9223372036854775808", "-1", "0", "5", "6", "9007199254740992", "9007199254740993", "9223372036854775807")
	decimals = numbers("-1.5", "0", "0.1", "0.30000000000000004", "5", "5.5", "1e-9", "1e20")
	doubles  = numbers("-1e300", "-0.1", "0", "0.1", "5", "9007199254740993", "1e300")
	booleans = []any{false, true}
	dates    = []any{"0000-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.001Z", "9999-12-31T23:59:59.999Z"}
	days     = []any{"0000-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "9999-12-31T00:00:00.000Z"}
	uuids    = []any{"00000000-0000-0000-0000-000000000000", "9fffffff-ffff-4fff-bfff-ffffffffffff", "a0000000-0000-4000-8000-000000000000",
		"a0000000-0000-4000-8000-00000000000a", "ffffffff-ffff-ffff-ffff-ffffffffffff"}
	others = []any{[]any{}, []any{json.Number("1")}, map[string]any{}, map[string]any{"er": "a"}}
	// beyond are numbers that no item has, or that no database type holds.
	beyond = numbers("5.5", "-5.5", "1e30", "-1e30", "9223372036854775808", "-9223372036854777856", "1e320", "-1e320", "1e-320", "10e-1", "1.0")
)

func numbers(literals ...string) (values []any) {
	for _, literal := range literals {
		values = append(values, json.Number(literal))
	}
	return values
}

// valuesOf returns possible values of a property.
var valuesOf = map[string][]any{
	"name": texts, "text": texts, "count": counts, "integer": integers, "number": decimals, "double": doubles,
	"flag": booleans, "at": dates, "moment": dates, "day": days, "uuid": uuids,
	"c_text": texts, "c_number": append(append([]any{}, integers...), decimals...), "c_flag": booleans, "c_deep.er": decimals,
	"c_mixed": append(append(append(append([]any{}, texts...), doubles...), booleans...), others...),
}

// paths are all paths except _id.
var paths = func() (paths []string) {
	for _, c := range columns[1:] {
		paths = append(paths, c.path)
	}
	return append(paths, inDocument...)
}()

type random struct{ *rand.Rand }

func newRandom(seed int) random { return random{rand.New(rand.NewPCG(uint64(seed), 4))} }

func one[T any](r random, of []T) T { return of[r.IntN(len(of))] }

func (r random) items(n int) []item {
	items := make([]item, n)
	for i := range items {
		items[i] = r.item(fmt.Sprintf("%c%02d", one(r, []rune("aBcD")), i))
	}
	return items
}

func (r random) item(id string) item {
	i := item{"_id": id}
	for _, path := range paths {
		switch required := path == "name" || path == "count"; {
		case required || r.IntN(4) > 0:
			i[path] = one(r, valuesOf[path])
		case r.IntN(2) == 0 && path[:2] == "c_":
			i[path] = nil
		}
	}
	return i
}

// mixed returns items whose documents have values of another type where other items have numbers,
// texts or booleans.
func (r random) mixed(n int) []item {
	scalars := slices.Concat(texts[:8], numbers("-1", "5", "5.5", "9007199254740993", "1e20"), booleans, []any{nil})
	items := r.items(n)
	for _, i := range items {
		for _, path := range inDocument {
			if _, nested := i[path].([]any); nested || r.IntN(3) == 0 || path == "c_mixed" {
				i[path] = one(r, scalars)
			}
		}
	}
	return items
}

// goOn returns the query with which a client continues after an item.
func goOn(q paging.Query, i item) paging.Query {
	var values []any
	for _, key := range q.Order() {
		values = append(values, i[key.Path])
	}
	q, err := q.After(values...)
	if err != nil {
		panic(err)
	}
	return q
}

func (r random) filter(depth int) paging.Filter {
	if depth == 0 || r.IntN(3) == 0 {
		return r.condition()
	}
	parts := make([]paging.Filter, r.IntN(4))
	for i := range parts {
		parts[i] = r.filter(depth - 1)
	}
	switch r.IntN(4) {
	case 0:
		return paging.Or(parts...)
	case 1:
		return paging.Not(paging.Or(parts...))
	case 2:
		return paging.Not(paging.And(parts...))
	}
	return paging.And(parts...)
}

// longFilter is a filter that is too long to repeat in a statement for each range.
func (r random) longFilter() paging.Filter {
	conditions := make([]paging.Filter, 150)
	for i := range conditions {
		conditions[i] = r.condition()
	}
	return paging.Not(paging.And(conditions...))
}

func (r random) condition() paging.Filter {
	path := one(r, paths)
	switch r.IntN(13) {
	case 12:
		return r.prefix(path)
	case 0:
		return paging.Gt("_id", one(r, []string{"", "B", "a05", "c"}))
	case 1:
		return parsed(path, "$exists", r.IntN(2) == 0)
	case 2:
		return parsed(path, "$eq", nil)
	case 3:
		values := make([]any, r.IntN(5))
		for i := range values {
			values[i] = r.operand(path)
		}
		return parsed(path, one(r, []string{"$in", "$nin"}), values)
	}
	operand := r.operand(path)
	if operand == nil {
		return parsed(path, "$ne", nil)
	}
	return parsed(path, one(r, []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"}), operand)
}

// prefix returns a filter for the beginning of a text that items may have, or for one that is
// longer. A column of dates or uuids has no prefix.
func (r random) prefix(path string) paging.Filter {
	switch path {
	case "at", "moment", "day", "uuid":
		path = "text"
	}
	text := []rune(one(r, append(texts[:len(texts):len(texts)], "\U0010FFFF", "\uD7FF")).(string) + one(r, []string{"", "b"}))
	return parsed(path, "$prefix", string(text[:r.IntN(len(text)+1)]))
}

// operand returns a value to compare with the property, mostly of its type.
func (r random) operand(path string) any {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return one(r, beyond)
	case 2:
		switch path {
		case "at", "moment", "day": // only a date
			return one(r, dates)
		case "uuid": // a text of another form matches nothing
		default:
			return one(r, texts)
		}
	case 3:
		return one(r, booleans)
	}
	for {
		switch v := one(r, valuesOf[path]).(type) {
		case []any, map[string]any:
		default:
			return v
		}
	}
}

func parsed(path, operator string, operand any) paging.Filter {
	text, err := json.Marshal(map[string]any{path: map[string]any{operator: operand}})
	if err != nil {
		panic(err)
	}
	return parsedText(string(text))
}

func parsedText(text string) paging.Filter {
	f, err := paging.ParseFilter(text)
	if err != nil {
		panic(err)
	}
	return f
}

// sort returns keys, the last of which is _id.
func (r random) sort(paths []string) []paging.Key {
	var keys []paging.Key
	n := r.IntN(4)
	if r.IntN(8) == 0 {
		n = 7 // with _id the maximum of a request
	}
	for _, i := range r.Perm(len(paths))[:n] {
		keys = append(keys, paging.Key{Path: paths[i], Desc: r.IntN(2) == 0})
	}
	if r.IntN(3) == 0 { // all in one direction
		for i := range keys {
			keys[i].Desc = keys[0].Desc
		}
	}
	return append(keys, paging.Key{Path: "_id", Desc: r.IntN(2) == 0})
}

// resume returns a query that continues after random values, or with a condition that only looks
// like a cursor.
func (r random) resume(q paging.Query) paging.Query {
	if r.IntN(3) == 0 {
		return q.And(r.behind(q.Sort))
	}
	i := item{"_id": one(r, []string{"", "B", "a05", "c"})}
	for _, path := range paths {
		i[path] = r.operand(path)
	}
	return goOn(q, i)
}

// behind returns a filter in the form of a client's keyset, with random values.
func (r random) behind(keys []paging.Key) paging.Filter {
	var following, equal []paging.Filter
	for _, key := range keys {
		var value any = one(r, []string{"", "B", "a05", "c"})
		if key.Path != "_id" {
			value = r.operand(key.Path)
		}
		var greater paging.Filter
		switch {
		case value == nil && key.Desc:
			greater = paging.Or()
		case value == nil:
			greater = parsed(key.Path, "$ne", nil)
		case !key.Desc:
			greater = parsed(key.Path, "$gt", value)
		case key.Path == "_id" || r.IntN(3) == 0:
			greater = parsed(key.Path, "$lt", value)
		default:
			greater = paging.Not(parsed(key.Path, "$gte", value))
		}
		following = append(following, paging.And(append(equal[:len(equal):len(equal)], greater)...))
		equal = append(equal, parsed(key.Path, "$eq", value))
	}
	return paging.Or(following...)
}
