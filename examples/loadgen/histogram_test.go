package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	if top(bucketOf(math.MaxInt64)) != math.MaxInt64 || bucketOf(math.MaxInt64) != buckets-1 {
		t.Error("the last bucket does not end where durations end")
	}
	for bucket := range buckets - 1 {
		if bucketOf(top(bucket)) != bucket || bucketOf(top(bucket)+1) != bucket+1 {
			t.Fatalf("bucket %d, to %d, is not followed by the next", bucket, top(bucket))
		}
	}
}

func TestQuantile(t *testing.T) {
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	for ms := range 1000 {
		h.add(time.Duration(ms+1) * time.Millisecond)
	}
	for _, test := range []struct {
		q    float64
		want time.Duration // the exact duration of this rank
	}{
		{0, time.Millisecond}, {0.5, 500 * time.Millisecond}, {0.9, 900 * time.Millisecond},
		{0.99, 990 * time.Millisecond}, {0.999, 999 * time.Millisecond}, {1, time.Second},
	} {
		if got := h.quantile(test.q); got < test.want || got > test.want+test.want/sub || got > time.Second {
			t.Errorf("quantile %g is %v, want %v and 1/%d at most", test.q, got, test.want, sub)
		}
	}
	h.add(-time.Second)
	if h.quantile(0) != 0 {
		t.Error("a clock that went back is not 0")
	}
}

// TestQuantileOfAnything compares the quantiles with those of sorted durations.
func TestQuantileOfAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var parts [2]histogram
		var all []time.Duration
		for range 1 + random.IntN(300) {
			d := time.Duration(random.Int64() >> random.IntN(63))
			all = append(all, d)
			parts[random.IntN(2)].add(d)
		}
		slices.Sort(all)
		parts[0].merge(&parts[1])
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
			rank := max(1, int(math.Ceil(q*float64(len(all)))))
			want, got := all[rank-1], parts[0].quantile(q)
			if got < want || got-want > want/sub || got > all[len(all)-1] {
				t.Fatalf("quantile %g of %d is %d, want %d", q, len(all), got, want)
			}
		}
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 63: "63ns", 1048575: "1.05ms", 67108863: "67.1ms", 1234567890: "1.23s"} {
		if got := short(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}
