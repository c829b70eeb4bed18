package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/examples/internal/version"
)

func (c cli) run(ctx context.Context, args []string) error {
	c.started, c.query = new(bool), new(query)
	root := c.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return &interrupted{err}
	case err != nil && !*c.started: // the command line is wrong
		return usageError(fmt.Sprintf("%v\nRun '%s --help' for usage.", err, cmd.CommandPath()))
	}
	return err
}

func (c cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "client",
		Short:   "Sends signed requests to a multi-tenant platform, and checks scope chains.",
		Long:    about,
		Version: version.Line("client"),

		SilenceErrors: true, // status prints them
		SilenceUsage:  true,
	}
	root.SetOut(c.out)
	root.SetErr(c.errs)
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.AddCommand(
		c.change("get", http.MethodGet, 1, 1), c.list(), c.tail(), c.change("post", http.MethodPost, 1, 2),
		c.change("patch", http.MethodPatch, 2, 2), c.change("delete", http.MethodDelete, 1, 2), c.sign(), c.mint(), c.verify(), c.key(),
		c.rotate(), c.tokens(), c.listKeys("keys"), c.accounts(), c.sessions(), c.audit(),
		group("scope", "Decides about scope chains, without a server.", c.scopeCheck(), c.scopeExplain()),
		c.login(), c.logout(),
		group("profile", "Lists and chooses what client login has kept.", c.listProfiles(), c.useProfile()),
		&cobra.Command{Use: "connection", Short: "Where the server and the credential come from.", Long: aboutConnections},
		&cobra.Command{Use: "scopes", Short: "How chains and needs are written.", Long: aboutScopes},
	)
	return root
}

// group returns a command that only has commands. For one that it does not have, cobra by
// itself prints the help and reports success, which a script could take for "allowed".
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// command returns a command whose help is a page of the manual. The name of the flag set
// is that of the page. Arguments is how many the command takes, or -1 for any number.
func (c cli) command(flags *pflag.FlagSet, arguments int, run func(ctx context.Context, args []string) error) *cobra.Command {
	name := flags.Name()
	p := manual[name]
	cmd := &cobra.Command{
		Use:     strings.TrimSpace(name[strings.LastIndexByte(name, ' ')+1:] + " " + p.arguments),
		Short:   p.purpose,
		Long:    strings.TrimSpace(p.purpose + "\n\n" + p.more),
		Example: "  " + strings.ReplaceAll(p.examples, "\n", "\n  "),
		RunE: func(cmd *cobra.Command, args []string) error {
			*c.started = true
			return run(cmd.Context(), args)
		},
	}
	if arguments >= 0 {
		cmd.Args = cobra.ExactArgs(arguments)
	}
	cmd.Flags().AddFlagSet(flags)
	return cmd
}

func flagSet(name string) *pflag.FlagSet { return pflag.NewFlagSet(name, pflag.ContinueOnError) }
