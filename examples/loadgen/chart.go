package main

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// The measures of a chart, in pixels.
const (
	chartWidth  = 800
	panelHeight = 180
	marginLeft  = 70
	marginTop   = 100
	panelGap    = 60
	plotWidth   = chartWidth - marginLeft - 30
)

// line is one line of a panel. Where value is not above 0, a logarithmic panel has a gap.
type line struct {
	name, colour string
	value        func(sample) float64
}

// panel is a diagram over the time of the run.
type panel struct {
	title       string
	logarithmic bool // for values that differ by powers of ten
	lines       []line
}

// panels are the panels of a chart, from above.
var panels = []panel{
	{"requests a second", false, []line{
		{"all", "#1f6feb", func(s sample) float64 { return s.Rate }},
		{"failed", "#cf222e", func(s sample) float64 {
			return s.Rate * float64(s.Failed) / math.Max(float64(s.Requests), 1)
		}},
	}},
	{"latency in ms, on a logarithmic scale", true, []line{
		{"p99", "#8250df", func(s sample) float64 { return s.P99 }},
		{"p50", "#1a7f37", func(s sample) float64 { return s.P50 }},
	}},
}

// writeChart draws a run as an SVG document, for a browser or a report. It needs no script,
// no font and no other file.
func writeChart(w io.Writer, r *report) error {
	height := marginTop + len(panels)*(panelHeight+panelGap) - 10
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n", chartWidth, height)
	title := fmt.Sprintf("%d requests in %.1f s, %d failed", r.Requests, r.Seconds, r.Failed)
	fmt.Fprintf(&out, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", title)
	fmt.Fprintf(&out, `<text x="%d" y="30" font-size="16" font-weight="bold">%s</text>`+"\n", marginLeft, title)
	fmt.Fprintf(&out, `<text x="%d" y="50" fill="#555">%s</text>`+"\n", marginLeft, html.EscapeString(r.Settings.summary()))
	for i, p := range panels {
		p.write(&out, marginTop+i*(panelHeight+panelGap), r.Series)
	}
	out.WriteString("</svg>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// summary says in one line which load it was.
func (s *settings) summary() string {
	if s == nil {
		return ""
	}
	rate := "as fast as possible"
	if s.Rate > 0 {
		rate = fmt.Sprintf("%g a second", s.Rate)
	}
	return fmt.Sprintf("%s, %d in flight at most, %s, signatures of version %d", rate, s.Concurrency, s.Mix, s.Signature)
}

// write draws a panel whose plot begins at top.
func (p *panel) write(out *strings.Builder, top int, samples []sample) {
	end, least, most := 0.0, math.Inf(1), 0.0
	for _, s := range samples {
		end = max(end, s.Second)
		for _, l := range p.lines {
			v := l.value(s)
			most = max(most, v)
			if v > 0 {
				least = min(least, v)
			}
		}
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", marginLeft, top-14, p.title)
	x := scale{from: 0, to: max(end, 1e-9), start: marginLeft, length: plotWidth}
	for _, t := range ticks(end, 8) {
		if t <= end {
			fmt.Fprintf(out, `<path d="M%.1f %dv5" stroke="#555"/><text x="%.1f" y="%d" text-anchor="middle">%s s</text>`+"\n",
				x.at(t), top+panelHeight, x.at(t), top+panelHeight+18, label(t))
		}
	}
	y, marks := p.yScale(top, least, most)
	for _, m := range marks {
		fmt.Fprintf(out, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			marginLeft, y.at(m), plotWidth, marginLeft-6, y.at(m)+4, label(m))
	}
	for n, l := range p.lines {
		fmt.Fprintf(out, `<path fill="none" stroke="%s" stroke-width="1.5" d="%s"/>`+"\n", l.colour, p.steps(l, x, y, samples))
		right := marginLeft + plotWidth - 80*(len(p.lines)-1-n)
		fmt.Fprintf(out, `<path d="M%d %dh14" stroke="%s" stroke-width="3"/><text x="%d" y="%d">%s</text>`+"\n",
			right-60, top-18, l.colour, right-42, top-14, l.name)
	}
}

// yScale returns the scale of the values, and where its lines are.
func (p *panel) yScale(top int, least, most float64) (scale, []float64) {
	y := scale{start: float64(top + panelHeight), length: -panelHeight, logarithmic: p.logarithmic}
	var marks []float64
	if p.logarithmic {
		marks = decades(least, most)
	} else {
		marks = ticks(most, 5)
	}
	y.from, y.to = marks[0], marks[len(marks)-1]
	return y, marks
}

// steps returns the path of a line. A sample is what happened in its second, so it is drawn
// over the whole of it: a line from point to point would show values that nobody measured.
func (p *panel) steps(l line, x, y scale, samples []sample) string {
	var path strings.Builder
	from, drawing := 0.0, false
	for _, s := range samples {
		v := l.value(s)
		switch {
		case p.logarithmic && v <= 0: // nothing was answered
			drawing = false
		case drawing:
			fmt.Fprintf(&path, "V%.1fH%.1f", y.at(v), x.at(s.Second))
		default:
			fmt.Fprintf(&path, "M%.1f %.1fH%.1f", x.at(from), y.at(v), x.at(s.Second))
			drawing = true
		}
		from = s.Second
	}
	return path.String()
}

// scale gives a value its pixel.
type scale struct {
	from, to      float64
	start, length float64
	logarithmic   bool
}

func (s scale) at(v float64) float64 {
	if s.logarithmic {
		return s.start + s.length*math.Log(v/s.from)/math.Log(s.to/s.from)
	}
	return s.start + s.length*(v-s.from)/(s.to-s.from)
}

// ticks returns round numbers from 0, of which the last is not below most. There are about
// as many as wanted, and two at least.
func ticks(most float64, wanted int) []float64 {
	step := niceAbove(most / float64(wanted))
	all := []float64{0}
	for n := 1; n == 1 || all[n-1] < most*(1-1e-9); n++ {
		all = append(all, float64(n)*step)
	}
	return all
}

// decades returns 1, 2 and 5 times the powers of ten, or only these if they are many, from
// below least to above most.
func decades(least, most float64) []float64 {
	if !(least <= most) {
		return []float64{1, 10}
	}
	factors := []float64{1, 2, 5}
	if most > 1000*least {
		factors = factors[:1]
	}
	var all []float64
	for power := math.Floor(math.Log10(least)); ; power++ {
		for _, factor := range factors {
			v := factor * math.Pow(10, power)
			if len(all) == 1 && v <= least {
				all = all[:0] // v is nearer to the least value
			}
			all = append(all, v)
			if len(all) > 1 && v >= most {
				return all
			}
		}
	}
}

// niceAbove returns 1, 2 or 5 times a power of ten that is not below v.
func niceAbove(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= v {
			return factor * power
		}
	}
	return 10 * power
}

// label formats a number with three digits and no exponent.
func label(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
