package onedash

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestFault(t *testing.T) {
	for line, want := range map[string]string{
		"-limt 3":       "no flag -limt; did you mean -limit?",
		"--limt=3":      "no flag -limt; did you mean -limit?",
		"-dur 3s":       "no flag -dur; did you mean -duration?",
		"-x":            "no flag -x; program -help lists the flags",
		"-audit":        "no flag -audit; program -help lists the flags",
		"-limit":        "-limit needs a value; program -help lists the flags",
		"-limit x":      `-limit "x": a whole number, 0 or more`,
		"-limit=-3":     `-limit "-3": a whole number, 0 or more`,
		"-count 1.5":    `-count "1.5": a whole number`,
		"-rate fast":    `-rate "fast": a number`,
		"-duration 10":  `-duration "10": a number with a unit, such as 500ms, 30s or 1h30m`,
		"-all=maybe":    `-all "maybe": true or false`,
		"-kind c":       `-kind "c": a or b`,
		"-limit 3 -all": "",
	} {
		flags := flag.NewFlagSet("program", flag.ContinueOnError)
		flags.Uint("limit", 0, "")
		flags.Int("count", 0, "")
		flags.Float64("rate", 0, "")
		flags.Duration("duration", time.Second, "")
		flags.Bool("all", false, "")
		flags.Func("kind", "", func(string) error { return errors.New("a or b") })
		cmd := &cobra.Command{Use: "program"}
		cmd.Flags().AddGoFlagSet(flags)
		got := ""
		if err := Parse(cmd, strings.Fields(line)); err != nil {
			got = Fault(cmd, err)
		}
		if got != want {
			t.Errorf("%s\n got  %s\n want %s", line, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"get", "list", "login", "logout", "patch", "post", "verify", "version"}
	for word, want := range map[string]string{
		"gte": "get", "lst": "list", "lists": "list", "logon": "login", "pacth": "patch", "ver": "verify", "versoin": "version",
		"fetch": "", "put": "", "": "", "g": "", "LIST": "", "l": "", "é": "", "audit": "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for words, want := range map[string]int{"": 0, "a": 1, "limt limit": 1, "gte get": 1, "kitten sitting": 3, "abc abc": 0, "ca abc": 3} {
		a, b, _ := strings.Cut(words, " ")
		if got, back := distance(a, b), distance(b, a); got != want || back != want {
			t.Errorf("%q: %d and %d, want %d", words, got, back, want)
		}
	}
}
