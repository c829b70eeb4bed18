package auth

import (
	"strconv"
	"sync/atomic"
	"time"
)

// stamps caches the value of the Server-Time header. Replies of the same millisecond share
// one slice. This is safe: http.Header replaces values and never changes one, and an append
// copies the slice, because it has no spare capacity.
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
