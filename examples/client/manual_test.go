package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"-help"}, {"--help"}, {"-h"}} {
		out, _, err := client(t, "", "", args...)
		if err != nil || !strings.HasPrefix(out, help) {
			t.Errorf("%v: %v", args, err)
		}
	}
	for _, command := range slices.Sorted(maps.Keys(manual)) {
		parents, name := []string{"help"}, command
		if parent, child, nested := strings.Cut(command, " "); nested {
			parents, name = append(parents, parent), child
		}
		if list, _, _ := client(t, "", "", parents...); !strings.Contains(list, "\n    "+name+" ") {
			t.Errorf("%s is not in the list of %s", name, parents)
		}
		for _, flag := range []string{"-h", "-help", "--help"} {
			args := append(strings.Fields(command), flag)
			out, errs, err := client(t, "", "", args...)
			if err != nil || errs != "" {
				t.Errorf("%v: %v, on standard error %q", args, err, errs)
			}
			page := manual[command]
			for _, want := range []string{page.purpose + "\n", "    client " + command + " " + page.arguments + "\n", page.more, "For example:"} {
				if !strings.Contains(out, want) {
					t.Errorf("%v: no %q in\n%s", args, want, out)
				}
			}
			if hasFlags := !strings.Contains("profile use, profile remove", command); hasFlags != strings.Contains(out, "Flags:\n\n  -") {
				t.Errorf("%v: flags in\n%s", args, out)
			}
			if sends := !strings.HasPrefix(command, "scope ") && !strings.HasPrefix(command, "profile ") && command != "logout"; sends != strings.Contains(out, "-url URL") {
				t.Errorf("%v: %s", args, out)
			}
		}
	}
	for topic, want := range map[string]string{"scope": "explain", "connection": "TENANTKIT_SECRET", "scopes": "an empty chain is an error"} {
		for _, args := range [][]string{{topic, "-help"}, {"help", topic}} {
			out, _, err := client(t, "", "", args...)
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%v: %v\n%s", args, err, out)
			}
		}
	}
	t.Run("is where a wrong flag leads", func(t *testing.T) {
		out, errs, err := client(t, "", "", "get", "-nope", "/echo")
		if out+errs != "" || err == nil || !strings.Contains(err.Error(), "client get -help") {
			t.Errorf("%v, printed %q and %q", err, out, errs)
		}
	})
}

// TestExamples runs each command line of the help texts as a shell would. Each must
// be correct usage, whatever the server answers.
func TestExamples(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	url := service(t, "Service-")
	demo := filepath.Join(t.TempDir(), "demo.json")
	text := `{"base_url":"` + url + `","org":"acme","client_key":"` + key + `","client_secret":"` + secret + `"}`
	if err := os.WriteFile(demo, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := newHome(t)
	_, shown, _ := strings.Cut(help, "Try it") // the part before it describes the commands
	want := map[string]int{"help": 5, "guide": 6}
	guide, err := os.ReadFile("../guides/client.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(guide), "## On the command line")
	lines := map[string][]string{"help": commandsIn(shown), "guide": commandsIn(section)}
	for command, page := range manual {
		lines[command] = commandsIn(page.examples)
		want[command] = 1
	}
	for name, lines := range lines {
		if len(lines) < want[name] {
			t.Errorf("%s shows %d examples: %q", name, len(lines), lines)
		}
		for _, line := range lines {
			if err := (profile{URL: url + "/acme/v2", Key: key, Secret: secret}).write(kept.file("demo")); err != nil {
				t.Fatal(err) // an example before may have deleted it
			}
			args := shellWords(t, strings.ReplaceAll(line, "/tmp/demo.json", demo))
			_, _, err := kept.client(t, secret, environment(url), args...)
			if errors.As(err, new(usageError)) {
				t.Errorf("%s: client %s: %v", name, line, err)
			}
			if name != "help" && name != "guide" && !strings.HasPrefix(line+" ", name+" ") && !strings.Contains(manual[name].examples, "|") && name != "login" {
				t.Errorf("the page of %s shows client %s", name, line)
			}
		}
	}
}

// commandsIn returns what follows the program's name in each command of a text.
func commandsIn(text string) (commands []string) {
	text = strings.ReplaceAll(text, "|\n", "| ")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "  #") // a comment of the shell
		for part := range strings.SplitSeq(line, " | ") {
			part = strings.ReplaceAll(strings.TrimSpace(part), "go run ./examples/client", "client")
			if command, ok := strings.CutPrefix(part, "client "); ok {
				commands = append(commands, command)
			}
		}
	}
	return commands
}

// shellWords returns the words of a command line as a shell splits it.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `for word in `+line+`; do printf '%s\n' "$word"; done`).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}
