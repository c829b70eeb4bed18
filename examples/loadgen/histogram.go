package main

import (
	"math"
	"math/bits"
	"time"
)

// Each power of two has sub buckets of equal width. So a value is known to 1/32 of
// itself, over the whole range of a Duration.
const (
	subBits = 5
	sub     = 1 << subBits
	buckets = (64 - subBits) * sub // the last bucket holds MaxInt64
)

// histogram counts durations in buckets whose width grows with the duration. The
// zero histogram is empty and ready to use.
type histogram struct {
	counts [buckets]uint64
	n      uint64
	max    time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucketOf(d)]++
	h.n++
	h.max = max(h.max, d)
}

// merge adds the counts of another histogram.
func (h *histogram) merge(other *histogram) {
	for i, count := range other.counts {
		h.counts[i] += count
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// bucketOf returns the bucket of a duration. Buckets below 2*sub are one nanosecond
// wide. Above, each power of two has sub buckets.
func bucketOf(d time.Duration) int {
	shift := max(0, bits.Len64(uint64(d))-subBits-1)
	return shift*sub + int(uint64(d)>>shift)
}

// top returns the longest duration of a bucket.
func top(bucket int) time.Duration {
	if bucket < 2*sub {
		return time.Duration(bucket)
	}
	shift := bucket/sub - 1
	low := uint64(bucket%sub+sub) << shift
	return time.Duration(low + 1<<shift - 1)
}

// quantile returns a duration that the share q of all durations does not exceed. It
// is at most 1/32 above the duration of that rank, and never above the longest
// duration.
func (h *histogram) quantile(q float64) time.Duration {
	rank := max(1, uint64(math.Ceil(q*float64(h.n))))
	var seen uint64
	for i, count := range h.counts {
		if seen += count; seen >= rank {
			return min(top(i), h.max)
		}
	}
	return h.max
}
