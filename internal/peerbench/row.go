package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one table of the report: one operation, and all implementations of it.
type row struct {
	name  string // name of the benchmark without "Benchmark", such as Scope, or Scope/1000 for a part of it; with the toolchain, if it has one
	title string
	text  string // what is timed
	peers []peer

	// toolchain is the version of Go that times the row; "" means that of the go
	// command.
	toolchain string

	// because tells why another peer needs less than ours, or why ours misses a target.
	// It comes from a profile. The report prints it only if one of the two is true.
	because string
}

// peer is an implementation that is timed. Exactly one peer of a row is ours, the base
// of the ratios. Other peers of this module are variants of ours.
type peer struct {
	name   string
	module string // the report prints its version; "" is ours or the standard library
	floor  bool   // no implementation, but a step that every implementation needs

	// accepts lists the bad inputs of the row's test that this peer accepts: it does
	// less than ours in its time. The test checks that the list is exact.
	accepts []string
	note    string // what else a reader must know before comparing
}

const ours = "tenantkit"

// ours reports whether the peer is this module.
func (p peer) ours() bool { return strings.HasPrefix(p.name, ours) }

// benchmark returns the name of the peer in a benchmark's output.
func (p peer) benchmark() string { return strings.ReplaceAll(p.name, " ", "_") }

// ours returns the peer that is the base of the ratios.
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

// others returns the implementations that are not ours.
func (r row) others() (peers []peer) {
	for _, p := range r.peers {
		if !p.floor && !p.ours() {
			peers = append(peers, p)
		}
	}
	return peers
}

// with returns the row for another toolchain. It has no reason, because the profiles
// are of the go command's own toolchain.
func (r row) with(toolchain string) row {
	r.name, r.title = r.name+suffix(toolchain), r.title+", "+toolchain
	r.toolchain, r.because = toolchain, ""
	return r
}

// suffix returns the end of the names of rows that are timed with a toolchain.
func suffix(toolchain string) string {
	if toolchain == "" {
		return ""
	}
	return "@" + toolchain
}

// group returns the name of the benchmark that the row is a part of.
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

// process is a run of some benchmarks in their own process.
type process struct{ toolchain, pattern, benchtime string }

// processes returns the processes of a pass, in the order of the report. Each replay
// store has its own process, because the first claims time its growth. Some stores
// leave goroutines and memory behind, and the next store's garbage collections would
// pay for them.
func (e effort) processes() (all []process) {
	for _, r := range rows {
		if r.group() != "Replay" {
			benchtime := e.benchtime
			if r.group() == "Server" {
				benchtime = max(benchtime, 100*time.Millisecond) // a server also works between its requests
			}
			all = append(all, process{r.toolchain, "^Benchmark" + r.group() + "$", benchtime.String()})
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

// pinned returns the beginning of a command that keeps a process on one core, the last one,
// because the system handles its interrupts on the first. Then the scheduler moves nothing
// while it is timed, and collections of garbage count in full. It returns nil for
// processes that need two cores, on a system without taskset, and in a container that may
// not use this core.
func (p process) pinned() []string {
	for _, group := range []string{"Loopback", "Server", coresBenchmark} {
		if p.pattern == "^Benchmark"+group+"$" {
			return nil
		}
	}
	pin := []string{"taskset", "-c", strconv.Itoa(runtime.NumCPU() - 1)}
	if exec.Command(pin[0], append(pin[1:], "true")...).Run() != nil {
		return nil
	}
	return pin
}

// toolchains returns the toolchains of all rows, the go command's own first.
func toolchains() (all []string) {
	for _, r := range rows {
		all = append(all, r.toolchain)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
