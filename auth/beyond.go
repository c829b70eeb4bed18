package auth

import (
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
)

// BeyondError says in what something that is to be made would exceed its maker.
// Fail answers it with DetailDelegation and a child for each excess.
type BeyondError struct {
	Excess []Excess
}

// Excess is one thing in which something would exceed its maker. A server whose
// requests have other names for these puts its own before it answers: an expires
// that the client asked for as expiresIn, say.
type Excess struct {
	Option string // what the fault's path says: sub, app, scope, roles, grant, skipAcl, bypassCreateAcl, claims, expires, networks, maxUses or lineage
	Value  string // the chain or the role, empty for others
}

// maxExcess bounds what a refusal names: a scope can be beyond in a thousand
// chains.
const maxExcess = 32

func (b *BeyondError) add(beyond bool, option, value string) {
	if e := (Excess{option, value}); beyond && len(b.Excess) < maxExcess && !slices.Contains(b.Excess, e) {
		b.Excess = append(b.Excess, e)
	}
}

func (b *BeyondError) orNil() error {
	if len(b.Excess) == 0 {
		return nil
	}
	return b
}

func (b *BeyondError) Error() string {
	names := make([]string, len(b.Excess))
	for i, e := range b.Excess {
		names[i] = strings.TrimSpace(e.Option + " " + e.Value)
	}
	return "auth: it would exceed its maker: " + strings.Join(names, ", ")
}

// Fault implements what Fail looks for.
func (b *BeyondError) Fault() *envelope.Fault {
	e := &Error{Detail: DetailDelegation}
	for _, x := range b.Excess {
		e.Faults = append(e.Faults, &Error{Detail: DetailDelegation, Path: x.Option, Reason: x.Value})
	}
	return e.Fault()
}
