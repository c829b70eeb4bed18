package storetest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
)

// Attempts checks the contract of session.Attempts. Each subtest opens a store, and
// uses keys that no other subtest uses. It passes invented times to Try, from the
// store's clock on, and never waits.
func Attempts(t *testing.T, open func(t *testing.T) session.Attempts, f Features) {
	for _, c := range []struct {
		name string
		run  func(*attemptTest)
	}{
		{"the first are free, then the delay doubles", (*attemptTest).delays},
		{"a try inside the delay is not counted", (*attemptTest).inside},
		{"the first try is counted against a bound of one", (*attemptTest).freeOne},
		{"a return takes back the try and its delay", (*attemptTest).returned},
		{"nothing is left after the only try is returned", (*attemptTest).nothingLeft},
		{"a reset forgets", (*attemptTest).reset},
		{"a day after the latest try nothing is left", (*attemptTest).forgotten},
		{"a clock that is behind", (*attemptTest).behind},
		{"keys are apart", (*attemptTest).apart},
		{"a context that has ended", (*attemptTest).cancelled},
		{"F08 64 tries at once", (*attemptTest).raceFree},
		{"F08 64 tries at the end of a delay", (*attemptTest).raceDelay},
		{"64 returns and tries", (*attemptTest).raceReturn},
		{"64 returns of four tries", (*attemptTest).raceReturns},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := f.now().UTC().Truncate(time.Millisecond)
			c.run(&attemptTest{T: t, store: open(t), key: newKey(), at: at})
		})
	}
}

type attemptTest struct {
	*testing.T
	store session.Attempts
	key   string
	at    time.Time
}

// newKey returns a key in the form that the Manager makes.
func newKey() string {
	sum := sha256.Sum256([]byte(rand.Text()))
	return hex.EncodeToString(sum[:])
}

// try fails unless Try returns this count and end of the delay. A zero end means
// that the attempt proceeds.
func (t *attemptTest) try(at time.Time, free, count int, until time.Time) {
	t.Helper()
	n, end, err := t.store.Try(t.Context(), t.key, at, free)
	if err != nil || n != count || !end.Equal(until) || end.IsZero() != until.IsZero() {
		t.Errorf("Try = %d, %v, %v; want %d, %v", n, end, err, count, until)
	}
}

func (t *attemptTest) must(err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func (t *attemptTest) delays() {
	at := t.at
	for n := 1; n < 5; n++ {
		t.try(at, 5, n, time.Time{})
	}
	for i, seconds := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900} {
		n, end := 5+i, at.Add(seconds*time.Second)
		t.try(at, 5, n, time.Time{})
		t.try(end.Add(-time.Millisecond), 5, n, end)
		at = end
	}
}

func (t *attemptTest) inside() {
	for n := 1; n <= 6; n++ {
		t.try(t.at, 6, n, time.Time{})
	}
	end := t.at.Add(time.Second)
	for range 20 {
		t.try(t.at, 6, 6, end)
		t.try(end.Add(-time.Millisecond), 6, 6, end)
		t.try(t.at.Add(-time.Minute), 6, 6, end) // a process whose clock is behind
	}
	t.try(end, 6, 7, time.Time{})
	t.try(end, 6, 7, end.Add(2*time.Second))
}

func (t *attemptTest) freeOne() {
	t.try(t.at, 1, 1, time.Time{})
	t.try(t.at, 1, 1, t.at.Add(time.Second))
	t.try(t.at.Add(time.Second), 1, 2, time.Time{})
}

func (t *attemptTest) returned() {
	t.must(t.store.Return(t.Context(), t.key))
	t.try(t.at, 3, 1, time.Time{})
	t.must(t.store.Return(t.Context(), t.key))
	t.must(t.store.Return(t.Context(), t.key)) // no attempt is left
	for n := 1; n <= 3; n++ {
		t.try(t.at, 3, n, time.Time{})
	}
	t.must(t.store.Return(t.Context(), t.key))
	t.try(t.at, 3, 3, time.Time{})
	t.try(t.at, 3, 3, t.at.Add(time.Second))
	later := t.at.Add(time.Second)
	t.try(later, 3, 4, time.Time{})
	t.must(t.store.Return(t.Context(), t.key))
	t.try(later, 3, 4, time.Time{})
	t.try(later, 3, 4, later.Add(2*time.Second))
}

// nothingLeft returns the only attempt of a key, which may be old. The next attempt
// must count as the first.
func (t *attemptTest) nothingLeft() {
	for _, at := range []time.Time{t.at, t.at.Add(-time.Hour), t.at.Add(24 * time.Hour)} {
		t.try(at, 1, 1, time.Time{}) // sets a delay
		t.must(t.store.Return(t.Context(), t.key))
		t.try(at.Add(-time.Minute), 2, 1, time.Time{})
		t.try(at, 2, 2, time.Time{})
		for range 3 {
			t.must(t.store.Return(t.Context(), t.key))
		}
	}
	// The day begins with the latest attempt that was not returned.
	late := t.at.Add(12 * time.Hour)
	t.try(late, 3, 1, time.Time{})
	t.must(t.store.Return(t.Context(), t.key))
	t.try(t.at, 3, 1, time.Time{})
	t.try(t.at.Add(24*time.Hour), 3, 1, time.Time{})
}

func (t *attemptTest) reset() {
	t.must(t.store.Reset(t.Context(), t.key))
	for range 2 {
		for n := 1; n <= 3; n++ {
			t.try(t.at, 3, n, time.Time{})
		}
		t.try(t.at, 3, 3, t.at.Add(time.Second))
		t.must(t.store.Reset(t.Context(), t.key))
	}
	t.must(t.store.Return(t.Context(), t.key))
	t.try(t.at, 3, 1, time.Time{})
}

func (t *attemptTest) forgotten() {
	at := t.at
	t.try(at, 2, 1, time.Time{})
	// The day begins with the latest attempt, and lasts until its last millisecond.
	at = at.Add(24*time.Hour - time.Millisecond)
	t.try(at, 2, 2, time.Time{})
	t.try(at, 2, 2, at.Add(time.Second))
	at = at.Add(24 * time.Hour)
	t.try(at, 2, 1, time.Time{})
	t.try(at, 2, 2, time.Time{})
}

// behind makes an attempt whose time is before that of another. It must be counted
// without a delay, and the later one must be kept for its day.
func (t *attemptTest) behind() {
	late := t.at.Add(12 * time.Hour)
	t.try(late, 5, 1, time.Time{})
	t.try(t.at, 5, 2, time.Time{})
	t.try(t.at.Add(24*time.Hour), 5, 3, time.Time{})
}

func (t *attemptTest) apart() {
	first, second := t.key, newKey()
	for n := 1; n <= 2; n++ {
		t.key = first
		t.try(t.at, 2, n, time.Time{})
		t.key = second
		t.try(t.at, 2, n, time.Time{})
	}
	t.must(t.store.Reset(t.Context(), first))
	t.try(t.at, 2, 2, t.at.Add(time.Second))
	t.must(t.store.Return(t.Context(), first))
	t.try(t.at, 2, 2, t.at.Add(time.Second))
	t.key = first
	t.try(t.at, 2, 1, time.Time{})
}

func (t *attemptTest) cancelled() {
	t.try(t.at, 3, 1, time.Time{})
	t.try(t.at, 3, 2, time.Time{})
	ctx := ended(t.T)
	if _, _, err := t.store.Try(ctx, t.key, t.at, 3); err == nil {
		t.Error("Try: no error")
	}
	if t.store.Return(ctx, t.key) == nil || t.store.Reset(ctx, t.key) == nil {
		t.Error("Return or Reset: no error")
	}
	t.try(t.at, 3, 3, time.Time{})
}

// race makes 64 attempts at once. Those that proceed must have the counts from
// first to last, one each.
func (t *attemptTest) race(at time.Time, free, first, last int) {
	t.Helper()
	var counts [crowd + 1]atomic.Int64
	until := at.Add(session.Delay(last, free))
	tally(t.T, atOnce(crowd, func(int) error {
		n, end, err := t.store.Try(t.Context(), t.key, at, free)
		switch {
		case err != nil || n < 1 || n > crowd:
			return fmt.Errorf("a try is %d, %v, %v", n, end, err)
		case end.IsZero():
			counts[n].Add(1)
		case n != last || !end.Equal(until):
			return fmt.Errorf("refused with %d until %v, want %d until %v", n, end, last, until)
		}
		return nil
	}))
	for n := range counts {
		want := int64(0)
		if first <= n && n <= last {
			want = 1
		}
		if got := counts[n].Load(); got != want {
			t.Errorf("%d tries were the %d.", got, n)
		}
	}
}

func (t *attemptTest) raceFree() { t.race(t.at, 5, 1, 5) }

func (t *attemptTest) raceDelay() {
	at := t.at
	for n := 1; n <= 7; n++ {
		t.try(at, 5, n, time.Time{})
		at = at.Add(session.Delay(n, 5))
	}
	t.race(at, 5, 8, 8)
}

func (t *attemptTest) raceReturn() {
	const free = 1000 // none is delayed
	tally(t.T, atOnce(crowd, func(int) error {
		_, _, err := t.store.Try(t.Context(), t.key, t.at, free)
		return errors.Join(err, t.store.Return(t.Context(), t.key))
	}))
	t.try(t.at, free, 1, time.Time{})
}

// raceReturns returns more attempts than there are.
func (t *attemptTest) raceReturns() {
	const free = 1000 // none is delayed
	for range 5 {
		for n := 1; n <= 4; n++ {
			t.try(t.at, free, n, time.Time{})
		}
		tally(t.T, atOnce(crowd, func(int) error { return t.store.Return(t.Context(), t.key) }))
		t.try(t.at, free, 1, time.Time{})
		t.must(t.store.Return(t.Context(), t.key))
	}
}
