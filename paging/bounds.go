package paging

import (
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// bounds are those of one where.
type bounds struct {
	text, depth, tokens int
	nodes               int // conditions and logical operators
	values              int // what properties are compared with
	cursorValues        int // how many of the values, the last ones, are the cursor's
}

const (
	maxNodes  = 256
	maxValues = 200
)

// scanWhere reads a where, within what any bounds are.
func scanWhere(text string) (document, error) {
	return scanWithin(text, 2*maxText+len(andOpen+","+andClose), maxDepth+2, 2*maxTokens)
}

// bounded returns f with the cursor at its end marked, and the bounds of its text.
// They hold for the cursor and for the rest one by one: a filter that was accepted
// for the first page is for all others. What joins the two is not counted.
func (c *compiler) bounded(text string, f Filter, order []Key) (Filter, bounds) {
	b := bounds{maxText, maxDepth, maxTokens, maxNodes, maxValues, 0}
	joined := c.size(0) == 1 && c.document[1].name == "$and" && c.document[1].isArray()
	elements := 1 // of the $and that the cursor takes
	if joined && strings.HasSuffix(text, noCursor) {
		b.text += len(noCursor) - len(andClose)
	} else {
		conditions := f.conjuncts()
		n := cursorAtEnd(order, conditions)
		if n == 0 {
			return f, b
		}
		cursor := conditions[len(conditions)-n:]
		b.allow(cursor, len(text))
		for i := range cursor {
			cursor[i].cursor = true // in f, whose filters nobody else has yet
		}
		if f.op != OpAnd {
			f = cursor[0]
		}
		elements = n
	}
	b.tokens *= 2 // more than a cursor has
	if joined && c.size(1) == elements+1 {
		b.text += len(andOpen + andClose)
		b.depth += 2
		b.nodes++
	}
	return f, b
}

// allow adds to the bounds what a cursor takes of a text so long.
func (b *bounds) allow(cursor []Filter, size int) {
	length := 0
	for _, f := range cursor {
		nodes, values := f.size()
		b.nodes += nodes
		b.values += values
		b.cursorValues += values
		if size > maxText {
			length += len(",") + len(f.String())
		}
	}
	if length <= maxText {
		b.text += length
	}
}

// size returns how many conditions and logical operators a cursor has as text,
// and how many values.
func (f Filter) size() (nodes, values int) {
	if f.filters == nil {
		return 1, 1
	}
	for _, part := range f.filters {
		n, v := part.size()
		nodes, values = nodes+n, values+v
	}
	if f.op == OpNot && f.filters[0].op == OpEq {
		return nodes, values // $ne
	}
	return nodes + 1, values
}

// within returns what of the bounds the text of a document exceeds.
func (d document) within(text string, b bounds) error {
	if len(text) > b.text {
		return errTextSize
	}
	for i := range d {
		switch t := &d[i]; {
		case i == b.tokens:
			return atByte(errTokens, int(t.start))
		case int(t.level) > b.depth && (t.isObject() || t.isArray()):
			return atByte(strictjson.ErrDepth, int(t.start))
		}
	}
	return nil
}
