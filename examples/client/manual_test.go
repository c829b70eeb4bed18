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
	for _, command := range slices.Sorted(maps.Keys(manual)) {
		if manual[command].examples == "" {
			continue // a topic or a group
		}
		out, errs, err := client(t, "", "", append(strings.Fields(command), "--help")...)
		if err != nil || errs != "" {
			t.Errorf("%s: %v, on standard error %q", command, err, errs)
		}
		page := manual[command]
		for _, want := range []string{page.purpose, "  client " + command + " " + page.arguments, page.more, "Examples:\n  "} {
			if !strings.Contains(out, strings.TrimSpace(want)) {
				t.Errorf("%s: no %q in\n%s", command, want, out)
			}
		}
	}
	for topic, want := range map[string]string{"scope": "explain", "connection": "TENANTKIT_SECRET", "scopes": "an empty chain is an error"} {
		if out, _, err := client(t, "", "", "help", topic); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", topic, err, out)
		}
	}
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
	_, shown, _ := strings.Cut(manual["client"].more, "Try it") // the part before it describes the commands
	want := map[string]int{"help": 5, "guide": 6}
	guide, err := os.ReadFile("../guides/client.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(guide), "## On the command line")
	lines := map[string][]string{"help": commandsIn(shown), "guide": commandsIn(section)}
	for command, page := range manual {
		if page.examples != "" {
			lines[command] = commandsIn(page.examples)
			want[command] = 1
		}
	}
	if len(lines) < 27 {
		t.Errorf("%d pages", len(lines))
	}
	for name, lines := range lines {
		if len(lines) < want[name] {
			t.Errorf("%s shows %d examples: %q", name, len(lines), lines)
		}
		for _, line := range lines {
			// An example before may have deleted it.
			kept.keep(t, profiles{Known: map[string]profile{"demo": {URL: url + "/acme/v2", Key: key, Secret: secret}}})
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
