package main

import (
	"fmt"
	"strings"
	"testing"
)

// reported is a report of made-up samples: those of printed, and more for some peers.
func reported(t *testing.T, e effort, more ...string) []byte {
	t.Helper()
	text := printed()
	for _, line := range more {
		name, _, _ := strings.Cut(line, "-16")
		for old := range strings.Lines(text) {
			if strings.HasPrefix(old, name+"-16") {
				text = strings.Replace(text, old, "", 1)
			}
		}
	}
	return report{effort: e, measured: readAll(t, text+strings.Join(more, ""))}.markdown()
}

// ranBearer are samples of a peer of a row whose floor takes 1.5 ns and ours 2.5 ns.
func ranBearer(peer string, allocs int, samples ...float64) (lines string) {
	for _, ns := range samples {
		lines += fmt.Sprintf("BenchmarkBearerAgain/%s-16 1000 %g ns/op 8 B/op %d allocs/op\n", peer, ns, allocs)
	}
	return lines
}

func TestCompare(t *testing.T) {
	before := reported(t, effort{live: 10})
	for _, c := range []struct {
		name  string
		after []byte
		want  []string // of each line of the error
	}{
		{"the same", before, nil},
		{"24 % slower", reported(t, effort{live: 10}, ranBearer("tenantkit", 0, 3.1)), nil},
		{"twice as slow", reported(t, effort{live: 10}, ranBearer("tenantkit", 0, 5)),
			[]string{"Bearer token, seen before: tenantkit: 3.33 × the time of map, before 1.67"}},
		{"the machine is twice as slow", reported(t, effort{live: 10}, ranBearer("tenantkit", 0, 5), ranBearer("map", 0, 3)), nil},
		{"twice as fast", reported(t, effort{live: 10}, ranBearer("tenantkit", 0, 1.25)), nil},
		{"slower within the spread", reported(t, effort{live: 10}, ranBearer("tenantkit", 0, 1.5, 2.5, 3.5, 5.5, 6.5)), nil},
		{"within the spread of the floor", reported(t, effort{live: 10}, ranBearer("tenantkit", 0, 3.5), ranBearer("map", 0, 1, 1, 1.5, 2, 2)), nil},
		{"slower beyond the spread", reported(t, effort{live: 10}, ranBearer("tenantkit", 0, 4.8, 5, 5, 5.2)),
			[]string{"Bearer token, seen before: tenantkit: 3.33 × the time of map, before 1.67"}},
		{"one allocation where there was none", reported(t, effort{live: 10}, ranBearer("tenantkit", 1, 2.5)),
			[]string{"Bearer token, seen before: tenantkit: 1 allocations, before 0"}},
		{"another peer is slower", reported(t, effort{live: 10}, ranBearer("golang-jwt", 9, 500)), nil},
		{"a larger store that is slower", reported(t, effort{live: 99}, "BenchmarkReplay/tenantkit-16 10 500 ns/op 8 B/op 0 allocs/op 40 B/request 10 ns/GC\n"), nil},
		{"a store of the same size", reported(t, effort{live: 10}, "BenchmarkReplay/tenantkit-16 10 500 ns/op 8 B/op 0 allocs/op 40 B/request 10 ns/GC\n"),
			[]string{"Replay claim in memory: tenantkit: 333 × the time of cache misses, before 1.67"}},
	} {
		var got []string
		if err := compare(before, c.after); err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if compare([]byte("# Another document\n"), before) == nil {
		t.Error("nothing was compared, and nothing is said")
	}
}

// Each row is compared: its tables are read as they are written.
func TestEachRowIsCompared(t *testing.T) {
	all := standings(reported(t, effort{}))
	for _, r := range rows {
		for _, p := range r.peers {
			if p.ours() && all[r.title+": "+p.name].ratio == 0 {
				t.Errorf("%s: %s is not compared", r.title, p.name)
			}
		}
	}
}
