package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestChanges(t *testing.T) {
	was := &report{
		Requests: 10, Rate: 100, Latency: latency{1, 2, 4, 8, 0},
		Kinds:    map[string]kindReport{"signed": {Rate: 50, Latency: latency{1, 1, 1, 1, 1}}, "session": {Rate: 1}},
		Settings: &settings{Rate: 100, Concurrency: 8, Paths: []string{"/a"}},
	}
	is := &report{
		Requests: 10, Rate: 110, Latency: latency{2, 1, 4, 4, 9}, Failed: 3,
		Kinds:    map[string]kindReport{"signed": {Rate: 25, Latency: latency{1, 1, 1, 1, 1}}, "bearer": {Rate: 1}},
		Settings: &settings{Rate: 200, Concurrency: 8, Paths: []string{"/b"}},
		earlier:  was,
	}
	is.Change = is.changes(was)
	want := map[string]map[string]float64{
		"all":    {"rate": 0.1, "p50": 1, "p90": -0.5, "p99": 0, "p999": -0.5},
		"signed": {"rate": -0.5, "p50": 0, "p90": 0, "p99": 0, "p999": 0, "max": 0},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, is.Change, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var out strings.Builder
	is.writeChanges(&out)
	wantText := `
change %  a second       p50       p90       p99     p99.9       max
signed       -50.0      +0.0      +0.0      +0.0      +0.0      +0.0
all          +10.0    +100.0     -50.0      +0.0     -50.0         -
failed: 0 of 10 before, 3 of 10 now
not the same load: -rate was 100 and is 200
not the same load: -path was ["/a"] and is ["/b"]
`
	if diff := cmp.Diff(wantText, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTwoRuns compares a run with what -json printed of another, and draws it.
func TestTwoRuns(t *testing.T) {
	url := new(service).start(t).URL + "/acme/v2"
	folder := t.TempDir()
	before, svg := filepath.Join(folder, "before.json"), filepath.Join(folder, "run.svg")
	out, _, err := loadgen(t, t.Context(), "-url", url, "-duration", "300ms", "-mix", "bearer=1", "-json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(before, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err = loadgen(t, t.Context(), "-url", url, "-duration", "1500ms", "-mix", "bearer=1", "-compare", before, "-svg", svg)
	if err != nil || !strings.Contains(out, "\nchange % ") || !strings.Contains(out, "-duration was 300ms and is 1.5s") {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(svg)
	if err != nil || strings.Count(string(text), "fill=\"none\"") != 4 {
		t.Errorf("%v\n%s", err, text)
	}
	r, err := measured(t, "-url", url, "-duration", "1900ms", "-mix", "bearer=1", "-compare", before)
	if err != nil || len(r.Change["all"]) < 5 || r.Settings.Duration != "1.9s" {
		t.Errorf("%v %+v", err, r.Change)
	}
	sum := uint64(0)
	for _, s := range r.Series {
		sum += s.Requests
	}
	if sum != r.Requests || len(r.Series) < 2 {
		t.Errorf("%d requests in %d samples, of %d", sum, len(r.Series), r.Requests)
	}
}

func TestFilesThatAreRefusedBeforeTheRun(t *testing.T) {
	s := new(service)
	url, folder := s.start(t).URL+"/acme/v2", t.TempDir()
	empty := filepath.Join(folder, "empty.json")
	if err := os.WriteFile(empty, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"no such report":  {"-compare", filepath.Join(folder, "none.json")},
		"a folder":        {"-compare", folder},
		"no report":       {"-compare", empty},
		"no such folder":  {"-svg", filepath.Join(folder, "none", "run.svg")},
		"not as a report": {"-compare", os.DevNull},
	} {
		_, _, err := loadgen(t, t.Context(), append([]string{"-url", url, "-duration", "5m"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), args[0]) || errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.logins+s.n > 0 {
		t.Error("requests were sent")
	}
}

func TestChart(t *testing.T) {
	for name, samples := range map[string][]sample{
		"nothing":      nil,
		"one second":   {{Second: 1, Rate: 5, Requests: 5, P50: 1, P99: 2}},
		"only zeros":   {{Second: 1}, {Second: 2}},
		"all failed":   {{Second: 1, Rate: 1e6, Requests: 1e6, Failed: 1e6, P50: 1e-3, P99: 1e5}},
		"a whole hour": make([]sample, 3600),
	} {
		var out bytes.Buffer
		r := &report{Series: samples, Settings: &settings{Mix: `<&"'>`, Signature: 1}}
		if err := writeChart(&out, r); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "Inf") {
			t.Errorf("%s: not a number in\n%s", name, out.String())
		}
		decoder := xml.NewDecoder(&out)
		for {
			if _, err := decoder.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// TestLines compares the paths of lines: each sample over its whole second, and a gap where
// nothing was answered.
func TestLines(t *testing.T) {
	samples := []sample{
		{Second: 1, Rate: 100, Requests: 100, P50: 1, P99: 10},
		{Second: 2},
		{Second: 3, Rate: 50, Requests: 50, Failed: 25, P50: 1, P99: 100},
		{Second: 4.5, Rate: 50, Requests: 75, P50: 10, P99: 10},
	}
	x := scale{from: 0, to: 10, length: 100}
	rate, latency := panels[0], panels[1]
	for _, test := range []struct {
		name  string
		panel panel
		line  line
		y     scale
		want  string
	}{
		{"the rate", rate, rate.lines[0], scale{to: 100, length: 100}, "M0.0 100.0H10.0V0.0H20.0V50.0H30.0V50.0H45.0"},
		{"failures", rate, rate.lines[1], scale{to: 100, length: 100}, "M0.0 0.0H10.0V0.0H20.0V25.0H30.0V0.0H45.0"},
		{"latency", latency, latency.lines[0], scale{from: 1, to: 100, length: 100, logarithmic: true}, "M0.0 50.0H10.0M20.0 100.0H30.0V50.0H45.0"},
	} {
		if got := test.panel.steps(test.line, x, test.y, samples); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestTicks(t *testing.T) {
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) })
	for _, test := range []struct {
		name      string
		got, want []float64
	}{
		{"a rate", ticks(3260, 5), []float64{0, 1000, 2000, 3000, 4000}},
		{"seconds", ticks(12.004, 8), []float64{0, 2, 4, 6, 8, 10, 12, 14}},
		{"ten minutes", ticks(600, 8), []float64{0, 100, 200, 300, 400, 500, 600}},
		{"a round number", ticks(10, 5), []float64{0, 2, 4, 6, 8, 10}},
		{"a part of a second", ticks(0.3, 3), []float64{0, 0.1, 0.2, 0.3}},
		{"nothing", ticks(0, 5), []float64{0, 1}},
		{"latencies", decades(1.5, 78), []float64{1, 2, 5, 10, 20, 50, 100}},
		{"latencies that begin at a mark", decades(2, 3), []float64{2, 5}},
		{"latencies between two marks", decades(6, 7), []float64{5, 10}},
		{"one latency", decades(1, 1), []float64{1, 2}},
		{"latencies over many powers", decades(0.02, 3000), []float64{0.01, 0.1, 1, 10, 100, 1000, 10000}},
		{"no latency", decades(math.Inf(1), 0), []float64{1, 10}},
	} {
		if diff := cmp.Diff(test.want, test.got, near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestNiceAbove(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, -1: 1, 1: 1, 1.1: 2, 2: 2, 3: 5, 51: 100, 0.03: 0.05, 999: 1000} {
		if got := niceAbove(v); math.Abs(got-want) > want/1e9 {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
}

func TestTallyByTheSecond(t *testing.T) {
	var tally tally
	var got histogram
	tally.add(time.Millisecond, nil)
	tally.add(time.Millisecond, errors.New("so not"))
	if failed := tally.takeRecent(&got); failed != 1 || got.n() != 2 {
		t.Errorf("%d of %d", failed, got.n())
	}
	if failed := tally.takeRecent(&got); failed != 0 || got.n() != 2 {
		t.Errorf("counted twice: %d of %d", failed, got.n())
	}
	if n, failed := tally.counts(); n != 2 || failed != 1 {
		t.Errorf("the whole run: %d of %d", failed, n)
	}
}

// TestSeries takes samples at given times. What is left of a second at the end is not a
// sample of its own.
func TestSeries(t *testing.T) {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	l, s := new(load), newSeries(began)
	answer := func(n int) {
		for range n {
			l.tallies[signed].add(time.Millisecond, nil)
		}
	}
	answer(10)
	s.take(l, at(1000))
	s.take(l, at(2000))
	answer(30)
	l.tallies[bearer].add(time.Millisecond, errors.New("so not"))
	s.take(l, at(3000))
	answer(2)
	s.end(l, at(3300))
	want := []sample{{1, 10, 10, 0, 1, 1}, {2, 0, 0, 0, 0, 0}, {3.3, 33 / 1.3, 33, 1, 1, 1}}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-3 })
	if diff := cmp.Diff(want, s.samples, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReportIsReadAsItWasWritten(t *testing.T) {
	url := new(service).start(t).URL + "/acme/v2"
	out, _, err := loadgen(t, t.Context(), "-url", url, "-duration", "200ms", "-json")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := readReport(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(r)
	if err != nil || string(again)+"\n" != out {
		t.Errorf("%v\n%s\n%s", err, again, out)
	}
}
