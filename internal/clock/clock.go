// Package clock reads the clocks that configurations may replace, and compares times.
package clock

import (
	"context"
	"time"
)

// Now returns the time of a clock. A nil clock is the system's.
func Now(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}

// FirstEnd returns the earlier of two ends. The zero time is no end.
func FirstEnd(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Sleep waits for d. If the context ends first, or has ended, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	return context.Cause(ctx)
}
