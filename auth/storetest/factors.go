package storetest

import (
	"crypto/rand"
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
	suite.Run(t, suite.Tests[func(*factorTest)]{
		{"an account without a record", (*factorTest).none},
		{"a record comes back as it was saved", (*factorTest).roundTrip},
		{"only the version that was read is replaced", (*factorTest).conflict},
		{"a removed factor does not come back", (*factorTest).removed},
		{"nothing is shared with callers", (*factorTest).aliasing},
		{"orgs and accounts are apart", (*factorTest).apart},
		{"what is a person's is no org's", (*factorTest).person},
		{"a context that has ended", (*factorTest).cancelled},
		{"F07 64 saves of one version", (*factorTest).race},
	}, func(t *testing.T, test func(*factorTest)) {
		test(&factorTest{T: t, store: open(t), Cast: suite.NewCast(suite.Features(f))})
	})
}

type factorTest struct {
	*testing.T
	suite.Cast
	store session.FactorStore
}

// newFactor returns a factor with a value in each field but Version.
func newFactor() session.Factor {
	secret := make([]byte, 40)
	rand.Read(secret)
	return session.Factor{
		Secret: session.NewFactorSecret(secret[:20]), Pending: session.NewFactorSecret(secret[20:]), Step: 59_000_001,
		Recovery: [][32]byte{suite.NewHash(), suite.NewHash(), suite.NewHash()},
	}
}

func copyFactor(f session.Factor) session.Factor {
	f.Recovery = slices.Clone(f.Recovery)
	return f
}

func (t *factorTest) save(account string, f session.Factor) session.Factor {
	t.Helper()
	if err := t.store.Save(t.Context(), t.Org, t.ID(account), f); err != nil {
		t.Fatalf("Save: %v", err)
	}
	f.Version++
	return f
}

// has fails unless the account has this record. It prints no secrets.
func (t *factorTest) has(account string, want session.Factor) {
	t.Helper()
	got, err := t.store.Factor(t.Context(), t.Org, t.ID(account))
	switch {
	case err != nil:
		t.Errorf("Factor: %v", err)
	case got.Version != want.Version || got.Step != want.Step:
		t.Errorf("version %d, step %d; want %d, %d", got.Version, got.Step, want.Version, want.Step)
	case got.Secret != want.Secret || got.Pending != want.Pending:
		t.Error("another secret")
	case !slices.Equal(got.Recovery, want.Recovery):
		t.Error("other recovery codes")
	}
}

func (t *factorTest) conflicts(account string, f session.Factor) {
	t.Helper()
	suite.Expect(t.T, fmt.Sprint("Save of version ", f.Version), t.store.Save(t.Context(), t.Org, t.ID(account), f), session.ErrConflict)
}

func (t *factorTest) none() {
	t.has("ann", session.Factor{})
	f := newFactor()
	f.Version = 1
	t.conflicts("ann", f)
	t.has("ann", session.Factor{})
}

func (t *factorTest) roundTrip() {
	full := newFactor()
	pending, active, zero, far := full, full, full, full
	pending.Secret, pending.Recovery, pending.Step = session.FactorSecret{}, nil, 0
	active.Pending = session.FactorSecret{}
	zero.Secret, zero.Recovery = session.NewFactorSecret(make([]byte, 20)), make([][32]byte, 10)
	far.Step = math.MaxInt64
	for _, account := range t.Odd() {
		version := int64(0)
		for _, f := range []session.Factor{full, pending, active, zero, far, {}} {
			f.Version = version
			f = t.save(account, f)
			t.has(account, f)
			version = f.Version
		}
	}
}

func (t *factorTest) conflict() {
	first := t.save("ann", newFactor())
	t.conflicts("ann", newFactor()) // of version 0
	second := newFactor()
	second.Version = first.Version
	ahead := newFactor()
	ahead.Version = first.Version + 1
	t.conflicts("ann", ahead)
	t.has("ann", first)
	second = t.save("ann", second)
	t.conflicts("ann", first)
	t.has("ann", second)
}

func (t *factorTest) removed() {
	read := t.save("ann", newFactor())
	gone := t.save("ann", session.Factor{Version: read.Version})
	t.has("ann", session.Factor{Version: 2})
	t.conflicts("ann", read) // from a login that read it earlier
	t.conflicts("ann", newFactor())
	t.has("ann", gone)
	next := newFactor()
	next.Version = gone.Version
	t.has("ann", t.save("ann", next))
}

func (t *factorTest) aliasing() {
	f := newFactor()
	want := copyFactor(f)
	want = t.save("ann", want)
	given := copyFactor(f)
	t.save("bob", given)
	clear(given.Recovery)
	t.has("bob", want)
	got, err := t.store.Factor(t.Context(), t.Org, t.ID("bob"))
	if err != nil {
		t.Fatal(err)
	}
	clear(got.Recovery)
	t.has("bob", want)
}

func (t *factorTest) apart() {
	saved := map[[2]string]session.Factor{}
	names := [][2]string{{":x", "y"}, {"", "x:y"}, {"/x", "y"}, {"", "x/y"}, {"x", "y"}, {"", "xy"}, {"-2", "ann"}}
	for _, account := range t.Odd() {
		names = append(names, [2]string{"", account})
	}
	in := func(suffix string) *factorTest {
		c := t.Cast
		if suffix != "" {
			c.Org = t.Other(suffix)
		}
		return &factorTest{T: t.T, store: t.store, Cast: c}
	}
	for version := range int64(2) { // a save leaves others of its version alone
		for _, name := range names {
			f := newFactor()
			f.Version = version
			saved[name] = in(name[0]).save(name[1], f)
		}
	}
	for _, name := range names {
		in(name[0]).has(name[1], saved[name])
	}
}

func (t *factorTest) person() {
	if t.Features.Org != nil {
		t.Skip("the store's orgs have ids of its own")
	}
	person := &factorTest{T: t.T, store: t.store, Cast: t.Cast}
	person.Org = auth.PersonKey
	id := rand.Text() // the suite may run again
	one, other := t.save(id, newFactor()), person.save(id, newFactor())
	t.has(id, one)
	person.has(id, other)
}

func (t *factorTest) cancelled() {
	f := t.save("ann", newFactor())
	ctx := suite.Ended(t.T)
	_, err := t.store.Factor(ctx, t.Org, t.ID("ann"))
	suite.Fails(t.T, "Factor", err)
	next := newFactor()
	next.Version = f.Version
	suite.Fails(t.T, "Save", t.store.Save(ctx, t.Org, t.ID("ann"), next), session.ErrConflict)
	t.has("ann", f)
}

func (t *factorTest) race() {
	for version := range int64(10) {
		var all [suite.Crowd]session.Factor
		for i := range all {
			all[i] = newFactor()
			all[i].Version = version
		}
		ann := t.ID("ann")
		errs := suite.AtOnce(len(all), func(i int) error { return t.store.Save(t.Context(), t.Org, ann, all[i]) })
		want := all[suite.Winner(t.T, errs, session.ErrConflict)]
		want.Version++
		t.has("ann", want)
	}
}
