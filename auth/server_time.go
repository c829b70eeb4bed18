package auth

import (
	"strconv"
	"sync/atomic"
	"time"
)

// stamps are the values of the Server-Time header. Replies of one millisecond
// share theirs: http.Header replaces values and never alters one, and what is
// added to them is copied, as there is no room behind.
type stamps struct{ latest atomic.Pointer[stamp] }

type stamp struct {
	millis int64
	values [1]string
}

// at returns the header's values for a time, in whole Unix milliseconds.
func (s *stamps) at(now time.Time) []string {
	millis := now.UnixMilli()
	latest := s.latest.Load()
	if latest == nil || latest.millis != millis {
		latest = &stamp{millis, [1]string{strconv.FormatInt(millis, 10)}}
		s.latest.Store(latest)
	}
	return latest.values[:]
}
