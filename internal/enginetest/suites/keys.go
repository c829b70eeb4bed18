package suites

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

// KeyStore is a store of key pairs. It has what the Guard calls, and the verbs that
// add, rotate, expose and delete an app's pair. token.MemoryKeys is the reference
// implementation.
type KeyStore interface {
	token.Keys
	token.Signers
	token.Exposed

	Put(ctx context.Context, pair *token.KeyPair) error
	Generate(ctx context.Context, org auth.OrgKey, clientKey string) (*token.PublicKey, error)
	Ensure(ctx context.Context, org auth.OrgKey, clientKey string) (*token.PublicKey, error)
	Rotate(ctx context.Context, org auth.OrgKey, clientKey string, overlap time.Duration) (*token.PublicKey, error)
	Expose(ctx context.Context, org auth.OrgKey, clientKey string, exposed bool) error
	Delete(ctx context.Context, org auth.OrgKey, clientKey string) error
}

// Keys checks the contracts of token.Keys, token.Signers and token.Exposed. Each
// subtest opens a store. It may be the same one each time, and in use, but no
// cache.
func Keys(t *testing.T, open func(t *testing.T) KeyStore, f storetest.Features) {
	suite.Run(t, suite.Tests[func(*testing.T, *keys)]{
		{"a pair is found by its kid and by its app", testKeyFound},
		{"what is not there is not found", testNoKeys},
		{"T22 a replaced pair is unknown at once", testReplaced},
		{"T22 a deleted pair is unknown at once", testKeyDeleted},
		{"T22 replacing pairs at once leaves one", testReplaceRace},
		{"T22 a kid is not found by a call that starts after it was replaced", testReplaceWhileReading},
		{"T18 a pair that is not fit is refused", testUnfit},
		{"a pair has one owner", testOneOwner},
		{"a pair that several apps put at once has one owner", testOwnerRace},
		{"K01 exposed keys are those of the org that opted in", testExposed},
		{"K02 a set of exposed keys is one state", testExposedWhole},
		{"what is put stays the caller's own", testKeyAliasing},
		{"kids and client keys that look alike are apart", testKeyNames},
		{"a rotated key verifies until its end", testRotated},
		{"K16 an overlap that is out of range changes nothing", testOverlapRange},
		{"K16 eight former keys are the most", testMostFormers},
		{"T37 a pair that is ensured at once is one pair", testEnsureRace},
		{"K17 verbs with a client key of another org change nothing", testKeysOfAnotherOrg},
		{"K18 replacing or deleting a pair ends its former keys", testFormersEnd},
		{"a former key has one owner", testFormerHasOwner},
		{"rotations at once lose no key", testRotateRace},
		{"a rotation leaves no moment without a key", testRotateWhileReading},
		{"former keys are exposed with their app", testFormersExposed},
		{"a look-up whose context has ended finds no absence", testKeysContext},
	}, func(t *testing.T, test func(*testing.T, *keys)) {
		test(t, &keys{KeyStore: open(t), f: suite.Features(f), org: auth.OrgKey(suite.Random())})
	})
}

// keys is a store of key pairs, with an org that no other subtest uses.
type keys struct {
	KeyStore
	f   suite.Features
	org auth.OrgKey
}

// pool holds private keys, because generating one is slow. Subtests run one after
// the other, and return their keys.
var pool struct {
	mu   sync.Mutex
	free []*token.KeyPair
}

// pair returns a pair that is in no store.
func (k *keys) pair(t *testing.T, app string) *token.KeyPair {
	t.Helper()
	pair := takePair(t)
	pair.ClientKey, pair.Org = app, k.org
	t.Cleanup(func() {
		if err := k.Delete(context.WithoutCancel(t.Context()), pair.Org, pair.ClientKey); err != nil && !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Delete: %v", err)
		}
		pool.mu.Lock()
		defer pool.mu.Unlock()
		pool.free = append(pool.free, pair)
	})
	return pair
}

func takePair(t *testing.T) *token.KeyPair {
	t.Helper()
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if n := len(pool.free); n > 0 {
		pair := *pool.free[n-1]
		pool.free = pool.free[:n-1]
		pair.Exposed = false
		return &pair
	}
	pair, err := token.GeneratePair(2048)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// put gives an app a new pair.
func (k *keys) put(t *testing.T, app string) *token.KeyPair {
	t.Helper()
	pair := k.pair(t, app)
	if err := k.Put(t.Context(), pair); err != nil {
		t.Fatalf("Put: %v", err)
	}
	return pair
}

func (k *keys) public(t *testing.T, what, kid string, want error) *token.PublicKey {
	t.Helper()
	public, err := k.Public(t.Context(), kid)
	suite.Expect(t, what, err, want)
	if (public == nil) != (err != nil) {
		t.Errorf("%s: key %v beside error %v", what, public, err)
	}
	return public
}

func sameKey(a, b *token.PublicKey) bool {
	return a.KeyID == b.KeyID && a.ClientKey == b.ClientKey && a.Org == b.Org && a.Exposed == b.Exposed && a.Ends.Equal(b.Ends) && a.Key.Equal(b.Key)
}

func testKeyFound(t *testing.T, k *keys) {
	pair := k.put(t, suite.Random())
	if public := k.public(t, "by kid", pair.KeyID, nil); public != nil && !sameKey(public, &pair.PublicKey) {
		t.Errorf("Public = %+v, want %+v", public, pair.PublicKey)
	}
	found, err := k.Signer(t.Context(), pair.ClientKey)
	if err != nil {
		t.Fatalf("Signer: %v", err)
	}
	if !sameKey(&found.PublicKey, &pair.PublicKey) {
		t.Errorf("Signer = %+v, want %+v", found.PublicKey, pair.PublicKey)
	}
	if err := found.Validate(); err != nil {
		t.Errorf("the signer is not that of the key: %v", err)
	}
}

func testNoKeys(t *testing.T, k *keys) {
	for _, kid := range []string{"", suite.Random(), "../x", "' OR 1=1 --", "\x00", "\xff", strings.Repeat("k", 10<<10)} {
		k.public(t, fmt.Sprintf("kid %.40q", kid), kid, token.ErrNotFound)
		_, err := k.Signer(t.Context(), kid)
		suite.Expect(t, fmt.Sprintf("Signer of %.40q", kid), err, token.ErrNoKeyPair)
		suite.Expect(t, "Delete", k.Delete(t.Context(), k.org, kid), token.ErrNotFound)
		suite.Expect(t, "Expose", k.Expose(t.Context(), k.org, kid, true), token.ErrNotFound)
	}
	if list, err := k.Exposed(t.Context(), k.org); len(list) != 0 || err != nil {
		t.Errorf("Exposed = %v, %v", list, err)
	}
}

func testReplaced(t *testing.T, k *keys) {
	first := k.put(t, suite.Random())
	second := k.put(t, first.ClientKey)
	k.public(t, "the pair before", first.KeyID, token.ErrNotFound)
	k.public(t, "the pair", second.KeyID, nil)
	if found, err := k.Signer(t.Context(), first.ClientKey); err != nil || found.KeyID != second.KeyID {
		t.Errorf("Signer finds another pair, or %v", err)
	}
	suite.Expect(t, "Put of the pair before", k.Put(t.Context(), first), nil)
	k.public(t, "the pair before, again", first.KeyID, nil)
	k.public(t, "the second one", second.KeyID, token.ErrNotFound)
}

func testKeyDeleted(t *testing.T, k *keys) {
	pair := k.put(t, suite.Random())
	suite.Expect(t, "Delete", k.Delete(t.Context(), pair.Org, pair.ClientKey), nil)
	k.public(t, "deleted", pair.KeyID, token.ErrNotFound)
	_, err := k.Signer(t.Context(), pair.ClientKey)
	suite.Expect(t, "Signer", err, token.ErrNoKeyPair)
	suite.Expect(t, "Delete again", k.Delete(t.Context(), pair.Org, pair.ClientKey), token.ErrNotFound)
}

func testReplaceRace(t *testing.T, k *keys) {
	app := suite.Random()
	var pairs []*token.KeyPair
	for range 4 {
		pairs = append(pairs, k.pair(t, app))
	}
	suite.Tally(t, suite.AtOnce(suite.Crowd, func(i int) error { return k.Put(t.Context(), pairs[i%len(pairs)]) }))
	current, err := k.Signer(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range pairs {
		want := error(token.ErrNotFound)
		if pair.KeyID == current.KeyID {
			want = nil
		}
		k.public(t, "one of those put", pair.KeyID, want)
	}
}

func testReplaceWhileReading(t *testing.T, k *keys) {
	app := suite.Random()
	first, second := k.pair(t, app), k.pair(t, app)
	for range 5 {
		if err := k.Put(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		var replaced atomic.Bool
		errs := suite.AtOnce(4, func(i int) error {
			if i == 0 {
				defer replaced.Store(true)
				return k.Put(t.Context(), second)
			}
			for {
				late := replaced.Load()
				_, err := k.Public(t.Context(), first.KeyID)
				switch {
				case late && err == nil:
					return errors.New("found after it was replaced")
				case late && errors.Is(err, token.ErrNotFound):
					return nil
				case err != nil && !errors.Is(err, token.ErrNotFound):
					return err
				}
			}
		})
		suite.Tally(t, errs)
	}
}

func testUnfit(t *testing.T, k *keys) {
	good, other := k.pair(t, suite.Random()), k.pair(t, suite.Random())
	for name, change := range map[string]func(*token.KeyPair){
		"another kid":                 func(p *token.KeyPair) { p.KeyID = other.KeyID },
		"no kid":                      func(p *token.KeyPair) { p.KeyID = "" },
		"no client key":               func(p *token.KeyPair) { p.ClientKey = "" },
		"a client key with a blank":   func(p *token.KeyPair) { p.ClientKey = "a b" },
		"no signer":                   func(p *token.KeyPair) { p.Signer = nil },
		"the signer of another":       func(p *token.KeyPair) { p.Signer = other.Signer },
		"no public key":               func(p *token.KeyPair) { p.Key = nil },
		"a client key of 129 letters": func(p *token.KeyPair) { p.ClientKey = strings.Repeat("a", 129) },
	} {
		pair := *good
		change(&pair)
		suite.Expect(t, name, k.Put(t.Context(), &pair), token.ErrBadKey)
	}
	k.public(t, "after all that", good.KeyID, token.ErrNotFound)
}

func testOneOwner(t *testing.T, k *keys) {
	pair := k.put(t, suite.Random())
	thief := *pair
	thief.ClientKey, thief.Org = suite.Random(), token.OrgKey(suite.Random())
	suite.Expect(t, "the pair of another app", k.Put(t.Context(), &thief), token.ErrBadKey)
	if public := k.public(t, "the owner's", pair.KeyID, nil); public != nil && public.ClientKey != pair.ClientKey {
		t.Error("the pair has moved")
	}
	suite.Expect(t, "the owner again", k.Put(t.Context(), pair), nil)
	suite.Expect(t, "Delete", k.Delete(t.Context(), pair.Org, pair.ClientKey), nil)
	suite.Expect(t, "once it is free", k.Put(t.Context(), &thief), nil)
	suite.Expect(t, "Delete", k.Delete(t.Context(), thief.Org, thief.ClientKey), nil)
}

func testOwnerRace(t *testing.T, k *keys) {
	pairs := slices.Repeat([]token.KeyPair{*k.pair(t, suite.Random())}, suite.Crowd)
	for i := range pairs {
		pairs[i].ClientKey = suite.Random()
	}
	owners := 0
	for i, err := range suite.AtOnce(suite.Crowd, func(i int) error { return k.Put(t.Context(), &pairs[i]) }) {
		if err != nil {
			suite.Expect(t, "the pair of another app", err, token.ErrBadKey)
			continue
		}
		owners++
		k.public(t, "the owner's", pairs[i].KeyID, nil)
		suite.Expect(t, "Delete", k.Delete(t.Context(), pairs[i].Org, pairs[i].ClientKey), nil)
	}
	if owners != 1 {
		t.Errorf("%d owners", owners)
	}
}

func (k *keys) exposed(t *testing.T, org auth.OrgKey) (apps []string) {
	t.Helper()
	list, err := k.Exposed(t.Context(), org)
	if err != nil {
		t.Fatalf("Exposed: %v", err)
	}
	for _, public := range list {
		apps = append(apps, public.ClientKey)
		if !public.Exposed || public.Org != org || public.Validate() != nil {
			t.Errorf("listed: %+v", public)
		}
	}
	return apps
}

func testExposed(t *testing.T, k *keys) {
	a, b, hidden := k.put(t, "a"+suite.Random()), k.put(t, "b"+suite.Random()), k.put(t, suite.Random())
	elsewhere := *k.pair(t, suite.Random())
	elsewhere.Org, elsewhere.Exposed = token.OrgKey(suite.Random()), true
	suite.Expect(t, "Put", k.Put(t.Context(), &elsewhere), nil)
	t.Cleanup(func() { k.Delete(context.WithoutCancel(t.Context()), elsewhere.Org, elsewhere.ClientKey) })
	for _, pair := range []*token.KeyPair{b, a} {
		suite.Expect(t, "Expose", k.Expose(t.Context(), pair.Org, pair.ClientKey, true), nil)
	}
	want := []string{a.ClientKey, b.ClientKey}
	for range 3 {
		first := k.exposed(t, k.org)
		if !slices.Equal(slices.Sorted(slices.Values(first)), want) || !slices.Equal(first, k.exposed(t, k.org)) {
			t.Errorf("exposed %q, want %q in one order", first, want)
		}
	}
	if public := k.public(t, "one that is not exposed", hidden.KeyID, nil); public != nil && public.Exposed {
		t.Error("exposed without being asked to")
	}
	suite.Expect(t, "Expose no longer", k.Expose(t.Context(), k.org, a.ClientKey, false), nil)
	if got := k.exposed(t, k.org); !slices.Equal(got, want[1:]) {
		t.Errorf("exposed %q, want %q", got, want[1:])
	}
	suite.Expect(t, "Delete", k.Delete(t.Context(), k.org, b.ClientKey), nil)
	if got := k.exposed(t, k.org); len(got) != 0 {
		t.Errorf("exposed %q after it was deleted", got)
	}
}

func testExposedWhole(t *testing.T, k *keys) {
	app := suite.Random()
	pairs := []*token.KeyPair{k.pair(t, app), k.pair(t, app)}
	for _, pair := range pairs {
		pair.Exposed = true
	}
	suite.Expect(t, "Put", k.Put(t.Context(), pairs[0]), nil)
	var stop atomic.Bool
	errs := suite.AtOnce(4, func(i int) error {
		if i == 0 {
			defer stop.Store(true)
			for n := range 20 {
				if err := k.Put(t.Context(), pairs[n%2]); err != nil {
					return err
				}
			}
			return nil
		}
		for !stop.Load() {
			list, err := k.Exposed(t.Context(), k.org)
			if err != nil {
				return err
			}
			if len(list) != 1 || list[0].Validate() != nil {
				return fmt.Errorf("%d keys, want one that is whole", len(list))
			}
		}
		return nil
	})
	suite.Tally(t, errs)
}

func testKeyAliasing(t *testing.T, k *keys) {
	pair := k.pair(t, suite.Random())
	given := *pair
	given.Ends, given.Former = k.f.Time(), []string{suite.Random()} // not a caller's to set
	suite.Expect(t, "Put", k.Put(t.Context(), &given), nil)
	given.ClientKey, given.Org, given.KeyID = suite.Random(), token.OrgKey(suite.Random()), suite.Random()
	if public := k.public(t, "after the caller altered it", pair.KeyID, nil); public != nil && !sameKey(public, &pair.PublicKey) {
		t.Errorf("Public = %+v, want %+v", public, pair.PublicKey)
	}
	signer, err := k.Signer(t.Context(), pair.ClientKey)
	if err != nil {
		t.Fatal(err)
	}
	if !sameKey(&signer.PublicKey, &pair.PublicKey) || signer.Former != nil {
		t.Errorf("Signer = %+v, want %+v", signer.PublicKey, pair.PublicKey)
	}
}

func testKeyNames(t *testing.T, k *keys) {
	pair := k.put(t, "App"+suite.Random())
	for _, alike := range []string{strings.ToLower(pair.ClientKey), strings.ToUpper(pair.ClientKey), pair.ClientKey + " ", "%", pair.ClientKey[:3] + "%"} {
		_, err := k.Signer(t.Context(), alike)
		suite.Expect(t, "Signer of "+alike, err, token.ErrNoKeyPair)
		suite.Expect(t, "Delete of "+alike, k.Delete(t.Context(), k.org, alike), token.ErrNotFound)
	}
	for _, alike := range []string{strings.ToLower(pair.KeyID), strings.ToUpper(pair.KeyID), pair.KeyID + "=", pair.KeyID + " ", "%"} {
		k.public(t, "kid "+alike, alike, token.ErrNotFound)
	}
	k.public(t, "afterwards", pair.KeyID, nil)
}

func testKeysContext(t *testing.T, k *keys) {
	pair, ctx := k.put(t, suite.Random()), suite.Ended(t)
	_, errPublic := k.Public(ctx, pair.KeyID)
	_, errSigner := k.Signer(ctx, pair.ClientKey)
	list, errExposed := k.Exposed(ctx, k.org)
	for verb, err := range map[string]error{"Public": errPublic, "Signer": errSigner, "Exposed": errExposed} {
		if suite.Matches(err, token.ErrNotFound, token.ErrNoKeyPair) {
			t.Errorf("%s: error %v, want that of the context", verb, err)
		}
	}
	if errExposed != nil && list != nil {
		t.Error("Exposed returns a list beside an error")
	}
}
