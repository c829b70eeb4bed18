package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// quotable returns an error if a report says of itself that it must not be quoted.
func quotable(report []byte) error {
	for line := range bytes.Lines(report) {
		if text, ok := bytes.CutPrefix(line, []byte("**")); ok && bytes.Contains(bytes.ToLower(text), []byte("do not quote")) {
			return errors.New(strings.Trim(string(line), "*\n"))
		}
	}
	return nil
}

// cells are the figures of a peer in a table of a report.
type cells struct {
	time, spread float64 // in ns, and half the distance of the quartiles as a part of it
	allocs       float64 // -1: none was reported
}

// standing is how a peer of ours stands beside the first peer that is not: the floor, if
// there is one. Times of two machines say little, but their ratio does.
type standing struct{ ratio, spread, allocs float64 }

// much is how much worse a figure may be. What is within the spreads of both reports is
// noise, and no figure is worse by it.
const much = 1.25

// compare returns an error that names each row in which ours is worse than before.
func compare(before, after []byte) error {
	var worse []error
	was, is := standings(before), standings(after)
	if len(was) == 0 {
		return errors.New("nothing to compare with")
	}
	for _, r := range rows {
		for _, p := range r.peers {
			if !p.ours() {
				continue
			}
			name := r.title + ": " + p.name
			old, found := was[name]
			current := is[name]
			switch {
			case !found || current.ratio == 0:
				fmt.Fprintf(os.Stderr, "not compared: %s\n", name)
				continue
			case r.sized() && sizes(before) != sizes(after):
				fmt.Fprintf(os.Stderr, "not compared, because of other sizes: %s\n", name)
				continue
			}
			if current.ratio > much*old.ratio && current.ratio*(1-current.spread) > old.ratio*(1+old.spread) {
				worse = append(worse, fmt.Errorf("%s: %s × the time of %s, before %s", name, ratio(current.ratio), r.base().name, ratio(old.ratio)))
			}
			if old.allocs >= 0 && current.allocs > much*old.allocs {
				worse = append(worse, fmt.Errorf("%s: %.0f allocations, before %.0f", name, current.allocs, old.allocs))
			}
		}
	}
	return errors.Join(worse...)
}

// base returns the peer that ours is compared with over time.
func (r row) base() peer {
	for _, p := range r.peers {
		if !p.ours() {
			return p
		}
	}
	return peer{}
}

// sized reports whether the figures of a row depend on the sizes of a run.
func (r row) sized() bool {
	return r.group() == "Replay" || strings.HasPrefix(r.name, pagingPrefix)
}

// sizes returns the line of a report that tells its sizes.
func sizes(report []byte) string {
	_, line, _ := bytes.Cut(report, []byte("\n- Replay stores grow "))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return string(line)
}

// standings reads the tables of a report, by the title of a row and the name of a peer.
func standings(report []byte) map[string]standing {
	all := map[string]standing{}
	for _, r := range rows {
		_, section, _ := strings.Cut(string(report), "\n## "+r.title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		peers := map[string]cells{}
		for line := range strings.Lines(section) {
			columns := strings.Split(line, "|")
			if len(columns) < 6 {
				continue
			}
			if c, ok := cellsOf(columns); ok {
				peers[strings.TrimSpace(columns[1])] = c
			}
		}
		base, ok := peers[title(r.base())]
		for _, p := range r.peers {
			if us, found := peers[title(p)]; ok && found && p.ours() {
				all[r.title+": "+p.name] = standing{us.time / base.time, us.spread + base.spread, us.allocs}
			}
		}
	}
	return all
}

// cellsOf reads the cells behind a peer's name.
func cellsOf(columns []string) (c cells, ok bool) {
	number, unit, _ := strings.Cut(strings.TrimSpace(columns[2]), " ")
	scale, known := map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6}[unit]
	time, err := strconv.ParseFloat(number, 64)
	spread, wrong := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(columns[3]), " %"), 64)
	c = cells{time * scale, spread / 100, -1}
	if allocs, err := strconv.ParseFloat(strings.TrimSpace(columns[4]), 64); err == nil {
		c.allocs = allocs
	}
	return c, known && err == nil && wrong == nil && time > 0
}
