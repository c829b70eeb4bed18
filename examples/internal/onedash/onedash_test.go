package onedash

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// program returns a program with the commands get and scope check.
func program() *cobra.Command {
	root := &cobra.Command{Use: "program", Version: "1"}
	root.SetOut(io.Discard)
	root.Flags().Bool("version", false, "")
	get := &cobra.Command{Use: "get", RunE: func(*cobra.Command, []string) error { return nil }}
	get.Flags().String("url", "", "")
	get.Flags().String("key", "", "")
	get.Flags().Int("max", 0, "")
	get.Flags().Bool("all", false, "")
	get.Flags().BoolP("verbose", "v", false, "")
	check := &cobra.Command{Use: "check", RunE: func(*cobra.Command, []string) error { return nil }}
	check.Flags().StringArray("grant", nil, "")
	check.Flags().Bool("batch", false, "")
	scope := &cobra.Command{Use: "scope"}
	scope.AddCommand(check)
	root.AddCommand(get, scope)
	return root
}

func TestSpell(t *testing.T) {
	for line, want := range map[string]string{
		"get -url u /p":              "get --url u /p",
		"get -url=u /p":              "get --url=u /p",
		"get --url u -v /p":          "get --url u -v /p",
		"get -all -max -1 /p":        "get --all --max -1 /p",
		"get -all=false":             "get --all=false",
		"get -url -key":              "get --url -key",
		"get /p -":                   "get /p -",
		"get -- -url -key":           "get -- -url -key",
		"get -url u -- -url":         "get --url u -- -url",
		"get -nope x":                "get --nope x",
		"get -url":                   "get --url",
		"scope check -batch":         "scope check --batch",
		"scope check -grant -need a": "scope check --grant -need a",
		"-version":                   "--version",
		"-h":                         "-h",
		"-help":                      "--help",
	} {
		if got := strings.Join(spell(program(), strings.Fields(line)), " "); got != want {
			t.Errorf("%s\n becomes %s\n want    %s", line, got, want)
		}
	}
}

func FuzzSpell(f *testing.F) {
	for _, line := range []string{"get -url u /p", "scope check -grant -a -- b", "- -- ---x=", "-"} {
		f.Add(line)
	}
	root := program()
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		once := spell(root, args)
		if len(once) != len(args) {
			t.Fatalf("%q becomes %q", args, once)
		}
		if twice := spell(root, once); !slices.Equal(once, twice) {
			t.Fatalf("%q, then %q", once, twice)
		}
		for i, word := range once {
			if strings.TrimLeft(word, "-") != strings.TrimLeft(args[i], "-") {
				t.Fatalf("%q becomes %q", args, once)
			}
		}
	})
}

func TestComplete(t *testing.T) {
	for line, want := range map[string]string{
		"get -ma":            "-max",
		"get --ma":           "--max",
		"get -url -key -ma":  "-max",
		"scope check -ba":    "-batch",
		"scope check -batch": "-batch",
	} {
		var out strings.Builder
		root := program()
		root.SetOut(&out)
		if err := Execute(t.Context(), root, append([]string{"__completeNoDesc"}, strings.Fields(line)...)); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(out.String(), "\n"); got != want {
			t.Errorf("%s: %q, want %s", line, out.String(), want)
		}
	}
}
