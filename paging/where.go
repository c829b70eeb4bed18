package paging

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// ParseFilter reads a filter in the form of where in section 4.1 of the interface:
// {"c_likes":{"$gte":5},"name.last":"King"}. The operators below a property are $eq
// $ne $gt $gte $lt $lte $in $nin $prefix $exists $not. $and $or $nor stand beside
// properties.
//
// ParseFilter does not check which properties exist and which types they have. Use
// Schema.Parse for what a caller sends. The error is an *Error that lists everything
// that is wrong.
func ParseFilter(text string) (Filter, error) {
	var wrong problems
	f := parseWhere(text, "where", anyProperty, nil, &wrong)
	if err := wrong.err(); err != nil {
		return Filter{}, err
	}
	return f, nil
}

// lookup returns the property at path, or the reason why it may not be filtered by.
type lookup func(path string) (p *Property, problem string)

func anyProperty(path string) (*Property, string) {
	if !validPath(path) {
		return nil, unknownProperty
	}
	return &untyped, ""
}

var untyped = Property{Null: true}

// unknownProperty is also the reason for properties that the caller may not see, so
// that a caller cannot find out which properties exist.
const unknownProperty = "unknown property"

// parseWhere reads a filter, in this order: its JSON, its conditions, the cursor at their end, and
// the limits of both. Without an order (nil) there is no cursor.
func parseWhere(text, argument string, properties lookup, order []Key, wrong *problems) Filter {
	doc, err := scan(text, 2*maxText+len(andOpen+","+andClose), maxDepth+2, 2*maxTokens)
	if err != nil {
		wrong.add(argument, "", err.Error())
		return Filter{}
	}
	if !doc[0].isObject() {
		wrong.add(argument, "", "must be a JSON object")
		return Filter{}
	}
	c := compiler{document: doc, properties: properties}
	joined := doc.size(0) == 1 && doc[1].name == "$and" && doc[1].isArray()
	f, added := addedTo(c.object(0), order, joined && strings.HasSuffix(text, notACursor+andClose))
	if err := doc.withinLimits(text, joined && doc.size(1) == added.elements+1, &added); err != nil {
		wrong.add(argument, "", err.Error())
		return Filter{}
	}
	for _, m := range c.mistakes {
		if m.value <= c.values-added.values { // the values of a cursor may have any type
			wrong.add(argument, c.pointer(m.token), m.text)
		}
	}
	switch {
	case c.nodes > maxNodes+added.nodes:
		wrong.add(argument, "", "more than 256 conditions")
	case c.values > maxValues+added.values:
		wrong.add(argument, "", "more than 200 values")
	}
	return f
}

// These are the limits of a filter, besides those of document.
const (
	maxNodes  = 256 // conditions and logical operators
	maxValues = 200 // values that properties are compared with
)

// withinLimits returns an error if a where is too long, too deep or of too many tokens. What a walk
// added to it has limits of its own, so that a filter that is accepted for the first page is
// accepted for all pages. joined says that an $and joins the two, which is free.
func (d document) withinLimits(text string, joined bool, added *addition) error {
	bytes, depth, tokens := maxText+added.bytes, maxDepth, maxTokens
	if added.elements > 0 {
		tokens *= 2 // more than the tokens of any cursor
		if joined {
			bytes, depth = bytes+len(andOpen+andClose), depth+2
			added.nodes++
		}
	}
	if len(text) > bytes {
		return errTextSize
	}
	for i := range d {
		switch t := &d[i]; {
		case i == tokens:
			return atByte(errTokens, int(t.start))
		case int(t.level) > depth && (t.isObject() || t.isArray()):
			return atByte(strictjson.ErrDepth, int(t.start))
		}
	}
	return nil
}

// compiler turns a JSON document into a filter. It continues after a mistake to find
// the others. Its filter must not be used if there are mistakes.
type compiler struct {
	document
	properties    lookup
	mistakes      []mistake
	nodes, values int
}

// mistake is what is wrong with one token.
type mistake struct {
	token int
	text  string
	value int // number of the value, from 1, if the mistake is its type; else 0
}

func (c *compiler) wrong(i int, text string) {
	c.mistakes = append(c.mistakes, mistake{token: i, text: text})
}

// object reads {"name":…,"$or":[…]}, in which all members must hold.
func (c *compiler) object(i int) Filter {
	filters := make([]Filter, 0, c.size(i))
	for part := range c.parts(i) {
		filters = append(filters, c.member(part))
	}
	return allOf(filters)
}

func (c *compiler) member(i int) Filter {
	switch name := c.document[i].name; {
	case name == "$and":
		return allOf(c.objects(i))
	case name == "$or":
		return anyOf(c.objects(i))
	case name == "$nor":
		return Not(anyOf(c.objects(i)))
	case name == "$not":
		c.wrong(i, "$not belongs below a property; $nor can stand here")
	case strings.HasPrefix(name, "$"):
		c.wrong(i, "unknown operator")
	default:
		return c.condition(i, name)
	}
	return Filter{}
}

// objects reads the array of objects below a logical operator.
func (c *compiler) objects(i int) []Filter {
	c.nodes++
	if !c.document[i].isArray() || c.size(i) == 0 {
		c.wrong(i, "must be an array of at least one object")
		return nil
	}
	filters := make([]Filter, 0, c.size(i))
	for part := range c.parts(i) {
		if !c.document[part].isObject() {
			c.wrong(part, "must be an object")
			continue
		}
		filters = append(filters, c.object(part))
	}
	return filters
}

// condition reads "name":value and "name":{"$gt":value,…}.
func (c *compiler) condition(i int, path string) Filter {
	property, problem := c.properties(path)
	if problem != "" {
		c.wrong(i, problem)
		return Filter{}
	}
	s := subject{c, path, property}
	if c.document[i].isObject() {
		return s.operators(i)
	}
	return s.compare(OpEq, i)
}

// subject compiles the conditions on one property.
type subject struct {
	*compiler
	path     string
	property *Property
}

func (s subject) operators(i int) Filter {
	if s.size(i) == 0 {
		s.wrong(i, "an operator is missing")
	}
	filters := make([]Filter, 0, s.size(i))
	for part := range s.parts(i) {
		filters = append(filters, s.operator(part))
	}
	return allOf(filters)
}

func (s subject) operator(i int) Filter {
	name := s.document[i].name
	if op := slices.Index(operatorNames[:], name); op >= int(OpGt) {
		return s.compare(Op(op), i)
	}
	switch name {
	case "$eq":
		return s.compare(OpEq, i)
	case "$ne":
		return Not(s.compare(OpEq, i))
	case "$in":
		return s.in(i)
	case "$nin":
		return Not(s.in(i))
	case "$prefix":
		return s.prefix(i)
	case "$exists":
		return s.exists(i)
	case "$not":
		return s.not(i)
	}
	s.wrong(i, "unknown operator")
	return Filter{}
}

func (s subject) compare(op Op, i int) Filter {
	s.nodes++
	if s.document[i].kind == 'n' && op != OpEq {
		s.wrong(i, "null is neither greater nor less than anything")
		return Filter{}
	}
	return Filter{op: op, path: s.path, value: s.value(i)}
}

func (s subject) in(i int) Filter {
	s.nodes++
	f := Filter{op: OpIn, path: s.path}
	if !s.document[i].isArray() {
		s.wrong(i, "must be an array")
		return f
	}
	f.values = make([]operand, 0, s.size(i))
	for part := range s.parts(i) {
		f.values = append(f.values, s.value(part))
	}
	return f
}

func (s subject) prefix(i int) Filter {
	s.nodes, s.values = s.nodes+2, s.values+2 // of the range that it becomes
	switch {
	case strings.Contains(s.path, "[]"):
		// One element could be above the lower end of the range and another below the upper.
		s.wrong(i, "is not for elements of an array")
		return Filter{}
	case s.property.Type != String && s.property.Type != Any:
		s.wrong(i, "only a string has a prefix")
		return Filter{}
	case s.document[i].kind != '"':
		s.wrong(i, "must be of type string")
		return Filter{}
	}
	return Prefix(s.path, s.document[i].text)
}

func (s subject) exists(i int) Filter {
	s.nodes++
	f := Filter{op: OpExists, path: s.path}
	switch s.document[i].kind {
	case 't':
		return f
	case 'f':
		return Not(f)
	}
	s.wrong(i, "must be true or false")
	return f
}

func (s subject) not(i int) Filter {
	s.nodes++
	if !s.document[i].isObject() {
		s.wrong(i, "must be an object of operators")
		return Filter{}
	}
	return Not(s.operators(i))
}

// value reads a value that the property is compared with.
func (s subject) value(i int) operand {
	s.values++
	t := &s.document[i]
	switch t.kind {
	case '{', '[':
		s.wrong(i, "must be a string, number, boolean or null")
		return operand{}
	case '"':
		if s.property.Type == Date {
			date, ok := parseDate(t.text)
			if !ok {
				s.wrong(i, wantsDate)
			}
			return operand{'"', date}
		}
	}
	if problem := s.property.mismatch(t.kind); problem != "" {
		s.mistakes = append(s.mistakes, mistake{i, problem, s.values})
	}
	if t.kind == 'n' {
		return operand{}
	}
	return operand{t.kind, t.text}
}

// mismatch returns why a value of that JSON kind has the wrong type for the property,
// or "". The caller ignores a mismatch in a cursor, whose values may have any type.
func (p *Property) mismatch(kind byte) string {
	var fits bool
	switch kind {
	case 'n':
		if !p.Null {
			return "is never null"
		}
		return ""
	case 't', 'f':
		fits = p.Type == Boolean
	case '0':
		fits = p.Type == Number || p.Type == Integer
	case '"':
		fits = p.Type == String
	}
	switch {
	case fits || p.Type == Any:
		return ""
	case p.Type == Date:
		return wantsDate
	}
	return "must be of type " + p.Type.String()
}

const wantsDate = "must be a date like 2026-01-02T03:04:05.000Z"

// document is a scanned JSON text. The tokens of a value's parts follow its own
// token, and end is the index after the last of them.
type document []token

// token is one value of a document.
type token struct {
	name  string // of a member, unescaped
	text  string // of a string, unescaped, or of a number, as it stands
	end   int16  // index of the token after its last part
	size  int16  // number of parts
	start int16  // offset of its first byte
	level uint8  // depth in objects and arrays, itself included
	kind  byte   // of strictjson: its first character, '0' for any number
}

func (t *token) isObject() bool { return t.kind == '{' }
func (t *token) isArray() bool  { return t.kind == '[' }

// parts calls yield with the index of each member or element of the value at i.
func (d document) parts(i int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for part := i + 1; part < int(d[i].end); part = int(d[part].end) {
			if !yield(part) {
				return
			}
		}
	}
}

// size returns the number of parts of the value at i.
func (d document) size(i int) int { return int(d[i].size) }

// pointer returns the JSON pointer (RFC 6901) of the value at index i.
func (d document) pointer(i int) string {
	var pointer strings.Builder
	for at := 0; at != i; {
		position := 0
		for part := range d.parts(at) {
			if i < int(d[part].end) {
				pointer.WriteByte('/')
				if d[at].isArray() {
					pointer.WriteString(strconv.Itoa(position))
				} else {
					escapePointer.WriteString(&pointer, d[part].name)
				}
				at = part
				break
			}
			position++
		}
	}
	return pointer.String()
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// These are the limits of an argument that is JSON. An accepted filter has fewer
// tokens than the limit, which keeps the pairwise comparison of names cheap.
const (
	maxText   = 8 << 10
	maxDepth  = 16
	maxTokens = 1024
)

var (
	errTextSize = errors.New("longer than " + strconv.Itoa(maxText) + " bytes")
	errTokens   = errors.New("too many values")
	errNumber   = errors.New("a number out of range")
)

// scan reads a text that is one JSON value, within the limits.
func scan(text string, bytes, depth, tokens int) (document, error) {
	if len(text) > bytes {
		return nil, errTextSize
	}
	s := scanner{
		Reader: strictjson.New(text, strictjson.Limits{Depth: depth, Members: maxTokens}),
		tokens: make(document, 0, 4+len(text)/10),
		most:   tokens,
	}
	s.value("", 1)
	switch err := s.End(); err {
	case nil:
		return s.tokens, nil
	case strictjson.ErrUTF8:
		return nil, err
	default:
		return nil, atByte(err, s.Offset())
	}
}

func atByte(err error, offset int) error { return fmt.Errorf("%w at byte %d", err, offset) }

type scanner struct {
	strictjson.Reader
	tokens document
	most   int // the largest number of tokens
}

// value reads a value. name is that of the member, or "" for an element.
func (s *scanner) value(name string, level uint8) {
	if len(s.tokens) == s.most {
		s.Fail(errTokens)
		return
	}
	at, kind := len(s.tokens), s.Kind()
	s.tokens = append(s.tokens, token{name: name, start: int16(s.Offset()), level: level, kind: kind})
	switch kind {
	case '{':
		for name := range s.Object {
			s.value(name, level+1)
			s.tokens[at].size++
		}
	case '[':
		for range s.Array {
			s.value("", level+1)
			s.tokens[at].size++
		}
	case '"':
		s.tokens[at].text = s.Text()
	case '0':
		s.tokens[at].text = s.number()
	default:
		s.Skip()
	}
	s.tokens[at].end = int16(len(s.tokens))
}

func (s *scanner) number() string {
	text := s.Number()
	if !inRange(text) {
		s.Fail(errNumber)
	}
	return text
}
