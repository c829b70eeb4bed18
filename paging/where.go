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
	var wrong Error
	f := parseWhere(text, "where", anyProperty, nil, &wrong)
	if err := wrong.orNil(); err != nil {
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

// parseWhere reads a filter, in this order: its JSON and its conditions, the cursor at their end, and
// the limits of both. Without an order (nil) there is no cursor.
func parseWhere(text, argument string, properties lookup, order []Key, wrong *Error) Filter {
	if len(text) > 2*maxText+len(andOpen+","+andClose) {
		wrong.add(argument, "", errTextSize.Error())
		return Filter{}
	}
	c := compiler{at: make([]string, 0, maxDepth), Reader: strictjson.New(text, strictjson.Limits{Depth: maxDepth + 2, Members: maxMembers}), properties: properties}
	f := c.where()
	if err := endOf(&c.Reader); err != nil {
		wrong.add(argument, "", err.Error())
		return Filter{}
	}
	joined := c.size == 1 && c.name == "$and"
	f, added := addedTo(f, order, joined && strings.HasSuffix(text, notACursor+andClose))
	if err := c.withinLimits(len(text), joined && c.inner == added.elements+1, &added); err != nil {
		wrong.add(argument, "", err.Error())
		return Filter{}
	}
	for _, m := range c.mistakes {
		if m.value <= c.values-added.values { // the values of a cursor may have any type
			wrong.add(argument, m.pointer, m.text)
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

// These are the limits of an argument that is JSON, and of a filter.
const (
	maxText    = 8 << 10
	maxDepth   = 16
	maxMembers = 1024 // of one object, whose names are compared pair by pair
	maxParts   = 2048 // of all objects and arrays, half of them without a cursor
	maxNodes   = 256  // conditions and logical operators
	maxValues  = 200  // values that properties are compared with

	few = 3 // parts that most objects and arrays have at most
)

var (
	errTextSize = errors.New("longer than " + strconv.Itoa(maxText) + " bytes")
	errParts    = errors.New("too many values")
	errNumber   = errors.New("a number out of range")
)

// endOf returns why a text is no JSON, and where.
func endOf(r *strictjson.Reader) error {
	err := r.End()
	if err == nil || err == strictjson.ErrUTF8 {
		return err
	}
	return atByte(err, r.Offset())
}

func atByte(err error, offset int) error { return fmt.Errorf("%w at byte %d", err, offset) }

// withinLimits returns an error if a where is too long or too deep. What a walk added to it has
// limits of its own, so that a filter that is accepted for the first page is accepted for all pages.
// joined says that an $and joins the two, which is free.
func (c *compiler) withinLimits(bytes int, joined bool, added *addition) error {
	most := maxText + added.bytes
	if joined && added.elements > 0 {
		most, c.deep = most+len(andOpen+andClose), 0 // of the two levels more that the Reader accepts
		added.nodes++
	}
	switch {
	case bytes > most:
		return errTextSize
	case added.elements == 0 && c.total > maxParts/2:
		return errParts
	case c.deep > 0:
		return atByte(strictjson.ErrDepth, c.deep)
	}
	return nil
}

// compiler turns the JSON of a where into a filter while it reads it. It continues after a mistake
// to find the others. Its filter must not be used if there are mistakes, or if the text is no JSON.
type compiler struct {
	strictjson.Reader
	properties    lookup
	path          string // of the condition, and its property
	property      *Property
	at            []string // names and indexes that lead to the value
	mistakes      []mistake
	nodes, values int
	total         int // of members and elements
	deep          int // offset of the first value that is nested too deeply; 0: there is none

	// Of the object or array that was read last: the name of its last part, how many parts it has,
	// and how many the one before has. In the end that is the whole where, and its last member.
	name        string
	size, inner int
}

// mistake is what is wrong with one value.
type mistake struct {
	pointer, text string
	value         int // number of the value, from 1, if the mistake is its type; else 0
}

// wrong adds a mistake of the value that is read next, and skips the value. It returns what then
// stands for the filter, which is not used.
func (c *compiler) wrong(text string) (none Filter) {
	c.mistaken(text, 0)
	c.Skip()
	return none
}

func (c *compiler) mistaken(text string, value int) {
	if len(c.mistakes) == maxProblems {
		return
	}
	var pointer strings.Builder // RFC 6901
	for _, name := range c.at {
		pointer.WriteByte('/')
		escapePointer.WriteString(&pointer, name)
	}
	c.mistakes = append(c.mistakes, mistake{pointer.String(), text, value})
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// parts reads an object or an array. It yields the name of each member, or the index of each element.
func (c *compiler) parts(yield func(name string) bool) {
	if len(c.at) >= maxDepth && c.deep == 0 {
		c.deep = c.Offset()
	}
	n := 0
	part := func(name string) bool {
		if c.total++; c.total > maxParts {
			c.Fail(errParts)
			return false
		}
		c.at = append(c.at, name)
		more := yield(name)
		c.at = c.at[:len(c.at)-1]
		c.name = name
		n++
		return more
	}
	if c.Kind() == '[' {
		c.Array(func() bool { return part(strconv.Itoa(n)) })
	} else {
		c.Object(part)
	}
	c.size, c.inner = n, c.size
}

func (c *compiler) where() Filter {
	if c.Kind() != '{' {
		return c.wrong("must be a JSON object")
	}
	return c.object()
}

// object reads {"name":…,"$or":[…]}, in which all members must hold.
func (c *compiler) object() Filter {
	filters := make([]Filter, 0, few)
	for name := range c.parts {
		filters = append(filters, c.member(name))
	}
	return allOf(filters)
}

func (c *compiler) member(name string) Filter {
	switch {
	case name == "$and":
		return allOf(c.objects())
	case name == "$or":
		return anyOf(c.objects())
	case name == "$nor":
		return Not(anyOf(c.objects()))
	case name == "$not":
		return c.wrong("$not belongs below a property; $nor can stand here")
	case strings.HasPrefix(name, "$"):
		return c.wrong("unknown operator")
	}
	return c.condition(name)
}

// objects reads the array of objects below a logical operator.
func (c *compiler) objects() (filters []Filter) {
	const wanted = "must be an array of at least one object"
	c.nodes++
	if c.Kind() != '[' {
		c.wrong(wanted)
		return nil
	}
	filters = make([]Filter, 0, few)
	for range c.parts {
		if c.Kind() != '{' {
			c.wrong("must be an object")
			continue
		}
		filters = append(filters, c.object())
	}
	if c.size == 0 {
		c.mistaken(wanted, 0)
	}
	return filters
}

// condition reads "name":value and "name":{"$gt":value,…}.
func (c *compiler) condition(path string) Filter {
	property, problem := c.properties(path)
	if problem != "" {
		return c.wrong(problem)
	}
	c.path, c.property = path, property
	if c.Kind() == '{' {
		return c.operators()
	}
	return c.compare(OpEq)
}

func (c *compiler) operators() Filter {
	filters := make([]Filter, 0, 2)
	for name := range c.parts {
		filters = append(filters, c.operator(name))
	}
	if c.size == 0 {
		c.mistaken("an operator is missing", 0)
	}
	return allOf(filters)
}

func (c *compiler) operator(name string) Filter {
	switch name {
	case "$eq", "$gt", "$gte", "$lt", "$lte":
		return c.compare(Op(slices.Index(operatorNames[:], name)))
	case "$ne":
		return Not(c.compare(OpEq))
	case "$in":
		return c.in()
	case "$nin":
		return Not(c.in())
	case "$exists":
		return c.exists()
	case "$prefix":
		return c.prefix()
	case "$not":
		return c.not()
	}
	return c.wrong("unknown operator")
}

func (c *compiler) compare(op Op) Filter {
	c.nodes++
	if c.Kind() == 'n' && op != OpEq {
		return c.wrong("null is neither greater nor less than anything")
	}
	return Filter{op: op, path: c.path, value: c.value()}
}

func (c *compiler) in() Filter {
	c.nodes++
	f := Filter{op: OpIn, path: c.path}
	if c.Kind() != '[' {
		return c.wrong("must be an array")
	}
	f.values = make([]operand, 0, few)
	for range c.parts {
		f.values = append(f.values, c.value())
	}
	return f
}

func (c *compiler) prefix() Filter {
	c.nodes, c.values = c.nodes+2, c.values+2 // of the range that it becomes
	switch {
	case strings.Contains(c.path, "[]"):
		// One element could be above the lower end of the range and another below the upper.
		return c.wrong("is not for elements of an array")
	case c.property.Type != String && c.property.Type != Any:
		return c.wrong("only a string has a prefix")
	case c.Kind() != '"':
		return c.wrong("must be of type string")
	}
	return Prefix(c.path, c.Text())
}

func (c *compiler) exists() Filter {
	c.nodes++
	f := Filter{op: OpExists, path: c.path}
	if kind := c.Kind(); kind != 't' && kind != 'f' {
		return c.wrong("must be true or false")
	}
	if c.Bool() {
		return f
	}
	return Not(f)
}

func (c *compiler) not() Filter {
	c.nodes++
	if c.Kind() != '{' {
		return c.wrong("must be an object of operators")
	}
	return Not(c.operators())
}

// value reads a value that the property is compared with.
func (c *compiler) value() operand {
	c.values++
	kind := c.Kind()
	if kind == '{' || kind == '[' {
		c.wrong("must be a string, number, boolean or null")
		return operand{}
	}
	if problem := c.property.mismatch(kind); problem != "" {
		c.mistaken(problem, c.values)
	}
	switch kind {
	case '"':
		return c.text()
	case '0':
		number := c.Number()
		if !inRange(number) {
			c.Fail(errNumber)
		}
		return operand{kind, number}
	case 'n':
		kind = 0
	}
	c.Skip()
	return operand{kind: kind}
}

func (c *compiler) text() operand {
	if c.property.Type != Date {
		return operand{'"', c.Text()}
	}
	date, ok := parseDate(c.Text())
	if !ok {
		c.mistaken(wantsDate, 0)
	}
	return operand{'"', date}
}

// mismatch returns why a value of that JSON kind has the wrong type for the property,
// or "". The caller ignores a mismatch in a cursor, whose values may have any type.
func (p *Property) mismatch(kind byte) string {
	switch {
	case kind == 'n' && !p.Null:
		return "is never null"
	case kind == 'n' || p.Type == Any || strings.IndexByte(kindsOf[p.Type], kind) >= 0:
		return ""
	case p.Type == Date:
		return wantsDate
	}
	return "must be of type " + string(p.Type)
}

// kindsOf are the kinds of JSON by type.
var kindsOf = map[Type]string{String: `"`, Integer: "0", Number: "0", Boolean: "tf", Date: `"`}

const wantsDate = "must be a date like 2026-01-02T03:04:05.000Z"
