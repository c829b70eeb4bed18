package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The units of benchmarks: those of the testing package, and our own.
const (
	unitTime    = "ns/op"
	unitAllocs  = "allocs/op"
	unitBytes   = "B/op"
	unitRequest = "B/request"
	unitGC      = "ns/GC"
)

// unitNames maps the units to words.
var unitNames = map[string]string{
	unitTime: "time", unitAllocs: "allocations", unitBytes: "bytes allocated", unitRequest: "bytes per request", unitGC: "full GC",
}

// measured holds the samples of all passes.
type measured struct {
	cpu     string
	samples map[sampleKey][]float64
}

// sampleKey names a peer of a row as in a benchmark's output: with _ for blanks.
type sampleKey struct{ row, peer, unit string }

func newMeasured() *measured { return &measured{samples: map[sampleKey][]float64{}} }

var (
	cpuLine       = regexp.MustCompile(`^cpu: (.*)`)
	toolchainLine = regexp.MustCompile(`^toolchain: (.*)`) // written by measure
	// benchmarkLine matches a line of a benchmark: the row, the peer, and a number after
	// the peer's first turn. The number of processors follows if there is more than one.
	// Then come the iterations, and pairs of value and unit.
	benchmarkLine = regexp.MustCompile(`^Benchmark(\S+)/([^/\s]+?)(?:#\d+)?(?:-\d+)?\s+\d+\s+(.*)`)
)

// read reads the output of one process.
func (m *measured) read(r io.Reader) error {
	lines, of := bufio.NewScanner(r), ""
	for lines.Scan() {
		if match := toolchainLine.FindStringSubmatch(lines.Text()); match != nil {
			of = suffix(match[1])
		}
		if match := cpuLine.FindStringSubmatch(lines.Text()); match != nil {
			m.cpu = match[1]
		}
		match := benchmarkLine.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		if err := m.add(match[1]+of, match[2], strings.Fields(match[3])); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
	}
	return lines.Err()
}

func (m *measured) add(row, peer string, pairs []string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		value, err := strconv.ParseFloat(pairs[i], 64)
		if err != nil {
			return err
		}
		key := sampleKey{row, peer, pairs[i+1]}
		m.samples[key] = append(m.samples[key], value)
	}
	return nil
}

// of returns the sorted samples of a figure.
func (m *measured) of(r row, p peer, unit string) []float64 {
	return slices.Sorted(slices.Values(m.samples[sampleKey{r.name, p.benchmark(), unit}]))
}

// median returns the middle sample, or 0 and false if there is none.
func (m *measured) median(r row, p peer, unit string) (float64, bool) {
	samples := m.of(r, p, unit)
	return median(samples), len(samples) > 0
}

func median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// time returns the median time. complete has checked that it exists.
func (m *measured) time(r row, p peer) float64 {
	ns, _ := m.median(r, p, unitTime)
	return ns
}

// spread returns the distance of the quartiles of the times, divided by the median.
func (m *measured) spread(r row, p peer) float64 {
	samples := m.of(r, p, unitTime)
	quarter := len(samples) / 4
	return (samples[len(samples)-1-quarter] - samples[quarter]) / m.time(r, p)
}

// usualSpread returns the median of all spreads.
func (m *measured) usualSpread() float64 {
	var all []float64
	for _, r := range rows {
		for _, p := range r.peers {
			all = append(all, m.spread(r, p))
		}
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// figure returns the median of a figure.
func (m *measured) figure(f figure) (float64, bool) {
	r, _ := find(f.row)
	p, _ := r.peer(f.peer)
	return m.median(r, p, f.unit)
}

// complete returns an error unless each peer has the number of samples of its row and
// each target was measured.
func (m *measured) complete(samples func(row) int) error {
	for _, r := range rows {
		for _, p := range r.peers {
			if n := len(m.of(r, p, unitTime)); n != samples(r) {
				return fmt.Errorf("%d times of %s in %s, not %d", n, p.name, r.name, samples(r))
			}
		}
	}
	for _, t := range targets {
		for _, f := range []figure{t.figure, t.less, t.per} {
			if _, ok := m.figure(f); !ok && f != (figure{}) {
				return fmt.Errorf("no %s of %s in %s", unitNames[f.unit], f.peer, f.row)
			}
		}
	}
	return nil
}
