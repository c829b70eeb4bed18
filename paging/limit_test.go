package paging_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]int{
		"1": 1, "100": 100, "1000": 1000, "1001": 1000, "9223372036854775807": 1000,
	} {
		if got := accepted(t, "limit="+text).Limit; got != want {
			t.Errorf("P01 %s: got %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{
		"0", "-1", "9223372036854775808", "1.0", "", "abc", "%2B5", "+5", "%205", "5%20", "%D9%A5",
		"05", "0x5", "1e2", "1_0", "null", "NaN", "%00", "5%00", "99999999999999999999999",
	} {
		want := []string{"limit  must be a positive integer"}
		if diff := cmp.Diff(want, refused(t, "limit="+text)); diff != "" {
			t.Errorf("P01 %s:\n%s", text, diff)
		}
	}
}

func TestParseLimitOfASchema(t *testing.T) {
	tests := map[string]struct {
		schema paging.Schema
		query  string
		want   int
	}{
		"its default":                  {paging.Schema{Default: 7}, "", 7},
		"its maximum":                  {paging.Schema{Max: 50}, "limit=51", 50},
		"a maximum below the default":  {paging.Schema{Max: 50}, "", 50},
		"a default above the maximum":  {paging.Schema{Default: 90, Max: 50}, "", 50},
		"a maximum above the usual":    {paging.Schema{Max: 5000}, "limit=4000", 4000},
		"negative numbers are nothing": {paging.Schema{Default: -1, Max: -1}, "limit=2000", 1000},
	}
	for name, tc := range tests {
		q, err := tc.schema.Parse(tc.query, nil)
		if err != nil || q.Limit != tc.want {
			t.Errorf("%s: %d, %v", name, q.Limit, err)
		}
	}
}

func TestParseSkip(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "1": 1, "10000": 10000} {
		if got := accepted(t, "skip="+text).Skip; got != want {
			t.Errorf("P03 %s: got %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"-1", "", "1.0", "01", "9223372036854775808", "x"} {
		want := []string{"skip  must be a non-negative integer"}
		if diff := cmp.Diff(want, refused(t, "skip="+text)); diff != "" {
			t.Errorf("P03 %s:\n%s", text, diff)
		}
	}
	for _, text := range []string{"10001", "1000000000"} {
		want := []string{`skip  more than 10000; sort by _id and ask for {"_id":{"$gt":…}} with the last _id of the page before`}
		if diff := cmp.Diff(want, refused(t, "skip="+text)); diff != "" {
			t.Errorf("P03 %s:\n%s", text, diff)
		}
	}
}

// TestManyArguments is P31: what a query of 60 KB costs before it is refused.
func TestManyArguments(t *testing.T) {
	schema := paging.Schema{Properties: []paging.Property{{Path: "c_likes", Type: paging.Integer, Filter: true}}}
	var many strings.Builder
	for i := range 7000 {
		fmt.Fprintf(&many, "a.b%d&", i)
	}
	for name, query := range map[string]string{
		"P31 7,000 unknown arguments":      many.String(),
		"P31 7,000 empty arguments":        strings.Repeat("&", 7000),
		"P31 257 arguments":                "limit=1" + strings.Repeat("&q=1", 256),
		"P31 300 paths":                    strings.Repeat("&paths[]=a", 300),
		"P31 arguments of a list property": strings.Repeat("&a.where={}", 300),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			allocs := testing.AllocsPerRun(5, func() { _, err = schema.Parse(query, readable) })
			if err == nil || err.Error() != "paging: more than 256 arguments" || allocs > 20 && !raceEnabled {
				t.Errorf("%v, %v allocations", err, allocs)
			}
			if link := schema.NextLink("https://api.example.com/", query, nil); link != "" {
				t.Error(link)
			}
		})
	}
	if _, err := schema.Parse("limit=1"+strings.Repeat("&q=1", 255), readable); err != nil {
		t.Error("256 arguments:", err)
	}
	if _, err := schema.Parse(strings.Repeat("a.", 30_000)+"where=1", readable); err == nil {
		t.Error("P31 an argument below a long name is ignored")
	}
	long := "q=" + strings.Repeat("a", 2048)
	if allocs := testing.AllocsPerRun(5, func() { schema.NextLink("https://api.example.com/", long, nil) }); allocs > 0 && !raceEnabled {
		t.Errorf("a link that cannot be: %v allocations", allocs)
	}
}
