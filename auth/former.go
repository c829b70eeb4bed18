package auth

import "slices"

// under returns the org as it answers requests to this code, or nil if it does not.
//
// Under a former code it is a copy with that code as its Code: URLs, audiences and documents
// that a client gets are those that it asks, so that a client that knows nothing of the
// change goes on. Tokens for the current code stay valid.
func (g *Guard) under(o *Org, code string) *Org {
	if o.Code == code {
		return o
	}
	if !g.FormerCodes || !slices.Contains(o.FormerCodes, code) {
		return nil
	}
	former := *o // a Directory shares what it returns
	former.Code, former.FormerCodes = code, append(slices.Clone(o.FormerCodes), o.Code)
	return &former
}
