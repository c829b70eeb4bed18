package storetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// Factors checks the contract of session.Factors. Each subtest opens a store, and
// uses orgs that no other subtest uses.
func Factors(t *testing.T, open func(t *testing.T) session.FactorStore, f Features) {
	suite.Run(t, suite.Tests[func(*factors)]{
		{"an account without a record", (*factors).none},
		{"a record comes back as it was saved", factorsSaved},
		{"only the version that was read is replaced, and a removed factor does not come back", (*factors).conflict},
		{"nothing is shared with callers", factorsAliasing},
		{"orgs and accounts are apart", (*factors).apart},
		{"what is a person's is no org's", (*factors).person},
		{"a context that has ended", (*factors).cancelled},
		{"F07 64 saves of one version", (*factors).race},
	}, func(t *testing.T, test func(*factors)) {
		store, r := open(t), &factors{T: t, Cast: suite.NewCast(suite.Features(f)), lost: auth.ErrConflict, fresh: newFactor, show: showFactor, key: "ann"}
		r.load = func(ctx context.Context, org auth.OrgKey, account string) (session.Factor, error) {
			return store.Factor(ctx, org, r.ID(account))
		}
		r.swap = func(ctx context.Context, org auth.OrgKey, account string, old, next session.Factor) (session.Factor, error) {
			next.Version = old.Version
			err := store.Save(ctx, org, r.ID(account), next)
			next.Version++
			return next, err
		}
		r.others = func(now session.Factor) []session.Factor { return []session.Factor{{Version: now.Version + 1}} }
		r.keys = [][2]string{{":x", "y"}, {"", "x:y"}, {"/x", "y"}, {"", "x/y"}, {"x", "y"}, {"", "xy"}, {"-2", "ann"}}
		for _, account := range r.Odd() {
			r.keys = append(r.keys, [2]string{"", account})
		}
		test(r)
	})
}

type factors = register[session.Factor]

// newFactor returns a factor with a value in each field.
func newFactor() session.Factor {
	secret := make([]byte, 40)
	rand.Read(secret)
	return session.Factor{Version: 1,
		Secret: session.FactorSecret(secret[:20]), Pending: session.FactorSecret(secret[20:]), Step: 59_000_001,
		Recovery: [][32]byte{suite.NewHash(), suite.NewHash(), suite.NewHash()},
	}
}

// showFactor shows the hash of secrets, because a store that confuses records returns those of a person.
func showFactor(f session.Factor) string {
	secrets := fmt.Appendf(nil, "%x %x %x", string(f.Secret), string(f.Pending), f.Recovery)
	return fmt.Sprintf("version %d, step %d, %d codes, secrets %x", f.Version, f.Step, len(f.Recovery), sha256.Sum256(secrets))
}

func factorsSaved(r *factors) {
	full := newFactor()
	pending, active, zero, far := full, full, full, full
	pending.Secret, pending.Recovery, pending.Step = "", nil, 0
	active.Pending = ""
	zero.Secret, zero.Recovery = session.FactorSecret(make([]byte, 20)), make([][32]byte, 10)
	far.Step = math.MaxInt64
	for _, account := range r.Odd() {
		now := session.Factor{}
		for _, f := range []session.Factor{full, pending, active, zero, far, {}} {
			now = r.set(account, now, f)
		}
	}
}

func factorsAliasing(r *factors) {
	given := newFactor()
	want := given
	want.Recovery = slices.Clone(given.Recovery)
	r.set(r.key, session.Factor{}, given)
	clear(given.Recovery)
	r.has(r.key, want) // of version 1
	got, err := r.load(r.Context(), r.Org, r.key)
	suite.Expect(r.T, "Factor", err, nil)
	clear(got.Recovery)
	r.has(r.key, want)
}
