package token_test

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

func TestSeenTokensCostNoRSA(t *testing.T) {
	w := newWorld(t)
	raw := w.token(t)
	first := accepted(t, w, raw)
	if second := accepted(t, w, strings.Clone(raw)); second != first {
		t.Error("the token was verified again")
	}
	w.verifier.Cache = nil
	if third := accepted(t, w, raw); third == first {
		t.Error("remembered without a Cache")
	}
}

func TestHitsAreChecked(t *testing.T) {
	want := token.Expect{Org: "acme", Audience: audience}
	for name, c := range map[string]struct {
		change func(*world)
		want   error
	}{
		"exp":            {func(w *world) { w.advance(time.Hour) }, token.ErrExpired},
		"nbf":            {func(w *world) { w.advance(-61 * time.Second) }, token.ErrNotYet},
		"org":            {func(*world) { want.Org = "other" }, token.ErrInvalid},
		"audience":       {func(*world) { want.Audience += "/" }, token.ErrInvalid},
		"T12 client key": {func(*world) { want.ClientKey = appB }, token.ErrKeyMismatch},
		"Admit": {func(w *world) {
			want.Admit = func(context.Context, *token.Verified) error { return errBroken }
		}, errBroken},
		"T22 the app is deleted":   {func(w *world) { w.keys.Delete(t.Context(), "acme", appA) }, token.ErrInvalid},
		"T22 the pair is replaced": {func(w *world) { w.keys.Put(t.Context(), pairOf(t, 2, appA)) }, token.ErrInvalid},
		"the pair changes hands": {func(w *world) {
			w.keys.Delete(t.Context(), "acme", appA)
			w.keys.Put(t.Context(), pairOf(t, 0, "another"))
		}, token.ErrInvalid},
		"the app changes its org": {func(w *world) {
			pair := pairOf(t, 0, appA)
			pair.Org = "other"
			w.keys.Delete(t.Context(), "acme", appA)
			w.keys.Put(t.Context(), pair)
		}, token.ErrInvalid},
		"the kid is another key's": {func(w *world) {
			pair := pairOf(t, 1, appA)
			pair.KeyID = kid(t, 0)
			w.verifier.Keys = fixedKey{&pair.PublicKey}
		}, token.ErrInvalid},
		"the key has another exponent": {func(w *world) {
			pair := pairOf(t, 0, appA)
			w.verifier.Keys = fixedKey{&token.PublicKey{
				KeyID: pair.KeyID, ClientKey: appA, Org: "acme", Key: &rsa.PublicKey{N: pair.Key.N, E: 3},
			}}
		}, token.ErrInvalid},
		"the ledger":          {func(w *world) { w.ledger.Revoke(t.Context(), heldBy(appA, token.Any), "an-id") }, token.ErrRevoked},
		"the ledger fails":    {func(w *world) { w.verifier.Ledger = brokenLedger{} }, errBroken},
		"the key store fails": {func(w *world) { w.verifier.Keys = &counted{err: errBroken} }, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			want = token.Expect{Org: "acme", Audience: audience}
			record := token.Record{ID: "an-id", Org: "acme", ClientKey: appA, Subject: account, KeyID: kid(t, 0)}
			if err := w.ledger.Issue(t.Context(), record, nil, 10); err != nil {
				t.Fatal(err)
			}
			raw := w.token(t, "jti", "an-id")
			for range 2 {
				accepted(t, w, raw)
			}
			c.change(w)
			if got, err := w.verifier.Verify(t.Context(), raw, want); got != nil || !errors.Is(err, c.want) {
				t.Errorf("Verify = %v, %v, want %v", got, err, c.want)
			}
			if err := c.want; err == errBroken {
				if _, err := w.verifier.Verify(t.Context(), raw, want); errors.Is(err, token.ErrInvalid) {
					t.Errorf("a failure says that the token is invalid: %v", err)
				}
			}
		})
	}
}

type brokenLedger struct{}

func (brokenLedger) Spend(context.Context, token.Record) (token.Lineage, error) {
	return token.Lineage{}, errBroken
}

func TestOnlySuccessIsRemembered(t *testing.T) {
	w := newWorld(t)
	cache := w.verifier.Cache
	for _, raw := range []string{
		"x", w.token(t, "exp", 1), w.token(t, "aud", "x"), w.token(t, "jti", "unknown"),
		forge(t, 1, header(t, 0), payload(t, w.claims())),
	} {
		if _, err := w.verify(t, raw); err == nil {
			t.Fatal("accepted")
		}
	}
	w.admit = func(context.Context, *token.Verified) error { return errBroken }
	if _, err := w.verify(t, w.token(t)); err != errBroken {
		t.Fatal(err)
	}
	if entries, bytes := cache.Len(); entries != 0 || bytes != 0 {
		t.Errorf("%d entries of %d bytes", entries, bytes)
	}
}

// ofOne is what one token of world.token counts in a Cache.
const ofOne = 3 << 10

func TestCacheBounds(t *testing.T) {
	w := newWorld(t)
	tokens := make([]string, 50)
	for i := range tokens {
		tokens[i] = w.token(t, "n", i)
	}
	for _, c := range []struct {
		name            string
		cache           *token.Cache
		atLeast, atMost int
	}{
		{"one token", &token.Cache{Bytes: ofOne}, 1, 1},
		{"seven tokens", &token.Cache{Bytes: 7 * ofOne}, 7, 7},
		{"bytes", &token.Cache{Bytes: 20 << 10}, 3, 10},
		{"fewer bytes than a token", &token.Cache{Bytes: 100}, 0, 0},
		{"room for all", &token.Cache{}, 50, 50},
		{"negative bounds, as none", &token.Cache{Bytes: -1}, 50, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.verifier.Cache = c.cache
			for range 2 {
				for _, raw := range tokens {
					accepted(t, w, raw)
					if _, bytes := c.cache.Len(); c.cache.Bytes > 0 && bytes > c.cache.Bytes {
						t.Fatalf("%d bytes", bytes)
					}
				}
			}
			if entries, _ := c.cache.Len(); entries < c.atLeast || entries > c.atMost {
				t.Errorf("%d entries, want %d to %d", entries, c.atLeast, c.atMost)
			}
		})
	}
}

// After any sequence of puts, hits and evictions, the cache's counts are correct.
func TestCacheKeepsItsBooks(t *testing.T) {
	w := newWorld(t)
	tokens := make([]string, 12)
	for i := range tokens {
		tokens[i] = w.token(t, "n", i)
	}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		w.verifier.Cache = &token.Cache{Bytes: 5 * ofOne}
		for range 200 {
			accepted(t, w, tokens[random.IntN(len(tokens))])
			if entries, _ := w.verifier.Cache.Len(); entries > 5 {
				t.Fatalf("seed %d: %d entries", seed, entries)
			}
		}
		if entries, bytes := w.verifier.Cache.Len(); entries != 5 || bytes < 5*1024 || bytes > 5*4096 {
			t.Fatalf("seed %d: %d entries of %d bytes", seed, entries, bytes)
		}
	}
}

// A flood of new tokens makes a token that is in use cost RSA again only seldom: one new token of
// eight replaces another.
func TestCacheKeepsWhatIsInUse(t *testing.T) {
	const room, flood = 50, 400
	w := newWorld(t)
	w.verifier.Cache = &token.Cache{Bytes: room * ofOne}
	inUse := w.token(t, "n", "in use")
	last, again := accepted(t, w, inUse), 0
	for i := range flood {
		accepted(t, w, w.token(t, "n", i))
		if now := accepted(t, w, inUse); now != last {
			last, again = now, again+1
		}
	}
	if again > flood/4 { // about 9 are usual, and 50 come once in a thousand runs
		t.Errorf("verified %d times again beside %d others", again, flood)
	}
}

// An app that mints without end evicts its own org's tokens, not those of another.
func TestCacheSharesItsRoomAmongOrgs(t *testing.T) {
	const room = 12
	w := newWorld(t)
	const otherApp = "appOfAnotherOrg"
	other := pairOf(t, 2, otherApp)
	other.Org = "other"
	if err := w.keys.Put(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.verifier.Cache = &token.Cache{Bytes: room * ofOne}
	raw := forge(t, 2, header(t, 2), payload(t, w.claims("iss", otherApp)))
	ofOther := func() *token.Verified {
		got, err := w.verifier.Verify(t.Context(), raw, token.Expect{Org: "other", Audience: audience})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := ofOther()
	for i := range 20 * room {
		accepted(t, w, w.token(t, "n", i))
	}
	if ofOther() != first {
		t.Error("the token of another org was dropped")
	}
	if entries, _ := w.verifier.Cache.Len(); entries != room {
		t.Errorf("%d tokens, want %d", entries, room)
	}
}

func TestCacheBytesAreAboutRight(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := newWorld(t)
	many := make([]string, 400)
	for i := range many {
		many[i] = fmt.Sprintf("object.read.c_%d", i)
	}
	deep := make([]string, 80)
	for i := range deep {
		deep[i] = fmt.Sprintf("object.*.c%d.*", i) + strings.Repeat(".a", 24)
	}
	for name, pairs := range map[string][]any{
		"small":                 {},
		"extra claims":          {"x", strings.Repeat("x", 4000), "y", map[string]int{"a": 1}},
		"many chains":           {"service/scp", many[:240]},
		"deep chains":           {"service/scp", deep},
		"chains of few letters": {"service/scp", strings.Split(strings.Repeat("view,", 400)+"view", ",")},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 200
			tokens := make([]string, n)
			for i := range tokens {
				tokens[i] = w.token(t, append(pairs, "n", i)...)
			}
			w.verifier.Cache = &token.Cache{}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.GC() // the second call empties the pools
			runtime.ReadMemStats(&before)
			for _, raw := range tokens {
				accepted(t, w, raw)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			entries, bytes := w.verifier.Cache.Len()
			real := int(after.HeapAlloc - before.HeapAlloc)
			t.Logf("%d entries, counted %d bytes each, in truth %d", entries, bytes/n, real/n)
			if entries != n || real > bytes*3/2 || bytes > real*4 {
				t.Errorf("%d entries, counted as %d bytes, take %d", entries, bytes, real)
			}
			runtime.KeepAlive(tokens)
		})
	}
}

func TestCacheIsNotSharedByMistake(t *testing.T) {
	w := newWorld(t)
	raw := w.token(t, "service/skp", true)
	accepted(t, w, raw)
	_, before := w.verifier.Cache.Len()
	branded := w.verifier
	branded.Namespace = "brand/"
	got, err := branded.Verify(t.Context(), raw, token.Expect{Org: "acme", Audience: audience})
	if err != nil || got.SkipACL() {
		t.Errorf("Verify = %+v, %v: another Verifier's answer", got.Claims(), err)
	}
	accepted(t, w, raw)
	if entries, bytes := w.verifier.Cache.Len(); entries != 1 || bytes != before {
		t.Errorf("%d entries of %d bytes, want 1 of %d", entries, bytes, before)
	}
}

func TestClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys token.MemoryKeys
		ledger := token.NewMemoryLedger(nil)
		if err := keys.Put(t.Context(), pairOf(t, 0, appA)); err != nil {
			t.Fatal(err)
		}
		verifier := token.Verifier{Keys: &keys, Ledger: ledger, Cache: &token.Cache{}}
		minter := token.Minter{Signers: &keys, Ledger: ledger}
		verify := func(raw token.Token, want error) {
			t.Helper()
			// Twice, so that there is a cache hit at each time.
			for range 2 {
				if _, err := verifier.Verify(t.Context(), string(raw), token.Expect{Org: "acme", Audience: audience}); !errors.Is(err, want) {
					t.Errorf("at %v: %v, want %v", time.Now(), err, want)
				}
			}
		}
		time.Sleep(300 * time.Millisecond) // off the whole second

		c := wanted()
		c.NotBefore = time.Now().Add(5 * time.Minute)
		ephemeral, _, err := minter.Ephemeral(t.Context(), c, 10*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		verify(ephemeral, token.ErrNotYet)
		time.Sleep(4*time.Minute - 300*time.Millisecond - time.Nanosecond)
		verify(ephemeral, token.ErrNotYet)
		time.Sleep(time.Nanosecond)
		verify(ephemeral, nil)
		time.Sleep(6*time.Minute - time.Nanosecond)
		verify(ephemeral, nil)
		time.Sleep(time.Nanosecond)
		verify(ephemeral, token.ErrExpired)

		c = wanted()
		c.Expires = time.Now().Add(time.Hour)
		permanent, _, err := minter.Permanent(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		verify(permanent, nil)
		time.Sleep(time.Hour - time.Nanosecond)
		verify(permanent, nil)
		time.Sleep(time.Nanosecond)
		verify(permanent, token.ErrExpired)
	})
}

// The cache is invisible. After any sequence of events, a Verifier with a cache
// returns what a model of the rules returns.
func TestCacheIsInvisible(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t)
		w.verifier.Cache = &token.Cache{Bytes: (1 + random.IntN(12)) * ofOne}
		m := model{world: w, t: t, random: random}
		m.regenerate()
		for range 400 {
			switch n := random.IntN(100); {
			case n < 2:
				m.regenerate()
			case n < 3:
				m.delete()
			case n < 12:
				m.mint()
			case n < 15:
				m.revoke()
			case n < 16:
				m.revokeSubject()
			case n < 22:
				w.advance(time.Duration(random.IntN(300)) * time.Second)
			default:
				m.request()
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// model predicts the result for each token, without a cache.
type model struct {
	*world
	t      *testing.T
	random *rand.Rand
	pair   int // of appA; -1: none
	tokens []*modelled
}

type modelled struct {
	raw     string
	pair    int
	id      string
	uses    int64 // left; -1: any number
	revoked bool
	begins  time.Time // with the leeway
	ends    time.Time // zero: never
}

func (m *model) regenerate() {
	m.pair = []int{0, 2}[m.random.IntN(2)]
	if err := m.keys.Put(m.t.Context(), pairOf(m.t, m.pair, appA)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) delete() {
	m.pair = -1
	if err := m.keys.Delete(m.t.Context(), "acme", appA); err != nil && !errors.Is(err, token.ErrNotFound) {
		m.t.Fatal(err)
	}
}

func (m *model) mint() {
	if m.pair < 0 {
		return
	}
	ctx, c := m.t.Context(), wanted()
	minter := m.minter()
	minter.PerSubject = 1 << 20
	made := &modelled{pair: m.pair, uses: -1, begins: m.now().Add(-time.Minute)}
	if m.random.IntN(3) == 0 {
		c.NotBefore = m.now().Add(2 * time.Minute)
		made.begins = c.NotBefore.Add(-time.Minute)
	}
	var raw token.Token
	var err error
	switch m.random.IntN(3) {
	case 0:
		ttl := time.Duration(200+m.random.IntN(1000)) * time.Second
		made.ends = m.now().Add(ttl)
		raw, _, err = minter.Ephemeral(ctx, c, ttl)
	case 1:
		raw, c, err = minter.Permanent(ctx, c)
	case 2:
		made.uses = 1 + m.random.Int64N(5)
		c.MaxUses = made.uses
		raw, c, err = minter.Limited(ctx, c)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	made.raw, made.id = string(raw), c.ID
	m.tokens = append(m.tokens, made)
}

func (m *model) revoke() {
	if len(m.tokens) == 0 {
		return
	}
	k := m.tokens[m.random.IntN(len(m.tokens))]
	err := m.ledger.Revoke(m.t.Context(), heldBy(appA, token.Any), k.id)
	switch {
	case k.id == "":
		if !errors.Is(err, token.ErrNotFound) {
			m.t.Errorf("Revoke of an ephemeral token = %v", err)
		}
		return
	case err != nil && !errors.Is(err, token.ErrNotFound):
		m.t.Errorf("Revoke = %v", err)
	}
	k.revoked = true
}

func (m *model) revokeSubject() {
	if _, err := m.ledger.RevokeSubject(m.t.Context(), heldBy(appA, account)); err != nil {
		m.t.Errorf("RevokeSubject = %v", err)
	}
	for _, k := range m.tokens {
		k.revoked = k.revoked || k.id != ""
	}
}

func (m *model) request() {
	if len(m.tokens) == 0 {
		return
	}
	// Later ones are chosen more often, because most others are dead.
	k := m.tokens[max(m.random.IntN(len(m.tokens)), m.random.IntN(len(m.tokens)))]
	now := m.now()
	good := k.pair == m.pair && !k.revoked && k.uses != 0 &&
		!now.Before(k.begins) && (k.ends.IsZero() || now.Before(k.ends))
	_, err := m.verify(m.t, k.raw)
	if (err == nil) != good || err != nil && !errors.Is(err, token.ErrInvalid) {
		m.t.Errorf("%+v at %v with pair %d: %v, want accepted: %v", k, now, m.pair, err, good)
	}
	if good && k.uses > 0 {
		k.uses--
	}
}

// The same with all events at the same time. After a call that invalidates a token has
// returned, no request that starts is accepted.
func TestCacheInterleaving(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	w := newWorld(t)
	w.verifier.Cache = &token.Cache{Bytes: 3 * ofOne}
	want := token.Expect{Org: "acme", Audience: audience}
	for round := range rounds {
		pair := []int{0, 2}[round%2]
		if err := w.keys.Put(t.Context(), pairOf(t, pair, appA)); err != nil {
			t.Fatal(err)
		}
		const uses = 20
		tokens := make([]string, 4)
		for i := range tokens {
			minter := w.minter()
			minter.PerSubject = 1000
			var minted token.Token
			var err error
			switch i {
			case 0, 1:
				minted, _, err = minter.Ephemeral(t.Context(), wanted(), time.Hour)
			case 2:
				minted, _, err = minter.Limited(t.Context(), limited(uses))
			case 3:
				minted, _, err = minter.Permanent(t.Context(), wanted())
			}
			if err != nil {
				t.Fatal(err)
			}
			tokens[i] = string(minted)
		}
		var ended, revoked atomic.Bool
		var spent, passed atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 60 {
					over, gone := ended.Load(), revoked.Load()
					which := i % len(tokens)
					_, err := w.verifier.Verify(t.Context(), tokens[which], want)
					switch {
					case err != nil && !errors.Is(err, token.ErrInvalid):
						t.Errorf("round %d: %v", round, err)
					case err == nil && (over || gone && which >= 2):
						t.Errorf("round %d: token %d accepted after its end", round, which)
					case err == nil && which == 2:
						spent.Add(1)
					}
					if err == nil {
						passed.Add(1)
					}
				}
			})
		}
		for passed.Load() < 20 && !t.Failed() {
			runtime.Gosched()
		}
		if _, err := w.ledger.RevokeSubject(t.Context(), heldBy(appA, account)); err != nil {
			t.Error(err)
		}
		revoked.Store(true)
		end := []func() error{
			func() error { return w.keys.Delete(t.Context(), "acme", appA) },
			func() error { return w.keys.Put(t.Context(), pairOf(t, []int{2, 0}[round%2], appA)) },
			func() error { w.advance(time.Hour); return nil },
		}[round%3]
		if err := end(); err != nil {
			t.Error(err)
		}
		ended.Store(true)
		wg.Wait()
		if n := spent.Load(); n > uses {
			t.Errorf("round %d: %d uses of %d", round, n, uses)
		}
	}
}
