package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// machine is the environment that the figures depend on.
type machine struct {
	cpu, goVersion, commit string
	cores                  int
	versions               map[string]string // by module
	start, end             moment
}

// moment is the state of the machine at a time.
type moment struct {
	at time.Time

	// all is the CPU time of all processes since the machine was started, and negative if
	// the system does not tell it. own is that of this run, and stolen what the host gave to
	// other machines.
	all, own, stolen time.Duration
}

// now reads what Linux tells of the CPUs; other systems have no such files.
func now() moment {
	m := moment{at: time.Now(), all: -1}
	var user, nice, system, idle, wait, irq, soft, steal int64
	text, err := os.ReadFile("/proc/stat")
	if err == nil {
		_, err = fmt.Sscan(strings.TrimPrefix(string(text), "cpu"), &user, &nice, &system, &idle, &wait, &irq, &soft, &steal)
	}
	self, _ := os.ReadFile("/proc/self/stat")
	// The name of the program, which may have blanks, is in brackets.
	fields := strings.Fields(string(self[bytes.LastIndexByte(self, ')')+1:]))
	if err != nil || len(fields) < 15 {
		return m
	}
	const tick = time.Second / 100
	for _, field := range fields[11:15] { // of this process and of children that have ended
		n, _ := strconv.ParseInt(field, 10, 64)
		m.own += time.Duration(n) * tick
	}
	m.all, m.stolen = time.Duration(user+nice+system)*tick, time.Duration(steal)*tick
	return m
}

// others and stolen return the part of one core that other processes, and other machines
// of the host, took during the run.
func (m machine) others() float64 {
	return float64((m.end.all-m.start.all)-(m.end.own-m.start.own)) / float64(m.end.at.Sub(m.start.at))
}

func (m machine) stolen() float64 {
	return float64(m.end.stolen-m.start.stolen) / float64(m.end.at.Sub(m.start.at))
}

// disturbances returns why the figures of a run must not be quoted.
func (m machine) disturbances() (all []string) {
	const mostOthers, mostStolen = 0.05, 0.01
	if strings.HasSuffix(m.commit, "-dirty") || m.commit == "unknown" {
		all = append(all, "no commit has this code")
	}
	if m.start.all < 0 || m.end.all < 0 {
		return append(all, "the load of the machine is not known")
	}
	if others := m.others(); others > mostOthers {
		all = append(all, fmt.Sprintf("other processes took %s of a core, above %s", percent(others), percent(mostOthers)))
	}
	if stolen := m.stolen(); stolen > mostStolen {
		all = append(all, fmt.Sprintf("other machines took %s of a core, above %s", percent(stolen), percent(mostStolen)))
	}
	return all
}

// machineOf returns the machine before a run. The run prints the CPU.
func machineOf() (machine, error) {
	versions := map[string]string{}
	list, err := goCommand("", "list", "-m", "-f", "{{.Path}} {{.Version}}", "all")
	if err != nil {
		return machine{}, err
	}
	for line := range strings.Lines(list) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		versions[path] = version
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	return machine{
		goVersion: runtime.Version(), cores: runtime.NumCPU(), versions: versions,
		commit: strings.TrimSpace(string(commit)), start: now(),
	}, nil
}
