package session

import (
	"context"
	"sync"
	"time"
)

// remembered is how long a count outlives its latest try.
const remembered = 24 * time.Hour

// attemptTable is the Attempts of a Memory.
type attemptTable struct {
	mu     sync.Mutex
	counts map[string]count
}

// count goes by the times that its tries give, not by the clock.
type count struct {
	tries int
	last  time.Time
	until time.Time // end of the delay that the latest try has set
}

func (c count) isForgotten(at time.Time) bool { return at.Sub(c.last) >= remembered }

// Try implements Attempts.
func (m *Memory) Try(ctx context.Context, key string, at time.Time, free int) (int, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return 0, time.Time{}, err
	}
	t := &m.attempts
	t.mu.Lock()
	defer t.mu.Unlock()
	sweep(t.counts,
		func(c count) bool { return c.isForgotten(at) },
		func(key string, _ count) { delete(t.counts, key) })
	c := t.counts[key]
	if c.isForgotten(at) {
		c = count{}
	}
	if at.Before(c.until) {
		return c.tries, c.until, nil
	}
	c.tries++
	if at.After(c.last) { // The clock of another process may be behind.
		c.last = at
	}
	if delay := Delay(c.tries, free); delay > 0 {
		c.until = at.Add(delay)
	}
	if t.counts == nil {
		t.counts = map[string]count{}
	}
	t.counts[key] = c
	return c.tries, time.Time{}, nil
}

// Return implements Attempts.
func (m *Memory) Return(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &m.attempts
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts[key]
	if c.tries <= 1 {
		delete(t.counts, key)
		return nil
	}
	// The delay before it is over: no try is counted inside one.
	c.tries, c.until = c.tries-1, time.Time{}
	t.counts[key] = c
	return nil
}

// Reset implements Attempts.
func (m *Memory) Reset(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &m.attempts
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.counts, key)
	return nil
}
