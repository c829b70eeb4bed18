package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// process is a process whose resident memory, in bytes, and CPU time are watched, as Linux
// shows them in /proc. A nil *process watches nothing.
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

func (p *process) resident() *resident {
	if p == nil {
		return nil
	}
	return &p.rss
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

// usageOf reads fields 14, 15 and 24 of proc_pid_stat(5): the time in user and in system
// mode, in hundredths of a second, and the pages in memory. A name stands before them, which
// may contain blanks and parentheses.
func usageOf(pid int) (rss int64, cpu time.Duration, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return 0, 0, fmt.Errorf("stat: %q", text)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	pages, err3 := strconv.ParseInt(fields[21], 10, 64)
	return pages * int64(os.Getpagesize()), time.Duration(user+system) * time.Second / 100, errors.Join(err1, err2, err3)
}
