package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// TestCompletionInBash presses Tab in a bash that has sourced the script. The functions of
// the package bash-completion that it needs are here in short.
func TestCompletionInBash(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	config := t.TempDir()
	h := home(filepath.Join(config, "tenantkit", "profiles"))
	for _, name := range []string{"acme", "globex"} {
		if err := (profile{URL: "u", Key: "k", Secret: "s"}).write(h.file(name)); err != nil {
			t.Fatal(err)
		}
	}
	const script = `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
__ltrim_colon_completions() { :; }
compopt() { :; }
source <(client completion bash)
while IFS= read -r line; do
	IFS=' ' read -ra COMP_WORDS <<<"$line"
	[[ $line == *' ' ]] && COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9 COMPREPLY=()
	__start_client
	(IFS=,; printf '%s\n' "${COMPREPLY[*]}")
done
`
	var typed strings.Builder
	tests := []struct{ line, want string }{
		{"client pro", "profile"},
		{"client profile ", "list,remove,use"},
		{"client profile use ", "acme,globex"},
		{"client profile remove g", "globex"},
		{"client profile use acme ", ""},
		{"client get -profile ", "acme,globex"},
		{"client get --profile a", "acme"},
		{"client list -ma", "-max"},
		{"client list --ma", "--max"},
		{"client tail -re", "-refused"},
		{"client list -signature ", "1,2"},
		{"client help sco", "scope,scopes"},
		{"client completion f", "fish"},
	}
	for _, test := range tests {
		typed.WriteString(test.line + "\n")
	}
	bash := exec.Command("bash", "--norc", "-c", script)
	bash.Stdin = strings.NewReader(typed.String())
	bash.Env = append(os.Environ(), "PATH="+programFolder(t)+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME="+config, "HOME="+config)
	out, err := bash.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(out), "\n")
	for i, test := range tests {
		if i >= len(got) || strings.TrimSpace(got[i]) != test.want {
			t.Errorf("%q: want %q in line %d of\n%s", test.line, test.want, i+1, out)
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
