package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
)

// hashing runs a Hasher for all callers, and limits how much CPU they take. A few hashes run at
// once, a limited number waits, and more get an error. Nobody can fill the queue alone:
//
//   - A name has 5 places. Each is kept until the result of the attempt is counted. An address
//     has a quarter of all places.
//   - An org never has more places than it leaves free, so at most half. One place for each org
//     is beside these: an org without a place gets one while fewer orgs than that have any.
//   - The first place of each address is counted apart from all others, and there are as many. A
//     few addresses with many names or orgs therefore leave these to everybody else.
//   - Free slots go to the waiting orgs in turn, and within an org to its addresses in turn.
//
// Whoever has a place keeps it. Nothing is kept about callers that are not in the queue.
//
// The zero hashing is ready, with PBKDF2. It must not be copied after first use. Its
// methods are safe for concurrent use.
type hashing struct {
	hasher   Hasher // nil: PBKDF2{}
	parallel int    // how many run at once; 0: as many as the program may use CPUs
	places   int    // how many first and how many further places there are beside the first of each org; 0: 32 for each that runs

	once sync.Once

	mu      sync.Mutex
	queue   []*place // includes those that run
	running int

	making sync.Mutex
	dummy  string // the encoding of a password that nobody knows
}

// perName is how many places a name can hold in the queue. It equals freeLogins.
const perName = freeLogins

// party is whom a password is hashed for. An empty name or address is not limited.
type party struct {
	org           auth.OrgKey
	name, address string
}

// nearness is 0 for another org, 1 for another address in this org, and 2 for the same
// address.
func (p party) nearness(q party) int {
	switch {
	case p.org != q.org:
		return 0
	case p.address != q.address:
		return 1
	}
	return 2
}

// place is one entry in the queue.
type place struct {
	in    *hashing
	by    party
	first bool // its address had none
	state placeState
	ready chan struct{} // closed once it is running
}

type placeState int

const (
	taken    placeState = iota // before start
	waiting                    // waits for a slot
	running                    // has a slot
	finished                   // has released the slot; its attempt is still in progress
)

// errQueueFull means that as many hashes wait as may, in all or for this party;
// errNameFull, which wraps it, for this name.
var (
	errQueueFull = errors.New("session: too many passwords are waiting to be hashed")
	errNameFull  = fmt.Errorf("%w for one name", errQueueFull)
)

// enter takes a place in the queue, or returns errQueueFull. It does not wait, so that
// it can come before any costly step. The caller must call leave.
func (h *hashing) enter(by party) (*place, error) {
	h.once.Do(h.init)
	h.mu.Lock()
	defer h.mu.Unlock()
	names, addresses := 0, 0
	for _, p := range h.queue {
		if p.by.org == by.org && p.by.name == by.name {
			names++
		}
		if p.by.address == by.address {
			addresses++
		}
	}
	first := by.address != "" && addresses == 0
	switch {
	case by.name != "" && names >= perName:
		return nil, errNameFull
	case by.address != "" && addresses >= max(1, h.places/4):
		return nil, errQueueFull
	case !h.leaves(by.org, first):
		return nil, errQueueFull
	}
	p := &place{in: h, by: by, first: first, ready: make(chan struct{})}
	h.queue = append(h.queue, p)
	return p, nil
}

// leaves reports whether one more place is left for an org, among those that are first for their
// address or among the others.
func (h *hashing) leaves(org auth.OrgKey, first bool) bool {
	all, orgs := 0, map[auth.OrgKey]int{}
	for _, p := range h.queue {
		if p.first == first {
			all++
			orgs[p.by.org]++
		}
	}
	own, shared := orgs[org], all-len(orgs) // without the first place of each org
	return own == 0 && len(orgs) < h.places || own > 0 && own-1 < h.places-shared
}

// next gives free slots to the calls that have waited longest. It then moves calls of
// the same org to the end, and those of the same address behind them. Orgs and
// addresses therefore take turns.
func (h *hashing) next() {
	for h.running < h.parallel {
		i := slices.IndexFunc(h.queue, func(p *place) bool { return p.state == waiting })
		if i < 0 {
			return
		}
		served := h.queue[i]
		served.state = running
		h.running++
		close(served.ready)
		slices.SortStableFunc(h.queue, func(p, q *place) int {
			return cmp.Compare(p.by.nearness(served.by), q.by.nearness(served.by))
		})
	}
}

// start waits for a slot, or returns the error of ctx.
func (p *place) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.in.mu.Lock()
	if p.state == taken {
		p.state = waiting
		p.in.next()
	}
	p.in.mu.Unlock()
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release frees the slot, and keeps the place until leave. perName therefore also
// limits the attempts of a name whose result is not counted yet.
func (p *place) release() {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.state == running {
		p.state = finished
		p.in.running--
		p.in.next()
	}
}

// leave frees the place and the slot. It may be called again.
func (p *place) leave() {
	p.release()
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	p.in.queue = slices.DeleteFunc(p.in.queue, func(q *place) bool { return q == p })
}

// verify calls Verify of the Hasher and releases the slot. An empty encoded stands for
// an unknown account or one without a password. It takes a verification as well, and
// matches no password.
//
// It returns the errors of start, or that of the Hasher.
func (p *place) verify(ctx context.Context, encoded, password string) (ok, rehash bool, err error) {
	defer p.release()
	if err := p.start(ctx); err != nil {
		return false, false, err
	}
	// Made for every account, known or not: the time it takes the first time says
	// nothing about the account.
	dummy, err := p.in.dummyEncoding()
	if err != nil {
		return false, false, err
	}
	known := encoded != ""
	ok, rehash = p.in.hasher.Verify(cmp.Or(encoded, dummy), password)
	return ok && known, rehash && ok && known, nil
}

// hash calls Hash of the Hasher. It returns the errors of enter and start, or that of
// the Hasher.
func (h *hashing) hash(ctx context.Context, by party, password string) (string, error) {
	p, err := h.enter(by)
	if err != nil {
		return "", err
	}
	defer p.leave()
	if err := p.start(ctx); err != nil {
		return "", err
	}
	return h.hasher.Hash(password)
}

func (h *hashing) init() {
	if h.hasher == nil {
		h.hasher = PBKDF2{}
	}
	h.parallel = cmp.Or(h.parallel, runtime.GOMAXPROCS(0))
	h.places = cmp.Or(h.places, 32*h.parallel)
}

// dummyEncoding returns the encoded password that stands in for those of unknown
// accounts. If it could not be made, the next call tries again.
func (h *hashing) dummyEncoding() (string, error) {
	h.making.Lock()
	defer h.making.Unlock()
	if h.dummy != "" {
		return h.dummy, nil
	}
	encoded, err := h.hasher.Hash(rand.Text())
	if err == nil {
		h.dummy = encoded
	}
	return encoded, err
}
