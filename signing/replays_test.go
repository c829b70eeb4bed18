package signing_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenantkit/tenantkit/signing"
)

// replayStores are the implementations that must keep the contract of Replays. A
// store is opened inside a synctest bubble, and begins at the time of the bubble.
var replayStores = []struct {
	name string
	open func() signing.Replays
}{
	{"Memory", func() signing.Replays { return signing.NewMemory(0) }},
	{"zero Memory", func() signing.Replays { return new(signing.Memory) }},
}

// eachReplayStore runs a test for each implementation, each in its own synctest
// bubble. The test does not begin on a whole second.
func eachReplayStore(t *testing.T, test func(t *testing.T, store signing.Replays)) {
	t.Helper()
	for _, s := range replayStores {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(123_456_789)
				test(t, s.open())
			})
		})
	}
}

const (
	tolerance       = 5 * time.Minute
	futureTolerance = time.Minute
)

// useOf returns request i of a client key as a verifier would claim it. It has a nonce
// and a signature of its own, is signed now, and is for single use.
func useOf(clientKey string, i uint64) signing.Use {
	return signedAt(time.Now(), clientKey, i)
}

func signedAt(signed time.Time, clientKey string, i uint64) signing.Use {
	signed = time.UnixMilli(signed.UnixMilli())
	u := signing.Use{
		ClientKey: clientKey,
		Nonce:     fmt.Sprintf("%016x", i),
		Signed:    signed,
		Seen:      time.Now(),
		Keep:      signed.Add(tolerance),
	}
	binary.BigEndian.PutUint64(u.Signature[24:], i)
	return u
}

// siblingOf returns u with another nonce, as a GET. Its signature may be used eight
// times within two seconds.
func siblingOf(u signing.Use, i uint64) signing.Use {
	u.Nonce = fmt.Sprintf("sibling%09x", i)
	u.Seen = time.Now()
	u.Siblings, u.Window = 8, 2*time.Second
	return u
}

// claim calls Claim and expects the error, nil for an accepted request.
func claim(t *testing.T, store signing.Replays, what string, u signing.Use, want error) {
	t.Helper()
	err := store.Claim(t.Context(), u)
	if diff := cmp.Diff(want, err, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// accepted claims all uses at once and returns how many passed; the others
// must have been refused as replays.
func accepted(t *testing.T, store signing.Replays, uses []signing.Use) int {
	var passed atomic.Int64
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for _, u := range uses {
		wg.Go(func() {
			<-begin
			switch err := store.Claim(t.Context(), u); {
			case err == nil:
				passed.Add(1)
			case !errors.Is(err, signing.ErrReplayed):
				t.Errorf("Claim: %v", err)
			}
		})
	}
	close(begin)
	wg.Wait()
	return int(passed.Load())
}

func TestReplaysContract(t *testing.T) {
	t.Run("N02 exact replay", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			u := useOf("key", 1)
			claim(t, store, "first", u, nil)
			claim(t, store, "replay", u, signing.ErrReplayed)
		})
	})
	t.Run("N02 100 goroutines with one request", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			for round := range uint64(50) {
				uses := make([]signing.Use, 100)
				for i := range uses {
					uses[i] = useOf("key", round)
				}
				if got := accepted(t, store, uses); got != 1 {
					t.Errorf("round %d: %d were accepted, want 1", round, got)
				}
			}
		})
	})
	t.Run("N02 100 goroutines with one signature and fresh nonces", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			uses := make([]signing.Use, 100)
			for i := range uses {
				uses[i] = useOf("key", 1)
				uses[i].Nonce = useOf("key", uint64(i)).Nonce
			}
			if got := accepted(t, store, uses); got != 1 {
				t.Errorf("%d were accepted, want 1", got)
			}
		})
	})
	t.Run("N02b same nonce under a new timestamp", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			u := useOf("key", 1)
			claim(t, store, "first", u, nil)
			for range 4 {
				time.Sleep(time.Minute)
				again := useOf("key", 2)
				again.Nonce = u.Nonce
				claim(t, store, "its nonce, signed later", again, signing.ErrReplayed)
			}
			older := signedAt(u.Signed, "key", 3)
			older.Nonce = u.Nonce
			claim(t, store, "its nonce, with the old timestamp", older, signing.ErrReplayed)
		})
	})
	t.Run("N10 a replay that a stepped clock brings back into the window", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			u := useOf("key", 1)
			claim(t, store, "first", u, nil)
			time.Sleep(4 * time.Minute)
			for _, step := range []time.Duration{-time.Hour, -4 * time.Minute, 0} {
				u.Seen = time.Now().Add(step)
				claim(t, store, fmt.Sprint("replay, with the clock off by ", step), u, signing.ErrReplayed)
			}
			claim(t, store, "signed by the right clock", useOf("key", 2), nil)
		})
	})
	t.Run("same signature with a fresh nonce", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			u := useOf("key", 1)
			claim(t, store, "first", u, nil)
			u.Nonce = useOf("key", 2).Nonce
			claim(t, store, "fresh nonce", u, signing.ErrReplayed)
		})
	})
}

func TestReplaysRememberUntilKeep(t *testing.T) {
	for _, c := range []struct {
		name  string
		ahead time.Duration
	}{
		{"signed now", 0},
		{"N08 signed 1 min ahead", futureTolerance},
		{"signed 4 min ago", -4 * time.Minute},
		{"signed at an odd moment", 12345 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachReplayStore(t, func(t *testing.T, store signing.Replays) {
				claim(t, store, "some request", useOf("key", 1), nil)
				time.Sleep(10 * time.Minute)

				u := signedAt(time.Now().Add(c.ahead), "key", 2)
				claim(t, store, "first", u, nil)
				for range 20 {
					time.Sleep(time.Until(u.Keep) / 2)
					u.Seen = time.Now()
					claim(t, store, "inside retention", u, signing.ErrReplayed)
				}
				time.Sleep(time.Until(u.Keep) - time.Nanosecond)
				claim(t, store, "at the very end of retention", u, signing.ErrReplayed)

				time.Sleep(time.Nanosecond)
				u.Seen = time.Now()
				claim(t, store, "after retention", u, signing.ErrStale)
			})
		})
	}
}

func TestReplaysKeepApart(t *testing.T) {
	t.Run("N03 client keys", func(t *testing.T) {
		block := strings.Repeat("k", 16)
		keys := []string{
			"", "\x00", "\x80", "a", "aa", "ab", "a\x80", "a\x80\x00", block[1:], block,
			block + "\x80", block + block, block + block[1:], strings.Repeat("x", 10_000),
			"0000000000000001", "000000000000000100000000000000001", "n:a", "a:2",
		}
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			for _, key := range keys {
				claim(t, store, fmt.Sprintf("client key %.40q", key), useOf(key, 1), nil)
			}
			for _, key := range keys {
				claim(t, store, fmt.Sprintf("client key %.40q again", key), useOf(key, 1), signing.ErrReplayed)
			}
		})
	})
	t.Run("nonces that differ in case", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			lower, upper := useOf("key", 0xa), useOf("key", 0xb)
			upper.Nonce = strings.ToUpper(lower.Nonce)
			claim(t, store, "lower", lower, nil)
			claim(t, store, "upper", upper, nil)
		})
	})
	t.Run("signatures that differ in one bit", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			for bit := range 256 {
				u := useOf("key", uint64(bit))
				u.Signature = [32]byte{}
				u.Signature[bit/8] ^= 1 << (bit % 8)
				claim(t, store, fmt.Sprint("bit ", bit), u, nil)
			}
		})
	})
	t.Run("a nonce and a signature of the same bytes", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			u, v := useOf("key", 1), useOf("key", 2)
			copy(v.Signature[:], u.Nonce+u.Nonce)
			claim(t, store, "the nonce", u, nil)
			claim(t, store, "the signature", v, nil)
		})
	})
}

func TestReplaysRecordNothingThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		bad  func(ctx context.Context, u signing.Use) (context.Context, signing.Use)
		want error
	}{
		{"N04 past its retention", func(ctx context.Context, u signing.Use) (context.Context, signing.Use) {
			u.Keep = time.Now()
			return ctx, u
		}, signing.ErrStale},
		{"N04 its context has ended", func(ctx context.Context, u signing.Use) (context.Context, signing.Use) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, u
		}, context.Canceled},
		{"a nonce too short", func(ctx context.Context, u signing.Use) (context.Context, signing.Use) {
			u.Nonce = u.Nonce[1:]
			return ctx, u
		}, cmpopts.AnyError},
		{"a nonce too long", func(ctx context.Context, u signing.Use) (context.Context, signing.Use) {
			u.Nonce += "0"
			return ctx, u
		}, cmpopts.AnyError},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachReplayStore(t, func(t *testing.T, store signing.Replays) {
				ctx, bad := c.bad(t.Context(), useOf("key", 1))
				err := store.Claim(ctx, bad)
				if diff := cmp.Diff(c.want, err, cmpopts.EquateErrors()); diff != "" {
					t.Errorf("refused (-want +got):\n%s", diff)
				}
				if c.want == cmpopts.AnyError && (errors.Is(err, signing.ErrReplayed) || errors.Is(err, signing.ErrStale)) {
					t.Errorf("refused with %v, which the caller answers as the client's fault", err)
				}
				claim(t, store, "the honest request", useOf("key", 1), nil)
			})
		})
	}
	t.Run("a replay takes no sibling's place", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			u := useOf("key", 1)
			for i := range uint64(8) {
				claim(t, store, fmt.Sprint("sibling ", i), siblingOf(u, i), nil)
				for range 10 {
					claim(t, store, "its replay", siblingOf(u, i), signing.ErrReplayed)
				}
			}
		})
	})
}

func TestReplaysSiblings(t *testing.T) {
	type step struct {
		what     string
		after    time.Duration
		siblings int
		window   time.Duration
		want     error
	}
	const window = 2 * time.Second
	again := func(n int, s step) (steps []step) {
		for range n {
			steps = append(steps, s)
		}
		return steps
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"S14 at once, and no ninth", append(
			again(8, step{"one of eight", 0, 8, window, nil}),
			step{"ninth", 0, 8, window, signing.ErrReplayed},
			step{"ninth, to one who allows nine", 0, 9, window, nil},
		)},
		{"S14 just inside the window, and after it", []step{
			{"first", 0, 8, window, nil},
			{"1 ms before 2 s", window - time.Millisecond, 8, window, nil},
			{"after 2 s", time.Millisecond, 8, window, signing.ErrReplayed},
			{"much later", time.Minute, 8, window, signing.ErrReplayed},
		}},
		{"the window begins with the first sight", []step{
			{"first", 0, 8, window, nil},
			{"second", 1500 * time.Millisecond, 8, window, nil},
			{"third", 600 * time.Millisecond, 8, window, signing.ErrReplayed},
		}},
		{"S14 single use", []step{
			{"first", 0, 1, window, nil},
			{"second", 0, 1, window, signing.ErrReplayed},
		}},
		{"no siblings, negative siblings", []step{
			{"first", 0, 0, window, nil},
			{"second", 0, 0, window, signing.ErrReplayed},
			{"third", 0, -1, window, signing.ErrReplayed},
		}},
		{"a window that is zero or negative is single use", []step{
			{"first", 0, 8, 0, nil},
			{"second", 0, 8, 0, signing.ErrReplayed},
			{"third", 0, 8, -window, signing.ErrReplayed},
			{"fourth", 0, 8, window, signing.ErrReplayed},
		}},
		{"a window of less than a millisecond is single use", []step{
			{"first", 0, 8, time.Millisecond - 1, nil},
			{"second", 0, 8, time.Millisecond - 1, signing.ErrReplayed},
		}},
		{"a window is cut to milliseconds", []step{
			{"first", 0, 8, window, nil},
			{"after 1 ms", time.Millisecond, 8, 2*time.Millisecond - 1, signing.ErrReplayed},
			{"the same, to one who allows 2 ms", 0, 8, 2 * time.Millisecond, nil},
		}},
		{"S14 what was accepted for single use has no siblings later", []step{
			{"with an account header", 0, 1, window, nil},
			{"without", 0, 8, window, signing.ErrReplayed},
		}},
		{"a claim for single use is no sibling, and spoils nothing", []step{
			{"first", 0, 8, window, nil},
			{"with an account header", 0, 1, window, signing.ErrReplayed},
			{"sibling", 0, 8, window, nil},
			{"one who allows two", 0, 2, window, signing.ErrReplayed},
			{"one who allows three", 0, 3, window, nil},
			{"one with a shorter window", time.Second, 8, time.Second, signing.ErrReplayed},
			{"sibling", 0, 8, window, nil},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachReplayStore(t, func(t *testing.T, store signing.Replays) {
				request := useOf("key", 1)
				for i, s := range c.steps {
					time.Sleep(s.after)
					u := siblingOf(request, uint64(i))
					u.Siblings, u.Window = s.siblings, s.window
					claim(t, store, fmt.Sprintf("step %d: %s", i, s.what), u, s.want)
				}
			})
		})
	}
	t.Run("N02 siblings of the same nonce", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			u := siblingOf(useOf("key", 1), 1)
			claim(t, store, "first", u, nil)
			claim(t, store, "replay", u, signing.ErrReplayed)
		})
	})
	t.Run("never more than 8 of 1000 at once", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			for round := range uint64(5) {
				request := useOf("key", round)
				uses := make([]signing.Use, 1000)
				for i := range uses {
					uses[i] = siblingOf(request, round*1000+uint64(i))
				}
				if got := accepted(t, store, uses); got != 8 {
					t.Errorf("round %d: %d were accepted, want 8", round, got)
				}
			}
		})
	})
	t.Run("64 goroutines over the siblings of many requests", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			const requests, tries = 50, 20
			var passed [requests]atomic.Int64
			var wg sync.WaitGroup
			now := time.Now()
			for g := range uint64(64) {
				wg.Go(func() {
					for i := range uint64(requests * tries) {
						n := i % requests
						u := siblingOf(signedAt(now, "key", n), g<<16|i)
						if err := store.Claim(t.Context(), u); err == nil {
							passed[n].Add(1)
						}
					}
				})
			}
			wg.Wait()
			for n := range passed {
				if got := passed[n].Load(); got != 8 {
					t.Errorf("request %d was accepted %d times, want 8", n, got)
				}
			}
		})
	})
}

func TestReplaysBeginWithTheStore(t *testing.T) {
	t.Run("N12 signed before the start", func(t *testing.T) {
		eachReplayStore(t, func(t *testing.T, store signing.Replays) {
			before := signedAt(time.Now().Add(-time.Millisecond), "key", 1)
			claim(t, store, "signed 1 ms before", before, signing.ErrStale)
			claim(t, store, "signed in the same millisecond", useOf("key", 2), nil)
			time.Sleep(time.Minute)
			claim(t, store, "signed before, seen later", before, anyOf{signing.ErrStale, signing.ErrReplayed})
			claim(t, store, "signed now", useOf("key", 3), nil)
			late := signedAt(time.Now().Add(-time.Minute), "key", 4)
			claim(t, store, "signed after the start, underway for a minute", late, nil)
		})
	})
}

// anyOf expects one of several errors.
type anyOf []error

func (a anyOf) Error() string { return fmt.Sprint([]error(a)) }

func (a anyOf) Is(err error) bool {
	for _, e := range a {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
