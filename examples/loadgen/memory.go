package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memory watches the resident memory of a process, in bytes, and its CPU time, as
// Linux shows them in /proc. A nil *memory watches nothing. It is safe for
// concurrent use.
type memory struct {
	pid int
	cpu time.Duration // at the first sample
	mu  sync.Mutex
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
func watch(pid int) (*memory, error) {
	if pid == 0 {
		return nil, nil
	}
	m := &memory{pid: pid}
	now, err := residentOf(pid)
	if err != nil {
		return nil, fmt.Errorf("-pid %d: %w", pid, err)
	}
	m.rss = resident{now, now, now}
	m.cpu, err = cpuOf(pid)
	return m, err
}

// cpuUsed returns the CPU time that the process has used since the first sample, in
// user and in system mode. It is 0 if nothing is watched or the process is gone.
func (m *memory) cpuUsed() time.Duration {
	if m == nil {
		return 0
	}
	now, err := cpuOf(m.pid)
	if err != nil {
		return 0
	}
	return now - m.cpu
}

// cpuOf reads fields 14 and 15 of proc_pid_stat(5), in hundredths of a second. A
// name stands before them, which may contain blanks and parentheses.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("stat: %q", text)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / 100, err
}

// sample takes another sample. If the process is gone, the last sample stays.
func (m *memory) sample() {
	if m == nil {
		return
	}
	now, err := residentOf(m.pid)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rss.Last, m.rss.Max = now, max(m.rss.Max, now)
}

// resident returns the samples, or nil if nothing was watched.
func (m *memory) resident() *resident {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rss := m.rss
	return &rss
}

func residentOf(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm: %q", text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
