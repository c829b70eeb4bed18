package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
		if got := h.quantile(test.q); got < test.want || got > test.want+test.want/1000 || got > time.Second {
			t.Errorf("quantile %g is %v, want %v and 1/1000 at most", test.q, got, test.want)
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
			d := time.Duration(random.Int64N(int64(longest)) >> random.IntN(40))
			all = append(all, d)
			parts[random.IntN(2)].add(d)
		}
		slices.Sort(all)
		parts[0].merge(&parts[1])
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
			rank := max(1, int(math.Ceil(q*float64(len(all)))))
			want, got := all[rank-1], parts[0].quantile(q)
			if got < want || got-want > want/1000 || got > all[len(all)-1] {
				t.Fatalf("quantile %g of %d is %d, want %d", q, len(all), got, want)
			}
		}
	}
}

func TestHistogramIsBounded(t *testing.T) {
	var h histogram
	h.add(math.MaxInt64)
	h.add(time.Second)
	if h.n() != 2 || h.quantile(1) != longest || h.quantile(0.5) < time.Second {
		t.Errorf("%d durations, the longest %v", h.n(), h.quantile(1))
	}
	h.reset()
	if h.n() != 0 || h.quantile(1) != 0 || len(h.bars()) != 0 {
		t.Error("it is not empty after reset")
	}
}

func TestBars(t *testing.T) {
	var h histogram
	for _, d := range []time.Duration{0, 1, 2, 3, 1023, 1024, time.Millisecond} {
		h.add(d)
	}
	want := []bar{{1, 1}, {2, 1}, {4, 2}, {1024, 1}, {2048, 1}, {1 << 20, 1}}
	if diff := cmp.Diff(want, h.bars(), cmp.AllowUnexported(bar{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 63: "63ns", 1048575: "1.05ms", 67108863: "67.1ms", 1234567890: "1.23s"} {
		if got := short(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}
