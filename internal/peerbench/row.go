package main

import (
	"fmt"
	"slices"
	"strings"
)

// row is one table of the report: one operation, and all who can do it.
type row struct {
	name  string // of the benchmark, without Benchmark: Scope, or Scope/1000 for a part of it; and its toolchain, if it has one
	title string
	text  string // what is timed
	peers []peer

	// toolchain is what the row is timed with, "" is the go command's own.
	toolchain string

	// because is why another needs less than ours, or why ours misses a target:
	// what a profile has shown. It is printed where that is so.
	because string
}

// peer is one who is timed. Exactly one of a row is ours, the measure of the
// ratios; further ones of ours are variants.
type peer struct {
	name   string
	module string // whose version the report prints; "" is ours or the standard library
	floor  bool   // not an implementation, but what none can do without

	// accepts names the bad inputs of the row's test that this peer lets
	// pass: it does less than ours for its time. The test holds it to both.
	accepts []string
	note    string // what else is to be known before comparing
}

const ours = "tenantkit"

// ours tells whether the peer is this module.
func (p peer) ours() bool { return strings.HasPrefix(p.name, ours) }

// benchmark is the name of the peer in what a benchmark prints.
func (p peer) benchmark() string { return strings.ReplaceAll(p.name, " ", "_") }

// ours is the peer that the others are measured by.
func (r row) ours() peer {
	p, _ := r.peer(ours)
	return p
}

func (r row) peer(name string) (peer, bool) {
	i := slices.IndexFunc(r.peers, func(p peer) bool { return p.name == name })
	if i < 0 {
		return peer{}, false
	}
	return r.peers[i], true
}

// others are the implementations that are not ours.
func (r row) others() (peers []peer) {
	for _, p := range r.peers {
		if !p.floor && !p.ours() {
			peers = append(peers, p)
		}
	}
	return peers
}

// with is the row timed with another toolchain. What profiles have shown was of
// the go command's own.
func (r row) with(toolchain string) row {
	r.name, r.title = r.name+suffix(toolchain), r.title+", "+toolchain
	r.toolchain, r.because = toolchain, ""
	return r
}

// suffix ends the names of the rows that are timed with a toolchain.
func suffix(toolchain string) string {
	if toolchain == "" {
		return ""
	}
	return "@" + toolchain
}

// group is the benchmark that the row is a part of.
func (r row) group() string {
	name, _, _ := strings.Cut(strings.TrimSuffix(r.name, suffix(r.toolchain)), "/")
	return name
}

// find returns the row of a name.
func find(name string) (row, bool) {
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
	if i < 0 {
		return row{}, false
	}
	return rows[i], true
}

// process is what runs some benchmarks.
type process struct{ toolchain, pattern, benchtime string }

// processes are the benchmarks that share a process each, in the order of the
// report. Replay stores have one each, which times the growth by so many claims:
// some that are done with leave goroutines and memory behind, for which the next
// one's collections would pay.
func (e effort) processes() (all []process) {
	for _, r := range rows {
		if r.group() != "Replay" {
			all = append(all, process{r.toolchain, "^Benchmark" + r.group() + "$", e.benchtime.String()})
			continue
		}
		for _, p := range r.peers {
			all = append(all, process{"", "^BenchmarkReplay$/^" + p.benchmark() + "(#01)?$", fmt.Sprintf("%dx", e.live/2)})
		}
	}
	for _, benchmark := range []string{growthBenchmark, coresBenchmark} {
		all = append(all, process{"", "^Benchmark" + benchmark + "$", e.benchtime.String()})
	}
	return slices.Compact(all)
}

// toolchains are those that rows are timed with, the go command's own first.
func toolchains() (all []string) {
	for _, r := range rows {
		all = append(all, r.toolchain)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
