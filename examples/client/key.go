package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// key has the commands for the API keys of an app.
func (c cli) key() *cobra.Command {
	return group("key", "Makes, lists, replaces and revokes the API keys of an app.",
		c.makeKey(), c.listKeys("key list"), c.replaceKey(), c.revokeKey())
}

// ofApp returns a command about the keys of an app. run gets the path of the keys.
func (c cli) ofApp(name string, arguments int, define func(*pflag.FlagSet), run func(ctx context.Context, to *connection, keys string, args []string) error) *cobra.Command {
	var app string
	with := func(flags *pflag.FlagSet) {
		flags.StringVar(&app, "app", "", "client `key` of the app (default: the credential's own)")
		if define != nil {
			define(flags)
		}
	}
	return c.sending(name, arguments, with, func(ctx context.Context, to *connection, args []string) error {
		return run(ctx, to, "/apps/"+url.PathEscape(cmp.Or(app, to.key))+"/keys", args)
	})
}

// newKey is the request body of POST /apps/{key}/keys.
type newKey struct {
	Name     string    `json:"name"`
	Account  string    `json:"account,omitempty"`
	Scope    []string  `json:"scope"`
	Networks []string  `json:"networks,omitempty"`
	Uses     int64     `json:"uses,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

func (c cli) makeKey() *cobra.Command {
	k := newKey{Scope: []string{}} // sent as [], never as null
	var life time.Duration
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&k.Account, "for", "", "`id` of the account that the key acts as (default: the credential's own)")
		flags.StringArrayVar(&k.Scope, "scope", k.Scope, "`chain` of what the key may do; repeat it for more, * is everything")
		flags.StringArrayVar(&k.Networks, "network", nil, "`network` that the key works from, such as 192.0.2.0/24; repeat it for more (default: anywhere)")
		flags.Int64Var(&k.Uses, "uses", 0, "`number` of times the key can be used (default: any)")
		flags.DurationVar(&life, "life", 0, "how long the key lasts, in whole seconds: 2160h are 90 days (default: until it is revoked)")
	}
	return c.ofApp("key make", 1, define, func(ctx context.Context, to *connection, keys string, args []string) (err error) {
		k.Name = args[0]
		if k.Expires, err = endOf(life); err != nil {
			return err
		}
		return c.printKey(ctx, to, keys, k)
	})
}

func (c cli) replaceKey() *cobra.Command {
	var overlap, life time.Duration
	define := func(flags *pflag.FlagSet) {
		flags.DurationVar(&overlap, "overlap", 0, "how long the old key still works, in whole seconds (default: not at all)")
		flags.DurationVar(&life, "life", 0, "how long the new key lasts, in whole seconds (default: as long as the old one would have)")
	}
	return c.ofApp("key replace", 1, define, func(ctx context.Context, to *connection, keys string, args []string) (err error) {
		var body struct {
			Overlap int64     `json:"overlap"`
			Expires time.Time `json:"expires,omitzero"`
		}
		if body.Overlap, err = wholeSeconds("--overlap", overlap); err == nil {
			body.Expires, err = endOf(life)
		}
		if err != nil {
			return err
		}
		return c.printKey(ctx, to, keys+"/"+url.PathEscape(args[0])+"/replace", body)
	})
}

func wholeSeconds(flag string, d time.Duration) (int64, error) {
	if d < 0 || d%time.Second != 0 {
		return 0, usageError(flag + " is a number of whole seconds, such as 90s or 24h")
	}
	return int64(d / time.Second), nil
}

// endOf returns when a life that begins now is over, or the zero time for no life.
func endOf(life time.Duration) (end time.Time, err error) {
	if _, err = wholeSeconds("--life", life); err == nil && life > 0 {
		end = time.Now().Add(life).UTC()
	}
	return end, err
}

// printKey asks for a new key, and prints it: nobody shows it again.
func (c cli) printKey(ctx context.Context, to *connection, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var made json.RawMessage
	if err := to.fetch(ctx, http.MethodPost, to.at(path), string(text), &made); err != nil {
		return err
	}
	return c.printSecret(to, made)
}

// printSecret prints the token or the key of a reply, or with --json the reply.
func (c cli) printSecret(to *connection, reply json.RawMessage) error {
	if to.json || c.query.given() {
		return c.printJSON(reply, true)
	}
	var made struct{ Token, Key, Secret string }
	if err := json.Unmarshal(reply, &made); err != nil {
		return err
	}
	secret := made.Token + made.Key + made.Secret
	if c.screen {
		secret = printable(secret)
	}
	_, err := fmt.Fprintln(c.out, secret)
	return err
}

func (c cli) listKeys(name string) *cobra.Command {
	var within time.Duration
	define := func(flags *pflag.FlagSet) {
		flags.DurationVar(&within, "expiring", 0, "only keys that expire within this time: 336h are two weeks (default: all)")
	}
	return c.ofApp(name, 0, define, func(ctx context.Context, to *connection, keys string, _ []string) error {
		o := listOptions{all: true}
		if within != 0 {
			o.where = fmt.Sprintf(`{"expires":{"$lt":%q}}`, time.Now().Add(within).UTC().Format("2006-01-02T15:04:05.000Z"))
		}
		return c.walk(ctx, to, &o, keys)
	})
}

func (c cli) revokeKey() *cobra.Command {
	return c.ofApp("key revoke", 1, nil, func(ctx context.Context, to *connection, keys string, args []string) error {
		return c.send(ctx, to, http.MethodDelete, keys+"/"+url.PathEscape(args[0]), "")
	})
}
