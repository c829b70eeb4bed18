package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/scope"
)

var errZeroNeed = errors.New("auth: the zero Need: say Public for a route that needs nothing")

// template is an operation with places for path values.
type template struct {
	grammar *scope.Grammar
	fixed   scope.Need // the operation, if there is no place
	kind    scope.Need // the operation on every instance, if the identifier alone is a place
	parts   []part
}

// part is a text, or a place for the path value of that name.
type part struct {
	text  string
	place bool
	multi bool // {name...}: slashes are read as dots
}

// parseTemplate checks the operation with a star in each place, which may stand
// wherever a value may.
func parseTemplate(g *scope.Grammar, operation string) (*template, error) {
	t := &template{grammar: g}
	sample := ""
	for rest := operation; rest != ""; {
		text, place, found := strings.Cut(rest, "{")
		if text != "" {
			t.parts = append(t.parts, part{text: text})
			sample += text
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(place, "}")
		name, multi := strings.CutSuffix(name, "...")
		if !closed || name == "" {
			return nil, fmt.Errorf("auth: need %q: a place is {name} or {name...}", operation)
		}
		t.parts = append(t.parts, part{text: name, place: true, multi: multi})
		sample += "*"
		rest = after
	}
	need, err := g.ParseNeed(sample)
	if err != nil {
		return nil, fmt.Errorf("auth: need %q: %w", operation, err)
	}
	if sample == operation {
		t.fixed = need
	}
	if len(t.parts) == 2 && t.parts[1].place && !t.parts[1].multi && strings.Count(sample, ".") == 3 {
		t.kind = need // if it is one: At refuses any other
	}
	return t, nil
}

// fill puts the request's path values into their places. The zero Need stands for a
// value that names nothing: a star or a dot in it would make another operation, and
// a number sign would choose a type that the route did not name.
func (t *template) fill(r *http.Request) (need scope.Need) {
	if t.fixed.Valid() {
		return t.fixed
	}
	if t.kind.Valid() {
		// At takes identifiers alone, and none has a star, a dot or a number sign.
		need = t.grammar.At(t.kind, r.PathValue(t.parts[1].text))
		if need.Valid() {
			return need
		}
	}
	var operation strings.Builder
	for _, p := range t.parts {
		if !p.place {
			operation.WriteString(p.text)
			continue
		}
		value, ok := p.value(r)
		if !ok {
			return scope.Need{}
		}
		operation.WriteString(strings.ReplaceAll(value, "/", "."))
	}
	need, _ = t.grammar.ParseNeed(operation.String())
	return need
}

// value returns the path value for a place, unless it may not stand there.
func (p part) value(r *http.Request) (value string, ok bool) {
	value = r.PathValue(p.text)
	return value, value != "" && !strings.ContainsAny(value, ".*#") && (p.multi || !strings.Contains(value, "/"))
}

// places returns the names of the path values that the operation asks for.
func (t *template) places() (names []string) {
	for _, p := range t.parts {
		if p.place {
			names = append(names, p.text)
		}
	}
	return names
}
