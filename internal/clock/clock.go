// Package clock reads the clocks that configurations may replace.
package clock

import "time"

// Now returns the time of a clock. A nil clock is the system's.
func Now(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}
