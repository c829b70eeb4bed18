package paging_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePaths(t *testing.T) {
	tests := map[string]struct {
		query string
		want  []string
	}{
		"P21 none":                               {"", nil},
		"as they are":                            {"paths[]=c_text&paths%5B%5D=c_likes", []string{"c_likes", "c_text"}},
		"twice":                                  {"paths[]=c_text&paths[]=c_text", []string{"c_text"}},
		"a parent":                               {"paths[]=name&paths[]=c_meta", []string{"c_meta", "name"}},
		"below a property":                       {"paths[]=c_blob.x.y", []string{"c_blob.x.y"}},
		"of a list":                              {"paths[]=connections.access", []string{"connections.access"}},
		"of a list by its prefix":                {"connections.paths[]=access", []string{"connections.access"}},
		"P10 hidden and unknown ones":            {"paths[]=c_secret&paths[]=c_text&paths[]=c_nosuch", []string{"c_text"}},
		"P10 only hidden ones":                   {"paths[]=c_secret&paths[]=c_vault.key", []string{"_id"}},
		"P10 a path too long":                    {"paths[]=c_blob.x&paths[]=c_blob." + strings.Repeat("x.", 300) + "x", []string{"c_blob.x"}},
		"P10 an odd path":                        {"paths[]=c_blob.x&paths[]=c_blob.$x&paths[]=c_blob.%00", []string{"c_blob.x"}},
		"P10 only malformed ones":                {"paths[]=&paths[]=..&paths[]=%00&paths[]=$x", []string{"_id"}},
		"P10 hidden in a list":                   {"paths[]=connections.c_token", []string{"_id"}},
		"an array with and without its brackets": {"paths[]=c_tags&paths[]=c_tags[]", []string{"c_tags", "c_tags[]"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, accepted(t, tc.query).Paths); diff != "" {
				t.Error(diff)
			}
		})
	}
	for query, argument := range map[string]string{
		"paths[]=c_text,c_likes":            "paths[]",
		"paths[]=c_text&paths[]=c_likes%2C": "paths[]",
		"connections.paths[]=target,access": "connections.paths[]",
	} {
		want := []string{argument + "  has one path; did you mean paths[]=a&paths[]=b?"}
		t.Run("P02 "+query, func(t *testing.T) {
			if diff := cmp.Diff(want, refused(t, query)); diff != "" {
				t.Error(diff)
			}
		})
	}
	many := func(n int) string { return strings.Repeat("paths[]=c_text&", n) }
	accepted(t, many(100))
	if diff := cmp.Diff([]string{"paths[]  more than 100 paths"}, refused(t, many(101))); diff != "" {
		t.Errorf("P10 %s", diff)
	}
}
