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

func TestTwoDashes(t *testing.T) {
	root := cli{getenv: lookup("")}.root()
	for line, want := range map[string]string{
		"get -demo-json f /p":         "get --demo-json f /p",
		"get -demo-json=f /p":         "get --demo-json=f /p",
		"get --demo-json f -v /p":     "get --demo-json f -v /p",
		"list -all -max -1 /p":        "list --all --max -1 /p",
		"scope check -batch":          "scope check --batch",
		"scope check -grant -need a":  "scope check --grant -need a",
		"post /p -":                   "post /p -",
		"post -- -url -key":           "post -- -url -key",
		"post -url u -- -url":         "post --url u -- -url",
		"get -nope x":                 "get --nope x",
		"sign -curl -data {} GET /-p": "sign --curl --data {} GET /-p",
		"get -url":                    "get --url",
		"-version":                    "--version",
		"-h":                          "-h",
	} {
		got := strings.Join(twoDashes(root, strings.Fields(line)), " ")
		if got != want {
			t.Errorf("%s\n becomes %s\n want    %s", line, got, want)
		}
	}
}

func FuzzTwoDashes(f *testing.F) {
	for _, line := range []string{"get -url u /p", "scope check -grant -a -- b", "- -- ---x=", "-"} {
		f.Add(line)
	}
	root := cli{getenv: lookup("")}.root()
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		once := twoDashes(root, args)
		if len(once) != len(args) {
			t.Fatalf("%q becomes %q", args, once)
		}
		if twice := twoDashes(root, once); !slices.Equal(once, twice) {
			t.Fatalf("%q, then %q", once, twice)
		}
		for i, word := range once {
			if strings.TrimLeft(word, "-") != strings.TrimLeft(args[i], "-") {
				t.Fatalf("%q becomes %q", args, once)
			}
		}
	})
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
