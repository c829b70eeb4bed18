package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/listing"
)

// Describer is a mechanism that can say in which ways a request carries its credential. The mechanisms
// of this library are Describers.
type Describer interface {
	Schemes(s *auth.Settings) []Scheme
}

// Scheme is one way in which a request carries a credential, by its fields Authorization, Headers or
// Cookie. Name is what the document calls it; "" is the name of the mechanism.
type Scheme = listing.Scheme

// carried is a way in which requests carry the credential of a mechanism.
type carried struct {
	mechanism string
	by        object // the security requirement
}

func (m *maker) readSchemes() error {
	for _, mechanism := range m.guard.Mechanisms {
		d, ok := mechanism.(Describer)
		if !ok {
			return fmt.Errorf("openapi: the mechanism %T is no Describer", mechanism)
		}
		for _, s := range d.Schemes(m.guard.Settings()) {
			s.Name = cmp.Or(s.Name, mechanism.Name())
			by, err := m.require(s)
			if err != nil {
				return fmt.Errorf("openapi: a scheme of %T %w", mechanism, err)
			}
			m.carried = append(m.carried, carried{mechanism.Name(), by})
		}
	}
	return nil
}

// require adds the security schemes of a Scheme to the document, and returns the requirement of all of them.
func (m *maker) require(s Scheme) (object, error) {
	together := object{}
	add := func(name string, scheme object) {
		setText(scheme, "description", s.Description)
		m.schemes[word(name)], together[word(name)] = scheme, []string{}
	}
	switch {
	case s.Authorization != "":
		scheme := object{"type": "http", "scheme": s.Authorization}
		setText(scheme, "bearerFormat", s.Format)
		add(s.Name, scheme)
	case s.Cookie != "":
		add(s.Name, object{"type": "apiKey", "in": "cookie", "name": s.Cookie})
	case len(s.Headers) == 1:
		add(s.Name, object{"type": "apiKey", "in": "header", "name": s.Headers[0]})
	case len(s.Headers) == 0: // no requirement reads as one that everybody meets
		return nil, errors.New("needs one of Authorization, Headers and Cookie")
	default:
		for _, header := range s.Headers { // OpenAPI needs a scheme for each
			name := s.Name + "_" + strings.TrimPrefix(header, m.guard.Settings().Brand.Header)
			add(name, object{"type": "apiKey", "in": "header", "name": header})
		}
	}
	return together, nil
}

// security returns the credentials that a need accepts, as alternatives.
func (m *maker) security(r listing.Need) []object {
	alternatives := []object{}
	if r.Public {
		return alternatives
	}
	if r.Optional {
		alternatives = append(alternatives, object{})
	}
	for _, c := range m.carried {
		if r.Mechanisms == nil || slices.Contains(r.Mechanisms, c.mechanism) {
			alternatives = append(alternatives, c.by)
		}
	}
	return alternatives
}

// need describes what OpenAPI has no words for: the scope chain and the freshness.
func need(r listing.Need) (extension object, text string) {
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
