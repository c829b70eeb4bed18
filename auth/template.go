package auth

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/scope"
)

// template is an operation with placeholders for path values.
type template struct {
	grammar *scope.Grammar
	fixed   scope.Need // the operation, if it has no placeholder
	kind    scope.Need // the operation on every instance, if only its identifier is a placeholder
	parts   []part

	isObject bool
	verb     scope.Verb // of an object
	object   string     // its name; "" if that has a placeholder
}

// part is literal text, or a placeholder with the name of a path value.
type part struct {
	text        string
	placeholder bool
	multi       bool // {name...}: slashes are read as dots
}

// parseTemplate checks the operation with a star for each placeholder: a star is valid
// wherever a value is.
func parseTemplate(g *scope.Grammar, operation string) (*template, error) {
	t := &template{grammar: g}
	sample := ""
	for rest := operation; rest != ""; {
		text, placeholder, found := strings.Cut(rest, "{")
		if text != "" {
			t.parts = append(t.parts, part{text: text})
			sample += text
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(placeholder, "}")
		name, multi := strings.CutSuffix(name, "...")
		if !closed || name == "" {
			return nil, fmt.Errorf("auth: need %q: a placeholder is {name} or {name...}", operation)
		}
		t.parts = append(t.parts, part{text: name, placeholder: true, multi: multi})
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
	if len(t.parts) == 2 && t.parts[1].placeholder && !t.parts[1].multi && strings.Count(sample, ".") == 3 {
		t.kind = need // if it is one: At refuses any other
	}
	if t.verb, t.object, t.isObject = splitObject(sample); strings.Contains(t.object, "*") {
		t.object = ""
	}
	return t, nil
}

// fill replaces the placeholders by the request's path values. It returns the zero Need for a
// value that names nothing. A star or a dot in a value would make another operation. A number
// sign would choose a type that the route did not name.
func (t *template) fill(r *http.Request) (need scope.Need) {
	if t.fixed.Valid() {
		return t.fixed
	}
	if t.kind.Valid() {
		// At accepts only identifiers, and none has a star, a dot or a number sign.
		need = t.grammar.At(t.kind, r.PathValue(t.parts[1].text))
		if need.Valid() {
			return need
		}
	}
	var operation strings.Builder
	for _, p := range t.parts {
		if !p.placeholder {
			operation.WriteString(p.text)
			continue
		}
		value := r.PathValue(p.text)
		if value == "" || strings.ContainsAny(value, ".*#") || !p.multi && strings.Contains(value, "/") {
			return scope.Need{}
		}
		operation.WriteString(strings.ReplaceAll(value, "/", "."))
	}
	need, _ = t.grammar.ParseNeed(operation.String())
	return need
}

// missing returns the name of a path value that the operation uses and the pattern of its route lacks, or "".
func (t *template) missing(pattern string) string {
	if t == nil {
		return "" // the need has no operation
	}
	for _, p := range t.parts {
		if p.placeholder && !strings.Contains(pattern, "{"+p.text+"}") && !strings.Contains(pattern, "{"+p.text+"...}") {
			return p.text
		}
	}
	return ""
}
