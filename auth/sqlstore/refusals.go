package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// The bounds of what waits for the end of the minute. Without them, whoever is rejected could fill the
// database. An org with more kinds of rejections in a minute gets them as one entry.
const (
	maxRefusals       = 64 // entries of an org
	maxRefusalsOfOrgs = 1 << 14
)

// refusals counts what was rejected since the last flush.
type refusals struct {
	mu      sync.Mutex
	counts  map[auth.OrgKey]map[refusal]int64
	all     int // of all orgs
	dropped int64
}

type refusal struct {
	verb, detail, account string
	network               netip.Prefix
}

// repeatable are verbs that change nothing, and that anybody can repeat.
var repeatable = map[string]bool{
	verbs.LoginWrong: true, verbs.LoginDelayed: true, verbs.CodeRefused: true, verbs.RepeatAnswered: true,
}

// Observe counts requests that were rejected, by the Guard or by a handler with accessDenied, wrong passwords and codes, and repeated requests, for
// auth.Guard.Observe. Each minute, Store.Run appends an entry for each code and network. It ignores all other
// events: their verbs append entries themselves. It never waits for the database.
func (a *Audit) Observe(_ context.Context, e auth.Event) {
	rejected := e.Verb == "" && e.Detail != "" && (!e.Allowed || strings.HasPrefix(e.Detail, "accessDenied."))
	if !a.store.options.Audit || e.Org == "" || !rejected && !repeatable[e.Verb] {
		return
	}
	key := refusal{verb: verbs.RequestRefused, detail: e.Detail, network: networkOf(e.Address)}
	if e.Verb != "" {
		key.verb, key.account = e.Verb, e.Account
	}
	a.store.refusals.add(e.Org, key, 1)
}

// networkOf returns the network of an address: a /24 of IPv4, or a /64 of IPv6.
func networkOf(a netip.Addr) (network netip.Prefix) {
	bits := 64
	if a = a.Unmap(); a.Is4() {
		bits = 24
	}
	network, _ = a.Prefix(bits) // none for no address
	return network
}

func (r *refusals) add(org auth.OrgKey, key refusal, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.counts[org]
	if own[key] == 0 && len(own) >= maxRefusals-1 {
		key = refusal{verb: verbs.RequestRefused, detail: "other"}
	}
	if own[key] == 0 {
		if r.all == maxRefusalsOfOrgs {
			r.dropped += n
			return
		}
		r.all++
	}
	if r.counts == nil {
		r.counts = map[auth.OrgKey]map[refusal]int64{}
	}
	if own == nil {
		own = map[refusal]int64{}
		r.counts[org] = own
	}
	own[key] += n
}

// flushRefusals appends what was counted, in one transaction for each org.
func (s *Store) flushRefusals(ctx context.Context) error {
	r := s.refusals
	r.mu.Lock()
	counts, dropped := r.counts, r.dropped
	r.counts, r.all, r.dropped = nil, 0, 0
	r.mu.Unlock()
	var errs []error
	for org, own := range counts {
		err := s.audited(ctx, org, func(q conn) error {
			for key, n := range own {
				q.note(auth.Event{Verb: key.verb, Detail: key.detail, Account: key.account, Address: key.network.Addr(), Count: n})
			}
			return nil
		})
		if err != nil { // for the next minute
			errs = append(errs, err)
			for key, n := range own {
				r.add(org, key, n)
			}
		}
	}
	if dropped > 0 {
		errs = append(errs, fmt.Errorf("sqlstore: the audit log lacks %d rejected requests of more orgs than fit", dropped))
	}
	return errors.Join(errs...)
}
