package main

import (
	"bytes"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"-version"}, {"--version"}} {
		out, _, err := client(t, "", "", args...)
		if err != nil || !strings.HasPrefix(out, "client ") || !strings.Contains(out, "go1.") || strings.Count(out, "\n") != 1 {
			t.Errorf("%v: %v %q", args, err, out)
		}
	}
}

func TestCompletion(t *testing.T) {
	h := newHome(t)
	for _, name := range []string{"acme", "globex"} {
		if err := (profile{URL: "u", Key: "k", Secret: "s"}).write(h.file(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		args []string
		want []string // among what is offered
	}{
		{"commands", []string{"ve"}, []string{"verify", "version"}},
		{"commands of scope", []string{"scope", ""}, []string{"check", "explain"}},
		{"flags with one dash", []string{"list", "-ma"}, []string{"-max"}},
		{"flags with two dashes", []string{"list", "--ma"}, []string{"--max"}},
		{"flags behind a flag", []string{"list", "-url", "u", "-re"}, []string{"-rest", "-resume"}},
		{"profiles", []string{"get", "-profile", ""}, []string{"acme", "globex"}},
		{"versions of signatures", []string{"get", "-signature", ""}, []string{"1", "2"}},
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
	for _, shell := range []string{"bash", "zsh", "fish"} {
		out, _, err := client(t, "", "", "completion", shell)
		if err != nil || !strings.Contains(out, "__complete") {
			t.Errorf("%s: %v", shell, err)
		}
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		check := exec.Command(shell, "-n")
		check.Stdin = strings.NewReader(out)
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s does not read its script: %v %s", shell, err, said)
		}
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
