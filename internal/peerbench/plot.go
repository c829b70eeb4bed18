package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// plot has a line for each peer; the time axis is logarithmic.
type plot struct {
	title, x, y string
	logX        bool
	lines       []line
}

type line struct {
	name   string
	class  string // style of the line
	points []point
}

type point struct{ x, y float64 }

// scopePlot plots the time against the number of chains.
func scopePlot(m *measured, title, prefix string) plot {
	return plot{title, "chains in the list (logarithmic)", "time of a check (logarithmic)", true, m.linesOf(prefix, func(n float64) float64 { return n })}
}

// pagingPlot plots the time against the first row of a page.
func pagingPlot(m *measured, rows int) plot {
	return plot{"A page of 100 rows from SQLite", "row that the page begins behind", "time of a page (logarithmic)", false,
		m.linesOf(pagingPrefix, func(perMille float64) float64 { return perMille * float64(rows) / 1000 })}
}

// linesOf returns the lines of the rows whose name is prefix and a number. x converts
// the number to a value of the horizontal axis.
func (m *measured) linesOf(prefix string, x func(float64) float64) (lines []line) {
	for _, r := range rows {
		last, ok := strings.CutPrefix(r.name, prefix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(last, 64)
		if err != nil {
			panic(err) // rows is part of this program
		}
		if lines == nil {
			lines = linesOf(r.peers)
		}
		for i, p := range r.peers {
			lines[i].points = append(lines[i].points, point{x(n), m.time(r, p)})
		}
	}
	return lines
}

// linesOf returns a line for each peer. Floors, ours and its variants look alike in all
// plots; each other peer has its own colour.
func linesOf(peers []peer) (lines []line) {
	others := 0
	for _, p := range peers {
		l := line{name: p.name, class: "variant"}
		switch {
		case p.floor:
			l.name, l.class = "floor: "+p.name, "floor"
		case p.name == ours:
			l.class = "ours"
		case !p.ours():
			l.class = fmt.Sprintf("other%d", others%colours)
			others++
		}
		lines = append(lines, l)
	}
	return lines
}

// colours is the number of colours for other peers.
const colours = 7

// The picture, in pixels. The names of the lines are right of the frame.
const (
	width, height            = 780, 450
	left, right, top, bottom = 92, 596, 44, 388
	labelHeight              = 16
	labelGap                 = 22 // between the frame and a name; a thin line connects them
)

// axis maps values to pixels.
type axis struct {
	low, high float64
	from, to  float64
	log       bool
}

func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	if high == low {
		return a.from
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// ticks returns the powers of ten of a logarithmic axis, and the quarters of a linear
// one.
func (a axis) ticks() (ticks []float64) {
	if !a.log {
		for i := range 5 {
			ticks = append(ticks, a.low+(a.high-a.low)*float64(i)/4)
		}
		return ticks
	}
	for v := a.low; v <= a.high*1.001; v *= 10 {
		ticks = append(ticks, v)
	}
	return ticks
}

func (p plot) axes() (x, y axis) {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, l := range p.lines {
		for _, at := range l.points {
			low = point{min(low.x, at.x), min(low.y, at.y)}
			high = point{max(high.x, at.x), max(high.y, at.y)}
		}
	}
	x = axis{low.x, high.x, left, right, p.logX}
	y = axis{power(math.Floor(math.Log10(low.y))), power(math.Ceil(math.Log10(high.y))), bottom, top, true}
	return x, y
}

func power(exponent float64) float64 { return math.Pow(10, exponent) }

const style = `<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:600}
.back{fill:#fff}.grid{stroke:#d8dee4}
.line{fill:none;stroke:currentColor;stroke-width:1.7}.lead{fill:none;stroke:currentColor;stroke-width:.7}
circle{fill:currentColor}.name{fill:currentColor}
.ours .line{stroke-width:3.5}.ours .name{font-weight:700}.variant .line{stroke-dasharray:7 3}.floor .line{stroke-dasharray:2 3}
.ours,.variant{color:#0550ae}.floor{color:#57606a}
.other0{color:#bc4c00}.other1{color:#1a7f37}.other2{color:#8250df}.other3{color:#bf3989}.other4{color:#876000}.other5{color:#cf222e}.other6{color:#1b7c83}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.name{fill:currentColor}.back{fill:#0d1117}.grid{stroke:#30363d}
.ours,.variant{color:#79c0ff}.floor{color:#9198a1}
.other0{color:#ffa657}.other1{color:#7ee787}.other2{color:#d2a8ff}.other3{color:#ff9bce}.other4{color:#e3b341}.other5{color:#ff7b72}.other6{color:#56d4dd}}
</style>
`

func (p plot) svg() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n",
		width, height, html.EscapeString(p.title))
	b.WriteString(style)
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d"/><text class="title" x="%d" y="24">%s</text>`+"\n",
		width, height, left, html.EscapeString(p.title))
	x, y := p.axes()
	p.frame(&b, x, y)
	names := p.names(y)
	for i, l := range p.lines {
		l.draw(&b, x, y, names[i])
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (p plot) frame(b *bytes.Buffer, x, y axis) {
	for _, v := range y.ticks() {
		at := y.at(v)
		fmt.Fprintf(b, `<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, at, right, left-8, at+4, tickTime(v))
	}
	for _, v := range x.ticks() {
		at := x.at(v)
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %dV%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			at, top, bottom, at, bottom+18, grouped(v))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n",
		(left+right)/2, bottom+42, html.EscapeString(p.x))
	fmt.Fprintf(b, `<text transform="translate(18 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n",
		(top+bottom)/2, html.EscapeString(p.y))
}

// grouped formats a whole number with a space between thousands.
func grouped(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}

// tickTime formats a power of ten of nanoseconds.
func tickTime(ns float64) string {
	switch {
	case ns < 999:
		return fmt.Sprintf("%.4g ns", ns)
	case ns < 999e3:
		return fmt.Sprintf("%.4g µs", ns/1e3)
	}
	return fmt.Sprintf("%.4g ms", ns/1e6)
}

// draw draws the line, and its name at a height.
func (l line) draw(b *bytes.Buffer, x, y axis, name float64) {
	var path strings.Builder
	for j, at := range l.points {
		fmt.Fprintf(&path, "%s%.1f %.1f", []string{"M", "L"}[min(j, 1)], x.at(at.x), y.at(at.y))
	}
	fmt.Fprintf(b, `<g class="%s"><path class="line" d="%s"/>`, l.class, path.String())
	for _, at := range l.points {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3"/>`, x.at(at.x), y.at(at.y))
	}
	fmt.Fprintf(b, `<path class="lead" d="M%d %.1fL%d %.1f"/><text class="name" x="%d" y="%.1f">%s</text></g>`+"\n",
		right, l.end(y), right+labelGap-4, name, right+labelGap, name+4, html.EscapeString(l.name))
}

// end returns the height at which the line meets the right side of the frame.
func (l line) end(y axis) float64 { return y.at(l.points[len(l.points)-1].y) }

// names returns the heights of the lines' names, as near to the ends of the lines as
// there is room. Names that would overlap move by equal distances.
func (p plot) names(y axis) []float64 {
	order := make([]int, len(p.lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.lines[a].end(y), p.lines[b].end(y)) })
	var stacks []stack
	for _, i := range order {
		stacks = append(stacks, stack{middle: p.lines[i].end(y), names: []int{i}})
		for len(stacks) > 1 && stacks[len(stacks)-2].touches(stacks[len(stacks)-1]) {
			last := stacks[len(stacks)-1]
			stacks = stacks[:len(stacks)-1]
			stacks[len(stacks)-1] = stacks[len(stacks)-1].with(last)
		}
	}
	heights := make([]float64, len(p.lines))
	for _, s := range stacks {
		for i, name := range s.names {
			heights[name] = s.top() + labelHeight*(float64(i)+0.5)
		}
	}
	return heights
}

// stack is a group of names one below the other, around the mean of their preferred
// heights.
type stack struct {
	middle float64
	names  []int
}

func (s stack) half() float64        { return labelHeight * float64(len(s.names)) / 2 }
func (s stack) top() float64         { return s.middle - s.half() }
func (s stack) touches(o stack) bool { return s.middle+s.half() > o.top() }

func (s stack) with(o stack) stack {
	n, m := float64(len(s.names)), float64(len(o.names))
	return stack{(s.middle*n + o.middle*m) / (n + m), append(s.names, o.names...)}
}
