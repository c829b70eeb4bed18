package auth

import (
	"slices"

	"github.com/tenantkit/tenantkit/scope"
)

// MayWrite decides whether p's scope permits a request to write these properties of an
// object. v is Update for the properties of an instance, or Create for an instance that has
// them. A route with the need Some must call it,
//
//	auth.Some("object.update.c_note.{id}")
//
// before it writes anything. Pass the property paths of everything that the body names, also
// those it unsets, and names that the application does not know. Take them from the decoded
// value that will be written, never from another reading of the body. A path is
// dot-separated, as in chains: "c_meta.lang", "c_tags[]". To replace the whole of c_meta,
// name c_meta. The identifier "" means an instance to be created, or every instance to be
// updated.
//
// Each path needs a chain that covers it: object.update.c_note.*.c_text, or a wider one. An
// update without paths changes nothing, so it needs only some chain on the instance. Creating
// without paths needs a chain without a property, because a property does not grant the
// object it belongs to.
//
// The error has DetailScope and a child for each path that is not covered, up to 32. The
// caller must still check the access rules on objects.
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
