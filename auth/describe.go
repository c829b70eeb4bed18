package auth

import (
	"slices"

	"github.com/tenantkit/tenantkit/internal/listing"
)

// Describe returns what the need asks for, for documents about routes such as those of auth/openapi.
// Changes of it do not change the need.
func (n Need) Describe() listing.Need {
	return listing.Need{
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

// Describer is a Mechanism that can say in which ways a request carries its credential, for documents
// about routes. The mechanisms of this library are Describers.
type Describer interface {
	Schemes(s *Settings) []Scheme
}

// Scheme is one way in which a request carries a credential. Authorization, Headers and Cookie are
// alternatives: set one.
type Scheme struct {
	Name          string   // in the document; "": that of the mechanism
	Authorization string   // the scheme in the Authorization header, like bearer
	Format        string   // of what follows the scheme, like JWT; may be empty
	Headers       []string // all of them are required
	Cookie        string   // {org} stands for the org's code
	Description   string   // for clients; may use Markdown
}
