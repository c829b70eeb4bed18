package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// printed is the output of a run in which each peer of a row takes one nanosecond more
// than the peer before.
func printed() string {
	var b strings.Builder
	b.WriteString("goos: linux\ncpu: Some CPU @ 3 GHz\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "toolchain: %s\n", r.toolchain)
		for i, p := range r.peers {
			fmt.Fprintf(&b, "Benchmark%s/%s-16 \t 1000\t %d.5 ns/op\t 8 B/op\t 0 allocs/op\t 40 B/request\t 10 ns/GC\n",
				strings.TrimSuffix(r.name, suffix(r.toolchain)), p.benchmark(), i+1)
		}
	}
	return b.String() + "PASS\n"
}

func readAll(t *testing.T, texts ...string) *measured {
	t.Helper()
	m := newMeasured()
	for _, text := range texts {
		if err := m.read(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestMedians(t *testing.T) {
	r, _ := find("BearerFirst")
	line := func(ns string) string {
		return "BenchmarkBearerFirst/auth0_validator-2   \t     148\t " + ns + " ns/op\t     424 B/op\t      11 allocs/op\n"
	}
	m := readAll(t, "cpu: A CPU\n"+line("30"), line("10"), line("20.5"), line("1e6"), line("5"))
	p := peer{name: "auth0 validator"}
	for unit, want := range map[string]float64{unitTime: 20.5, unitBytes: 424, unitAllocs: 11} {
		if got, ok := m.median(r, p, unit); !ok || got != want {
			t.Errorf("%s: %v, %v, want %v", unit, got, ok, want)
		}
	}
	if _, ok := m.median(r, p, unitGC); ok {
		t.Error("a median of no samples")
	}
	if m.cpu != "A CPU" {
		t.Errorf("CPU %q", m.cpu)
	}
}

func TestUnreadableFiguresAreAnError(t *testing.T) {
	if err := newMeasured().read(strings.NewReader("BenchmarkWhere/x-2 10 fast ns/op\n")); err == nil {
		t.Error("read")
	}
}

func TestAReportNeedsEachPeer(t *testing.T) {
	text := printed()
	one, two := func(row) int { return 1 }, func(row) int { return 2 }
	if err := readAll(t, text).complete(one); err != nil {
		t.Errorf("all were printed: %v", err)
	}
	if err := readAll(t, text).complete(two); err == nil {
		t.Error("one of two samples is missing, and nothing is said")
	}
	without := strings.Replace(text, "BenchmarkWhere/json_into_any", "BenchmarkWhere/another", 1)
	if err := readAll(t, without).complete(one); err == nil {
		t.Error("json into any is missing, and nothing is said")
	}
}

func TestReportSaysWhereOursLoses(t *testing.T) {
	const slow = "BenchmarkWhere/tenantkit-16 \t 1000\t 10 ns/op\t 8 B/op\t 3 allocs/op\n"
	text := strings.Replace(printed(), "BenchmarkWhere/tenantkit", "BenchmarkOther/tenantkit", 1) + slow
	won := string(report{measured: readAll(t, printed())}.markdown())
	lost := string(report{measured: readAll(t, text)}.markdown())
	if strings.Contains(won, "- Parse a where") {
		t.Error("a loss where there is none")
	}
	for _, want := range []string{
		"- Parse a where of 211 bytes: 4.00 × the time and 3 instead of 0 allocations of json into any (which lets pass an unknown operator",
	} {
		if !strings.Contains(lost, want) {
			t.Errorf("missing: %s", want)
		}
	}
}

func TestTurnsOfOnePeerAreItsSamples(t *testing.T) {
	r, _ := find("Where")
	m := readAll(t, "BenchmarkWhere/json_into_any 10 4 ns/op\nBenchmarkWhere/json_into_any#01 10 8 ns/op\n"+
		"BenchmarkWhere/json_into_any-2 10 5 ns/op\nBenchmarkWhere/json_into_any#01-2 10 7 ns/op\n")
	p, _ := r.peer("json into any")
	if median, spread := m.time(r, p), m.spread(r, p); median != 6 || spread != 2.0/6 {
		t.Errorf("median %v, spread %v", median, spread)
	}
}

func TestTargets(t *testing.T) {
	m := readAll(t, printed()) // ours is the second peer of its row, and takes 2.5 ns
	of := func(peer string) figure { return timeOf("BearerAgain", peer) }
	for _, c := range []struct {
		name          string
		target        target
		met           bool
		subject, goal string
	}{
		{"a time that is reached", target{figure: of(ours), bound: 2.5}, true, "tenantkit, time", "≤ 2.50 ns"},
		{"a time that is not", target{figure: of(ours), bound: 2}, false, "tenantkit, time", "≤ 2.00 ns"},
		{"a ratio", target{figure: of(ours), per: of("map"), bound: 1.6}, false, "tenantkit ÷ map", "≤ 1.60"},
		{"a lead", target{figure: of("golang-jwt"), per: of(ours), least: true, bound: 1.4}, true, "golang-jwt ÷ tenantkit", "≥ 1.40"},
		{"a lead too small", target{figure: of("golang-jwt"), per: of(ours), least: true, bound: 2}, false, "golang-jwt ÷ tenantkit", "≥ 2.00"},
		{"another row", target{figure: of(ours), per: timeOf("Where", ours), bound: 1.7}, true,
			"tenantkit ÷ tenantkit in Parse a where of 211 bytes", "≤ 1.70"},
		{"a part of a time", target{figure: of("golang-jwt"), less: of("map"), per: of(ours), bound: 0.8}, true,
			"(golang-jwt − map) ÷ tenantkit", "≤ 0.80"},
		{"none at all", target{figure: allocsOf("BearerAgain", ours)}, true, "tenantkit, allocations", "≤ 0"},
	} {
		if c.target.subject() != c.subject || c.target.goal() != c.goal || m.met(c.target) != c.met {
			t.Errorf("%s: %q, %q, met is %v", c.name, c.target.subject(), c.target.goal(), m.met(c.target))
		}
	}
}

func TestMissedTargetsAreLosses(t *testing.T) {
	text := string(report{measured: readAll(t, printed())}.markdown())
	for _, want := range []string{
		"the target of plain handler ÷ tenantkit is ≥ 0.92, and it is 0.60",
		"| plain handler ÷ tenantkit | ≥ 0.92 | 0.60 | **missed** |",
		"| tenantkit, bytes per request | ≤ 48 | 40 | met |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
}

func TestTheSummaryLeavesOutAPeerThatIsNotThere(t *testing.T) {
	text := string(report{measured: readAll(t, printed())}.markdown())
	if want := "\n| CPU of a whole server for a request | 2.50 ns | 1.67 | | |\n"; !strings.Contains(text, want) {
		t.Errorf("missing: %s", want)
	}
}

func TestDisturbedRuns(t *testing.T) {
	for _, c := range []struct {
		name      string
		commit    string
		end       moment // a minute after the start
		disturbed bool
	}{
		{"busy with the run alone", "abc1234", moment{all: 72 * time.Second, own: 70 * time.Second}, false},
		{"busy with others", "abc1234", moment{all: 72 * time.Second, own: 65 * time.Second}, true},
		{"another machine of the host was served", "abc1234", moment{all: 70 * time.Second, own: 70 * time.Second, stolen: time.Second}, true},
		{"a system that does not say", "abc1234", moment{all: -1}, true},
		{"code that no commit has", "abc1234-dirty", moment{all: 70 * time.Second, own: 70 * time.Second}, true},
		{"no repository", "unknown", moment{all: 70 * time.Second, own: 70 * time.Second}, true},
	} {
		c.end.at = time.Unix(60, 0)
		m := machine{cores: 2, commit: c.commit, start: moment{at: time.Unix(0, 0)}, end: c.end}
		text := string(report{machine: m, measured: readAll(t, printed())}.markdown())
		if strings.Contains(text, "**Disturbed: ") != c.disturbed {
			t.Errorf("%s: %q", c.name, m.disturbances())
		}
		if marked := quotable([]byte(text)) != nil; marked != c.disturbed {
			t.Errorf("%s: marked is %v", c.name, marked)
		}
	}
}

// This machine says what its CPUs do, and what this process has taken of it.
func TestMomentsCountTheCPU(t *testing.T) {
	start := now()
	if start.all < 0 {
		t.Skip("no /proc/stat")
	}
	for until := time.Now().Add(200 * time.Millisecond); time.Now().Before(until); {
	}
	end := now()
	if own := end.own - start.own; own <= 0 || own > time.Second || end.all-start.all < own/2 {
		t.Errorf("own %v of %v", own, end.all-start.all)
	}
}

func TestPlotsAreXML(t *testing.T) {
	m := readAll(t, printed())
	for name, p := range map[string]plot{"scope": scopePlot(m, "Scope check", scopePrefix), "scope text": scopePlot(m, "Scope check by text", scopeTextPrefix), "paging": pagingPlot(m, 1000)} {
		picture := p.svg()
		for _, l := range p.lines {
			if !bytes.Contains(picture, []byte(">"+l.name+"<")) {
				t.Errorf("%s: no line %s", name, l.name)
			}
		}
		for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

func TestNamesOfLinesKeepApart(t *testing.T) {
	y := axis{1, 1000, bottom, top, true}
	var p plot
	for _, end := range []float64{100, 101, 99, 100, 5} {
		p.lines = append(p.lines, line{points: []point{{1, end}}})
	}
	heights := p.names(y)
	if alone := p.lines[4].end(y); heights[4] != alone {
		t.Errorf("a name with room stands at %v, its line at %v", heights[4], alone)
	}
	slices.Sort(heights)
	for i := range len(heights) - 1 {
		if gap := heights[i+1] - heights[i]; gap < labelHeight-1e-9 {
			t.Errorf("%v between two names", gap)
		}
	}
}

// Each row has one peer that is ours, and names that benchmarks print unchanged.
func TestRows(t *testing.T) {
	for _, r := range rows {
		n := 0
		for _, p := range r.peers {
			if p.name == ours {
				n++
			}
			if strings.Contains(p.name, "/") {
				t.Errorf("%s: %q would be read as part of a row", r.name, p.name)
			}
			if match := benchmarkLine.FindStringSubmatch("BenchmarkX/" + p.benchmark() + " 1 1 ns/op"); match[2] != p.benchmark() {
				t.Errorf("%s: on one core %q would be read as %q on more", r.name, p.name, match[2])
			}
		}
		if n != 1 {
			t.Errorf("%s: %d of ours", r.name, n)
		}
	}
}
