package main

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// longest is the greatest duration that is told apart. No run and no reply takes
	// longer, not even one that waited for its turn.
	longest = maxDuration + 2*patience

	// maxCodes is how many failure codes are counted separately.
	maxCodes = 100
)

// tally is the result of some requests.
type tally struct {
	times  *hdrhistogram.Histogram // of all replies, faults included, in nanoseconds
	failed map[string]uint64       // by code
}

func newTally() tally {
	return tally{hdrhistogram.New(1, int64(longest), 3), make(map[string]uint64)}
}

// add counts a request. The code is "" unless it has failed.
func (t *tally) add(took time.Duration, code string) {
	_ = t.times.RecordValue(int64(min(max(took, 1), longest))) // it fails beyond longest only
	if code == "" {
		return
	}
	if _, known := t.failed[code]; !known && len(t.failed) >= maxCodes {
		code = "others"
	}
	t.failed[code]++
}

func (t *tally) failures() (n uint64) {
	for _, count := range t.failed {
		n += count
	}
	return n
}

// latency summarizes a histogram, in milliseconds.
type latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

func latencyOf(h *hdrhistogram.Histogram) latency {
	ms := func(percent float64) float64 { return float64(h.ValueAtPercentile(percent)) / 1e6 }
	return latency{ms(50), ms(90), ms(99), ms(99.9), ms(100)}
}

// sample is what was answered in about a second.
type sample struct {
	Second   float64 `json:"second"` // from the beginning of the run to the end of this sample
	Rate     float64 `json:"rate"`
	Requests uint64  `json:"requests"`
	Failed   uint64  `json:"failed"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
}

// sampleUntil takes a sample each second, and shows it on a terminal. Without any reply it
// is one of zeros: a server that stalls shows.
func (l *load) sampleUntil(done <-chan struct{}, p program, watched *process) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-tick.C:
		}
		watched.sample()
		l.mu.Lock()
		s := l.sample(time.Since(l.began))
		l.mu.Unlock()
		switch {
		case !p.terminal:
		case ended:
			fmt.Fprint(p.errs, "\r\x1b[K")
		default: // short enough for a line of any terminal
			fmt.Fprintf(p.errs, "\r\x1b[K%.0f s of %v: %.0f/s, p50 %.1f ms, p99 %.1f ms, %d failed", s.Second, l.o.duration, s.Rate, s.P50, s.P99, s.Failed)
		}
	}
}

// sample adds a sample of all requests since the one before.
func (l *load) sample(now time.Duration) sample {
	from := 0.0
	if len(l.series) > 0 {
		from = l.series[len(l.series)-1].Second
	}
	of, n := latencyOf(l.recent.times), uint64(l.recent.times.TotalCount())
	s := sample{Second: now.Seconds(), Requests: n, Failed: l.recent.failures(), P50: of.P50, P99: of.P99}
	s.Rate = float64(n) / max(s.Second-from, 1e-3)
	l.series = append(l.series, s)
	l.recent.times.Reset()
	clear(l.recent.failed)
	return s
}
