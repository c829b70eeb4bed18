package main

import (
	"bytes"
	"fmt"
)

// figure is what one peer of a row needs.
type figure struct{ row, peer, unit string }

func timeOf(row, peer string) figure   { return figure{row, peer, unitTime} }
func allocsOf(row, peer string) figure { return figure{row, peer, unitAllocs} }

// target is a bound of a figure, or of its ratio to another.
type target struct {
	figure figure
	per    figure // none: the figure itself is bounded
	least  bool   // the bound is a minimum
	bound  float64
}

// targets are what this module has set itself, in the order of the rows. That
// they are missed is no error; a target that nothing measures is.
var targets = []target{
	{figure: timeOf("Signature", "tenantkit verify"), per: timeOf("Signature", "HMAC"), bound: 2},
	{figure: allocsOf("Signature", ours), bound: 0},
	{figure: timeOf("Replay", ours), bound: 300},
	{figure: figure{"Replay", ours, unitRequest}, bound: 60},
	{figure: figure{"Replay", ours, unitGC}, bound: 5e6},
	{figure: timeOf("BearerFirst", ours), per: timeOf("BearerFirst", "RSA"), bound: 1.25},
	{figure: timeOf("BearerAgain", ours), bound: 200},
	{figure: allocsOf("BearerAgain", ours), bound: 0},
	{figure: timeOf("BearerAgain", "golang-jwt"), per: timeOf("BearerAgain", ours), least: true, bound: 150},
	{figure: timeOf("Scope/1", ours), bound: 15},
	{figure: timeOf("Scope/1000", ours), bound: 15},
	{figure: timeOf("Scope/1", "tenantkit text"), bound: 30},
	{figure: timeOf("Scope/1000", "tenantkit text"), bound: 30},
	{figure: allocsOf("Scope/1000", ours), bound: 0},
	{figure: allocsOf("Scope/1000", "tenantkit text"), bound: 0},
	{figure: timeOf("ScopeCompile", ours), bound: 1000 * 200},
	{figure: timeOf("Session", ours), bound: 600},
	{figure: allocsOf("Session", ours), bound: 8},
	{figure: timeOf("Guard", "tenantkit signature"), bound: 1200},
	{figure: timeOf("Guard", ours), bound: 600},
	{figure: timeOf("Loopback", "plain handler"), per: timeOf("Loopback", ours), least: true, bound: 0.85},
	{figure: timeOf("Loopback", "plain handler"), per: timeOf("Loopback", "tenantkit signature"), least: true, bound: 0.85},
	{figure: timeOf("Loopback", "plain handler"), per: timeOf("Loopback", "tenantkit session"), least: true, bound: 0.85},
	{figure: timeOf("Server", ours), per: timeOf("Server", "plain server"), bound: 5},
	{figure: timeOf("Where", ours), bound: 4000},
	{figure: timeOf("PageDecode", ours), per: timeOf("PageDecode", "json.Unmarshal"), bound: 1.05},
	{figure: timeOf("Paging/900", ours), per: timeOf("Paging/900", "row comparison"), bound: 1.2},
	{figure: timeOf("Paging/1000", ours), per: timeOf("Paging/0", ours), bound: 1.3},
}

// targetTable says of each target whether this run has met it.
func (p report) targetTable(b *bytes.Buffer) {
	b.WriteString("## Targets\n\nWhat tenantkit has set itself. Ratios hold anywhere; times were set for another machine.\n\n" +
		"| operation | figure | target | measured | |\n|---|---|--:|--:|---|\n")
	for _, t := range targets {
		r, _ := find(t.figure.row)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", r.title, t.subject(), t.goal(), t.text(p.reached(t)), p.verdict(t))
	}
	b.WriteString("\n")
}

// reached is the figure, or the ratio of the two medians.
func (m *measured) reached(t target) float64 {
	v, _ := m.figure(t.figure)
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
	return t.figure.peer + " ÷ " + per
}

func (t target) goal() string {
	if t.least {
		return "≥ " + t.text(t.bound)
	}
	return "≤ " + t.text(t.bound)
}

// text writes a value in the unit of the target.
func (t target) text(v float64) string {
	switch {
	case t.isRatio():
		return ratio(v)
	case t.figure.unit == unitTime, t.figure.unit == unitGC:
		return duration(v)
	}
	return fmt.Sprintf("%.0f", v)
}
