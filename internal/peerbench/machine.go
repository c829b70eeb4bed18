package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
	at   time.Time
	load float64 // load average of the last minute; negative if the system has none
}

func now() moment { return moment{time.Now(), load()} }

// load reads the load average from Linux; other systems have no such file.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	load := -1.0
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		return -1
	}
	return load
}

// disturbances returns why the figures of a run must not be quoted. The limit at the
// end is higher because the run itself sometimes uses all cores.
func (m machine) disturbances() (all []string) {
	idle, busy := float64(m.cores)/2, float64(m.cores)+1
	if m.start.load > idle {
		all = append(all, fmt.Sprintf("the load average at the start was %.1f, above %.1f", m.start.load, idle))
	}
	if m.end.load > busy {
		all = append(all, fmt.Sprintf("the load average at the end was %.1f, above %.1f", m.end.load, busy))
	}
	if m.start.load < 0 || m.end.load < 0 {
		all = append(all, "the load of the machine is not known")
	}
	return all
}

// machineOf returns the machine of a run. The run has printed the CPU.
func machineOf(cpu string, start moment) (machine, error) {
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
		cpu: cpu, goVersion: runtime.Version(), cores: runtime.NumCPU(), versions: versions,
		commit: strings.TrimSpace(string(commit)), start: start, end: now(),
	}, nil
}
