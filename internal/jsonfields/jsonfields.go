// Package jsonfields finds the members that encoding/json gives a struct, by its rules for embedded
// structs.
package jsonfields

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Field is a field of a struct, or of one that it embeds.
type Field struct {
	Name    string // of the member
	Index   []int  // of the field, as for reflect.Type.FieldByIndex
	Type    reflect.Type
	Options []string // of its tag, such as omitempty

	Pointer bool // it is in a struct that is embedded by a pointer
	Sealed  bool // the type of such a struct is not exported, so nothing can set the pointer

	tagged bool // the tag has the name
}

// Has reports whether the tag has an option.
func (f Field) Has(option string) bool { return slices.Contains(f.Options, option) }

// Of returns the fields of a struct type in the order of their declaration. It returns one for each
// name: the least deep one, and of several at that depth the only one with a tag. If there is no
// such one, the name is no member. It panics for a tag whose name has a character that encoding/json
// does not take: what such a field is called depends on the version of Go.
func Of(t reflect.Type) []Field {
	visited, best := map[reflect.Type]bool{}, map[string]*choice{}
	for current := []Field{{Type: t}}; len(current) > 0; {
		var next []Field
		times := map[reflect.Type]int{} // a struct that is embedded twice hides its own fields
		for _, at := range current {
			times[at.Type]++
		}
		for _, at := range current {
			if visited[at.Type] {
				continue
			}
			visited[at.Type] = true
			for i := range at.Type.NumField() {
				f, embedded, ok := at.below(i)
				switch {
				case !ok:
				case embedded:
					next = append(next, f)
				case best[f.Name] == nil:
					best[f.Name] = &choice{f, times[at.Type] > 1}
				default:
					best[f.Name].add(f, times[at.Type] > 1)
				}
			}
		}
		current = next
	}
	var members []Field
	for _, c := range best {
		if !c.several {
			members = append(members, c.Field)
		}
	}
	slices.SortFunc(members, func(a, b Field) int { return slices.Compare(a.Index, b.Index) })
	return members
}

// choice is the field that a name has so far. several says that another one has as good a claim.
type choice struct {
	Field
	several bool
}

// add adds a field that is as deep or deeper.
func (c *choice) add(f Field, several bool) {
	switch {
	case len(c.Index) < len(f.Index):
	case f.tagged && !c.tagged:
		*c = choice{f, several}
	case f.tagged == c.tagged:
		c.several = true
	}
}

// below returns the field i of the struct at. embedded says that the fields of that field count
// instead of it.
func (at Field) below(i int) (f Field, embedded, ok bool) {
	field := at.Type.Field(i)
	tag, of := field.Tag.Get("json"), field.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if tag == "-" || !field.IsExported() && !(field.Anonymous && of.Kind() == reflect.Struct) {
		return f, false, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if name != "" && !isName(name) {
		panic(fmt.Sprintf("jsonfields: the tag of %s in %v is no name: %q", field.Name, at.Type, name))
	}
	f = Field{
		Name: name, Index: append(slices.Clone(at.Index), i), Type: field.Type, Options: strings.Split(options, ","),
		Pointer: at.Pointer, Sealed: at.Sealed, tagged: name != "",
	}
	if embedded = field.Anonymous && !f.tagged && of.Kind() == reflect.Struct; embedded && of != field.Type {
		f.Pointer, f.Sealed = true, f.Sealed || !field.IsExported()
	}
	if embedded {
		f.Type = of
	} else if !f.tagged {
		f.Name = field.Name
	}
	return f, embedded, true
}

// isName reports whether encoding/json takes a text of a tag for a name.
func isName(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
