package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// report is the result of a run: the metrics of vegeta, of all requests and by kind, and what vegeta does
// not count. Its JSON is one object, with times in nanoseconds and memory in bytes.
type report struct {
	vegeta.Metrics
	Kinds      map[string]*vegeta.Metrics `json:"kinds"`
	Failed     uint64                     `json:"failed"`
	Unexpected uint64                     `json:"unexpected"` // failed with a code that -expect does not name
	SentAgain  uint64                     `json:"sent_again"` // signed once more by the client library
	Codes      map[string]uint64          `json:"codes"`      // of those that have failed
	RSS        *resident                  `json:"rss,omitempty"`
	CPU        float64                    `json:"cpu_ms,omitempty"` // of the watched process, per request
}

// maxCodes is how many failure codes are counted separately.
const maxCodes = 100

func newReport(m mix) *report {
	r := &report{Kinds: make(map[string]*vegeta.Metrics), Codes: make(map[string]uint64)}
	r.Histogram = &vegeta.Histogram{Buckets: vegeta.Buckets{0}}
	for ten := 100 * time.Microsecond; ten < patience; ten *= 10 {
		r.Histogram.Buckets = append(r.Histogram.Buckets, ten, 2*ten, 5*ten)
	}
	r.Histogram.Counts = make([]uint64, len(r.Histogram.Buckets))
	for kind, share := range m {
		if share > 0 {
			r.Kinds[kind] = new(vegeta.Metrics)
		}
	}
	return r
}

// count adds a result, whose error is a code.
func (r *report) count(kind string, result *vegeta.Result) {
	if code := result.Error; code != "" {
		if _, known := r.Codes[code]; !known && len(r.Codes) >= maxCodes {
			result.Error = "others"
		}
		r.Codes[result.Error]++
		r.Failed++
	}
	r.Add(result)
	r.Kinds[kind].Add(result)
}

// complete adds what is known at the end.
func (l *load) complete(watched *process) {
	r := l.report
	r.Close()
	for _, m := range r.Kinds {
		m.Close()
	}
	for code, count := range r.Codes {
		if !slices.Contains(l.o.expect, code) {
			r.Unexpected += count
		}
	}
	if watched != nil && r.Requests > 0 {
		r.RSS, r.CPU = &watched.rss, l.to.perRequest(watched.cpuUsed(), r.Requests)
	}
	// Requests that could not be sent make this number too low, but nothing makes it too high.
	if sent := l.to.sent.Load() - l.before; sent > r.Requests {
		r.SentAgain = sent - r.Requests
	}
}

// perRequest returns the CPU time of one instance per request that it answers, in
// ms. The requests go to all instances in turn.
func (to *instances) perRequest(used time.Duration, requests uint64) float64 {
	return float64(used) / float64(time.Millisecond) / float64(requests) * float64(len(to.at))
}

// write writes vegeta's own reports. It ignores errors: w is a buffer.
func (r *report) write(w io.Writer) {
	for _, kind := range kinds {
		if m := r.Kinds[kind]; m != nil {
			fmt.Fprintf(w, "%s:\n", kind)
			_ = vegeta.NewTextReporter(m)(w)
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "all: %d requests, %d failed, %d sent again\n", r.Requests, r.Failed, r.SentAgain)
	_ = vegeta.NewTextReporter(&r.Metrics)(w)
	if r.Requests > 0 {
		fmt.Fprintln(w)
		_ = vegeta.NewHistogramReporter(r.Histogram)(w)
	}
	for i, code := range slices.Sorted(maps.Keys(r.Codes)) {
		if i == 0 {
			fmt.Fprintln(w, "\nfailed:")
		}
		fmt.Fprintf(w, "%9d  %s\n", r.Codes[code], code)
	}
	if r.RSS != nil {
		const MiB = 1 << 20
		fmt.Fprintf(w, "\nresident memory in MiB: first %.1f, last %.1f, max %.1f\n",
			float64(r.RSS.First)/MiB, float64(r.RSS.Last)/MiB, float64(r.RSS.Max)/MiB)
		fmt.Fprintf(w, "CPU of the process for each request in ms: %.3f\n", r.CPU)
	}
}
