package envelope

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Select encodes v, which must be a JSON object, and keeps of it the
// properties for which keep is true. Values keep their text, so that no number
// is rounded. The members _id and object of v always stay. A nil keep keeps
// nothing else.
//
// keep is asked for leaves only: strings, numbers, booleans, null, {} and [].
// It is asked with the whole path, so a keep that means a property with all
// that is below it must answer true for the longer paths as well. An object or
// array with nothing left in it is dropped.
//
//   - A member of an object is asked as name.first.
//   - An element of an array is asked as c_set[], and also when arrays nest.
//     An element that names its type in object adds it: c_set[]#c_foo.c_text.
//   - The members _id and object of an inner object are asked like others, and
//     stay besides wherever something beside them is kept.
//   - A list (section 2.1 of the interface, hasMore a boolean) as the value of
//     a property is asked by the path of the property, connections, and its
//     items by connections.access. It stays when its own path is kept or
//     anything of an item is. Then no item is dropped, and each has its _id and
//     object. A list as v always stays, and its items are asked as objects are.
//   - What has a path of more than 512 bytes, the most a scope chain can have,
//     is a leaf, whatever is in it.
//   - In a name the characters % . [ ] # are written %25 %2E %5B %5D %23, and
//     an empty name is %, so that no name can pass for a path.
//
// The error is that of encoding v, or wraps ErrShape when v is no object.
func Select(v any, keep func(path string) bool) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	root, _ := parse(text)
	if !root.isObject() {
		return nil, fmt.Errorf("%w: only an object has properties to select", ErrShape)
	}
	if keep == nil {
		keep = func(string) bool { return false }
	}
	s := selection{keep: keep, out: make([]byte, 0, len(text))}
	if root.isList() {
		s.list("", &root)
	} else {
		s.members("", &root)
	}
	return s.out, nil
}

// maxPath bounds what one object can cost: without it a long name above many
// leaves would be copied for each of them.
const maxPath = 512

// selection writes what is kept. Its methods say whether anything was.
type selection struct {
	keep func(path string) bool
	out  []byte
}

func (s *selection) value(path string, n *node) bool {
	switch {
	case len(n.parts) == 0 || len(path) > maxPath:
		return s.leaf(path, n)
	case n.isList():
		return s.listProperty(path, n)
	case n.isObject():
		return s.orNothing(func() bool { return s.members(path, n) })
	default:
		return s.orNothing(func() bool { return s.elements(path, n) })
	}
}

// orNothing takes back what write wrote when none of it was kept.
func (s *selection) orNothing(write func() bool) bool {
	mark := len(s.out)
	kept := write()
	if !kept {
		s.out = s.out[:mark]
	}
	return kept
}

func (s *selection) leaf(path string, n *node) bool {
	if n.isArray() {
		path = arrayPath(path)
	}
	if !s.keep(path) {
		return false
	}
	s.out = append(s.out, n.text...)
	return true
}

// members writes an object, at least with what identifies it.
func (s *selection) members(path string, n *node) (kept bool) {
	s.out = append(s.out, '{')
	for i := range n.parts {
		m := &n.parts[i]
		mark := len(s.out)
		s.name(m)
		switch {
		case s.value(memberPath(path, m.name), &m.node):
			kept = true
		case m.identifies():
			s.out = append(s.out, m.text...)
		default:
			s.out = s.out[:mark]
		}
	}
	s.out = append(s.out, '}')
	return kept
}

func (s *selection) elements(path string, n *node) (kept bool) {
	path = arrayPath(path)
	s.out = append(s.out, '[')
	for i := range n.parts {
		e := &n.parts[i].node
		kept = s.orNothing(func() bool {
			s.separate()
			return s.value(elementPath(path, e), e)
		}) || kept
	}
	s.out = append(s.out, ']')
	return kept
}

func (s *selection) listProperty(path string, n *node) bool {
	return s.orNothing(func() bool {
		kept := s.list(path, n)
		return kept || s.keep(path)
	})
}

// list writes a list envelope with all of its items, whatever is left of them.
func (s *selection) list(path string, n *node) (kept bool) {
	s.out = append(s.out, '{')
	for i := range n.parts {
		m := &n.parts[i]
		switch m.name {
		case "object", "hasMore":
			s.name(m)
			s.out = append(s.out, m.text...)
		case "data":
			s.name(m)
			kept = s.items(path, &m.node) || kept
		}
	}
	s.out = append(s.out, '}')
	return kept
}

func (s *selection) items(path string, n *node) (kept bool) {
	s.out = append(s.out, '[')
	for i := range n.parts {
		item := &n.parts[i].node
		if item.isObject() {
			s.separate()
			kept = s.members(path, item) || kept
		}
	}
	s.out = append(s.out, ']')
	return kept
}

func (s *selection) name(m *part) {
	s.separate()
	s.out = append(s.out, m.key...)
	s.out = append(s.out, ':')
}

// separate writes the comma before all but the first part.
func (s *selection) separate() {
	if last := s.out[len(s.out)-1]; last != '{' && last != '[' {
		s.out = append(s.out, ',')
	}
}

// identifies reports whether the member is one that says which object this is.
func (m *part) identifies() bool {
	return (m.name == "_id" || m.name == "object") && !m.isObject() && !m.isArray()
}

// isList is strict, as what else the object held would stay unasked.
func (n *node) isList() bool {
	data, more := n.member("data"), n.member("hasMore")
	return data != nil && data.isArray() &&
		more != nil && (string(more.text) == "true" || string(more.text) == "false") &&
		n.object() == "list"
}

var escapeName = strings.NewReplacer("%", "%25", ".", "%2E", "[", "%5B", "]", "%5D", "#", "%23")

func memberPath(path, name string) string {
	name = escapeName.Replace(name)
	if name == "" {
		name = "%"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func arrayPath(path string) string {
	if strings.HasSuffix(path, "[]") {
		return path
	}
	return path + "[]"
}

func elementPath(path string, e *node) string {
	if object := e.object(); isTypeName(object) {
		return path + "#" + object
	}
	return path
}

// isTypeName keeps out a stored value that would lengthen the path by more
// than a type.
func isTypeName(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 40
}
