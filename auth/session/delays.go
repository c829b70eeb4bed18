package session

import (
	"sync"
	"time"
)

// delays remembers the delays that tries in this process have set or met. It only
// says which count to ask first, and refuses nothing by itself: what it has forgotten,
// or what another process has set or lifted, costs two writes.
type delays struct {
	mu    sync.Mutex
	until map[string]time.Time // by key
}

// mostDelays is how many are remembered, in about half a megabyte.
const mostDelays = 4096

func (d *delays) note(key string, now, until time.Time) {
	if !now.Before(until) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.until == nil {
		d.until = map[string]time.Time{}
	}
	drop := func(key string, _ time.Time) { delete(d.until, key) }
	sweep(d.until, func(until time.Time) bool { return !now.Before(until) }, drop)
	for other, until := range d.until {
		if len(d.until) < mostDelays {
			break
		}
		drop(other, until)
	}
	d.until[key] = until
}

func (d *delays) forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.until, key)
}

func (d *delays) has(key string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now.Before(d.until[key])
}
