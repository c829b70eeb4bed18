package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// report is the result of a run. Its JSON is one object, with times in milliseconds
// and memory in bytes.
type report struct {
	Seconds float64 `json:"seconds"`
	part
	Kinds map[string]part `json:"kinds"`
	RSS   *resident       `json:"rss,omitempty"`
	CPU   float64         `json:"cpu_ms,omitempty"` // of the watched process, per request

	all tally
}

// part is what a report says of all requests, and of those of each kind.
type part struct {
	Requests uint64            `json:"requests"`
	Rate     float64           `json:"rate"`
	Failed   uint64            `json:"failed"`
	Errors   map[string]uint64 `json:"errors"`
	Latency  latency           `json:"latency_ms"`
}

// resident is the resident memory of the watched process: before and after the run, and at most since it began.
type resident struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Max   uint64 `json:"max"`
}

func (l *load) report(before, after usage) *report {
	r := &report{Seconds: l.took.Seconds(), Kinds: make(map[string]part), all: newTally()}
	for kind, t := range l.tallies {
		if l.o.mix[kind] > 0 {
			r.Kinds[kind] = t.part(r.Seconds)
			r.all.merge(t)
		}
	}
	r.part = r.all.part(r.Seconds)
	if after.rss > 0 && r.Requests > 0 {
		r.RSS = &resident{before.rss, after.rss, after.most}
		// The requests go to all instances in turn, and one of them is watched.
		r.CPU = 1000 * (after.cpu - before.cpu).Seconds() / float64(r.Requests) * float64(len(l.to.at))
	}
	return r
}

func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%d requests in %.1f s, %.1f/s, %d failed\n\n", r.Requests, r.Seconds, r.Rate, r.Failed)
	fmt.Fprintf(w, "%-8s %9s %9s %7s  %9s %9s %9s %9s %9s\n", "ms", "requests", "a second", "failed", "p50", "p90", "p99", "p99.9", "max")
	for _, name := range kinds {
		if p, ok := r.Kinds[name]; ok {
			p.write(w, name)
		}
	}
	r.part.write(w, "all")
	writeDistribution(w, r.all.times)
	for i, code := range slices.Sorted(maps.Keys(r.Errors)) {
		if i == 0 {
			fmt.Fprintln(w, "\nfailed:")
		}
		fmt.Fprintf(w, "%9d  %s\n", r.Errors[code], code)
	}
	if r.RSS != nil {
		const MiB = 1 << 20
		fmt.Fprintf(w, "\nresident memory in MiB: first %.1f, last %.1f, max %.1f\n",
			float64(r.RSS.First)/MiB, float64(r.RSS.Last)/MiB, float64(r.RSS.Max)/MiB)
		fmt.Fprintf(w, "CPU of the process for each request in ms: %.3f\n", r.CPU)
	}
}

func (p *part) write(w io.Writer, name string) {
	fmt.Fprintf(w, "%-8s %9d %9.1f %7d ", name, p.Requests, p.Rate, p.Failed)
	for _, ms := range []float64{p.Latency.P50, p.Latency.P90, p.Latency.P99, p.Latency.P999, p.Latency.Max} {
		if ms == 0 {
			fmt.Fprintf(w, " %9s", "–") // %9s counts letters
			continue
		}
		fmt.Fprintf(w, " %9.3f", ms)
	}
	fmt.Fprintln(w)
}

const (
	// longest is the greatest duration that is told apart. No run and no reply takes
	// longer, not even one that waited for its turn.
	longest = maxDuration + 2*patience

	// maxCodes is how many failure codes are counted separately.
	maxCodes = 100
)

type tally struct {
	times  *hdrhistogram.Histogram // of all replies, faults included, in nanoseconds
	failed map[string]uint64       // by code
}

func newTally() tally {
	return tally{hdrhistogram.New(1, int64(longest), 3), make(map[string]uint64)}
}

func (t tally) add(took time.Duration, code string) {
	_ = t.times.RecordValue(int64(min(max(took, 1), longest))) // it fails beyond longest only
	if code == "" {
		return
	}
	if _, known := t.failed[code]; !known && len(t.failed) >= maxCodes {
		code = "others"
	}
	t.failed[code]++
}

func (t tally) merge(other tally) {
	t.times.Merge(other.times)
	for code, count := range other.failed {
		t.failed[code] += count
	}
}

func (t tally) part(seconds float64) part {
	p := part{Requests: uint64(t.times.TotalCount()), Errors: t.failed, Latency: latencyOf(t.times)}
	p.Rate = float64(p.Requests) / seconds
	for _, count := range t.failed {
		p.Failed += count
	}
	return p
}

// writeDistribution writes how many replies took at most 1, 2 and 5 of each power of ten.
func writeDistribution(w io.Writer, h *hdrhistogram.Histogram) {
	fmt.Fprintf(w, "\n%9s %9s %8s\n", "at most", "requests", "of all")
	bars, n := h.Distribution(), int64(0)
	for ten := 10 * time.Microsecond; n < h.TotalCount(); ten *= 10 {
		for _, most := range []time.Duration{ten, 2 * ten, 5 * ten} {
			before := n
			for len(bars) > 0 && bars[0].To <= int64(most) {
				n, bars = n+bars[0].Count, bars[1:]
			}
			if n > before {
				fmt.Fprintf(w, "%9v %9d %7.2f%%\n", most, n-before, 100*float64(n)/float64(h.TotalCount()))
			}
		}
	}
}

// latency has no percentile of fewer replies than one of which is beyond it: that would be the maximum.
type latency struct {
	P50  float64 `json:"p50,omitzero"`
	P90  float64 `json:"p90,omitzero"`
	P99  float64 `json:"p99,omitzero"`
	P999 float64 `json:"p999,omitzero"`
	Max  float64 `json:"max"`
}

func latencyOf(h *hdrhistogram.Histogram) latency {
	ms := func(percent float64, least int64) float64 {
		if h.TotalCount() < least {
			return 0
		}
		return float64(h.ValueAtPercentile(percent)) / 1e6
	}
	return latency{ms(50, 2), ms(90, 10), ms(99, 100), ms(99.9, 1000), ms(100, 1)}
}
