package main

import (
	"bytes"
	"fmt"
	"slices"
)

// figure is a quantity of one peer of a row.
type figure struct{ row, peer, unit string }

func timeOf(row, peer string) figure   { return figure{row, peer, unitTime} }
func allocsOf(row, peer string) figure { return figure{row, peer, unitAllocs} }

// target is a limit of a figure, or of its ratio to another figure.
type target struct {
	figure figure
	less   figure // subtracted from the figure first, if set
	per    figure // the divisor; if unset, the limit is of the figure itself
	least  bool   // bound is a minimum
	bound  float64
}

// targets are this module's own targets, in the order of the rows. A missed target is
// no error; a target that no benchmark measures is.
var targets = slices.Concat([]target{
	{figure: timeOf("Signature", "tenantkit verify"), per: timeOf("Signature", "HMAC"), bound: 1.85},
	{figure: allocsOf("Signature", ours), bound: 0},
	{figure: timeOf("Replay", ours), per: timeOf("Replay", "cache misses"), bound: 1.9},
	{figure: timeOf("Replay", ours), per: timeOf("Replay", "ttlcache"), bound: 0.4},
	{figure: figure{"Replay", ours, unitBytes}, bound: 150},
	{figure: figure{"Replay", ours, unitRequest}, bound: 48},
	{figure: figure{"Replay", ours, unitGC}, bound: 5e6},
	{figure: timeOf("BearerFirst", ours), per: timeOf("BearerFirst", "RSA"), bound: 1.12},
	{figure: timeOf("BearerAgain", ours), per: timeOf("BearerAgain", "map"), bound: 3},
	{figure: allocsOf("BearerAgain", ours), bound: 0},
	{figure: timeOf("Scope/1", ours), per: timeOf("Scope/1", "map"), bound: 3},
	{figure: allocsOf("Scope/1", ours), bound: 0},
	{figure: timeOf("Scope/1000", ours), per: timeOf("Scope/1000", "map"), bound: 3},
	{figure: allocsOf("Scope/1000", ours), bound: 0},
	{figure: timeOf("ScopeText/1", ours), per: timeOf("ScopeText/1", "map"), bound: 3},
	{figure: allocsOf("ScopeText/1", ours), bound: 0},
	{figure: timeOf("ScopeText/1000", ours), per: timeOf("ScopeText/1000", "map"), bound: 3},
	{figure: allocsOf("ScopeText/1000", ours), bound: 0},
	{figure: timeOf("ScopeRoute", ours), less: timeOf("ScopeRoute", "tenantkit authenticated"), per: timeOf("ScopeRoute", "map"), bound: 3},
	{figure: allocsOf("ScopeRoute", ours), bound: 0},
	{figure: timeOf("ScopeCompile", ours), bound: 1000 * 100},
	{figure: timeOf("Session", ours), per: timeOf("Session", "map"), bound: 1.2},
	{figure: allocsOf("Session", ours), bound: 0},
	{figure: timeOf("APIKey", ours), per: timeOf("APIKey", "SHA-256 look-up"), bound: 1.2},
	{figure: allocsOf("APIKey", ours), bound: 0},
	{figure: timeOf("Guard", ours), per: timeOf("Guard", "authn-go"), bound: 3.5},
	{figure: allocsOf("Guard", ours), bound: 1},
	{figure: figure{"Guard", ours, unitBytes}, bound: 1024},
	{figure: timeOf("Guard", "tenantkit signature"), per: timeOf("Guard", ours), bound: 2},
	{figure: timeOf("Loopback", "plain handler"), per: timeOf("Loopback", ours), least: true, bound: 0.92},
	{figure: timeOf("Loopback", "plain handler"), per: timeOf("Loopback", "tenantkit signature"), least: true, bound: 0.92},
	{figure: timeOf("Loopback", "plain handler"), per: timeOf("Loopback", "tenantkit session"), least: true, bound: 0.92},
	{figure: timeOf("Server", ours), per: timeOf("Server", "plain server"), bound: 5},
},
	jsonTargets(""), jsonTargets(nextGo), pagingTargets())

// jsonTargets returns the targets of the rows beside encoding/json, for one version of
// Go.
func jsonTargets(toolchain string) []target {
	of := func(row, peer string) figure { return timeOf(row+suffix(toolchain), peer) }
	return []target{
		{figure: of("Where", ours), per: of("Where", "json into any"), bound: 0.7},
		{figure: of("PageDecode", ours), per: of("PageDecode", "json.Unmarshal"), bound: 1},
		{figure: of("PageWalk", ours), per: of("PageWalk", "stripe-go"), bound: 0.9},
	}
}

func pagingTargets() (all []target) {
	for _, d := range depths {
		name := pagingPrefix + d.perMille
		all = append(all, target{figure: timeOf(name, ours), per: timeOf(name, "row comparison"), bound: 1})
	}
	return all
}

// targetTable writes for each target whether this run has met it.
func (p report) targetTable(b *bytes.Buffer) {
	b.WriteString("## Targets\n\ntenantkit's own targets. They are ratios where possible, because ratios hold on other machines, too.\n\n" +
		"| operation | figure | target | measured | |\n|---|---|--:|--:|---|\n")
	for _, t := range targets {
		r, _ := find(t.figure.row)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", r.title, t.subject(), t.goal(), t.text(p.reached(t)), p.verdict(t))
	}
	b.WriteString("\n")
}

// reached returns the measured figure, or the ratio of the two medians.
func (m *measured) reached(t target) float64 {
	v, _ := m.figure(t.figure)
	if t.less != (figure{}) {
		less, _ := m.figure(t.less)
		v -= less
	}
	if !t.isRatio() {
		return v
	}
	per, _ := m.figure(t.per)
	return v / per
}

func (p report) verdict(t target) string {
	if p.met(t) {
		return "met"
	}
	return "**missed**"
}

func (m *measured) met(t target) bool {
	v := m.reached(t)
	if t.least {
		return v >= t.bound
	}
	return v <= t.bound
}

func (t target) isRatio() bool { return t.per != figure{} }

func (t target) subject() string {
	if !t.isRatio() {
		return t.figure.peer + ", " + unitNames[t.figure.unit]
	}
	per := t.per.peer
	if t.per.row != t.figure.row {
		r, _ := find(t.per.row)
		per += " in " + r.title
	}
	if t.less != (figure{}) {
		return fmt.Sprintf("(%s − %s) ÷ %s", t.figure.peer, t.less.peer, per)
	}
	return t.figure.peer + " ÷ " + per
}

func (t target) goal() string {
	if t.least {
		return "≥ " + t.text(t.bound)
	}
	return "≤ " + t.text(t.bound)
}

// text formats a value in the unit of the target.
func (t target) text(v float64) string {
	switch {
	case t.isRatio():
		return ratio(v)
	case t.figure.unit == unitTime, t.figure.unit == unitGC:
		return duration(v)
	}
	return fmt.Sprintf("%.0f", v)
}
