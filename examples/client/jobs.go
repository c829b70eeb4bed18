package main

import (
	"context"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// rotate gives an app another secret, and prints it.
func (c cli) rotate() *cobra.Command {
	body := struct {
		Grace seconds `json:"grace"`
	}{24 * 60 * 60}
	define := func(flags *pflag.FlagSet) {
		flags.Func("overlap", "`time` that the former secret still works, in whole seconds; 0s ends all former ones (default 24h)", body.Grace.set)
	}
	return c.sending("rotate", cobra.MaximumNArgs(1), define, func(ctx context.Context, to *connection, args []string) error {
		return c.create(ctx, to, to.app(first(args))+"/secret", body)
	})
}

func first(args []string) string { return append(args, "")[0] }

// tokens lists the tokens of an app, or revokes some.
func (c cli) tokens() *cobra.Command {
	var of, revoke string
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&of, "of", "", "`id` of the account whose tokens are meant (default: those of all accounts, for administrators)")
		flags.StringVar(&revoke, "revoke", "", "revoke the token of this `id`, or with all those of --of")
	}
	return c.sending("tokens", cobra.MaximumNArgs(1), define, func(ctx context.Context, to *connection, args []string) error {
		path := to.app(first(args))
		switch {
		case of != "" && (revoke == "" || revoke == "all"):
			path += "/subjects/" + url.PathEscape(of)
		case revoke == "all":
			return usageError("--revoke all needs --of")
		}
		return c.listOrEnd(ctx, to, path+"/tokens", revoke)
	})
}

// listOrEnd lists what is at a path, or ends the one with an id, or all.
func (c cli) listOrEnd(ctx context.Context, to *connection, path, end string) error {
	switch end {
	case "":
		return c.walk(ctx, to, &listOptions{all: true}, path)
	case "all":
		return c.send(ctx, to, http.MethodDelete, path, "")
	}
	return c.send(ctx, to, http.MethodDelete, path+"/"+url.PathEscape(end), "")
}

// accounts lists the accounts of the org, or prints one.
func (c cli) accounts() *cobra.Command {
	return c.sending("accounts", cobra.MaximumNArgs(1), nil, func(ctx context.Context, to *connection, args []string) error {
		if id := first(args); id != "" {
			return c.send(ctx, to, http.MethodGet, "/admin/accounts/"+url.PathEscape(id), "")
		}
		return c.walk(ctx, to, &listOptions{all: true}, "/admin/accounts")
	})
}

// sessions lists the sessions of an account, or ends them.
func (c cli) sessions() *cobra.Command {
	var end string
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&end, "end", "", "end the session of this `id`, or with all every one")
	}
	return c.sending("sessions", cobra.ExactArgs(1), define, func(ctx context.Context, to *connection, args []string) error {
		return c.listOrEnd(ctx, to, "/admin/accounts/"+url.PathEscape(args[0])+"/sessions", end)
	})
}
