package signing

import (
	"runtime"
	"sync"
	"weak"
)

// site is one client key at one service. All its requests of a process take
// their timestamps from one clock: the server tells neither Transports nor
// mounts apart, because a signature covers none of them.
type site struct{ clientKey, origin string }

// sites holds the clocks of the Transports that have none of their own. It keeps
// a clock only while a Transport does.
type sites struct {
	mu     sync.Mutex
	clocks map[site]weak.Pointer[hostClock]
}

var processSites sites

// clock returns the clock of a site, and makes it if no Transport holds one.
func (s *sites) clock(at site) *hostClock {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clocks[at].Value(); c != nil {
		return c
	}
	if s.clocks == nil {
		s.clocks = make(map[site]weak.Pointer[hostClock])
	}
	c := newHostClock()
	s.clocks[at] = weak.Make(c)
	runtime.AddCleanup(c, s.forget, at)
	return c
}

// forget removes a site whose clock has been collected, unless it has a new one.
func (s *sites) forget(at site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clocks[at].Value() == nil {
		delete(s.clocks, at)
	}
}

// siteClock is what a Transport holds to keep the clock of its site.
type siteClock struct {
	site  site
	clock *hostClock
}
