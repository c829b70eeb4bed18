package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersion(t *testing.T) {
	out, _, err := client(t, "", "", "--version")
	if err != nil || !strings.HasPrefix(out, "client ") || !strings.Contains(out, "go1.") || strings.Count(out, "\n") != 1 {
		t.Errorf("%v %q", err, out)
	}
}

func TestCompletion(t *testing.T) {
	h := newHome(t)
	h.keep(t, profiles{Known: map[string]profile{"acme": {}, "globex": {}}})
	for _, test := range []struct {
		name string
		args []string
		want []string // among what is offered
	}{
		{"commands", []string{"ve"}, []string{"verify"}},
		{"commands of scope", []string{"scope", ""}, []string{"check", "explain"}},
		{"flags", []string{"list", "--ma"}, []string{"--max"}},
		{"flags behind a flag", []string{"list", "--url", "u", "--re"}, []string{"--rest", "--resume"}},
		{"profiles", []string{"get", "--profile", ""}, []string{"acme", "globex"}},
		{"profiles as arguments", []string{"profile", "use", "a"}, []string{"acme"}},
		{"no second profile", []string{"profile", "use", "acme", ""}, nil},
		{"no files as paths", []string{"get", ""}, nil},
		{"versions of signatures", []string{"get", "--signature", ""}, []string{"1", "2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, _, err := h.client(t, "", "", append([]string{"__completeNoDesc"}, test.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			var offered []string
			for line := range strings.Lines(out) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, ":") {
					offered = append(offered, line)
				}
			}
			slices.Sort(offered)
			if diff := cmp.Diff(test.want, offered); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// onScreen runs a command line on a terminal.
func onScreen(t *testing.T, environment string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	c := cli{in: strings.NewReader(""), out: &out, errs: io.Discard, screen: true, getenv: lookup(environment)}
	if err := c.run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
