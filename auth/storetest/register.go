package storetest

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// register has records that are replaced if they are the ones that were read: attempts and second factors.
type register[R any] struct {
	*testing.T
	suite.Cast
	load   func(ctx context.Context, org auth.OrgKey, key string) (R, error)
	swap   func(ctx context.Context, org auth.OrgKey, key string, old, next R) (stored R, err error)
	lost   error           // of swap, if the record is another one
	fresh  func() R        // a record that was never stored
	show   func(R) string  // without secrets; two records with one text are the same
	others func(now R) []R // records that a store might take for this one
	key    string          // of most tests
	keys   [][2]string     // suffixes of orgs, and keys, that a store might confuse
}

func (r *register[R]) zero() (none R) { return none }

// in returns the register of another org.
func (r *register[R]) in(org auth.OrgKey) *register[R] {
	other := suite.With(*r, func(r *register[R]) { r.Org = org })
	return &other
}

// has fails unless the key has this record.
func (r *register[R]) has(key string, want R) {
	r.Helper()
	got, err := r.load(r.Context(), r.Org, key)
	suite.Check(r.T, err == nil && r.show(got) == r.show(want), "%s, %v, want %s", r.show(got), err, r.show(want))
}

func (r *register[R]) set(key string, old, next R) R {
	r.Helper()
	stored, err := r.swap(r.Context(), r.Org, key, old, next)
	suite.Must(r.T, r.show(next)+" for "+r.show(old), err)
	r.has(key, stored)
	return stored
}

// stays fails if another record than now can be replaced.
func (r *register[R]) stays(key string, now R, more ...R) {
	r.Helper()
	for _, other := range append(r.others(now), more...) {
		for _, next := range []R{r.fresh(), r.zero()} {
			_, err := r.swap(r.Context(), r.Org, key, other, next)
			suite.Expect(r.T, "for "+r.show(other), err, r.lost)
			r.has(key, now)
		}
	}
}

func (r *register[R]) none() {
	r.has(r.key, r.zero())
	r.stays(r.key, r.zero(), r.fresh())
}

func (r *register[R]) conflict() {
	first := r.set(r.key, r.zero(), r.fresh())
	r.stays(r.key, first, r.zero())
	second := r.set(r.key, first, r.fresh())
	r.stays(r.key, second, first)
	gone := r.set(r.key, second, r.zero())
	r.stays(r.key, gone, first, second) // of one that read it earlier
	r.set(r.key, gone, r.fresh())
}

func (r *register[R]) apart() {
	saved := make([]R, len(r.keys))
	for range 2 { // what is saved leaves others of its version alone
		for i, name := range r.keys {
			saved[i] = r.in(r.Other(name[0])).set(name[1], saved[i], r.fresh())
		}
	}
	for i, name := range r.keys {
		r.in(r.Other(name[0])).has(name[1], saved[i])
	}
}

func (r *register[R]) person() {
	if r.Features.Org != nil {
		r.Skip("the store's orgs have ids of its own")
	}
	person, key := r.in(auth.PersonKey), rand.Text() // the suite may run again
	one, other := r.set(key, r.zero(), r.fresh()), person.set(key, r.zero(), r.fresh())
	r.has(key, one)
	person.has(key, other)
}

func (r *register[R]) cancelled() {
	now, ctx := r.set(r.key, r.zero(), r.fresh()), suite.Ended(r.T)
	_, err := r.load(ctx, r.Org, r.key)
	suite.Fails(r.T, "a look-up", err)
	_, err = r.swap(ctx, r.Org, r.key, now, r.fresh())
	suite.Fails(r.T, "a change", err, r.lost)
	r.has(r.key, now)
}

// race replaces one record many times at once: it appears, changes and goes.
func (r *register[R]) race() {
	now := r.zero()
	r.has(r.key, now)
	for round := range 12 {
		var stored [suite.Crowd]R
		now = stored[suite.Wins(r.T, 1, func(i int) (err error) {
			next := r.fresh()
			if round%3 == 2 {
				next = r.zero()
			}
			stored[i], err = r.swap(r.Context(), r.Org, r.key, now, next)
			return err
		}, r.lost)]
		r.has(r.key, now)
	}
}
