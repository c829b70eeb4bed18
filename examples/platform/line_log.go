package main

import (
	"io"
	"sync"
	"time"
)

const (
	lineLogSize     = 256 << 10   // bytes of the log that wait to be written, at most
	lineLogDelay    = time.Second // how long lines wait if the writer keeps up
	lineLogPatience = time.Second // how long a request waits if the writer does not keep up
)

// lineLog writes the log in a goroutine of its own, many whole lines at once. A
// system call for each request would cost more than to log it.
//
// If the writer is slow, requests wait for a second at most. After that, new lines
// are lost without waiting, until something has been written. The log then says how
// many were lost. So neither memory nor waiting grows without a limit. After
// writeThrough, each line is written before Write returns. A process that is killed
// or crashes before that loses a second of the log.
type lineLog struct {
	to   io.Writer
	lose func(lines int) // told how many lines were lost, once lines are written again

	mu      sync.Mutex
	lines   []byte        // that wait to be written
	spare   []byte        // the lines written before: two buffers take turns
	in, out int64         // bytes added and bytes written; lost lines are not counted
	passed  chan struct{} // closed when lines have been written
	direct  bool
	stuck   bool // a request has waited in vain, and nothing was written since
	lost    int

	wake  chan struct{}
	ended chan struct{}
}

// newLineLog returns a log, which the caller must close.
func newLineLog(to io.Writer) *lineLog {
	l := &lineLog{to: to, passed: make(chan struct{}), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go l.run()
	return l
}

// Write takes one line, or several whole ones. It never returns an error: nothing
// could log it.
func (l *lineLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.await(func() bool { return l.hasRoom(len(line)) }) {
		l.lost++
		return len(line), nil
	}
	l.lines = append(l.lines, line...)
	l.in += int64(len(line))
	if len(l.lines) > lineLogSize/4 {
		l.hurry()
	}
	if l.direct {
		l.awaitWritten()
	}
	return len(line), nil
}

// writeThrough writes the waiting lines. From then on, each line is written at
// once.
func (l *lineLog) writeThrough() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.direct = true
	l.awaitWritten()
}

// close writes the waiting lines, as far as the writer takes them in time, and ends
// the log.
func (l *lineLog) close() {
	l.writeThrough()
	close(l.ended)
}

// hasRoom reports whether n more bytes may wait. A line longer than lineLogSize may
// wait alone. The caller holds the lock.
func (l *lineLog) hasRoom(n int) bool {
	waiting := l.in - l.out
	return waiting == 0 || waiting+int64(n) <= lineLogSize
}

// hurry makes the goroutine write without waiting for its next tick.
func (l *lineLog) hurry() {
	select {
	case l.wake <- struct{}{}:
	default: // it has been told already
	}
}

// awaitWritten waits until all lines added so far are written. The caller holds the
// lock.
func (l *lineLog) awaitWritten() {
	end := l.in
	l.await(func() bool { return l.out >= end })
}

// await reports whether done becomes true in time. It calls done again whenever
// lines have been written. The caller holds the lock, and await releases it while
// it waits.
func (l *lineLog) await(done func() bool) bool {
	var late <-chan time.Time
	for !done() {
		if l.stuck {
			return false
		}
		if late == nil {
			late = time.After(lineLogPatience)
		}
		if !l.pause(late) {
			l.stuck = true
			return false
		}
	}
	return true
}

// pause waits until lines have been written or late fires, and reports whether
// lines have been written. It releases the lock meanwhile.
func (l *lineLog) pause(late <-chan time.Time) bool {
	passed := l.passed
	l.mu.Unlock()
	defer l.mu.Lock()
	l.hurry()
	select {
	case <-passed:
		return true
	case <-late:
		return false
	}
}

func (l *lineLog) run() {
	tick := time.NewTicker(lineLogDelay)
	defer tick.Stop()
	var rest []byte // what a write did not take
	for {
		select {
		case <-tick.C:
		case <-l.wake:
		case <-l.ended:
			return
		}
		if len(rest) == 0 {
			rest = l.take()
		}
		if len(rest) == 0 {
			continue
		}
		n, _ := l.to.Write(rest) // the rest is written next, so that no line is torn
		rest = rest[n:]
		l.pass(n)
	}
}

// take returns the waiting lines and makes room for new ones.
func (l *lineLog) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines, l.spare = l.spare[:0], lines
	return lines
}

// pass counts n written bytes, and wakes those who wait.
func (l *lineLog) pass(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == 0 {
		return
	}
	l.out += int64(n)
	l.stuck = false
	close(l.passed)
	l.passed = make(chan struct{})
	if l.lost > 0 && l.lose != nil {
		go l.lose(l.lost) // lose writes to this log, so it may wait for this goroutine
		l.lost = 0
	}
}
