package enginetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
)

// remembered is the size of an engine's data: rows or keys, and their bytes.
type remembered struct{ records, bytes int }

// replayHome is a replay store and a function that measures it.
type replayHome struct {
	name   string
	claims signing.Replays
	held   func(t *testing.T) remembered
}

const perKey = 50

func replayHomes(t *testing.T) []replayHome {
	memory := signing.NewMemory(10 * perKey)
	memory.PerKey = perKey
	all := []replayHome{{"memory", memory, func(*testing.T) remembered { return remembered{records: memory.Len()} }}}
	for _, h := range homes(t) {
		db := h.open(t)
		held := func(t *testing.T) (r remembered) {
			t.Helper()
			size := "SELECT pg_total_relation_size('" + h.prefix + "replays')"
			if h.dialect == sqlstore.SQLite {
				size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
			}
			query := "SELECT (SELECT count(*) FROM " + h.prefix + "replays), (" + size + ")"
			if err := db.QueryRow(query).Scan(&r.records, &r.bytes); err != nil {
				t.Fatal(err)
			}
			return r
		}
		all = append(all, replayHome{h.name, h.store(t).Replays(), held})
	}
	s := startRedis(t)
	const sizes = "local keys, n = redis.call('KEYS', '*'), 0 " +
		"for _, key in ipairs(keys) do n = n + redis.call('MEMORY', 'USAGE', key) end return {#keys, n}"
	held := func(t *testing.T) remembered {
		t.Helper()
		found := s.command(t, "EVAL", sizes, "0").([]any)
		return remembered{int(found[0].(int64)), int(found[1].(int64))}
	}
	return append(all, replayHome{"Redis", openAt(t, s.addr(), redisstore.Options{PerKey: perKey}).Replays(), held})
}

// TestRefusedClaimsLeaveNothing sends a refused claim two thousand times, and compares the engine's
// data before and after.
func TestRefusedClaimsLeaveNothing(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	const times = 2000
	siblings := func(u signing.Use) signing.Use {
		u.Siblings, u.Window = 8, time.Minute
		return u
	}
	for _, h := range replayHomes(t) {
		t.Run(h.name, func(t *testing.T) {
			afterEpoch()
			number := uint64(1 << 32)
			fresh := func(u signing.Use) signing.Use {
				u.Nonce = fmt.Sprintf("%016x", atomic.AddUint64(&number, 1))
				return u
			}
			single, get, brief := useNow("single", 1), siblings(useNow("get", 1)), siblings(useNow("brief", 1))
			expect(t, "single use", h.claims.Claim(t.Context(), single), nil)
			for range 8 {
				expect(t, "a sibling", h.claims.Claim(t.Context(), fresh(get)), nil)
			}
			brief.Window = 2 * time.Millisecond
			expect(t, "a sibling of a brief window", h.claims.Claim(t.Context(), brief), nil)
			for i := range uint64(perKey) {
				expect(t, "as many as a key may", h.claims.Claim(t.Context(), useNow("full", i)), nil)
			}
			time.Sleep(5 * time.Millisecond)

			replayed, stale := []error{signing.ErrReplayed}, []error{signing.ErrStale}
			for _, c := range []struct {
				name string
				use  func(i uint64) signing.Use
				want []error
			}{
				{"N15 a captured signature with fresh nonces", func(uint64) signing.Use { return fresh(single) }, replayed},
				{"N15 the same as siblings", func(uint64) signing.Use { return siblings(fresh(single)) }, replayed},
				{"N15 a signature whose siblings are used up", func(uint64) signing.Use { return fresh(get) }, replayed},
				{"N15 a signature after the window of its siblings", func(uint64) signing.Use { return fresh(brief) }, replayed},
				{"N15 a used nonce with fresh signatures", func(i uint64) signing.Use { return signedAs(useNow("single", 1), i+2) }, replayed},
				{"N15 an exact replay", func(uint64) signing.Use { return single }, replayed},
				{"N15 signed before the store's memory began", func(i uint64) signing.Use {
					return useAt(time.Now().Add(-time.Hour), "stale", i)
				}, stale},
				{"N15 by a key whose share is full", func(i uint64) signing.Use { return useNow("full", perKey+i) },
					[]error{signing.ErrFull}},
			} {
				t.Run(c.name, func(t *testing.T) {
					if c.want[0] == signing.ErrFull && h.name != "memory" && h.name != "Redis" {
						t.Skip("a table has no share for each key")
					}
					before := h.held(t)
					atOnce(t, 8, times, func(i uint64) error {
						err := h.claims.Claim(t.Context(), c.use(i))
						if errors.Is(err, c.want[0]) {
							return nil
						}
						return fmt.Errorf("%v, want %v", err, c.want[0])
					})
					if after := h.held(t); after != before {
						t.Errorf("%+v before, %+v after", before, after)
					}
				})
			}
		})
	}
}

// TestRacesLeaveWhatWasAccepted makes concurrent claims, of which one is accepted. Only its records
// stay: one for each signature and nonce.
func TestRacesLeaveWhatWasAccepted(t *testing.T) {
	for _, h := range replayHomes(t) {
		t.Run(h.name, func(t *testing.T) {
			afterEpoch()
			expect(t, "the first of its key", h.claims.Claim(t.Context(), useNow("race", 0)), nil)
			before := h.held(t)
			const rounds, crowd = 20, 16
			for round := range uint64(rounds) {
				var accepted atomic.Int64
				u := useNow("race", round+1)
				byNonce := round%2 == 0
				atOnce(t, crowd, crowd, func(i uint64) error {
					one := u
					if byNonce {
						one = signedAs(one, round<<8|i)
					} else {
						one.Nonce = fmt.Sprintf("%012x%04x", round+1, i)
					}
					err := h.claims.Claim(t.Context(), one)
					if err == nil {
						accepted.Add(1)
					}
					if err == nil || errors.Is(err, signing.ErrReplayed) {
						return nil
					}
					return err
				})
				if n := accepted.Load(); n != 1 {
					t.Errorf("N15 round %d: %d accepted", round, n)
				}
			}
			each := 2
			if h.name == "memory" {
				each = 1
			}
			if after := h.held(t); after.records != before.records+each*rounds {
				t.Errorf("N15 %d records more, want %d", after.records-before.records, each*rounds)
			}
		})
	}
}

// atOnce calls f a number of times in a number of goroutines.
func atOnce(t *testing.T, goroutines, times int, f func(i uint64) error) {
	t.Helper()
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < uint64(times); i = next.Add(1) - 1 {
				if err := f(i); err != nil {
					t.Errorf("claim %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// signedAs returns u with another signature.
func signedAs(u signing.Use, i uint64) signing.Use {
	binary.BigEndian.PutUint64(u.Signature[:], i+1)
	return u
}
