package signing

import (
	"hash/maphash"
	"math"
	"net/http"
	"sync"
	"time"
)

// Clock estimates the time of servers. It compares the Server-Time header of each
// reply with the local clock, separately for each host. It also hands out the
// timestamps of requests, so that no two requests get the same signature where that
// would be a replay. Transports with the same client key must therefore share one
// Clock. Transports without a Clock and a Now of their own share one already.
//
// A Clock knows 1,024 hosts. With more of them, it forgets what it knows of others.
//
// The zero Clock is ready to use, and safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	hosts map[string]*hostClock
}

// processClock is that of the Transports that have no Clock and no Now. The signature
// covers neither the Transport nor the mount, so the server cannot tell these apart.
var processClock Clock

const maxHosts = 1024

// host returns the clock of a host.
func (c *Clock) host(name string) *hostClock {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.hosts[name]; h != nil {
		return h
	}
	if c.hosts == nil {
		c.hosts = make(map[string]*hostClock)
	}
	for other := range c.hosts { // in no order
		if len(c.hosts) < maxHosts {
			break
		}
		delete(c.hosts, other)
	}
	h := &hostClock{offset: unknown, seed: maphash.MakeSeed()}
	c.hosts[name] = h
	return h
}

// Times and spans of hosts are in microseconds. In nanoseconds, the largest
// timestamp of the wire would overflow.
const (
	millisecond = int64(time.Millisecond / time.Microsecond)

	// maxServerTime is the latest server time that a Clock learns from. The
	// timestamps ahead of it must have no more digits than the wire allows.
	maxServerTime = 999_999_999_999_999 - 3_600_000

	// maxLead is how far ahead of the host's time a timestamp may be.
	maxLead = 1000 * millisecond

	// maxSlew is how far the host's time may be ahead of the estimate and still be
	// corrected by running slower. The host has accepted nothing further ahead, so
	// nothing there can be replayed: the time may then step back.
	maxSlew = int64(defaultFutureTolerance / time.Microsecond)

	// shared is how many GET or HEAD requests may have one timestamp. It is what the
	// recommended Policy accepts.
	shared = siblingMax
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

// span is the range of the difference between the host's clock and the local one: at
// least low, at most high.
type span struct{ low, high int64 }

var unknown = span{math.MinInt64, math.MaxInt64}

// middle returns the middle of the span, or 0 if nothing was learned.
func (s span) middle() int64 {
	if s == unknown {
		return 0
	}
	return s.low + (s.high-s.low)/2
}

// intersect narrows s by another span. If they contradict each other, a clock was set
// or one reply was wrong, and the later span is taken.
func (s span) intersect(later span) span {
	both := span{max(s.low, later.low), min(s.high, later.high)}
	if both.low > both.high {
		return later
	}
	return both
}

// learn reads the server time of a reply. The server read its clock at some time
// between sent and received. So a slow reply narrows the span little, but never makes
// it wrong.
func (h *hostClock) learn(header http.Header, name string, sent, received time.Time) {
	stamp := header[name]
	// A reply with Age comes from a cache; its server time is old.
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
	h.offset = h.offset.intersect(span{
		low:  difference,
		high: difference + took + millisecond, // server time is cut to milliseconds
	})
	h.follow(received, maxSlew)
}

func (h *hostClock) estimate(local time.Time) int64 { return local.UnixMicro() + h.offset.middle() }

// now returns the host's time. It must not step back: the same timestamps would be
// handed out again. While it is ahead of the estimate, it runs at three quarters of
// its speed instead. So if the local clock is set back, the host's time continues
// until a reply corrects the estimate.
func (h *hostClock) now(local time.Time) int64 {
	estimate := h.estimate(local)
	if h.latest > estimate {
		passed := max(0, local.Sub(h.read).Microseconds())
		estimate = max(estimate, h.latest+passed*3/4)
	}
	h.latest, h.read = estimate, local
	return h.latest
}

// follow sets the host's time back to the estimate if it is more than tooFar ahead.
// The new time allows timestamps up to maxLead ahead, and these may have been used.
// So lanes that are past this bound continue right above it.
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

// refused corrects the time after the host has found a timestamp stale.
func (h *hostClock) refused(local time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follow(local, maxLead)
}

// stream is a series of requests that would have the same signature if they had the
// same timestamp.
type stream struct{ clientKey, command, method string }

// lane holds the last timestamp of a stream. The number of lanes is fixed. Streams
// that share a lane also get different timestamps, which costs little.
type lane struct {
	last int64 // the latest timestamp handed out, in milliseconds
	uses int
}

// take reserves the next timestamp of a stream, in milliseconds, and returns how long
// to wait before sending it. With sharing, several requests may have one timestamp
// once the stream is as far ahead of the clock as it may be.
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

// seconds returns the host's time in whole Unix seconds, as version 2 uses it. It need
// not differ between requests, because version 2 covers the nonce.
func (h *hostClock) seconds(local time.Time) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now(local) / (1000 * millisecond)
}
