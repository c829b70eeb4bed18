package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// seconds is the value of a flag of a time in whole seconds.
type seconds int64

func (s *seconds) set(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && (d < 0 || d%time.Second != 0) {
		err = errors.New("not a number of whole seconds, such as 90s or 24h")
	}
	*s = seconds(d / time.Second)
	return err
}

// fromNow returns when a life that begins now ends, or the zero time for no life.
func (s seconds) fromNow() (end time.Time) {
	if s > 0 {
		end = time.Now().Add(time.Duration(s) * time.Second).UTC()
	}
	return end
}

// create sends a body, and prints the secret of the reply, which the server does not show again. With --json it
// prints all of the reply.
func (c cli) create(ctx context.Context, to *connection, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var reply json.RawMessage
	if err := to.fetch(ctx, http.MethodPost, path, string(text), &reply); err != nil {
		return err
	}
	var created struct {
		Key, Token, Secret string
		Data               json.RawMessage // of a reply that is no object of its own
	}
	err = json.Unmarshal(reply, &created)
	if err == nil && created.Data != nil {
		reply = created.Data
		err = json.Unmarshal(reply, &created)
	}
	if err != nil {
		return err
	}
	if to.json || c.query.given() {
		return c.printJSON(reply, true)
	}
	return c.printText(created.Key + created.Token + created.Secret)
}

// app is the path of an app, or of that of the credential.
func (to *connection) app(key string) string {
	if key == "" {
		key = to.Key
	}
	return "/apps/" + url.PathEscape(key)
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

const appUsage = "client `key` of the app (default: the credential's own)"

func (c cli) makeKey() *cobra.Command {
	k := newKey{Scope: []string{}} // sent as [], never as null
	var app string
	var life seconds
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&app, "app", "", appUsage)
		flags.StringVar(&k.Account, "for", "", "`id` of the account that the key acts as (default: the credential's own)")
		flags.StringArrayVar(&k.Scope, "scope", k.Scope, "`chain` of what the key may do; repeat it for more, * is everything")
		flags.StringArrayVar(&k.Networks, "network", nil, "`network` that the key works from, such as 192.0.2.0/24; repeat it for more (default: anywhere)")
		flags.Int64Var(&k.Uses, "uses", 0, "`number` of times the key can be used (default: any)")
		flags.Func("life", "`time` that the key lasts, in whole seconds: 2160h are 90 days (default: until it is revoked)", life.set)
	}
	return c.sending("key make", cobra.ExactArgs(1), define, func(ctx context.Context, to *connection, args []string) error {
		k.Name, k.Expires = args[0], life.fromNow()
		return c.create(ctx, to, to.app(app)+"/keys", k)
	})
}

func (c cli) replaceKey() *cobra.Command {
	var app string
	var life seconds
	var body struct {
		Overlap seconds   `json:"overlap"`
		Expires time.Time `json:"expires,omitzero"`
	}
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&app, "app", "", appUsage)
		flags.Func("overlap", "`time` that the old key still works, in whole seconds (default: not at all)", body.Overlap.set)
		flags.Func("life", "`time` that the new key lasts, in whole seconds (default: as long as the old one would have)", life.set)
	}
	return c.sending("key replace", cobra.ExactArgs(1), define, func(ctx context.Context, to *connection, args []string) error {
		body.Expires = life.fromNow()
		return c.create(ctx, to, to.app(app)+"/keys/"+url.PathEscape(args[0])+"/replace", body)
	})
}

func (c cli) listKeys(name string) *cobra.Command {
	var app string
	var within time.Duration
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&app, "app", "", appUsage)
		flags.DurationVar(&within, "expiring", 0, "only keys that expire within this time: 336h are two weeks (default: all)")
	}
	return c.sending(name, cobra.NoArgs, define, func(ctx context.Context, to *connection, _ []string) error {
		o := listOptions{all: true}
		if within != 0 {
			o.where = fmt.Sprintf(`{"expires":{"$lt":%q}}`, time.Now().Add(within).UTC().Format("2006-01-02T15:04:05.000Z"))
		}
		return c.walk(ctx, to, &o, to.app(app)+"/keys")
	})
}

func (c cli) revokeKey() *cobra.Command {
	var app string
	define := func(flags *pflag.FlagSet) { flags.StringVar(&app, "app", "", appUsage) }
	return c.sending("key revoke", cobra.ExactArgs(1), define, func(ctx context.Context, to *connection, args []string) error {
		return c.send(ctx, to, http.MethodDelete, to.app(app)+"/keys/"+url.PathEscape(args[0]), "")
	})
}
