package main

import (
	"bytes"
	"fmt"
	"strings"
)

// compared lists the units in which less is better.
var compared = []string{unitTime, unitAllocs, unitBytes, unitRequest, unitGC}

// losses writes where another implementation needs less than ours, and where ours
// misses a target.
func (p report) losses(b *bytes.Buffer) {
	b.WriteString("## Where tenantkit loses\n\n")
	n, because := 0, ""
	for _, r := range rows {
		losses := append(p.lossesOf(r), p.missesOf(r)...)
		if len(losses) == 0 {
			continue
		}
		n++
		fmt.Fprintf(b, "- %s: %s.", r.title, strings.Join(losses, "; "))
		if r.because != "" && r.because != because { // rows of one benchmark share the reason
			fmt.Fprintf(b, " %s", r.because)
		}
		because = r.because
		b.WriteString("\n")
	}
	if n == 0 {
		b.WriteString("In this run, nowhere: no peer needs less time, memory or allocations in any row, and no target is missed.\n")
	}
	b.WriteString("\n")
}

func (p report) missesOf(r row) (misses []string) {
	for _, t := range targets {
		if t.figure.row == r.name && !p.met(t) {
			misses = append(misses, fmt.Sprintf("the target of %s is %s, and it is %s", t.subject(), t.goal(), t.text(p.reached(t))))
		}
	}
	return misses
}

// lossesOf returns an entry for each peer that needs less of something.
func (p report) lossesOf(r row) (losses []string) {
	for _, other := range r.others() {
		var more []string
		for _, unit := range compared {
			us, ok := p.median(r, r.ours(), unit)
			them, measured := p.median(r, other, unit)
			if ok && measured && us > them && ratio(us/them) != ratio(1) {
				more = append(more, loss(unit, us, them))
			}
		}
		if len(more) > 0 {
			losses = append(losses, fmt.Sprintf("%s of %s", strings.Join(more, " and "), other.does()))
		}
	}
	return losses
}

func loss(unit string, us, them float64) string {
	if them == 0 {
		return fmt.Sprintf("%.0f instead of 0 %s", us, unitNames[unit])
	}
	return fmt.Sprintf("%s × the %s", ratio(us/them), unitNames[unit])
}

// does returns the peer's name, and what it does not check.
func (p peer) does() string {
	if len(p.accepts) == 0 {
		return p.name
	}
	return p.name + " (which lets pass " + strings.Join(p.accepts, ", ") + ")"
}
