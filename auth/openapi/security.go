package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

func (m *maker) readSchemes() error {
	for _, mechanism := range m.guard.Mechanisms {
		d, ok := mechanism.(auth.Describer)
		if !ok {
			return fmt.Errorf("openapi: the mechanism %T is no auth.Describer", mechanism)
		}
		first := d.Scheme(m.guard.Settings())
		for _, s := range append([]auth.Scheme{first}, first.Others...) {
			if s.Mechanism == "" || s.Authorization == "" && len(s.Headers) == 0 && s.Cookie == "" {
				return fmt.Errorf("openapi: the scheme of %T needs a name, and one of Authorization, Headers and Cookie", mechanism)
			}
			m.schemes = append(m.schemes, s)
		}
	}
	return nil
}

func (m *maker) securitySchemes() object {
	all := object{}
	schemes := slices.Clone(m.schemes)
	for _, name := range slices.Sorted(maps.Keys(m.ownSchemes)) {
		schemes = append(schemes, m.ownSchemes[name])
	}
	for _, s := range schemes {
		for i, name := range m.schemeNames(s) {
			var scheme object
			switch {
			case s.Authorization != "":
				scheme = object{"type": "http", "scheme": s.Authorization}
				setText(scheme, "bearerFormat", s.Format)
			case s.Cookie != "":
				scheme = object{"type": "apiKey", "in": "cookie", "name": s.Cookie}
			default:
				scheme = object{"type": "apiKey", "in": "header", "name": s.Headers[i]}
			}
			setText(scheme, "description", s.Description)
			all[name] = scheme
		}
	}
	return all
}

// schemeNames returns the names of a mechanism's security schemes. OpenAPI needs one for each
// header.
func (m *maker) schemeNames(s auth.Scheme) (names []string) {
	if len(s.Headers) < 2 {
		return []string{word(s.Mechanism)}
	}
	for _, header := range s.Headers {
		names = append(names, word(s.Mechanism+"_"+strings.TrimPrefix(header, m.guard.Settings().Brand.Header)))
	}
	return names
}

// security returns the credentials that a need accepts, as alternatives.
func (m *maker) security(r auth.Requirement) []object {
	alternatives := []object{}
	if r.Public {
		return alternatives
	}
	if r.Optional {
		alternatives = append(alternatives, object{})
	}
	for _, s := range m.schemes {
		accepts := func(name string) bool { return slices.Contains(r.Mechanisms, name) }
		if r.Mechanisms != nil && !accepts(s.Mechanism) && !slices.ContainsFunc(s.Also, accepts) {
			continue
		}
		together := object{}
		for _, name := range m.schemeNames(s) {
			together[name] = []string{}
		}
		alternatives = append(alternatives, together)
	}
	return alternatives
}

// need describes what OpenAPI has no words for: the scope chain and the freshness.
func need(r auth.Requirement) (extension object, text string) {
	extension = object{}
	switch {
	case r.Public:
		return extension, "Public: no credential is needed."
	case r.Optional:
		text = "A credential is optional."
	case r.Operation == "":
		text = "Needs a credential, with any scope."
	case r.Part:
		extension["scope"], extension["part"] = r.Operation, true
		text = "Needs a scope chain of some part of `" + r.Operation + "`."
	default:
		extension["scope"] = r.Operation
		text = "Needs the scope chain `" + r.Operation + "`."
	}
	if r.Mechanisms != nil {
		text += " The credential must be of " + strings.Join(r.Mechanisms, " or ") + "."
	}
	if r.Fresh > 0 {
		extension["fresh"] = int64(r.Fresh.Seconds())
		text += " The caller must have authenticated within " + r.Fresh.String()
		if r.FreshFor != nil {
			extension["freshFor"] = r.FreshFor
			text += ", if by " + strings.Join(r.FreshFor, " or ")
		}
		text += "."
	}
	return extension, text
}
