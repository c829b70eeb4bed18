package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/tenantkit/tenantkit/scope"
)

// Claimed is whom a rejected credential names. Nothing of it is proven: anybody can write
// another's client key into a request, or by mistake a secret. Each string is at most 128 bytes
// of printable text.
type Claimed struct {
	Mechanism string // that was asked; the Guard adds it
	App       string // client key
	Account   string // id
}

const maxClaimed = 128

// Claim records whom a rejected credential names, for the event of the rejection. Mechanisms
// call it before they return their error, and handlers that authenticate callers themselves
// call it before Fail. A later call replaces what was recorded.
//
// c must not hold a secret. The name of an unknown account may be one, because people type
// passwords into the wrong field: name only accounts that exist.
func (t *Tenant) Claim(c Claimed) {
	if t.guard.Observe == nil {
		return
	}
	t.notesOf().claimed.Store(&Claimed{printed(c.Mechanism, maxClaimed), printed(c.App, maxClaimed), printed(c.Account, maxClaimed)})
}

// Identify informs the Guard's observer who called a Public route. Handlers that authenticate
// callers themselves, such as a login, call it once the caller has proven who it is. The
// event is Allowed and has Handler set, without a Detail. Events of a later Fail name p, too.
// Identify does not change what From returns. It does nothing if p is not of the request's
// org, and if the Guard has authenticated the request.
func Identify(r *http.Request, p Principal) {
	c, ok := r.Context().Value(callKey{}).(*call)
	if !ok || c.tenant.guard.Observe == nil || p.Org != c.tenant.Org.Key() {
		return
	}
	c.mu.Lock()
	proven := c.principal.Account != "" && c.err == nil
	c.mu.Unlock()
	if !proven {
		who := p // a copy, because p itself is then not on the heap without an observer
		c.tenant.notesOf().identified.Store(&who)
		c.observe(r, nil, decision{handler: true})
	}
}

// printed returns a copy of a client's string that is short and has no control characters.
func printed(text string, longest int) string {
	text = strings.ToValidUTF8(text[:min(len(text), longest)], "?")
	return strings.Clone(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text))
}

// notes is what an observer learns of a request beside its decision.
type notes struct {
	claimed    atomic.Pointer[Claimed]
	identified atomic.Pointer[Principal]

	mu      sync.Mutex
	dropped []error
	more    int // errors that dropped does not hold
}

// notesOf returns the notes of a request. It makes them at the first call.
func (t *Tenant) notesOf() *notes {
	if t.notes.Load() == nil {
		t.notes.CompareAndSwap(nil, new(notes))
	}
	return t.notes.Load()
}

func (n *notes) claim() Claimed {
	if n == nil || n.claimed.Load() == nil {
		return Claimed{}
	}
	return *n.claimed.Load()
}

// identifiedBy returns the principal of Identify, or nil.
func (n *notes) identifiedBy() *Principal {
	if n == nil {
		return nil
	}
	return n.identified.Load()
}

// drop keeps an error about dropped chains.
func (n *notes) drop(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.dropped) < maxExcess {
		n.dropped = append(n.dropped, err)
		return
	}
	n.more++
}

// droppedFrom returns an error for the chains that were left out of a request's scope, or nil.
// A credential can have a thousand such chains, so it names only the first.
func droppedFrom(granted scope.Set, n *notes) error {
	var all notes
	if n != nil {
		n.mu.Lock()
		all.dropped, all.more = append(all.dropped, n.dropped...), n.more
		n.mu.Unlock()
	}
	for chain, source := range granted.Unknown() {
		if len(all.dropped) == maxExcess {
			all.more++
			continue
		}
		all.dropped = append(all.dropped, fmt.Errorf("auth: %s: chain %q has an unknown root", source, printed(chain, maxClaimed)))
	}
	if all.more > 0 {
		all.dropped = append(all.dropped, fmt.Errorf("auth: and %d more chains", all.more))
	}
	return errors.Join(all.dropped...)
}
