// Package jsonfields finds the members that encoding/json gives a struct, by its rules for embedded
// structs.
package jsonfields

import (
	"cmp"
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

	untagged int // 0 if the tag has the name, else 1
}

// Has reports whether the tag has an option.
func (f Field) Has(option string) bool { return slices.Contains(f.Options, option) }

// Of returns the fields of a struct type in the order of their declaration. It returns one for each
// name: the least deep one, and of several at that depth the only one with a tag. If there is no
// such one, the name is no member. It panics for a tag whose name has a character that encoding/json
// does not take: what such a field is called depends on the version of Go.
func Of(t reflect.Type) []Field {
	all, visited := map[string][]Field{}, map[reflect.Type]bool{}
	for depth := []Field{{Type: t}}; len(depth) > 0; {
		var next []Field
		times := map[reflect.Type]int{}
		for _, at := range depth {
			times[at.Type]++
		}
		for _, at := range depth {
			if visited[at.Type] {
				continue
			}
			visited[at.Type] = true
			for i := range at.Type.NumField() {
				switch f, embedded, ok := at.below(i); {
				case embedded:
					next = append(next, f)
				case ok:
					// A struct that is embedded twice at one depth hides its own fields, and no others.
					all[f.Name] = append(all[f.Name], slices.Repeat([]Field{f}, times[at.Type])...)
				}
			}
		}
		depth = next
	}
	var members []Field
	for _, of := range all {
		slices.SortStableFunc(of, Field.compare)
		if len(of) == 1 || of[0].compare(of[1]) < 0 {
			members = append(members, of[0])
		}
	}
	slices.SortFunc(members, func(a, b Field) int { return slices.Compare(a.Index, b.Index) })
	return members
}

// compare is below 0 if f has a better claim to their name than g.
func (f Field) compare(g Field) int {
	return cmp.Or(cmp.Compare(len(f.Index), len(g.Index)), cmp.Compare(f.untagged, g.untagged))
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
	f = Field{Name: name, Index: append(slices.Clone(at.Index), i), Type: field.Type, Options: strings.Split(options, ","), Pointer: at.Pointer, Sealed: at.Sealed}
	if name == "" {
		f.Name, f.untagged = field.Name, 1
	}
	if embedded = field.Anonymous && name == "" && of.Kind() == reflect.Struct; embedded && of != field.Type {
		f.Type, f.Pointer, f.Sealed = of, true, f.Sealed || !field.IsExported()
	}
	return f, embedded, true
}

// isName reports whether encoding/json takes a text of a tag for a name.
func isName(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
