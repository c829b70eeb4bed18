package recent_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/internal/recent"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// cache holds Answers for numbers. The group of a number is its last digit. An answer
// is how often the source was asked.
type cache struct {
	groups  recent.Groups
	answers recent.Answers[int, int64]
	asked   atomic.Int64
}

func newCache(limit int) *cache {
	return &cache{groups: recent.Groups{Stale: time.Minute, Limit: limit}}
}

func group(n int) string { return string(rune('0' + n%10)) }

// get reports whether the answer was a hit.
func (c *cache) get(now time.Time, n int) (hit bool) {
	hit = true
	c.answers.Get(context.Background(), &c.groups, now, n, func() (recent.Found[int64], error) {
		hit = false
		return recent.Found[int64]{Value: c.asked.Add(1), Group: group(n)}, nil
	})
	return hit
}

// hits counts the kept answers, without keeping new ones.
func (c *cache) hits(now time.Time, from, to int) (hits int) {
	for n := from; n < to; n++ {
		_, err := c.answers.Get(context.Background(), &c.groups, now, n, func() (recent.Found[int64], error) { return recent.Found[int64]{}, errors.New("not at hand") })
		if err == nil {
			hits++
		}
	}
	return hits
}

func (c *cache) kept() int {
	kept, _ := c.answers.Len(&c.groups)
	return kept
}

func (c *cache) fill(now time.Time, from, to int) {
	for n := from; n < to; n++ {
		c.get(now, n)
	}
}

func TestAllAnswersWithinTheLimitAreKept(t *testing.T) {
	for _, limit := range []int{1, 2, 16, 17, 1000} {
		c := newCache(limit)
		c.fill(start, 0, limit)
		if hits := c.hits(start, 0, limit); hits != limit || c.kept() != limit {
			t.Errorf("%d of %d are at hand, %d kept", hits, limit, c.kept())
		}
	}
}

func TestFindAsksNobody(t *testing.T) {
	c := newCache(10)
	if _, ok := c.answers.Find(&c.groups, start, 1); ok {
		t.Error("found in an empty cache")
	}
	c.fill(start, 1, 2)
	for _, at := range []struct {
		after time.Duration
		n     int
		want  bool
	}{{0, 1, true}, {0, 2, false}, {time.Minute - 1, 1, true}, {time.Minute, 1, false}} {
		if got, ok := c.answers.Find(&c.groups, start.Add(at.after), at.n); ok != at.want || ok != (got == 1) {
			t.Errorf("%d after %s: %d, %v", at.n, at.after, got, ok)
		}
	}
	c.groups.Forget(group(1))
	if _, ok := c.answers.Find(&c.groups, start, 1); ok {
		t.Error("found after it was forgotten")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	c := newCache(100)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := range 5000 {
				c.get(start, n*4+g)
				if kept := c.kept(); kept > 100 {
					t.Errorf("%d kept", kept)
					return
				}
			}
		})
	}
	wg.Wait()
	if hits := c.hits(start, 0, 20_000); hits != 100 || c.kept() != 100 {
		t.Errorf("%d are at hand, %d are counted, want 100", hits, c.kept())
	}
}

func TestNamesThatAreAskedForOncePushFewOut(t *testing.T) {
	c := newCache(1000)
	c.fill(start, 0, 1000)
	c.fill(start, 1000, 2000)
	// An eighth of a thousand is expected.
	if hits := c.hits(start, 0, 1000); hits < 750 {
		t.Errorf("%d of 1000 answers are left", hits)
	}
}

func TestANameThatIsAskedForOftenFindsRoom(t *testing.T) {
	c := newCache(1000)
	c.fill(start, 0, 1000)
	for range 1000 {
		if c.get(start, 1000) {
			return
		}
	}
	t.Error("it was turned away a thousand times")
}

func TestAnswersThatAreNoLongerGoodGiveRoom(t *testing.T) {
	c := newCache(1000)
	c.fill(start, 0, 1000)
	later := start.Add(time.Minute)
	c.fill(later, 1000, 1500)
	// Three fifths have a stale answer in their list, which they replace. Without it, an
	// eighth is expected.
	if hits := c.hits(later, 1000, 1500); hits < 200 {
		t.Errorf("%d of 500 answers found room", hits)
	}
	if hits := c.hits(later, 0, 1000); hits != 0 {
		t.Errorf("%d answers outlived their time", hits)
	}
}

func TestForgetLeavesOtherGroups(t *testing.T) {
	c := newCache(1000)
	c.fill(start, 0, 1000)
	c.groups.Forget(group(3))
	for n := range 1000 {
		if hit := c.hits(start, n, n+1) == 1; hit == (group(n) == group(3)) {
			t.Errorf("%d is at hand: %v", n, hit)
		}
	}
}

// during calls a function while a look-up is under way.
func (c *cache) during(now time.Time, n int, happens func()) {
	c.answers.Get(context.Background(), &c.groups, now, n, func() (recent.Found[int64], error) {
		happens()
		return recent.Found[int64]{Group: group(n)}, nil
	})
}

func TestASlowLookupPutsNoOlderAnswerBack(t *testing.T) {
	c := newCache(10)
	c.during(start, 1, func() {
		c.answers.Keep(&c.groups, c.groups.Forgets(), start.Add(30*time.Second), 1, recent.Found[int64]{Group: group(1)})
	})
	if c.hits(start.Add(70*time.Second), 1, 2) == 0 {
		t.Error("the later answer is gone")
	}
}

func TestAnAnswerThatIsForgottenGivesRoomToOneOfAnEarlierClock(t *testing.T) {
	c := newCache(10)
	c.get(start.Add(30*time.Second), 1)
	c.groups.Forget(group(1))
	c.get(start, 1)
	if c.hits(start, 1, 2) == 0 {
		t.Error("it was not kept")
	}
}

// TestForgetBesideLookups runs writers, which change a record and then call Forget,
// concurrently with readers. A look-up that starts after Forget has returned must not
// find the record before the change.
func TestForgetBesideLookups(t *testing.T) {
	for _, limit := range []int{2, 5, 8, 1000} { // of 8 groups with 4 records each
		c := newCache(limit)
		var record, forgotten [8]atomic.Int64
		var readers, writers sync.WaitGroup
		var done atomic.Bool
		for range 4 {
			readers.Go(func() {
				for i := 0; !done.Load(); i++ {
					key := i * 7 % 32
					least := forgotten[key%8].Load()
					got, err := c.answers.Get(context.Background(), &c.groups, start, key, func() (recent.Found[int64], error) {
						return recent.Found[int64]{Value: record[key%8].Load(), Group: group(key % 8)}, nil
					})
					if got < least || err != nil {
						t.Errorf("limit %d: version %d, after %d was forgotten; %v", limit, got, least, err)
						return
					}
				}
			})
		}
		for g := range 8 {
			writers.Go(func() {
				for range 500 {
					n := record[g].Add(1)
					c.groups.Forget(group(g))
					forgotten[g].Store(n)
				}
			})
		}
		writers.Wait()
		done.Store(true)
		readers.Wait()
	}
}

func TestHitsAllocateNothing(t *testing.T) {
	c := newCache(10)
	c.get(start, 1)
	if n := testing.AllocsPerRun(100, func() { c.hits(start, 1, 2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLookupsOfOneKeyAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(10)
		release := make(chan struct{})
		slow := func(ctx context.Context) (int64, error) {
			return c.answers.Get(ctx, &c.groups, start, 1, func() (recent.Found[int64], error) {
				n := c.asked.Add(1)
				<-release
				return recent.Found[int64]{Value: n, Group: group(1)}, nil
			})
		}
		var got [100]int64
		for i := range got {
			go func() { got[i], _ = slow(t.Context()) }()
		}
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		var err error
		go func() { _, err = slow(gone) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that is gone waits: %v", err)
		}
		close(release)
		synctest.Wait()
		for i := range got {
			if got[i] != 1 {
				t.Fatalf("caller %d got %d", i, got[i])
			}
		}
		if asked := c.asked.Load(); asked != 1 {
			t.Errorf("%d look-ups", asked)
		}
	})
}

// Callers share what a store says, but not that one of them is gone.
func TestAFailedLookupIsSharedUnlessItsCallerIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		ends  bool // the context of the caller that asks
		fails error
		asked int64
	}{
		"the store fails":    {false, errors.New("down"), 1},
		"the caller is gone": {true, nil, 2},
		"it panics":          {false, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCache(10)
				release := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					defer func() { recover() }()
					c.answers.Get(ctx, &c.groups, start, 1, func() (recent.Found[int64], error) {
						c.asked.Add(1)
						<-release
						if name == "it panics" {
							panic(name)
						}
						return recent.Found[int64]{}, errors.Join(test.fails, ctx.Err())
					})
				}()
				synctest.Wait()
				var hit bool
				go func() { hit = !c.get(start, 1) }()
				synctest.Wait()
				if test.ends {
					cancel()
				}
				close(release)
				synctest.Wait()
				if asked := c.asked.Load(); asked != test.asked || hit == (test.asked == 1) {
					t.Errorf("asked %d times, want %d", asked, test.asked)
				}
			})
		})
	}
}

// A look-up that began before Forget is not joined after it.
func TestALookupIsNotJoinedAfterForget(t *testing.T) {
	c := newCache(10)
	c.during(start, 1, func() {
		c.groups.Forget(group(1))
		if c.get(start, 1) {
			t.Error("joined")
		}
	})
	c.during(start, 2, func() {
		if c.get(start.Add(time.Minute), 2) { // later than an answer may be old
			t.Error("joined")
		}
	})
}

// keep keeps an answer of a cost for a number.
func (c *cache) keep(n, cost int) {
	c.answers.Keep(&c.groups, c.groups.Forgets(), start, n, recent.Found[int64]{Group: group(n), Cost: cost})
}

func (c *cache) has(n int) bool {
	_, ok := c.answers.Find(&c.groups, start, n)
	return ok
}

func TestAGroupThatFillsTheCacheEvictsItself(t *testing.T) {
	c := newCache(1000)
	c.keep(2, 90)
	c.keep(3, 5)
	for n := 1; n < 100_000; n += 10 { // group 1
		c.keep(n, 10)
		if _, cost := c.answers.Len(&c.groups); cost > 1000 {
			t.Fatalf("a cost of %d", cost)
		}
	}
	if !c.has(2) || !c.has(3) {
		t.Error("another group has lost an answer")
	}
	c.keep(1, 2000) // alone more than all
	if c.has(1) || !c.has(2) {
		t.Error("an answer that exceeds the limit")
	}
	// Others take back what the group uses of their shares: with four groups, each has 250.
	c.keep(4, 200)
	c.keep(14, 50)
	if !c.has(2) || !c.has(3) || !c.has(4) || !c.has(14) {
		t.Error("no room for a group with less than its share")
	}
	if _, cost := c.answers.Len(&c.groups); cost > 1000 {
		t.Errorf("a cost of %d", cost)
	}
}

// What is stale gives room, whoever has it.
func TestStaleAnswersOfOtherGroupsGiveRoom(t *testing.T) {
	c := newCache(100)
	for n := range 100 {
		c.keep(n, 1)
	}
	later := start.Add(time.Minute)
	for n := 1; n < 1000; n += 10 { // 100 of group 1
		c.get(later, n)
	}
	if hits := c.hits(later, 0, 1000); hits != 100 {
		t.Errorf("%d of 100 are at hand", hits)
	}
}

// Callers that ask and hang up before there is an answer keep nobody else waiting.
func TestCallersThatHangUpDelayNobodyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes, patience = 50 * time.Millisecond, 40 * time.Millisecond
		c := newCache(10)
		ask := func(ctx context.Context) (int64, error) {
			return c.answers.Get(ctx, &c.groups, start, 1, func() (recent.Found[int64], error) {
				select {
				case <-time.After(takes):
				case <-ctx.Done():
				}
				return recent.Found[int64]{Value: 1, Group: group(1)}, ctx.Err()
			})
		}
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var others sync.WaitGroup
		for range 100 { // each of them hangs up when it has led for a while, and comes again
			others.Go(func() {
				for ctx.Err() == nil {
					c.answers.Get(ctx, &c.groups, start, 1, func() (recent.Found[int64], error) {
						time.Sleep(patience)
						return recent.Found[int64]{}, context.Canceled
					})
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		got, err := ask(t.Context())
		if took := time.Since(began); got != 1 || err != nil || took > 2*patience+takes {
			t.Errorf("%d, %v after %s", got, err, took)
		}
		end()
		others.Wait()
	})
}
