package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// memory is the resident memory of a process, in bytes, as Linux tells it in
// /proc. A nil *memory watches nothing. It is safe for concurrent use.
type memory struct {
	pid int
	mu  sync.Mutex
	rss resident
}

// resident is what a process had at first and at last, and the most of it.
type resident struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	Max   int64 `json:"max"`
}

// watch takes the first sample. No process is 0.
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
	return m, nil
}

// sample looks again. A process that is gone keeps what it had.
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

// resident returns what was seen, nil if nothing was watched.
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
