package main

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// process is a process whose resident memory, in bytes, and CPU time are watched. A nil *process watches nothing.
type process struct {
	pid int
	cpu time.Duration // at the first sample
	rss resident
}

// resident is the resident memory of a process: in the first and the last sample,
// and the greatest of all samples.
type resident struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	Max   int64 `json:"max"`
}

// watch takes the first sample. With pid 0, it watches nothing.
func watch(pid int) (*process, error) {
	if pid == 0 {
		return nil, nil
	}
	rss, cpu, err := usageOf(pid)
	if err != nil {
		return nil, fmt.Errorf("-pid %d: %w", pid, err)
	}
	return &process{pid, cpu, resident{rss, rss, rss}}, nil
}

// watching takes a sample each second until end is called, and one then. If the process is
// gone, the last sample stays.
func (p *process) watching() (end func()) {
	if p == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for more := true; more; {
			select {
			case <-done:
				more = false
			case <-time.After(time.Second):
			}
			if rss, _, err := usageOf(p.pid); err == nil {
				p.rss.Last, p.rss.Max = rss, max(p.rss.Max, rss)
			}
		}
	}()
	return func() { close(done); <-ended }
}

// cpuUsed returns the CPU time that the process has used since the first sample. It is 0
// if nothing is watched or the process is gone.
func (p *process) cpuUsed() time.Duration {
	if p == nil {
		return 0
	}
	_, now, err := usageOf(p.pid)
	if err != nil {
		return 0
	}
	return now - p.cpu
}

func usageOf(pid int) (rss int64, cpu time.Duration, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, err
	}
	stat, err := p.Stat()
	return int64(stat.ResidentMemory()), time.Duration(stat.CPUTime() * float64(time.Second)), err
}
