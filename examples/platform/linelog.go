package main

import (
	"io"
	"sync"
	"time"
)

const (
	lineLogSize     = 256 << 10   // bytes of the log that wait to be written, at most
	lineLogDelay    = time.Second // how long they wait while their writer keeps up
	lineLogPatience = time.Second // how long a request waits for a writer that does not
)

// lineLog writes the log in a goroutine of its own, many whole lines at once: a system
// call for each request would cost more than logging it.
//
// Where its writer is slow, requests wait, for a second at most. Then lines are lost at
// once until something has been written, and the log says how many. So neither memory
// nor waiting grows without bound. From direct on each line is written before Write
// returns. A process that is killed or crashes before loses a second of the log.
type lineLog struct {
	to   io.Writer
	lose func(lines int) // told how many were lost, once lines are written again

	mu      sync.Mutex
	lines   []byte        // not yet taken to be written
	spare   []byte        // those written before: two buffers take turns
	in, out int64         // bytes, those lost aside
	passed  chan struct{} // closed when lines have been written
	direct  bool
	stuck   bool // somebody has waited in vain since
	lost    int

	wake  chan struct{}
	ended chan struct{}
}

// newLineLog returns a log that has to be closed.
func newLineLog(to io.Writer) *lineLog {
	l := &lineLog{to: to, passed: make(chan struct{}), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go l.run()
	return l
}

// Write takes one line, or several whole ones. It never fails: nobody could be told.
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

// writeThrough writes what waits, and from then on each line at once.
func (l *lineLog) writeThrough() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.direct = true
	l.awaitWritten()
}

// close writes what waits, as far as the writer takes it in time, and ends the log.
func (l *lineLog) close() {
	l.writeThrough()
	close(l.ended)
}

// hasRoom reports whether so many bytes more may wait. A line that is longer than all
// may, too, if it is alone. The caller holds the lock.
func (l *lineLog) hasRoom(n int) bool {
	waiting := l.in - l.out
	return waiting == 0 || waiting+int64(n) <= lineLogSize
}

// hurry has lines written now.
func (l *lineLog) hurry() {
	select {
	case l.wake <- struct{}{}:
	default: // it will be
	}
}

// awaitWritten waits for what has been added by now. The caller holds the lock.
func (l *lineLog) awaitWritten() {
	end := l.in
	l.await(func() bool { return l.out >= end })
}

// await reports whether done has come true in time. It is asked again whenever lines
// have been written. The caller holds the lock, which is free while await waits.
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

// pause waits until lines have been written, and reports whether that came first. It
// gives the lock back meanwhile.
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
	var rest []byte // of what a write did not take
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
		n, _ := l.to.Write(rest) // the rest is tried again, so that no line is torn
		rest = rest[n:]
		l.pass(n)
	}
}

// take returns the lines that wait.
func (l *lineLog) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines, l.spare = l.spare[:0], lines
	return lines
}

// pass notes that so many bytes were written, and tells those who wait.
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
		go l.lose(l.lost) // it logs, and so may wait for this goroutine
		l.lost = 0
	}
}
