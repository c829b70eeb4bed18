package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
)

// settings is the load of a report, so that it is not compared with another load in
// silence.
type settings struct {
	Rate        float64  `json:"rate"`
	Concurrency int      `json:"concurrency"`
	Duration    string   `json:"duration"`
	Mix         string   `json:"mix"`
	Signature   int      `json:"signature"`
	Paths       []string `json:"paths"`
}

func (o *options) settings() *settings {
	return &settings{o.rate, o.concurrency, o.duration.String(), o.mix.String(), o.signature, o.paths}
}

// differences says how the settings of two reports differ, the earlier one first.
func (s *settings) differences(earlier *settings) (all []string) {
	if earlier == nil {
		return nil
	}
	was, is := reflect.ValueOf(*earlier), reflect.ValueOf(*s)
	for i := range is.NumField() {
		if name := strings.ToLower(is.Type().Field(i).Name); !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			all = append(all, fmt.Sprintf("%s was %v and is %v", name, was.Field(i), is.Field(i)))
		}
	}
	return all
}

// readReport reads what -json has printed. It is read before a run, so that no run is in
// vain.
func readReport(file string) (*report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-compare: %w", err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("-compare %s: %w", file, err)
	}
	if r.Requests == 0 || r.Rate == 0 {
		return nil, fmt.Errorf("-compare %s: not a report of loadgen -json with requests in it", file)
	}
	return &r, nil
}

// columns are the figures that are compared.
var columns = []string{"rate", "p50", "p90", "p99", "p999", "max"}

// changes returns how the figures differ from those of an earlier report, as a share of
// the earlier figure: 0.1 is 10 % more. The key "all" has the figures of all kinds. A
// figure that was 0 has no change.
func (r *report) changes(earlier *report) map[string]map[string]float64 {
	all := map[string]map[string]float64{"all": changesOf(earlier.Rate, r.Rate, earlier.Latency, r.Latency)}
	for name, part := range r.Kinds {
		if was, ok := earlier.Kinds[name]; ok {
			all[name] = changesOf(was.Rate, part.Rate, was.Latency, part.Latency)
		}
	}
	return all
}

func changesOf(wasRate, isRate float64, was, is latency) map[string]float64 {
	before := []float64{wasRate, was.P50, was.P90, was.P99, was.P999, was.Max}
	now := []float64{isRate, is.P50, is.P90, is.P99, is.P999, is.Max}
	changes := make(map[string]float64)
	for i, name := range columns {
		if before[i] > 0 {
			changes[name] = now[i]/before[i] - 1
		}
	}
	return changes
}

func (r *report) writeChanges(w io.Writer) {
	fmt.Fprintf(w, "\n%-8s %9s %9s %9s %9s %9s %9s\n", "change %", "a second", "p50", "p90", "p99", "p99.9", "max")
	for _, name := range append(kindNames[:], "all") {
		changes, ok := r.Change[name]
		if !ok {
			continue
		}
		fmt.Fprintf(w, "%-8s", name)
		for _, column := range columns {
			text := "-"
			if change, ok := changes[column]; ok {
				text = fmt.Sprintf("%+.1f", 100*change)
			}
			fmt.Fprintf(w, " %9s", text)
		}
		fmt.Fprintln(w)
	}
	if r.earlier.Failed > 0 || r.Failed > 0 {
		fmt.Fprintf(w, "failed: %d of %d before, %d of %d now\n", r.earlier.Failed, r.earlier.Requests, r.Failed, r.Requests)
	}
	for _, difference := range r.Settings.differences(r.earlier.Settings) {
		fmt.Fprintf(w, "not the same load: %s\n", difference)
	}
}
