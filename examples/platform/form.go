package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/paging"
)

// form is what a body may hold.
type form []input

// input is one value of a body, by its path.
type input struct {
	Path  string
	Type  kind
	Null  bool // may be null
	Unset bool // may be taken away, for which null stands
}

// kind is the type of a value in a body.
type kind uint8

const (
	typeFixed kind = iota // not to be written
	typeString
	typeInteger
	typeBoolean
	typeDate

	// Of bodies that are not objects of a schema.
	typeStrings
	typeInstant // RFC 3339, or Unix seconds
	typeLevel   // number or name
	typeJSON    // an object, kept as it is written
)

var kinds = map[paging.Type]kind{
	paging.String:  typeString,
	paging.Integer: typeInteger,
	paging.Boolean: typeBoolean,
	paging.Date:    typeDate,
}

// formOf returns the form by which objects of a schema are written. What is
// hidden is no part of it.
func formOf(s *paging.Schema) (f form) {
	for _, p := range s.Properties {
		if !p.Hidden {
			f = append(f, input{Path: p.Path, Type: kinds[p.Type], Null: p.Path == languagePath})
		}
	}
	return f
}

// changesOf returns the form by which they are changed. What a new object may lack
// can be taken away from one.
func changesOf(s *paging.Schema) form {
	f := formOf(s)
	for i := range f {
		p, _ := propertyOf(s, f[i].Path)
		f[i].Unset = p.Null
	}
	return f
}

// under is the form with its inputs moved below a path.
func (f form) under(path string) form {
	moved := make(form, len(f))
	for i, in := range f {
		in.Path = path + "." + in.Path
		moved[i] = in
	}
	return moved
}

// names are the fields of a body of this form, each once: of an input below another
// field the name of that field.
func (f form) names() (names []string) {
	for _, i := range f {
		name, _, _ := strings.Cut(i.Path, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// input returns the input at a path.
func (f form) input(path string) (input, bool) {
	for _, i := range f {
		if i.Path == path {
			return i, true
		}
	}
	return input{}, false
}

// below returns the inputs below a path, as c_meta.lang is below c_meta.
func (f form) below(path string) (below form) {
	for _, i := range f {
		if strings.HasPrefix(i.Path, path+".") {
			below = append(below, i)
		}
	}
	return below
}

// mayUnset tells whether all of the inputs may be taken away.
func (f form) mayUnset() bool {
	return !slices.ContainsFunc(f, func(i input) bool { return !i.Unset })
}

// read takes the value of an input from JSON. What it refuses it names: "must be
// an integer".
func (i input) read(value json.RawMessage) (_ any, refused string) {
	if string(value) == "null" && (i.Null || i.Unset) {
		return nil, ""
	}
	switch i.Type {
	case typeString:
		return readString(value)
	case typeInteger:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return nil, "must be an integer of 64 bits"
		}
		return n, ""
	case typeBoolean:
		if b := string(value); b != "true" && b != "false" {
			return nil, "must be true or false"
		}
		return string(value) == "true", ""
	case typeDate:
		return readDate(value)
	case typeStrings:
		return readStrings(value)
	case typeInstant:
		return readInstant(value)
	case typeLevel:
		return readLevel(value)
	case typeJSON:
		return readMembers(value)
	}
	return nil, "cannot be written"
}

func readString(value json.RawMessage) (any, string) {
	var s string
	if value[0] != '"' || json.Unmarshal(value, &s) != nil {
		return nil, "must be a string"
	}
	// PostgreSQL, for one, cannot keep it.
	if strings.Contains(s, "\x00") {
		return nil, "must not contain NUL"
	}
	return s, ""
}

func readDate(value json.RawMessage) (any, string) {
	s, _ := readString(value)
	written, _ := s.(string)
	if at, err := time.Parse(dateLayout, written); err != nil || at.Format(dateLayout) != written {
		return nil, "must be a date such as 2026-01-02T03:04:05.000Z"
	}
	return written, ""
}
