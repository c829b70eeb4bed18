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
)

// hashing runs a Hasher for anybody who asks, without giving them the machine: a
// few at a time, a bounded line behind them, and an error beyond it. Nobody can
// have the line alone:
//
//   - A name has 5 places in it, kept until the try is settled, and an address half of all.
//   - The slots go round the orgs that wait, and within an org round its addresses.
//   - Whoever comes when the line is full takes the place of the latest from the
//     address with the most places, in the org with the most. That may be itself.
//
// Nothing is kept of those who are not in the line.
//
// The zero hashing is ready, with PBKDF2. It must not be copied after first
// use. Its methods are safe for concurrent use.
type hashing struct {
	hasher   Hasher // nil: PBKDF2{}
	parallel int    // how many run at once; 0: as many as the program may use of the CPUs
	queue    int    // how many wait; 0: 16 for each that runs

	once sync.Once

	mu      sync.Mutex
	line    []*place // of those that run, too
	running int

	making sync.Mutex
	dummy  string // a record of a password that nobody knows
}

// perName is how many places a name has: as many as tries that pass without a delay.
const perName = freeLogins

// party is whom a password is hashed for. An empty name or address has no bound of
// its own.
type party struct{ org, name, address string }

// nearness is 0 for another org, 1 for another address in this one, 2 for the same.
func (p party) nearness(q party) int {
	switch {
	case p.org != q.org:
		return 0
	case p.address != q.address:
		return 1
	}
	return 2
}

// place is one in the line.
type place struct {
	in    *hashing
	by    party
	state placeState
	ready chan struct{} // closed once it is running, or gone
}

type placeState int

const (
	taken    placeState = iota // its password is not at hand yet
	waiting                    // for a slot
	running                    // has one
	finished                   // gave it back; its try is not settled yet
	gone                       // has left, or was turned away
)

// errQueueFull means that as many hashes wait as may, in all or for this party;
// errNameFull, which wraps it, for this name.
var (
	errQueueFull = errors.New("session: too many passwords are waiting to be hashed")
	errNameFull  = fmt.Errorf("%w for one name", errQueueFull)
)

// enter takes a place in the line, or returns errQueueFull. It does not wait, so
// that it can come before anything that costs. Whoever enters leaves.
func (h *hashing) enter(by party) (*place, error) {
	h.once.Do(h.init)
	h.mu.Lock()
	defer h.mu.Unlock()
	names, addresses, most := 0, 0, h.parallel+h.queue
	for _, p := range h.line {
		if p.by.org == by.org && p.by.name == by.name {
			names++
		}
		if p.by.address == by.address {
			addresses++
		}
	}
	switch {
	case by.name != "" && names >= perName:
		return nil, errNameFull
	case by.address != "" && addresses >= most/2:
		return nil, errQueueFull
	}
	p := &place{in: h, by: by, ready: make(chan struct{})}
	h.line = append(h.line, p)
	if len(h.line) > most {
		h.turnAway()
	}
	if p.state == gone {
		return nil, errQueueFull
	}
	return p, nil
}

// turnAway makes room for one. Hashes that run are not stopped.
func (h *hashing) turnAway() {
	orgs, addresses := map[string]int{}, map[string]int{}
	for _, p := range h.line {
		orgs[p.by.org]++
		addresses[p.by.address]++
	}
	var last *place
	for _, p := range h.line {
		if p.state < running && (last == nil || cmp.Or(
			cmp.Compare(orgs[p.by.org], orgs[last.by.org]),
			cmp.Compare(addresses[p.by.address], addresses[last.by.address])) >= 0) {
			last = p
		}
	}
	h.remove(last)
	close(last.ready)
}

// next gives free slots to those who have waited longest. Who is like one that got
// a slot then goes behind all others: so each org has its turn, and each address.
func (h *hashing) next() {
	for h.running < h.parallel {
		i := slices.IndexFunc(h.line, func(p *place) bool { return p.state == waiting })
		if i < 0 {
			return
		}
		served := h.line[i]
		served.state = running
		h.running++
		close(served.ready)
		slices.SortStableFunc(h.line, func(p, q *place) int {
			return cmp.Compare(p.by.nearness(served.by), q.by.nearness(served.by))
		})
	}
}

func (h *hashing) remove(p *place) {
	p.state = gone
	h.line = slices.DeleteFunc(h.line, func(q *place) bool { return q == p })
}

// start waits for a slot. It returns errQueueFull if the place is lost meanwhile to
// somebody who has fewer, or the error of ctx.
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
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.state == gone {
		return errQueueFull
	}
	return nil
}

// finish gives the slot to others, and keeps the place until the try is settled: so
// perName bounds the unsettled tries of a name, too.
func (p *place) finish() {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.state == running {
		p.state = finished
		p.in.running--
		p.in.next()
	}
}

// leave gives the place and the slot to others. It may be called again.
func (p *place) leave() {
	p.finish()
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	p.in.remove(p)
}

// verify is Verify of the Hasher, and finishes. An empty record stands for an account
// that is unknown or has no password: it costs a verification as well, and is of no
// password.
//
// It returns the errors of start, or that of the Hasher.
func (p *place) verify(ctx context.Context, encoded, password string) (ok, rehash bool, err error) {
	defer p.finish()
	if err := p.start(ctx); err != nil {
		return false, false, err
	}
	// Made for whichever account comes first: the time it takes says nothing
	// about that account.
	dummy, err := p.in.stranger()
	if err != nil {
		return false, false, err
	}
	known := encoded != ""
	ok, rehash = p.in.hasher.Verify(cmp.Or(encoded, dummy), password)
	return ok && known, rehash && ok && known, nil
}

// hash is Hash of the Hasher. Errors are those of enter and verify.
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
	h.queue = cmp.Or(h.queue, 16*h.parallel)
}

// stranger returns the record that stands in for those of unknown accounts.
// One that could not be made is tried again by the next.
func (h *hashing) stranger() (string, error) {
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
