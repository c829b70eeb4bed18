// Package onedash runs a cobra program whose flags may have one dash, as those of package
// flag: -grant is --grant. Cobra by itself would read it as the flags -g, -r, -a, -n, -t.
package onedash

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Execute runs a command line. For the script of a shell it also answers with flags that
// have one dash, if one dash was typed.
func Execute(ctx context.Context, root *cobra.Command, args []string) error {
	if len(args) > 1 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return complete(ctx, root, args)
	}
	root.SetArgs(spell(root, args))
	return root.ExecuteContext(ctx)
}

// Parse parses the flags of a program that has no commands, without running it.
func Parse(cmd *cobra.Command, args []string) error {
	return cmd.ParseFlags(spell(cmd, args))
}

// spell gives the flags of a command line two dashes. The word after a flag that takes a
// value stays as it is, and so do all words after "--".
func spell(cmd *cobra.Command, args []string) []string {
	spelled := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			return append(spelled, args[i:]...)
		}
		if !strings.HasPrefix(word, "-") || word == "-" {
			cmd = childOf(cmd, word)
			spelled = append(spelled, word)
			continue
		}
		name, _, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if len(name) > 1 {
			word = "--" + strings.TrimLeft(word, "-")
		}
		spelled = append(spelled, word)
		if f := cmd.Flags().Lookup(name); f != nil && f.NoOptDefVal == "" && !hasValue && i+1 < len(args) {
			i++
			spelled = append(spelled, args[i])
		}
	}
	return spelled
}

// childOf returns the command of a command, or the command itself if it has none of that
// name.
func childOf(cmd *cobra.Command, name string) *cobra.Command {
	for _, child := range cmd.Commands() {
		if child.Name() == name {
			return child
		}
	}
	return cmd
}

// complete answers the script of a shell, which asks for the words that may follow.
func complete(ctx context.Context, root *cobra.Command, args []string) error {
	last := args[len(args)-1]
	oneDash := strings.HasPrefix(last, "-") && !strings.HasPrefix(last, "--")
	if oneDash {
		last = "-" + last
	}
	out := root.OutOrStdout()
	var offered strings.Builder
	root.SetOut(&offered)
	root.SetErr(io.Discard) // what it says there is for developers of cobra
	words := spell(root, args[1:len(args)-1])
	root.SetArgs(append(append([]string{args[0]}, words...), last))
	err := root.ExecuteContext(ctx)
	for line := range strings.Lines(offered.String()) {
		if oneDash && strings.HasPrefix(line, "--") {
			line = line[1:]
		}
		_, failed := io.WriteString(out, line)
		err = errors.Join(err, failed)
	}
	return err
}
