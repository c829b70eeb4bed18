package enginetest

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// instances opens a home concurrently, as several processes would.
func (h home) instances(t *testing.T, n int) []*sqlstore.Store {
	t.Helper()
	stores, errs := make([]*sqlstore.Store, n), make([]error, n)
	var dbs []*sql.DB
	for range n {
		dbs = append(dbs, h.open(t))
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { stores[i], errs[i] = sqlstore.Open(t.Context(), dbs[i], h.dialect, h.options()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	afterEpoch()
	return stores
}

// aUse returns a request signed now, for single use.
func aUse() signing.Use {
	now := time.Now()
	signed := time.UnixMilli(now.UnixMilli())
	u := signing.Use{ClientKey: rand.Text(), Nonce: rand.Text()[:16], Signed: signed, Seen: now, Keep: signed.Add(5 * time.Minute)}
	rand.Read(u.Signature[:])
	return u
}

func claims(t testing.TB, what string, s *sqlstore.Store, u signing.Use, want error) {
	t.Helper()
	if err := s.Replays().Claim(t.Context(), u); !errors.Is(err, want) {
		t.Errorf("%s: Claim = %v, want %v", what, err, want)
	}
}

// TestInstancesTogether has three instances, each with its own connections.
func TestInstancesTogether(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			stores := h.instances(t, 3)
			of := func(i int) *sqlstore.Store { return stores[i%len(stores)] }
			for range 3 {
				u := aUse()
				if n := succeed(t, 96, func(i int) error { return of(i).Replays().Claim(t.Context(), u) }, signing.ErrReplayed); n != 1 {
					t.Errorf("N02 %d accepted, want 1", n)
				}
				sibling := aUse()
				n := succeed(t, 96, func(i int) error {
					u := sibling
					u.Nonce, u.Siblings, u.Window = rand.Text()[:16], 8, patience
					return of(i).Replays().Claim(t.Context(), u)
				}, signing.ErrReplayed)
				if n != 8 {
					t.Errorf("S14 %d accepted, want 8", n)
				}
			}
			for _, uses := range []int{1, 20} {
				r := aToken()
				r.MaxUses = int64(uses)
				if err := of(0).Ledger().Issue(t.Context(), r, nil, 10); err != nil {
					t.Fatal(err)
				}
				n := succeed(t, max(200, 10*uses), func(i int) error { return spend(t.Context(), of(i).Ledger(), r) }, token.ErrExhausted, token.ErrRevoked)
				if n != uses {
					t.Errorf("T19 %d uses of %d were spent", n, uses)
				}
			}
			r := aToken()
			n := succeed(t, 60, func(i int) error {
				r := r
				r.ID = rand.Text()
				return of(i).Ledger().Issue(t.Context(), r, nil, 10)
			}, token.ErrTooMany)
			if n != 10 {
				t.Errorf("T21 %d tokens were issued, want 10", n)
			}
		})
	}
}

// TestSQLiteWithoutBusyTimeout has instances that get "locked" at once.
func TestSQLiteWithoutBusyTimeout(t *testing.T) {
	h := newSQLiteHome(t)
	db := h.open(t)
	claims(t, "first", h.storeIn(t, db), aUse(), nil)
	var path string
	if err := db.QueryRow("SELECT file FROM pragma_database_list").Scan(&path); err != nil {
		t.Fatal(err)
	}
	h.open = func(t testing.TB) *sql.DB { return openDB(t, "sqlite", "file:"+path) }
	stores := h.instances(t, 3)
	n := succeed(t, 96, func(i int) error { return stores[i%3].Replays().Claim(t.Context(), aUse()) })
	if n != 96 {
		t.Errorf("%d of 96 were accepted", n)
	}
}

func aToken() token.Record {
	return token.Record{ID: rand.Text(), Org: "acme", ClientKey: rand.Text(), Subject: "jane", KeyID: "key", Issued: time.Now().Truncate(time.Second)}
}

// succeed calls f n times concurrently and returns how often it returned nil. Any other error must
// be one of the given ones.
func succeed(t *testing.T, n int, f func(i int) error, others ...error) (succeeded int) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err == nil {
			succeeded++
		} else if !slices.ContainsFunc(others, func(other error) bool { return errors.Is(err, other) }) {
			t.Error(err)
		}
	}
	return succeeded
}

func TestT22RegeneratedElsewhere(t *testing.T) {
	for _, h := range homes(t) {
		t.Run("T22 "+h.name, func(t *testing.T) {
			stores := h.instances(t, 2)
			here, there := must(stores[0].Keys())(t), must(stores[1].Keys())(t)
			first, err := here.Generate(t.Context(), "acme", "app")
			if err != nil {
				t.Fatal(err)
			}
			if err := there.Expose(t.Context(), "acme", "app", true); err != nil {
				t.Fatal(err)
			}
			cached := token.Cached(there, 50*time.Millisecond)
			if _, err := cached.Public(t.Context(), first.KeyID); err != nil {
				t.Fatal(err)
			}
			second, err := here.Generate(t.Context(), "acme", "app")
			if err != nil || !second.Exposed {
				t.Fatalf("regenerated: exposed %v, %v", second.Exposed, err)
			}
			if _, err := there.Public(t.Context(), first.KeyID); !errors.Is(err, token.ErrNotFound) {
				t.Errorf("elsewhere at once: %v, want ErrNotFound", err)
			}
			time.Sleep(60 * time.Millisecond)
			if _, err := cached.Public(t.Context(), first.KeyID); !errors.Is(err, token.ErrNotFound) {
				t.Errorf("behind a cache, after its time: %v, want ErrNotFound", err)
			}
		})
	}
}
