package signing

import (
	"hash/maphash"
	"math"
	"net/http"
	"sync"
	"time"
)

// Clock knows the time of servers: it compares the Server-Time header of each
// reply with the local clock, host by host. It also hands out the timestamps of
// requests, so that no two of them get the same signature where that would be a
// replay. Transports that use the same client key must therefore share one; those
// without a Clock and a Now of their own do so anyway.
//
// The zero Clock is ready to use, and safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	hosts map[string]*hostClock
}

// host returns the clock of a host. Hosts come from the BaseURLs of Transports,
// so there are few.
func (c *Clock) host(name string) *hostClock {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[name]
	if h == nil {
		if c.hosts == nil {
			c.hosts = make(map[string]*hostClock)
		}
		h = newHostClock()
		c.hosts[name] = h
	}
	return h
}

// Times and spans of hosts are in microseconds: nanoseconds would overflow with
// the largest timestamp of the wire.
const (
	millisecond = int64(time.Millisecond / time.Microsecond)

	// maxServerTime leaves room for the timestamps ahead of it, which have no
	// more digits on the wire.
	maxServerTime = 999_999_999_999_999 - 3_600_000

	// maxLead is how far ahead of the host's time a timestamp may be.
	maxLead = 1000 * millisecond

	// maxSlew is how far the host's time is put back by running slower. Further
	// ahead nothing was accepted, so that nothing can be replayed there.
	maxSlew = int64(defaultFutureTolerance / time.Microsecond)

	// shared is how many GET or HEAD requests may have one timestamp: what the
	// recommended Policy accepts.
	shared = defaultSiblingMax
)

// hostClock is the time of one host and the timestamps used there.
type hostClock struct {
	mu     sync.Mutex
	offset span
	latest int64     // the last reading
	read   time.Time // the local time of that reading
	seed   maphash.Seed
	lanes  [256]lane
}

func newHostClock() *hostClock { return &hostClock{offset: unknown, seed: maphash.MakeSeed()} }

// span is what is known of the difference between the host's clock and the local
// one: it lies between low and high.
type span struct{ low, high int64 }

var unknown = span{math.MinInt64, math.MaxInt64}

// middle of a span that has been learned; nothing learned is no difference.
func (s span) middle() int64 {
	if s == unknown {
		return 0
	}
	return s.low + (s.high-s.low)/2
}

// meet narrows s by another span. Spans that contradict each other mean that a
// clock was set, or one reply was wrong: the later one holds.
func (s span) meet(later span) span {
	both := span{max(s.low, later.low), min(s.high, later.high)}
	if both.low > both.high {
		return later
	}
	return both
}

// learn takes in the server time of a reply. The server read its clock some time
// between sending and receiving, so slow replies teach little, and do no harm.
func (h *hostClock) learn(header http.Header, name string, sent, received time.Time) {
	stamp := header[name]
	// A reply with Age was stored on the way; its time has passed.
	if len(stamp) != 1 || header["Age"] != nil {
		return
	}
	ms, ok := parseMillis(stamp[0])
	if !ok || ms > maxServerTime {
		return
	}
	took := max(0, received.Sub(sent).Microseconds())
	difference := ms*millisecond - received.UnixMicro()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offset = h.offset.meet(span{
		low:  difference,
		high: difference + took + millisecond, // server time is cut to milliseconds
	})
	h.follow(received, maxSlew)
}

func (h *hostClock) estimate(local time.Time) int64 { return local.UnixMicro() + h.offset.middle() }

// now returns the host's time. Put back, it would come again through timestamps
// that have been used: while it is ahead of the estimate it runs at three quarters
// of its speed instead. So a local clock that is put back makes no difference
// before a reply has told what to make of it.
func (h *hostClock) now(local time.Time) int64 {
	estimate := h.estimate(local)
	if h.latest > estimate {
		passed := max(0, local.Sub(h.read).Microseconds())
		estimate = max(estimate, h.latest+passed*3/4)
	}
	h.latest, h.read = estimate, local
	return h.latest
}

// follow puts the host's time back at once where it is too far ahead of the
// estimate. Streams that have gone further go on above what the new time could
// have given them before.
func (h *hostClock) follow(local time.Time, tooFar int64) {
	estimate := h.estimate(local)
	if h.latest-estimate <= tooFar {
		return
	}
	h.latest = estimate
	reach := (estimate + maxLead) / millisecond
	for i := range h.lanes {
		if h.lanes[i].last > reach {
			h.lanes[i] = lane{last: reach, uses: shared}
		}
	}
}

// refused says that the host has found a timestamp stale.
func (h *hostClock) refused(local time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follow(local, maxLead)
}

// stream is a series of requests that would have one signature if they had one
// timestamp.
type stream struct{ clientKey, command, method string }

// lane is what is known of the timestamps of a stream. There is a fixed number of
// them; streams that meet in one are only kept apart a little more than needed.
type lane struct {
	last int64 // the latest timestamp handed out, in milliseconds
	uses int
}

// take reserves the next timestamp of a stream, in milliseconds, and says how
// long to wait before it may be sent. Sharing lets several requests have one
// timestamp when the stream has gone ahead of the clock as far as it may.
func (h *hostClock) take(s stream, sharing bool, local time.Time) (ms int64, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now(local)
	reach := now + maxLead
	l := &h.lanes[maphash.Comparable(h.seed, s)%uint64(len(h.lanes))]
	next := max(now/millisecond, l.last+1)
	switch {
	case sharing && l.uses < shared && next*millisecond > reach:
		l.uses++
	case sharing:
		*l = lane{last: next, uses: 1}
	default:
		*l = lane{last: next, uses: shared}
	}
	return l.last, time.Duration(max(0, l.last*millisecond-reach)) * time.Microsecond
}
