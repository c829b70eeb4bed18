package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// follow takes a sample of the memory and of the requests each second, and shows them
// on a terminal. The function that it returns stops that, and returns the samples.
func (p program) follow(l *load, m *memory) (stop func() []sample) {
	var follower sync.WaitGroup
	done := make(chan struct{})
	s := newSeries(time.Now())
	follower.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		view := live{p: p}
		for {
			select {
			case <-done:
				view.clear()
				s.end(l, time.Now())
				return
			case now := <-tick.C:
				m.sample()
				s.take(l, now)
				view.show(l, s)
			}
		}
	})
	return func() []sample {
		close(done)
		follower.Wait()
		return s.samples
	}
}

// live is some lines of a terminal that are written again each second.
type live struct {
	p     program
	lines int // on the screen now
}

const (
	barCells   = 30 // of the bar that shows the time
	sparkCells = 40 // one for each of the last seconds
)

func (v *live) show(l *load, s *series) {
	if !v.p.terminal {
		return
	}
	last := s.samples[len(s.samples)-1]
	var failed uint64
	var parts []string
	for k := range kinds {
		if l.o.mix[k] > 0 {
			n, errs := l.tallies[k].counts()
			failed += errs
			parts = append(parts, fmt.Sprintf("%v %d", k, n))
		}
	}
	recent := s.samples[max(0, len(s.samples)-sparkCells):]
	failures := fmt.Sprintf("failed      %d", failed)
	if failed > 0 {
		failures = v.p.red(failures)
	}
	v.draw([]string{
		fmt.Sprintf("%.0f s of %v  %s", last.Second, l.o.duration, timeBar(last.Second/l.o.duration.Seconds())),
		fmt.Sprintf("a second    %-9.0f %s", last.Rate, spark(recent, func(s sample) float64 { return s.Rate })),
		fmt.Sprintf("p50 in ms   %-9.3f %s", last.P50, spark(recent, func(s sample) float64 { return s.P50 })),
		fmt.Sprintf("p99 in ms   %-9.3f %s", last.P99, spark(recent, func(s sample) float64 { return s.P99 })),
		"requests    " + strings.Join(parts, "  "),
		failures,
	})
}

// draw replaces the lines on the screen. They are cut at its edge: a line that wrapped
// would move all others.
func (v *live) draw(lines []string) {
	v.clear()
	for _, line := range lines {
		fmt.Fprintln(v.p.errs, cut(line, v.p.columns()-1))
	}
	v.lines = len(lines)
}

// clear removes the lines.
func (v *live) clear() {
	if v.lines > 0 {
		fmt.Fprintf(v.p.errs, "\x1b[%dA\x1b[J", v.lines)
	}
	v.lines = 0
}

// cut shortens a line to some characters, unless it has colours: such a line is short.
func cut(line string, width int) string {
	if strings.Contains(line, "\x1b") || width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width])
}

func timeBar(share float64) string {
	full := int(min(max(share, 0), 1) * barCells)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", barCells-full) + "]"
}

// spark draws values as bars of one character, the greatest the highest.
func spark(samples []sample, value func(sample) float64) string {
	const levels = "▁▂▃▄▅▆▇█"
	bars := []rune(levels)
	most := 0.0
	for _, s := range samples {
		most = max(most, value(s))
	}
	var drawn strings.Builder
	for _, s := range samples {
		level := 0
		if most > 0 {
			level = int(value(s) / most * float64(len(bars)-1))
		}
		drawn.WriteRune(bars[level])
	}
	return drawn.String()
}

// red colours text, unless the user refuses colours (no-color.org).
func (p program) red(text string) string {
	if p.getenv("NO_COLOR") != "" || p.getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[31m" + text + "\x1b[0m"
}
