package auth

import (
	"slices"

	"github.com/tenantkit/tenantkit/scope"
)

// MayWrite decides whether p's scope lets a request write these properties of an
// object: Update those of an instance, or Create an instance that has them. It
// is the other half of a route that Some lets in,
//
//	auth.Some("object.update.c_note.{id}")
//
// and is called before anything is written, with the property paths of
// everything that the body names: what it unsets, too, and names that the
// application does not know. Take them from what was decoded and will be
// written, never from another reading of the body. A path is dot-separated, as
// chains have it: "c_meta.lang", "c_tags[]"; to replace a whole c_meta name that.
// The identifier "" is that of an instance to be created, and of every instance
// to be updated.
//
// Each path needs a chain that covers it: object.update.c_note.*.c_text, or a
// wider one. Without paths an update needs some chain on the instance, for it
// changes nothing; and creating needs one without a property, for a property does
// not grant the object it belongs to.
//
// The error has DetailScope and a child for each path that is not covered, up to
// 32. Access rules on objects are for the caller to decide, as ever.
func (p Principal) MayWrite(v scope.Verb, object, id string, paths []string) error {
	grant := p.Scope.On(v, object)
	whole := grant.Need(id, "")
	if p.Scope.Allows(whole) {
		return nil
	}
	refusal := &Error{Detail: DetailScope, Reason: whole.String()}
	if len(paths) == 0 {
		if ids, all := grant.IDs(); v == scope.Update && (all || slices.Contains(ids, id)) {
			return nil
		}
		return refusal
	}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		if need := grant.Need(id, path); !p.Scope.Allows(need) && len(refusal.Faults) < maxExcess {
			refusal.Faults = append(refusal.Faults, &Error{Detail: DetailScope, Path: path, Reason: need.String()})
		}
	}
	if len(refusal.Faults) == 0 {
		return nil
	}
	return refusal
}
