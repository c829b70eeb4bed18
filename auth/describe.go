package auth

import (
	"slices"
	"time"
)

// Requirement is what a Need asks for. It is for documents about routes, such as those of
// auth/openapi.
type Requirement struct {
	Public     bool          // no mechanism runs
	Optional   bool          // a request without a credential is admitted, too
	Operation  string        // of Allow and Some, with its placeholders; "": any scope will do
	Part       bool          // of Some: any part of the Operation will do
	Mechanisms []string      // of By; nil: all
	Fresh      time.Duration // 0: no matter how old the proof is
	FreshFor   []string      // the mechanisms that Fresh is asked of; nil: all
}

// Requirement returns what the need asks for. Changes of it do not change the need.
func (n Need) Requirement() Requirement {
	return Requirement{
		Public:     n.kind == needNothing,
		Optional:   n.kind == needOptional,
		Operation:  n.operation,
		Part:       n.kind == needSome,
		Mechanisms: slices.Clone(n.mechanisms),
		Fresh:      n.fresh,
		FreshFor:   slices.Clone(n.freshFor),
	}
}

// Guard returns the Guard that made the Mux.
func (m *Mux) Guard() *Guard { return m.guard }

// Describer is a Mechanism that can say how a request carries its credential, for documents
// about routes. The mechanisms of this library are Describers.
type Describer interface {
	Scheme(s *Settings) Scheme
}

// Scheme says how a request carries the credential of a mechanism. Authorization, Headers and
// Cookie are alternatives: set one.
type Scheme struct {
	Mechanism     string   // its name, as in Principal.Mechanism and Need.By
	Also          []string // other names there, of principals that send it in the same way
	Authorization string   // the scheme in the Authorization header, like bearer
	Format        string   // of what follows the scheme, like JWT; may be empty
	Headers       []string // all of them are required
	Cookie        string   // {org} stands for the org's code
	Description   string   // for clients; may use Markdown
	Others        []Scheme // other ways of the same mechanism, without Others of their own
}
