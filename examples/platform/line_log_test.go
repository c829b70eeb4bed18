package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// takes is a writer that takes a limited number of bytes at a time, and none while
// it is shut.
type takes struct {
	mu   sync.Mutex
	most int
	text bytes.Buffer
}

func (w *takes) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, _ := w.text.Write(b[:min(w.most, len(b))])
	if n < len(b) {
		return n, errors.New("full")
	}
	return n, nil
}

func (w *takes) set(most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = most
}

func (w *takes) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestALineIsWrittenWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &takes{most: 1 << 20}
		l := newLineLog(w)
		defer l.close()
		fmt.Fprintln(l, "one")
		fmt.Fprintln(l, "two")
		if got := w.String(); got != "" {
			t.Errorf("at once: %q", got)
		}
		time.Sleep(lineLogDelay)
		synctest.Wait()
		if got := w.String(); got != "one\ntwo\n" {
			t.Errorf("after a second: %q", got)
		}
	})
}

func TestNoLineIsLostAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 7, 1 << 20} { // no line is torn where a write ends
		synctest.Test(t, func(t *testing.T) {
			w := &takes{most: most}
			l := newLineLog(w)
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					for n := range 50 {
						fmt.Fprintf(l, "line %d of %d\n", n, i)
					}
				})
			}
			all.Wait()
			l.close()
			seen := make(map[string]bool)
			for line := range strings.Lines(w.String()) {
				seen[line] = true
			}
			for i := range 8 {
				for n := range 50 {
					if line := fmt.Sprintf("line %d of %d\n", n, i); !seen[line] {
						t.Fatalf("%d bytes at a time: %q is missing", most, line)
					}
				}
			}
			if len(seen) != 8*50 {
				t.Errorf("%d bytes at a time: %d lines", most, len(seen))
			}
		})
	}
}

func TestAWriterThatTakesNothingCostsASecondOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &takes{}
		l := newLineLog(w)
		var lost []int
		l.lose = func(n int) { lost = append(lost, n) }
		line := strings.Repeat("x", 1023) + "\n"
		began := time.Now()
		for range 1000 {
			fmt.Fprint(l, line)
		}
		if took := time.Since(began); took != lineLogPatience {
			t.Errorf("a thousand lines took %v", took)
		}
		const kept = lineLogSize / 1024
		w.set(1 << 20)
		time.Sleep(3 * lineLogDelay) // one of them for the lines that were taken already
		synctest.Wait()
		if got := w.String(); got != strings.Repeat(line, kept) {
			t.Errorf("%d bytes were kept, not %d", len(got), lineLogSize)
		}
		if len(lost) != 1 || lost[0] != 1000-kept {
			t.Errorf("lost %v, not %d", lost, 1000-kept)
		}
		fmt.Fprint(l, "then\n")
		l.close()
		if !strings.HasSuffix(w.String(), "\nthen\n") {
			t.Error("what came later was lost, too")
		}
	})
}

func TestEachLineIsWrittenAtOnceWhileDraining(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &takes{most: 1 << 20}
		l := newLineLog(w)
		defer l.close()
		fmt.Fprintln(l, "before")
		l.writeThrough()
		fmt.Fprintln(l, "behind")
		if got := w.String(); got != "before\nbehind\n" {
			t.Errorf("%q", got)
		}
	})
}
