package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
not the same load: rate was 100 and is 200
not the same load: paths was [/a] and is [/b]
`
	if diff := cmp.Diff(wantText, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTwoRuns compares a run with what -json printed of another, and draws it.
func TestTwoRuns(t *testing.T) {
	url := new(service).start(t).URL + "/acme/v2"
	folder := t.TempDir()
	before, page := filepath.Join(folder, "before.json"), filepath.Join(folder, "run.html")
	out, _, err := loadgen(t, t.Context(), "-url", url, "-duration", "300ms", "-mix", "bearer=1", "-json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(before, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err = loadgen(t, t.Context(), "-url", url, "-duration", "1500ms", "-mix", "bearer=1", "-compare", before, "-plot", page)
	if err != nil || !strings.Contains(out, "\nchange % ") || !strings.Contains(out, "duration was 300ms and is 1.5s") {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "bearer") || strings.Contains(string(text), testToken) {
		t.Errorf("%v, %d bytes", err, len(text))
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
		"no such folder":  {"-plot", filepath.Join(folder, "none", "run.html")},
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
