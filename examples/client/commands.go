package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/examples/internal/onedash"
	"github.com/tenantkit/tenantkit/examples/internal/version"
)

// run runs a command line.
func (c cli) run(ctx context.Context, args []string) error {
	err := onedash.Execute(ctx, c.root(), args)
	if err != nil && ctx.Err() != nil {
		return &interrupted{err}
	}
	return err
}

// root returns the tree of all commands.
func (c cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "client",
		Version:       version.Line("client"),
		SilenceErrors: true, // status prints them
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // onlyCommands refuses them
		RunE:          onlyCommands,
	}
	root.SetOut(c.out)
	root.SetErr(c.errs)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpFunc(c.help)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError(onedash.Fault(cmd, err)) })
	// Defined here, so that cobra does not add -v for it: that is -v of the commands.
	root.Flags().Bool("version", false, "print the version")
	root.AddCommand(
		c.get(), c.list(), c.tail(), c.post(), c.patch(), c.delete(), c.sign(), c.mint(), c.verify(), c.scope(),
		c.login(), c.logout(), c.profile(), c.version(),
		&cobra.Command{Use: "connection", Short: "where the server and the credential come from", Long: aboutConnections},
		&cobra.Command{Use: "scopes", Short: "how chains and needs are written", Long: aboutScopes},
	)
	// By itself cobra prints its help for a command that there is not, and reports success.
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.HasSubCommands() {
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, onlyCommands
		}
	}
	return root
}

// onlyCommands is the RunE of a command that only has commands. It prints the help of
// the program, or says which command was probably meant.
func onlyCommands(cmd *cobra.Command, args []string) error {
	switch names := commandNames(cmd); {
	case len(args) > 0:
		return noCommand(cmd, args[0])
	case cmd.HasParent():
		return usageError(fmt.Sprintf("%s needs a command: %s; %s -help says what they do", cmd.Name(), strings.Join(names, ", "), cmd.CommandPath()))
	}
	return cmd.Help()
}

// noCommand returns the error for a word that is no command of a command.
func noCommand(of *cobra.Command, word string) error {
	hint := fmt.Sprintf("%s -help lists them", of.CommandPath())
	if near := onedash.Nearest(word, commandNames(of)); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return usageError(fmt.Sprintf("no command %q; %s", word, hint))
}

// commandNames returns the names of the commands of a command, and of its pages of help.
func commandNames(of *cobra.Command) (names []string) {
	for _, cmd := range of.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	return names
}

// helpCommand prints the help of the command that its arguments name.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help",
		Short: "Prints the help of a command.",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd := root
			for _, word := range args {
				next, _, err := cmd.Find([]string{word})
				if err != nil || next == cmd {
					return noCommand(cmd, word)
				}
				cmd = next
			}
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			cmd, _, _ := root.Find(args)
			return commandNames(cmd), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// command returns a command whose help is a page of the manual. The name of the flag set
// is that of the page. Arguments is how many the command takes, or -1 if it counts them
// itself.
func (c cli) command(flags *flag.FlagSet, arguments int, run func(ctx context.Context, args []string) error) *cobra.Command {
	name := flags.Name()
	cmd := &cobra.Command{
		Use:               name[strings.LastIndexByte(name, ' ')+1:],
		Short:             manual[name].purpose,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if arguments >= 0 && len(args) != arguments {
				return wrongArguments(name)
			}
			return run(cmd.Context(), args)
		},
	}
	cmd.Flags().AddGoFlagSet(flags)
	cmd.SetHelpFunc(func(*cobra.Command, []string) { c.printPage(flags) })
	return cmd
}

func wrongArguments(name string) error {
	return usageError(strings.TrimSpace(fmt.Sprintf("the arguments are: client %s %s", name, manual[name].arguments)))
}

// flagSet returns an empty flag set for a command.
func flagSet(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// version prints the version.
func (c cli) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Prints the version of this program.",
		Args:  cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("the arguments are: client version")
			}
			_, err := fmt.Fprintln(c.out, version.Line("client"))
			return err
		},
	}
}
