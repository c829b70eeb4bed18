package paging

import (
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// where reads a where, and decides what of it is the place behind which the
// caller goes on: what is last in it, in the form of Behind. What stands before
// is a filter, be it of that form or not.
func (l listParser) where() Filter {
	text, ok := l.sent["where"]
	if !ok {
		return Filter{}
	}
	if f, ok := l.resumed(text); ok {
		return f
	}
	f := parseWhere(text, joinPath(l.prefix, "where"), l.filterable, &l.problems)
	order, ok := l.quietly().order()
	if !ok {
		return f
	}
	conditions := f.conjuncts()
	own := len(conditions) - placeAtEnd(order, conditions)
	return And(And(conditions[:own]...), And(conditions[own:]...).marked(true))
}

// resumed reads a where to which a walk has added where it goes on. That may
// have values of any type, as items have them, and the bounds of a filter hold
// for each of the two: what was accepted for the first page is for all others.
func (l listParser) resumed(text string) (f Filter, ok bool) {
	conditions := conditionsOf(text)
	if len(conditions) == 0 {
		return Filter{}, false
	}
	last := conditions[len(conditions)-1]
	if last == everything {
		return l.own(conditions[:len(conditions)-1]), true
	}
	several := strings.HasPrefix(last, `{"$or":[`)
	if !several && !strings.HasPrefix(last, `{"_id":{"$`) {
		return Filter{}, false
	}
	order, ok := l.quietly().order()
	if !ok {
		return Filter{}, false
	}
	own := len(conditions) - 1
	if !several { // one alternative is no $or, and its parts are among the others
		own = len(conditions) - len(order)
	}
	if own < 0 {
		return Filter{}, false
	}
	place := l.quietly().mixed(conjunction(conditions[own:]))
	if _, ok := positionOf(order, place); !ok {
		return Filter{}, false
	}
	return And(l.own(conditions[:own]), place.marked(true)), true
}

// own reads what a caller asks for beside a place.
func (l listParser) own(conditions []string) Filter {
	if len(conditions) == 0 {
		return Filter{}
	}
	var wrong problems
	argument := joinPath(l.prefix, "where")
	f := parseWhere(conjunction(conditions), argument, l.filterable, &wrong)
	for _, p := range wrong {
		if len(conditions) == 1 {
			p.Pointer = "/$and/0" + p.Pointer
		}
		l.add(argument, p.Pointer, p.Text)
	}
	return f
}

// mixed reads a place. The zero Filter, which is none, is returned for what is
// wrong.
func (l listParser) mixed(text string) Filter {
	f := parseFilter(text, "", l.filterable, &l.problems, true)
	if l.problems != nil {
		return Filter{}
	}
	return f
}

// order returns the sort, if nothing is wrong with it.
func (l listParser) order() ([]Key, bool) {
	q := Query{Sort: l.sort()}
	return q.Order(), l.problems == nil
}

// quietly returns l with problems of its own.
func (l listParser) quietly() listParser {
	p := *l.parser
	p.problems = nil
	l.parser = &p
	return l
}

const (
	and        = `{"$and":[`
	everything = `{}`
)

// whereText returns Where as Parse reads it back: with the place last and, where
// what is last only looks like one, an empty condition behind it.
func (q Query) whereText() string {
	order := q.Order()
	place, rest := q.Where.split()
	if _, ok := positionOf(order, place); ok {
		return And(rest, place).String()
	}
	text := q.Where.String()
	if len(order) == 1 || placeAtEnd(order, q.Where.conjuncts()) == 0 {
		return text
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, and), "]}")
	if q.Where.op != OpAnd {
		text = q.Where.String()
	}
	return and + text + "," + everything + "]}"
}

func conjunction(conditions []string) string {
	if len(conditions) == 1 {
		return conditions[0]
	}
	return and + strings.Join(conditions, ",") + "]}"
}

// conditionsOf returns the texts of the conditions that hold at once in a
// canonical text, which is not checked otherwise; nil for one that is none or
// too long for two filters.
func conditionsOf(text string) (conditions []string) {
	if len(text) > 2*maxText+len(and)+len(",]}") {
		return nil
	}
	inner, ok := strings.CutPrefix(text, and)
	if !ok {
		return []string{text}
	}
	for {
		n := strictjson.Span(inner)
		condition, rest := inner[:n], inner[n:]
		conditions = append(conditions, condition)
		if rest == "]}" {
			return conditions
		}
		if inner, ok = strings.CutPrefix(rest, ","); !ok {
			return nil
		}
	}
}
