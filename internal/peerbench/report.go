package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// report is the content of RESULTS.md.
type report struct {
	effort
	machine
	*measured
}

func (p report) markdown() []byte {
	var b bytes.Buffer
	p.head(&b)
	p.summary(&b)
	p.targetTable(&b)
	p.losses(&b)
	for _, r := range rows {
		p.table(&b, r)
		switch r.name {
		case scopePrefix + counts[len(counts)-1]:
			b.WriteString("![Time of a scope check against the number of chains](scope.svg)\n\n")
		case scopeTextPrefix + counts[len(counts)-1]:
			b.WriteString("![Time of a scope check by text against the number of chains](scopetext.svg)\n\n")
		case pagingPrefix + depths[len(depths)-1].perMille:
			b.WriteString("![Time of a page against the row it begins behind](paging.svg)\n\n")
		}
	}
	p.growthTable(&b)
	p.coresTable(&b)
	p.foot(&b)
	return b.Bytes()
}

func (p report) head(b *bytes.Buffer) {
	b.WriteString("# tenantkit beside its peers\n\n")
	if p.quick {
		b.WriteString("**A quick run: one short pass over small tables. It shows that the code works; do not quote its figures.**\n\n")
	}
	again := "GOWORK=off go run . -o RESULTS.md"
	if p.quick {
		again += " -quick"
	}
	fmt.Fprintf(b, "Made by `%s`, not by hand.\n\n", again)
	for _, d := range append(p.disturbances(), p.scatter()...) {
		fmt.Fprintf(b, "**Disturbed: %s. Do not quote these figures.**\n\n", d)
	}
	fmt.Fprintf(b, "- Machine: %s, %d cores; %s, its garbage collector and scheduler as they are by default. What needs no second\n"+
		"  core is kept on one\n", p.machine.cpu, p.cores, p.goVersion)
	fmt.Fprintf(b, "- Commit %s, %s, %v long; other processes took %s of a core, and other machines %s\n",
		p.commit, p.start.at.UTC().Format("2006-01-02 15:04 MST"), p.end.at.Sub(p.start.at).Round(time.Second), percent(p.others()), percent(p.stolen()))
	fmt.Fprintf(b, "- Medians of %d samples of at least %v. Passes: %d, each with a process for each row, which times all peers\n"+
		"  in turn and then again in reverse order, %d times. ± is half the distance of the quartiles, %s for the median figure\n",
		p.turns(row{}), p.benchtime, p.passes, p.rounds, percent(p.usualSpread()/2))
	fmt.Fprintf(b, "- Replay stores grow from %d requests to %d while they are timed; the paged table has %d rows\n", p.live/2, p.live, p.rows)
	fmt.Fprintf(b, "- Rows whose title names a version of Go are of a binary built with %s\n\n", nextGo)
	b.WriteString("A ratio below 1 is faster than tenantkit, or than the floor. A floor is no implementation but a step that every\n" +
		"implementation needs. What a peer lets pass was tried before it was timed: it is work that the peer does not do.\n" +
		"All times include the call of a closure or two, those of floors, too.\n\n")
}

// scatter returns a disturbance that the use of the CPUs has not shown.
func (p report) scatter() []string {
	const most = 0.05
	if half := p.usualSpread() / 2; half > most {
		return []string{fmt.Sprintf("the median figure has a ± of %s, above %s", percent(half), percent(most))}
	}
	return nil
}

// summary writes a line for each row.
func (p report) summary(b *bytes.Buffer) {
	b.WriteString("| operation | tenantkit | × floor | fastest peer | its time ÷ ours |\n|---|--:|--:|---|--:|\n")
	for _, r := range rows {
		us := p.time(r, r.ours())
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.title, duration(us), p.overFloor(r, us), p.beside(r, us))
	}
	b.WriteString("\n")
}

// beside returns the fastest peer with its time, and that time divided by ours. Both
// are empty for a row that has only a floor and ours.
func (p report) beside(r row, us float64) string {
	if len(r.others()) == 0 {
		return "|"
	}
	fastest := p.fastest(r)
	ns := p.time(r, fastest)
	return fmt.Sprintf("%s %s | %s", fastest.name, duration(ns), ratio(ns/us))
}

func (p report) fastest(r row) peer {
	var best peer
	for _, candidate := range r.others() {
		if best.name == "" || p.time(r, candidate) < p.time(r, best) {
			best = candidate
		}
	}
	return best
}

func (p report) table(b *bytes.Buffer, r row) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", r.title, r.text)
	_, stored := p.median(r, r.ours(), unitRequest)
	columns, rule := "| peer | time | ± | allocs | bytes | ÷ tenantkit | ÷ floor |", "|---|--:|--:|--:|--:|--:|--:|"
	if stored {
		columns, rule = columns+" bytes per request | full GC |", rule+"--:|--:|"
	}
	fmt.Fprintf(b, "%s lets pass | about |\n%s---|---|\n", columns, rule)
	us := p.time(r, r.ours())
	for _, peer := range r.peers {
		ns := p.time(r, peer)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |", title(peer), duration(ns), percent(p.spread(r, peer)/2), p.count(r, peer, unitAllocs),
			p.count(r, peer, unitBytes), ratio(ns/us), p.overFloor(r, ns))
		if stored {
			fmt.Fprintf(b, " %s | %s |", p.count(r, peer, unitRequest), p.collected(r, peer))
		}
		fmt.Fprintf(b, " %s | %s |\n", strings.Join(peer.accepts, "; "), peer.note)
	}
	b.WriteString("\n")
}

func title(p peer) string {
	switch {
	case p.floor:
		return "_floor: " + p.name + "_"
	case p.ours():
		return "**" + p.name + "**"
	}
	return p.name
}

func (p report) overFloor(r row, ns float64) string {
	for _, peer := range r.peers {
		if peer.floor {
			return ratio(ns / p.time(r, peer))
		}
	}
	return ""
}

func (p report) count(r row, peer peer, unit string) string {
	n, ok := p.median(r, peer, unit)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%.0f", n)
}

func (p report) collected(r row, peer peer) string {
	ns, ok := p.median(r, peer, unitGC)
	if !ok {
		return ""
	}
	return duration(ns)
}

// duration formats ns with three digits.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return digits(ns) + " ns"
	case ns < 1e6:
		return digits(ns/1e3) + " µs"
	}
	return digits(ns/1e6) + " ms"
}

func percent(part float64) string { return digits(100*part) + " %" }

func ratio(x float64) string { return digits(x) }

func digits(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func (p report) foot(b *bytes.Buffer) {
	b.WriteString("## Peers\n\n| module | version |\n|---|---|\n")
	for _, module := range modules() {
		fmt.Fprintf(b, "| %s | %s |\n", module, p.versions[module])
	}
	b.WriteString("\nNot here:\n\n")
	for _, d := range dropped {
		fmt.Fprintf(b, "- %s\n", d)
	}
	b.WriteString("\n## Measured elsewhere\n\nFigures that need an engine or the inside of a package. Run the commands in the root of the repository.\n\n" +
		"| operation | target | command |\n|---|---|---|\n")
	for _, e := range elsewhere {
		fmt.Fprintf(b, "| %s | %s | %s |\n", e.operation, e.target, e.where)
	}
}

func modules() (all []string) {
	for _, r := range rows {
		for _, p := range r.peers {
			if p.module != "" {
				all = append(all, p.module)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
