package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// effort is how much a run does.
type effort struct {
	quick      bool
	passes     int
	benchtime  time.Duration
	live, rows int // flags of the benchmarks
}

func effortOf(quick bool) effort {
	if quick {
		return effort{quick: true, passes: 1, benchtime: 10 * time.Millisecond, live: 100_000, rows: 10_000}
	}
	return effort{passes: 3, benchtime: 120 * time.Millisecond, live: 1_000_000, rows: 1_000_000}
}

// turns is how often each peer is timed: twice in a pass.
func (e effort) turns() int { return 2 * e.passes }

// measure runs the tests, and then all benchmarks in each pass: what else the
// machine does meanwhile meets all peers alike, as it would not if each had its
// samples in a row. Each row has a process of its own, so that none pays for
// the garbage and the memory of another.
//
// Binaries are by toolchain.
func (e effort) measure(binaries map[string]string) (*measured, error) {
	own := []string{"-live", strconv.Itoa(e.live), "-rows", strconv.Itoa(e.rows), "-test.timeout=10m"}
	for _, binary := range binaries {
		if err := execute(binary, own, os.Stderr); err != nil {
			return nil, fmt.Errorf("what the report says about the peers is not so: %w", err)
		}
	}
	m := newMeasured()
	for range e.passes {
		for _, p := range e.processes() {
			var text bytes.Buffer
			both := io.MultiWriter(&text, os.Stderr)
			fmt.Fprintf(both, "toolchain: %s\n", p.toolchain)
			args := append(slices.Clone(own), "-test.run=^$", "-test.bench="+p.pattern, "-test.benchtime="+p.benchtime)
			if err := execute(binaries[p.toolchain], args, both); err != nil {
				return nil, fmt.Errorf("%s: %w", p.pattern, err)
			}
			if err := m.read(&text); err != nil {
				return nil, err
			}
		}
	}
	return m, errors.Join(m.complete(e.turns()), m.grew(e.turns(), e.live))
}

// execute runs the benchmarks' binary with the runtime as it is by default.
func execute(binary string, args []string, out io.Writer) error {
	cmd := exec.Command(binary, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		return slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"}, name)
	})
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return cmd.Run()
}
