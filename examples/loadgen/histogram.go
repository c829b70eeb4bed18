package main

import (
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// longest is the greatest duration that is told apart. No run and no reply takes
	// longer, not even one that waited for its turn.
	longest = maxDuration + 2*patience

	// digits is how many decimal digits of a duration are kept.
	digits = 3
)

// histogram counts durations in buckets whose width grows with the duration. The
// zero histogram is empty and ready to use.
type histogram struct {
	counts *hdrhistogram.Histogram // in nanoseconds; nil if empty
	max    time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = min(max(d, 0), longest) // a clock can go back
	h.fill()
	_ = h.counts.RecordValue(int64(d)) // it fails beyond longest only
	h.max = max(h.max, d)
}

func (h *histogram) fill() {
	if h.counts == nil {
		h.counts = hdrhistogram.New(1, int64(longest), digits)
	}
}

// merge adds the counts of another histogram.
func (h *histogram) merge(other *histogram) {
	if other.counts == nil {
		return
	}
	h.fill()
	h.counts.Merge(other.counts)
	h.max = max(h.max, other.max)
}

// reset empties the histogram and keeps its memory.
func (h *histogram) reset() {
	if h.counts != nil {
		h.counts.Reset()
	}
	h.max = 0
}

// n returns how many durations there are.
func (h *histogram) n() uint64 {
	if h.counts == nil {
		return 0
	}
	return uint64(h.counts.TotalCount())
}

// quantile returns a duration that the share q of all durations does not exceed. It
// has three digits, rounded up, and is never above the longest duration.
func (h *histogram) quantile(q float64) time.Duration {
	if h.n() == 0 {
		return 0
	}
	n := float64(h.counts.TotalCount())
	rank := max(1, math.Ceil(q*n)) // the library alone would take the nearest rank, which may be lower
	return min(time.Duration(h.counts.ValueAtPercentile(100*rank/n)), h.max)
}

// bar is how many durations are below a power of two, and not below the one before.
type bar struct {
	below time.Duration
	n     int64
}

// bars returns the bars that are not empty, the shortest durations first.
func (h *histogram) bars() (bars []bar) {
	if h.counts == nil {
		return nil
	}
	var counts [65]int64
	for _, b := range h.counts.Distribution() {
		counts[bits.Len64(uint64(b.From))] += b.Count
	}
	for exponent, n := range counts {
		if n > 0 {
			bars = append(bars, bar{1 << exponent, n})
		}
	}
	return bars
}
