package paging

import (
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// whereLimits are the limits of one where. They grow by the size of its cursor.
type whereLimits struct {
	text, depth, tokens int
	nodes               int // conditions and logical operators
	values              int // values that properties are compared with
	cursorValues        int // how many of the last values belong to the cursor
}

const (
	maxNodes  = 256
	maxValues = 200
)

// scanWhere reads a where within the largest limits that any where can have.
func scanWhere(text string) (document, error) {
	return scan(text, 2*maxText+len(andOpen+","+andClose), maxDepth+2, 2*maxTokens)
}

// markCursor marks the cursor at the end of f and returns the limits of the text. The
// cursor and the rest each have the full limits. So a filter that is accepted for the
// first page is accepted for all pages. The $and that joins the two is not counted.
func (c *compiler) markCursor(text string, f Filter, order []Key) (Filter, whereLimits) {
	limits := whereLimits{maxText, maxDepth, maxTokens, maxNodes, maxValues, 0}
	joined := c.size(0) == 1 && c.document[1].name == "$and" && c.document[1].isArray()
	elements := 1 // how many elements of the $and are the cursor
	if joined && strings.HasSuffix(text, noCursor) {
		limits.text += len(noCursor) - len(andClose)
	} else {
		conditions := f.conjuncts()
		n := cursorAtEnd(order, conditions)
		if n == 0 {
			return f, limits
		}
		cursor := conditions[len(conditions)-n:]
		limits.allow(cursor, len(text))
		for i := range cursor {
			cursor[i].cursor = true // changes f, whose filters are not shared yet
		}
		if f.op != OpAnd {
			f = cursor[0]
		}
		elements = n
	}
	limits.tokens *= 2 // more than the tokens of any cursor
	if joined && c.size(1) == elements+1 {
		limits.text += len(andOpen + andClose)
		limits.depth += 2
		limits.nodes++
	}
	return f, limits
}

// allow raises the limits by the size of a cursor. whereLength is the length of the
// whole where in bytes.
func (l *whereLimits) allow(cursor []Filter, whereLength int) {
	length := 0
	for _, f := range cursor {
		nodes, values := f.size()
		l.nodes += nodes
		l.values += values
		l.cursorValues += values
		if whereLength > maxText {
			length += len(",") + len(f.String())
		}
	}
	if length <= maxText {
		l.text += length
	}
}

// size returns how many conditions, logical operators and values the text of a cursor
// condition has.
func (f Filter) size() (nodes, values int) {
	if f.filters == nil {
		return 1, 1
	}
	for _, part := range f.filters {
		n, v := part.size()
		nodes, values = nodes+n, values+v
	}
	if f.op == OpNot && f.filters[0].op == OpEq {
		return nodes, values // $ne is one condition
	}
	return nodes + 1, values
}

// checkLimits returns an error if the text, its depth or its number of tokens exceeds
// limits.
func (d document) checkLimits(text string, limits whereLimits) error {
	if len(text) > limits.text {
		return errTextSize
	}
	for i := range d {
		switch t := &d[i]; {
		case i == limits.tokens:
			return atByte(errTokens, int(t.start))
		case int(t.level) > limits.depth && (t.isObject() || t.isArray()):
			return atByte(strictjson.ErrDepth, int(t.start))
		}
	}
	return nil
}
