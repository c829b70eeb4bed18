package session_test

import (
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
)

// counting counts the attempts of one key, as stores keep them.
type counting struct {
	*testing.T
	record string
}

func (t *counting) count() session.Count {
	t.Helper()
	c, err := session.ParseCount(t.record)
	if err != nil || c.String() != t.record {
		t.Fatalf("%q is read as %q, %v", t.record, c, err)
	}
	return c
}

// try fails unless an attempt gives this number and end of the delay. A zero end means that the
// attempt proceeds.
func (t *counting) try(at time.Time, free, n int, until time.Time) {
	t.Helper()
	next, got, end := t.count().Counted(at, free)
	if got != n || !end.Equal(until) || end.IsZero() != until.IsZero() {
		t.Errorf("attempt %d until %v, want %d until %v", got, end, n, until)
	}
	if end.IsZero() {
		t.record = next.String()
	}
}

func (t *counting) undo() { t.record = t.count().Undone().String() }

// Stores compare and set. What they keep is decided here, once.
func TestCount(t *testing.T) {
	at := time.UnixMilli(1_790_000_000_123)
	for name, run := range map[string]func(*counting){
		"the first are free, then the delay doubles": func(t *counting) {
			at := at
			for n := 1; n < 5; n++ {
				t.try(at, 5, n, time.Time{})
			}
			for i, seconds := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900} {
				n, end := 5+i, at.Add(seconds*time.Second)
				t.try(at, 5, n, time.Time{})
				t.try(end.Add(-time.Millisecond), 5, n, end)
				at = end
			}
		},
		"an attempt inside the delay is not counted": func(t *counting) {
			for n := 1; n <= 6; n++ {
				t.try(at, 6, n, time.Time{})
			}
			end := at.Add(time.Second)
			for range 20 {
				t.try(at, 6, 6, end)
				t.try(at.Add(-time.Minute), 6, 6, end) // a process whose clock is behind
			}
			t.try(end, 6, 7, time.Time{})
			t.try(end, 6, 7, end.Add(2*time.Second))
		},
		"a bound of one": func(t *counting) {
			t.try(at, 1, 1, time.Time{})
			t.try(at, 1, 1, at.Add(time.Second))
			t.try(at.Add(time.Second), 1, 2, time.Time{})
		},
		"undo takes back the attempt and its delay": func(t *counting) {
			for n := 1; n <= 3; n++ {
				t.try(at, 3, n, time.Time{})
			}
			t.undo()
			t.try(at, 3, 3, time.Time{})
			t.try(at, 3, 3, at.Add(time.Second))
			later := at.Add(time.Second)
			t.try(later, 3, 4, time.Time{})
			t.undo()
			t.try(later, 3, 4, time.Time{})
			t.try(later, 3, 4, later.Add(2*time.Second))
		},
		"nothing is left of the only attempt": func(t *counting) {
			t.try(at, 1, 1, time.Time{})
			for range 3 {
				if t.undo(); t.record != "" {
					t.Errorf("%q is left", t.record)
				}
			}
		},
		"a day after the latest attempt": func(t *counting) {
			at := at
			t.try(at, 2, 1, time.Time{})
			at = at.Add(24*time.Hour - time.Millisecond)
			t.try(at, 2, 2, time.Time{})
			t.try(at, 2, 2, at.Add(time.Second))
			t.try(at.Add(24*time.Hour), 2, 1, time.Time{})
		},
		"a clock that is behind": func(t *counting) {
			t.try(at.Add(12*time.Hour), 5, 1, time.Time{})
			t.try(at, 5, 2, time.Time{})
			t.try(at.Add(24*time.Hour), 5, 3, time.Time{})
		},
	} {
		t.Run(name, func(t *testing.T) { run(&counting{T: t}) })
	}
	for _, record := range []string{"x", "1", "1 2", "1 2 x"} {
		if c, err := session.ParseCount(record); err == nil {
			t.Errorf("%q is read as %q", record, c)
		}
	}
}
