package envelope

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Select encodes v, which must be a JSON object, and keeps the properties for which
// keep returns true. Values keep their text, so that no number is rounded. The
// members _id and object of v always stay. A nil keep keeps nothing else.
//
// Select asks keep for leaves only: strings, numbers, booleans, null, {} and []. It
// passes the whole path. A keep that permits a property with everything below it must
// therefore return true for the longer paths too. Select drops an object or array in
// which nothing is kept.
//
//   - The path of a member of an object is name.first.
//   - The path of an element of an array is c_set[], also in nested arrays. If an
//     element names its type in object, the type is added: c_set[]#c_foo.c_text.
//   - Select asks for the members _id and object of an inner object like for others.
//     They also stay if anything beside them is kept.
//   - A property may have a list as its value (section 2.1 of the interface, hasMore
//     a boolean). Its path is that of the property, connections. The path of its
//     items is connections.access. The list stays if its own path or anything of an
//     item is kept. Then no item is dropped, and each keeps its _id and object.
//   - A list as v always stays. Its items have paths like objects.
//   - A value with a path of more than 512 bytes, the longest that a scope chain can
//     have, is a leaf, whatever it contains.
//   - In a name the characters % . [ ] # are written %25 %2E %5B %5D %23, and an
//     empty name is %. So no name can be taken for a path.
//
// The error is that of encoding v, or wraps ErrShape if v is no object.
func Select(v any, keep func(path string) bool) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	r := strictjson.New(string(text), encoded)
	root := parse(&r, string(text))
	if !root.isObject() {
		return nil, fmt.Errorf("%w: only an object has properties to select", ErrShape)
	}
	if keep == nil {
		keep = func(string) bool { return false }
	}
	s := selection{keep: keep, out: text[:0]} // root has a copy
	if root.isList() {
		s.list("", &root)
	} else {
		s.members("", &root)
	}
	return s.out, nil
}

// maxPath limits the cost of one object. Without it, a long name above many leaves
// would be copied for each of them.
const maxPath = 512

// selection writes what is kept. Its methods report whether anything was kept.
type selection struct {
	keep func(path string) bool
	out  []byte
}

// value writes a value. Of an object or array in which nothing is kept, the caller removes the rest.
func (s *selection) value(path string, n *node) bool {
	switch {
	case len(n.parts) == 0 || len(path) > maxPath:
		if n.isArray() {
			path = arrayPath(path)
		}
		return s.keep(path) && s.text(n)
	case n.isList():
		return s.list(path, n) || s.keep(path)
	case n.isObject():
		return s.members(path, n)
	default:
		return s.elements(path, n)
	}
}

// text writes a whole value.
func (s *selection) text(n *node) bool {
	s.out = append(s.out, n.text...)
	return true
}

// parts writes an object or array of the parts for which write returns true, and removes what write
// wrote of the others.
func (s *selection) parts(n *node, write func(p *part) bool) {
	s.out = append(s.out, n.text[0])
	for i := range n.parts {
		p, mark := &n.parts[i], len(s.out)
		if last := s.out[mark-1]; last != '{' && last != '[' {
			s.out = append(s.out, ',')
		}
		if n.isObject() {
			s.out = append(append(s.out, p.key...), ':')
		}
		if !write(p) {
			s.out = s.out[:mark]
		}
	}
	s.out = append(s.out, n.text[len(n.text)-1])
}

// members writes an object. It always keeps _id and object.
func (s *selection) members(path string, n *node) (kept bool) {
	s.parts(n, func(m *part) bool {
		if s.value(memberPath(path, m.name), &m.node) {
			kept = true
			return true
		}
		return m.identifies() && s.text(&m.node)
	})
	return kept
}

func (s *selection) elements(path string, n *node) (kept bool) {
	path = arrayPath(path)
	s.parts(n, func(e *part) bool {
		at := path
		// Stored values of another form or length stay out of paths.
		if object := e.object(); ascii.LowerName.Holds(object, 1, 40) {
			at += "#" + object
		}
		written := s.value(at, &e.node)
		kept = kept || written
		return written
	})
	return kept
}

// list writes a list with all of its items, whatever is left of them.
func (s *selection) list(path string, n *node) (kept bool) {
	s.parts(n, func(m *part) bool {
		switch m.name {
		case "object", "hasMore":
			return s.text(&m.node)
		case "data":
			kept = s.items(path, &m.node) || kept
			return true
		}
		return false
	})
	return kept
}

func (s *selection) items(path string, n *node) (kept bool) {
	s.parts(n, func(item *part) bool {
		if item.isObject() {
			kept = s.members(path, &item.node) || kept
		}
		return item.isObject()
	})
	return kept
}

// identifies reports whether the member is a plain _id or object, which says which
// object this is.
func (m *part) identifies() bool {
	return (m.name == "_id" || m.name == "object") && !m.isObject() && !m.isArray()
}

// isList reports whether n is a list. It is strict, because Select does not ask keep
// about the object and hasMore of a list.
func (n *node) isList() bool {
	data, more := n.member("data"), n.member("hasMore")
	return data != nil && data.isArray() &&
		more != nil && (more.text == "true" || more.text == "false") &&
		n.object() == "list"
}

var escapeName = strings.NewReplacer("%", "%25", ".", "%2E", "[", "%5B", "]", "%5D", "#", "%23")

func memberPath(path, name string) string {
	name = cmp.Or(escapeName.Replace(name), "%")
	if path == "" {
		return name
	}
	return path + "." + name
}

// arrayPath is the path of elements, also of those of arrays in an array.
func arrayPath(path string) string { return strings.TrimSuffix(path, "[]") + "[]" }
