package main

import (
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

var kinds = map[paging.Type]envelope.Kind{
	paging.String:  envelope.String,
	paging.Integer: envelope.Integer,
	paging.Boolean: envelope.Boolean,
	paging.Date:    readDate,
}

// formOf returns the form by which objects of a schema are written. What is
// hidden is no part of it.
func formOf(s *paging.Schema) (f envelope.Form) {
	for _, p := range s.Properties {
		if p.Hidden {
			continue
		}
		kind := kinds[p.Type]
		if p.List != nil {
			kind = readNothing
		}
		f = append(f, envelope.Field{Path: p.Path, Kind: kind, Null: p.Path == languagePath})
	}
	return f
}

// changesOf returns the form by which they are changed. What a new object may lack
// can be taken away from one, for which null stands; an object within it, if all of
// that can be.
func changesOf(s *paging.Schema) envelope.Form {
	f := formOf(s)
	whole := make(map[string]bool)
	for i := range f {
		p, _ := propertyOf(s, f[i].Path)
		f[i].Null = p.Null
		if parent, _, below := strings.Cut(p.Path, "."); below {
			others, seen := whole[parent]
			whole[parent] = p.Null && (others || !seen)
		}
	}
	for path, null := range whole {
		f = append(f, envelope.Field{Path: path, Null: null})
	}
	return f
}

// under is a form with its fields moved below a path.
func under(path string, f envelope.Form) envelope.Form {
	moved := slices.Clone(f)
	for i := range moved {
		moved[i].Path = path + "." + moved[i].Path
	}
	return moved
}

// names are the members of a body of a form, each once: of a field below another
// one the name of that.
func names(f envelope.Form) (names []string) {
	for _, field := range f {
		name, _, _ := strings.Cut(field.Path, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func readNothing(string) (any, string) { return nil, "cannot be written" }

func readDate(value string) (any, string) {
	s, _ := envelope.String(value)
	written, _ := s.(string)
	if at, err := time.Parse(dateLayout, written); err != nil || at.Format(dateLayout) != written {
		return nil, "must be a date such as 2026-01-02T03:04:05.000Z"
	}
	return written, ""
}
