package main

import (
	"maps"
	"sync"
	"time"
)

// maxCodes is how many failure codes are counted separately.
const maxCodes = 100

// tally is the result of the requests of one kind of credential. It is safe for
// concurrent use.
type tally struct {
	mu     sync.Mutex
	times  histogram         // of all replies, faults included
	failed map[string]uint64 // by code

	// Since takeRecent:
	recent       histogram
	recentFailed uint64
}

func (t *tally) add(took time.Duration, err error) {
	code := ""
	if err != nil {
		code = codeOf(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times.add(took)
	t.recent.add(took)
	if code == "" {
		return
	}
	t.recentFailed++
	if t.failed == nil {
		t.failed = make(map[string]uint64)
	}
	if _, known := t.failed[code]; !known && len(t.failed) >= maxCodes {
		code = "others"
	}
	t.failed[code]++
}

// counts returns how many requests there were, and how many failed.
func (t *tally) counts() (n, failed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, count := range t.failed {
		failed += count
	}
	return t.times.n(), failed
}

// takeRecent adds the requests since the last call to a histogram, and returns how many
// of them failed.
func (t *tally) takeRecent(to *histogram) (failed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	to.merge(&t.recent)
	t.recent.reset()
	failed, t.recentFailed = t.recentFailed, 0
	return failed
}

// failures returns how many requests failed with each code. The map is never nil.
func (t *tally) failures() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	failed := make(map[string]uint64, len(t.failed))
	maps.Copy(failed, t.failed)
	return failed
}
