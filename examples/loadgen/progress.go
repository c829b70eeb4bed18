package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// follow samples the memory each second. On a terminal, it also shows the progress
// of the load. The function that it returns stops both.
func (p program) follow(l *load, m *memory) (stop func()) {
	var follower sync.WaitGroup
	done := make(chan struct{})
	follower.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		began, before := time.Now(), uint64(0)
		for {
			select {
			case <-done:
				p.line("")
				return
			case <-tick.C:
				m.sample()
				before = p.progress(l, time.Since(began), before)
			}
		}
	})
	return func() {
		close(done)
		follower.Wait()
	}
}

// progress shows how many requests have been answered, and returns that number.
func (p program) progress(l *load, passed time.Duration, before uint64) uint64 {
	var sum, failed uint64
	var parts strings.Builder
	for k := range kinds {
		if l.o.mix[k] > 0 {
			n, errs := l.tallies[k].counts()
			sum, failed = sum+n, failed+errs
			fmt.Fprintf(&parts, "  %v %d", k, n)
		}
	}
	p.line(fmt.Sprintf("%3.0f s %7d/s %s  failed %d", passed.Seconds(), sum-before, parts.String(), failed))
	return sum
}

// line replaces the last line of a terminal.
func (p program) line(text string) {
	if p.terminal {
		fmt.Fprintf(p.errs, "\r\x1b[K%s", text)
	}
}
