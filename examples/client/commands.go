package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

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
	root := documented("client")
	root.Version = version.Line("client")
	root.SilenceErrors, root.SilenceUsage = true, true // status prints them
	root.SetOut(c.out)
	root.SetErr(c.errs)
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.AddCommand(
		c.change("get", http.MethodGet, 1, 1), c.list(), c.tail(), c.change("post", http.MethodPost, 1, 2),
		c.change("patch", http.MethodPatch, 2, 2), c.change("delete", http.MethodDelete, 1, 2), c.sign(), c.mint(), c.verify(),
		group("key", c.makeKey(), c.listKeys("key list"), c.replaceKey(), c.revokeKey()),
		c.rotate(), c.tokens(), c.listKeys("keys"), c.accounts(), c.sessions(),
		group("audit", c.listAudit(), c.verifyAudit(), c.exportAudit()),
		group("scope", c.scopeCheck(), c.scopeExplain()),
		c.login(), c.logout(), group("profile", c.listProfiles(), c.useProfile()),
		documented("connection"), documented("scopes"),
	)
	return root
}

// command returns a command that does something.
func (c cli) command(name string, arguments cobra.PositionalArgs, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := documented(name)
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		*c.started = true
		return run(cmd.Context(), args)
	}
	return cmd
}
