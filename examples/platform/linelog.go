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
	var end int64
	added := func() (ok bool) {
		end, ok = l.add(line)
		return ok
	}
	switch {
	case !l.await(added):
		l.mu.Lock()
		l.lost++
		l.mu.Unlock()
	case l.isDirect():
		l.await(func() bool { return l.isWritten(end) })
	}
	return len(line), nil
}

// writeThrough writes what waits, and from then on each line at once.
func (l *lineLog) writeThrough() {
	l.mu.Lock()
	l.direct = true
	end := l.in
	l.mu.Unlock()
	l.await(func() bool { return l.isWritten(end) })
}

// close writes what waits, as far as the writer takes it in time, and ends the log.
func (l *lineLog) close() {
	l.writeThrough()
	close(l.ended)
}

// add adds a line if there is room, and returns where it ends.
func (l *lineLog) add(line []byte) (end int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.in - l.out
	if waiting > 0 && waiting+int64(len(line)) > lineLogSize {
		return 0, false
	}
	l.lines = append(l.lines, line...)
	l.in += int64(len(line))
	if len(l.lines) > lineLogSize/4 {
		l.hurry()
	}
	return l.in, true
}

func (l *lineLog) isWritten(end int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out >= end
}

func (l *lineLog) isDirect() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.direct
}

// hurry has lines written now.
func (l *lineLog) hurry() {
	select {
	case l.wake <- struct{}{}:
	default: // it will be
	}
}

// await reports whether done has come true in time. It is asked again whenever lines
// have been written.
func (l *lineLog) await(done func() bool) bool {
	if done() {
		return true
	}
	timer := time.NewTimer(lineLogPatience)
	defer timer.Stop()
	for {
		l.mu.Lock()
		passed, stuck := l.passed, l.stuck
		l.mu.Unlock()
		if done() {
			return true
		}
		if stuck {
			return false
		}
		l.hurry()
		select {
		case <-passed:
		case <-timer.C:
			l.mu.Lock()
			l.stuck = true
			l.mu.Unlock()
			return false
		}
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
