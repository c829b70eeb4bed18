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
