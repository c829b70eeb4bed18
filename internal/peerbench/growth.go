package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// growthRow is a line of the growth table: the cost of a request in stores of few and
// of many entries.
type growthRow struct {
	name  string // name of the benchmark below BenchmarkGrowth
	title string
	class string // style of its line in the plot; see style
	note  string
}

const growthBenchmark = "Growth"

var growthRows = []growthRow{
	{"memory_session", "session look-up, memory", "ours", ""},
	{"memory_ledger", "ledger look-up, memory", "other0", ""},
	{"memory_issue", "ledger Issue, memory", "other1", "all entries are of one subject"},
	{"memory_claim", "replay refused, memory", "other2", "a claim of a known request; the time includes making it"},
	{"SQLite_session", "session look-up, SQLite", "other3", ""},
	{"SQLite_ledger", "ledger look-up, SQLite", "other4", ""},
	{"SQLite_claim", "replay claim, SQLite", "other5", "in the memory of the process, so without a disk"},
	{"SQLite_page", "list page, SQLite", "other6", "100 rows, or all ten, from the middle on"},
}

// growthSizes returns the numbers of entries that are timed, up to the largest number
// of a run.
func growthSizes(most int) []int {
	sizes := []int{10}
	for n := 100; n <= most; n *= 10 {
		sizes = append(sizes, n)
	}
	return sizes
}

// grown returns the median time of a row at a size, or 0 if it was not measured.
func (m *measured) grown(r growthRow, n int) float64 {
	return median(m.samples[sampleKey{growthBenchmark + "/" + r.name, strconv.Itoa(n), unitTime}])
}

// growthTable writes the table of growth for the sizes of the run.
func (p report) growthTable(b *bytes.Buffer) {
	sizes := growthSizes(p.live)
	b.WriteString("## Growth\n\nThe cost of a request in a store with so many entries. SQLite is in the memory of the process: the curve shows its\n" +
		"indexes, not a disk. For PostgreSQL see \"Measured elsewhere\".\n\n| operation |")
	rule := "|---|"
	for _, n := range sizes {
		fmt.Fprintf(b, " %s |", grouped(float64(n)))
		rule += "--:|"
	}
	fmt.Fprintf(b, " most ÷ ten | about |\n%s--:|---|\n", rule)
	for _, r := range growthRows {
		fmt.Fprintf(b, "| %s |", r.title)
		for _, n := range sizes {
			fmt.Fprintf(b, " %s |", duration(p.grown(r, n)))
		}
		fmt.Fprintf(b, " %s | %s |\n", ratio(p.grown(r, sizes[len(sizes)-1])/p.grown(r, sizes[0])), r.note)
	}
	if issue := growthRows[2]; slices.Contains(sizes, 10_000) {
		fmt.Fprintf(b, "\nFor a subject with 10,000 tokens `Ledger.Issue` takes %s × the time of one with 10; the target is ≤ 1.20.\n",
			ratio(p.grown(issue, 10_000)/p.grown(issue, 10)))
	}
	b.WriteString("\n![Time of a request against the entries of the store](growth.svg)\n\n")
}

func growthPlot(m *measured, most int) plot {
	p := plot{"Growth", "entries in the store (logarithmic)", "time of a request (logarithmic)", true, nil}
	for _, r := range growthRows {
		l := line{name: r.title, class: r.class}
		for _, n := range growthSizes(most) {
			l.points = append(l.points, point{float64(n), m.grown(r, n)})
		}
		p.lines = append(p.lines, l)
	}
	return p
}

// coresRow is an operation that is timed on one core and on two.
type coresRow struct {
	name, title string
	least       float64 // the target: the minimum ratio
}

const coresBenchmark = "Cores"

var coresRows = []coresRow{
	{"verify", "request signature, Verifier.Verify without a store", 1.8},
	{"claim", "replay claim in memory", 1.6},
	{"cached", "auth.Cached, 10,000 accounts, all at hand", 1.6},
	{"cached_full", "auth.Cached, twice as many accounts as it keeps", 1.6},
}

// on returns the median time of an operation on a number of cores.
func (m *measured) on(r coresRow, cores string) float64 {
	return median(m.samples[sampleKey{coresBenchmark + "/" + r.name, cores, unitTime}])
}

// coresTable writes the table of what a second core adds.
func (p report) coresTable(b *bytes.Buffer) {
	b.WriteString("## From one core to two\n\nThe time of the whole run divided by its operations, the inverse of the throughput. GOMAXPROCS goroutines do the same concurrently.\n\n" +
		"| operation | 1 core | 2 cores | ratio | target | |\n|---|--:|--:|--:|--:|---|\n")
	for _, r := range coresRows {
		one, two := p.on(r, "1"), p.on(r, "2")
		verdict := "**missed**"
		if one/two >= r.least {
			verdict = "met"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | ≥ %s | %s |\n", r.title, duration(one), duration(two), ratio(one/two), ratio(r.least), verdict)
	}
	full, fits := p.on(coresRows[3], "1"), p.on(coresRows[2], "1")
	fmt.Fprintf(b, "\nPast its limit `auth.Cached` takes %s × the time of a hit, on one core; the target is ≤ 1.50.\n\n", ratio(full/fits))
}

// grew returns an error unless each growth and cores row has the given number of
// samples.
func (m *measured) grew(samples, most int) error {
	check := func(row, peer string) error {
		if n := len(m.samples[sampleKey{row, peer, unitTime}]); n != samples {
			return fmt.Errorf("%d times of %s in %s, not %d", n, peer, row, samples)
		}
		return nil
	}
	for _, r := range growthRows {
		for _, n := range growthSizes(most) {
			if err := check(growthBenchmark+"/"+r.name, strconv.Itoa(n)); err != nil {
				return err
			}
		}
	}
	for _, r := range coresRows {
		for _, cores := range []string{"1", "2"} {
			if err := check(coresBenchmark+"/"+r.name, cores); err != nil {
				return err
			}
		}
	}
	return nil
}
