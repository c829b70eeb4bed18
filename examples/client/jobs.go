package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/envelope"
)

// rotate gives an app another secret, and prints it.
func (c cli) rotate() *cobra.Command {
	overlap := 24 * time.Hour
	define := func(flags *pflag.FlagSet) {
		flags.DurationVar(&overlap, "overlap", overlap, "how long the former secret still works, in whole seconds; 0 ends all former ones")
	}
	return c.sendingOne("rotate", define, func(ctx context.Context, to *connection, app string) error {
		seconds, err := wholeSeconds("--overlap", overlap)
		if err != nil {
			return err
		}
		body, _ := json.Marshal(map[string]int64{"grace": seconds}) // a map of numbers
		var rotated envelope.Result[json.RawMessage]
		if err := to.fetch(ctx, http.MethodPost, to.at("/apps/"+url.PathEscape(cmp.Or(app, to.key))+"/secret"), string(body), &rotated); err != nil {
			return err
		}
		return c.printSecret(to, rotated.Data)
	})
}

// sendingOne is sending for a command with one argument, which is "" if it is left out.
func (c cli) sendingOne(name string, define func(*pflag.FlagSet), run func(ctx context.Context, to *connection, arg string) error) *cobra.Command {
	cmd := c.sending(name, -1, define, func(ctx context.Context, to *connection, args []string) error {
		return run(ctx, to, append(args, "")[0])
	})
	cmd.Args = cobra.MaximumNArgs(1)
	return cmd
}

// tokens lists the tokens of an app, or revokes some.
func (c cli) tokens() *cobra.Command {
	var of, revoke string
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&of, "of", "", "`id` of the account whose tokens are meant (default: those of all accounts, for administrators)")
		flags.StringVar(&revoke, "revoke", "", "revoke the token of this `id`, or with all those of --of")
	}
	return c.sendingOne("tokens", define, func(ctx context.Context, to *connection, app string) error {
		path := "/apps/" + url.PathEscape(cmp.Or(app, to.key))
		subject := path + "/subjects/" + url.PathEscape(of) + "/tokens"
		switch {
		case revoke == "all" && of != "":
			return c.send(ctx, to, http.MethodDelete, subject, "")
		case revoke != "":
			return c.send(ctx, to, http.MethodDelete, path+"/tokens/"+url.PathEscape(revoke), "")
		case of != "":
			return c.walk(ctx, to, &listOptions{all: true}, subject)
		}
		return c.walk(ctx, to, &listOptions{all: true}, path+"/tokens")
	})
}

// accounts lists the accounts of the org, or prints one.
func (c cli) accounts() *cobra.Command {
	return c.sendingOne("accounts", nil, func(ctx context.Context, to *connection, id string) error {
		if id != "" {
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
	return c.sending("sessions", 1, define, func(ctx context.Context, to *connection, args []string) error {
		path := "/admin/accounts/" + url.PathEscape(args[0]) + "/sessions"
		switch end {
		case "":
			return c.walk(ctx, to, &listOptions{all: true}, path)
		case "all":
			return c.send(ctx, to, http.MethodDelete, path, "")
		}
		return c.send(ctx, to, http.MethodDelete, path+"/"+url.PathEscape(end), "")
	})
}
