package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// The measures of a chart, in pixels.
const (
	chartWidth  = 800
	panelHeight = 160
	marginLeft  = 70
	marginTop   = 40
	panelGap    = 50
	plotWidth   = chartWidth - marginLeft - 20
)

// line is one line of a panel.
type line struct {
	name, colour string
	value        func(sample) float64
}

// panels are the panels of a chart, from above.
var panels = []struct {
	title string
	lines []line
}{
	{"answered and failed a second", []line{
		{"answered", "#1f6feb", func(s sample) float64 { return s.Rate }},
		{"failed", "#cf222e", func(s sample) float64 {
			return s.Rate * float64(s.Failed) / math.Max(float64(s.Requests), 1)
		}},
	}},
	{"latency in ms", []line{
		{"p99", "#8250df", func(s sample) float64 { return s.P99 }},
		{"p50", "#1a7f37", func(s sample) float64 { return s.P50 }},
	}},
}

// writeChart draws the samples as an SVG document, for a browser or a report. It needs no
// script, no font and no other file.
func writeChart(w io.Writer, samples []sample) error {
	height := marginTop + len(panels)*(panelHeight+panelGap)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n", chartWidth, height)
	fmt.Fprintf(&out, "<title>A load, second by second</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n")
	end := 0.0
	for _, s := range samples {
		end = max(end, s.Second)
	}
	for i, panel := range panels {
		top := marginTop + i*(panelHeight+panelGap)
		most := 0.0
		for _, l := range panel.lines {
			for _, s := range samples {
				most = max(most, l.value(s))
			}
		}
		writePanel(&out, panel.title, top, end, niceAbove(most))
		for n, l := range panel.lines {
			writeLine(&out, l, n, top, samples, end, niceAbove(most))
		}
	}
	out.WriteString("</svg>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// writePanel draws the title and the axes.
func writePanel(out *strings.Builder, title string, top int, end, most float64) {
	const steps = 4
	fmt.Fprintf(out, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", marginLeft, top-14, title)
	for step := range steps + 1 {
		share := float64(step) / steps
		y := float64(top) + panelHeight*(1-share)
		fmt.Fprintf(out, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			marginLeft, y, plotWidth, marginLeft-6, y+4, label(most*share))
		x := marginLeft + plotWidth*share
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%s s</text>`+"\n", x, top+panelHeight+16, label(end*share))
	}
}

func writeLine(out *strings.Builder, l line, n, top int, samples []sample, end, most float64) {
	var points []string
	for _, s := range samples {
		x := marginLeft + plotWidth*s.Second/max(end, 1e-9)
		y := float64(top) + panelHeight*(1-l.value(s)/most)
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
	}
	fmt.Fprintf(out, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="%s"/>`+"\n", l.colour, strings.Join(points, " "))
	fmt.Fprintf(out, `<text x="%d" y="%d" fill="%s" text-anchor="end">%s</text>`+"\n", chartWidth-20-80*n, top-14, l.colour, l.name)
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
