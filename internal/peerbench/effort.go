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

// effort is the amount of work of a run.
type effort struct {
	quick      bool
	passes     int
	rounds     int // of a process: each peer is timed twice in a round
	benchtime  time.Duration
	live, rows int // the benchmarks' flags of these names
}

func effortOf(quick bool) effort {
	if quick {
		return effort{quick: true, passes: 1, rounds: 3, benchtime: 10 * time.Millisecond, live: 100_000, rows: 10_000}
	}
	// Many short samples: what disturbs one of them is an outlier of its peer, and what
	// lasts longer disturbs all peers of the row alike.
	return effort{passes: 3, rounds: 3, benchtime: 30 * time.Millisecond, live: 1_000_000, rows: 1_000_000}
}

// turns is how often each peer of a row is timed. A replay store takes one round in each
// process, because each turn fills it anew.
func (e effort) turns(r row) int {
	if r.group() == "Replay" {
		return 2 * e.passes
	}
	return 2 * e.passes * e.rounds
}

// measure runs the tests, and then all benchmarks in each pass. The peers of a row take
// turns, so that other load on the machine affects all of them alike. Each row has its
// own process, so that no row pays for the garbage and the memory of another.
//
// binaries maps a toolchain to its binary.
func (e effort) measure(binaries map[string]string) (*measured, error) {
	own := []string{"-live", strconv.Itoa(e.live), "-rows", strconv.Itoa(e.rows), "-rounds", strconv.Itoa(e.rounds), "-test.timeout=10m"}
	for _, binary := range binaries {
		if err := execute(append([]string{binary}, own...), os.Stderr); err != nil {
			return nil, fmt.Errorf("what the report says about the peers is not so: %w", err)
		}
	}
	m := newMeasured()
	for range e.passes {
		for _, p := range e.processes() {
			var text bytes.Buffer
			both := io.MultiWriter(&text, os.Stderr)
			fmt.Fprintf(both, "toolchain: %s\n", p.toolchain)
			args := append(append(p.pinned(), binaries[p.toolchain]), own...)
			args = append(args, "-test.run=^$", "-test.bench="+p.pattern, "-test.benchtime="+p.benchtime)
			if err := execute(args, both); err != nil {
				return nil, fmt.Errorf("%s: %w", p.pattern, err)
			}
			if err := m.read(&text); err != nil {
				return nil, err
			}
		}
	}
	return m, errors.Join(m.complete(e.turns), m.grew(e.turns(row{}), e.live))
}

// execute runs a benchmark binary with the default settings of the Go runtime.
func execute(command []string, out io.Writer) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		return slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"}, name)
	})
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return cmd.Run()
}
