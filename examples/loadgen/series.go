package main

import "time"

// sample is what was answered in about a second.
type sample struct {
	Second   float64 `json:"second"` // from the beginning of the run to the end of this sample
	Rate     float64 `json:"rate"`
	Requests uint64  `json:"requests"`
	Failed   uint64  `json:"failed"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
}

// series is a run, second by second. A run of ten minutes has 600 samples.
type series struct {
	began   time.Time
	samples []sample

	// The last sample:
	from, to time.Time
	times    histogram
	failed   uint64
}

func newSeries(now time.Time) *series { return &series{began: now, to: now} }

// take adds a sample of all requests that were answered since the one before. Without
// any it adds one of zeros: a server that stalls shows.
func (s *series) take(l *load, now time.Time) {
	s.from, s.failed = s.to, 0
	s.times.reset()
	s.extend(l, now)
	s.samples = append(s.samples, s.sample())
}

// end is the last take. What is left of a second becomes part of the sample before: of a
// few milliseconds no rate could be told.
func (s *series) end(l *load, now time.Time) {
	if len(s.samples) == 0 || now.Sub(s.to) >= time.Second/2 {
		s.take(l, now)
		return
	}
	s.extend(l, now)
	s.samples[len(s.samples)-1] = s.sample()
}

func (s *series) extend(l *load, now time.Time) {
	for k := range kinds {
		s.failed += l.tallies[k].takeRecent(&s.times)
	}
	s.to = now
}

func (s *series) sample() sample {
	of := s.times.latency()
	return sample{
		Second:   s.to.Sub(s.began).Seconds(),
		Rate:     float64(s.times.n()) / max(s.to.Sub(s.from).Seconds(), 1e-9),
		Requests: s.times.n(),
		Failed:   s.failed,
		P50:      of.P50,
		P99:      of.P99,
	}
}
