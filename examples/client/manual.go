package main

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed manual.txt
var manualText string

// manual has the help of all commands and topics, by name.
var manual = pagesOf(manualText)

// page is the help of a command, beside what cobra adds to it.
type page struct{ purpose, arguments, more, examples string }

// pagesOf reads pages. Each begins with a line "== name: arguments" and a line that says its purpose.
func pagesOf(text string) map[string]page {
	pages := make(map[string]page)
	for text := range strings.SplitSeq(strings.TrimPrefix(text, "== "), "\n== ") {
		head, text, _ := strings.Cut(text, "\n")
		text, examples, _ := strings.Cut(text, "\n\nExamples:\n")
		name, arguments, _ := strings.Cut(head, ": ")
		purpose, more, _ := strings.Cut(text, "\n")
		pages[name] = page{purpose, arguments, strings.TrimSpace(more), examples}
	}
	return pages
}

// documented returns a command that has its help, and does nothing. As a command of the root it is a topic.
func documented(name string) *cobra.Command {
	p := manual[name]
	return &cobra.Command{
		Use:     strings.TrimSpace(name[strings.LastIndexByte(name, ' ')+1:] + " " + p.arguments),
		Short:   p.purpose,
		Long:    strings.TrimSpace(p.purpose + "\n\n" + p.more),
		Example: p.examples,
	}
}

// group returns a command that only has commands. For one that it does not have, cobra by
// itself prints the help and reports success, which a script could take for "allowed".
func group(name string, commands ...*cobra.Command) *cobra.Command {
	cmd := documented(name)
	cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}
