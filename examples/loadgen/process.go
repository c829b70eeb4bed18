package main

import (
	"time"

	"github.com/prometheus/procfs"
)

// usage is what a process uses: resident memory in bytes, now and at most since its start, and its CPU time.
type usage struct {
	rss, most uint64
	cpu       time.Duration
}

// usageOf returns what a process on this machine uses, and nothing for pid 0.
func usageOf(pid int) (u usage, err error) {
	if pid == 0 {
		return u, nil
	}
	p, err := procfs.NewProc(pid)
	if err != nil {
		return u, err
	}
	stat, err := p.Stat()
	if err != nil {
		return u, err
	}
	status, err := p.NewStatus()
	return usage{status.VmRSS, status.VmHWM, time.Duration(stat.CPUTime() * float64(time.Second))}, err
}
