package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/examples/internal/demofile"
	"github.com/tenantkit/tenantkit/signing"
)

// connection is a server, with org and version, and a credential to present there.
type connection struct {
	profile
	name     string // of the profile
	demoJSON string

	json    bool // print plain JSON, also on a terminal
	verbose bool
	trace   trace
}

// action is what a command does that talks to a server.
type action func(ctx context.Context, to *connection, args []string) error

// sending returns a command that sends or signs requests, for which it needs a complete
// connection. Define adds flags of its own; it may be nil.
func (c cli) sending(name string, arguments cobra.PositionalArgs, define func(*pflag.FlagSet), run action) *cobra.Command {
	return c.connecting(name, arguments, define, func(ctx context.Context, to *connection, args []string) error {
		if err := to.complete(c); err != nil {
			return err
		}
		return run(ctx, to, args)
	})
}

func (c cli) connecting(name string, arguments cobra.PositionalArgs, define func(*pflag.FlagSet), run action) *cobra.Command {
	var to connection
	cmd := c.command(name, arguments, func(ctx context.Context, args []string) error {
		to.trace = trace{to: c.errs, shows: to.verbose, signature: signing.HeadersFor(to.Header).Signature}
		return to.rejection(ctx, run(ctx, &to, args))
	})
	flags := cmd.Flags()
	flags.StringVar(&to.URL, "url", "", "`URL` of the service with org and version")
	flags.StringVar(&to.Key, "key", "", "client `key`")
	flags.StringVar(&to.Secret, "secret", "", "client `secret`")
	flags.StringVar(&to.Account, "account", "", "`id` of the account to act as, instead of the credential's own")
	flags.StringVar(&to.Header, "header-prefix", "", "`prefix` of the header names (default Service-)")
	flags.StringVar(&to.Version, "signature", "", "`version` of the signatures: 1, or 2, which covers query, body and account (default 1)")
	flags.StringVar(&to.demoJSON, "demo-json", "", "`file` that the reference server wrote")
	flags.StringVar(&to.name, "profile", "", "`name` of a server and a credential that client login has kept")
	flags.BoolVar(&to.json, "json", false, "print plain JSON, and a fault as JSON, also on a terminal")
	flags.FuncP("query", "q", "print only what this `expression` of jq finds in each reply, and strings without quotes: .data[]._id", c.query.set)
	flags.BoolVarP(&to.verbose, "verbose", "v", false, "print each request and reply with their headers on standard error; secrets and signatures are REDACTED")
	if define != nil {
		define(flags)
	}
	c.offer(cmd, &to)
	return cmd
}

// rejection adds the id of the request to a fault, for whoever reads the server's log, and what the credential
// holds to a scope that it lacks.
func (to *connection) rejection(ctx context.Context, err error) error {
	fault, ok := errors.AsType[*envelope.Fault](err)
	id := printable(to.trace.requestID) // not that of the question for what is held
	switch {
	case !ok:
		return err
	case to.json:
		return &rejectedJSON{fault}
	case fault.Detail == "accessDenied.scope":
		err = fmt.Errorf("%w is needed%s", err, to.held(ctx))
	}
	if id != "" {
		err = fmt.Errorf("%w (request %s)", err, id)
	}
	return err
}

// held names the chains of the credential, or nothing if the server does not tell them.
func (to *connection) held(ctx context.Context) string {
	var me struct {
		Scope []string `json:"scope"`
	}
	if err := to.fetch(ctx, http.MethodGet, "/accounts/me?scope=true", "", &me); err != nil || me.Scope == nil {
		return ""
	}
	if len(me.Scope) == 0 {
		return ", nothing is held"
	}
	return ", held " + printable(strings.Join(me.Scope, " "))
}

// complete adds what the flags left out. It returns an error if the URL, the client
// key or the secret is still missing.
func (to *connection) complete(c cli) error {
	if err := to.fill(c); err != nil {
		return err
	}
	if to.URL == "" || to.Key == "" || to.Secret == "" {
		return usageError("the server's URL, a client key and its secret are needed; client login keeps them, and client help connection says what else has them")
	}
	return to.check()
}

func (p profile) check() error {
	base, err := url.Parse(p.URL)
	if err != nil || base.Host == "" || base.User != nil || base.Scheme != "https" && base.Scheme != "http" {
		return usageError("--url is http:// or https://, a host, and the org and version, without a password")
	}
	if p.Version != "1" && p.Version != "2" {
		return usageError(fmt.Sprintf("there is no version %q of signatures: it is 1 or 2", p.Version))
	}
	return nil
}

// fill adds what the flags left out, from the environment, the demo file and a profile. A profile
// is used as a whole or not at all: a credential is never sent to the URL of another source.
func (to *connection) fill(c cli) error {
	if to.name != "" && to.URL+to.Key+to.Secret+to.demoJSON != "" {
		return usageError("--profile has the URL, the key and the secret: give it without --url, --key, --secret and --demo-json")
	}
	if to.name == "" {
		if err := to.fillServer(c.getenv); err != nil {
			return err
		}
	}
	var kept profile
	if to.URL+to.Key+to.Secret == "" {
		all, err := c.readProfiles()
		if err == nil && to.name != "" {
			_, err = all.get(to.name)
		}
		if err != nil {
			return err
		}
		kept = all.Known[cmp.Or(to.name, all.current())]
		to.URL, to.Key, to.Secret = kept.URL, kept.Key, kept.Secret
	}
	to.settle(c.getenv, kept)
	return nil
}

// settle adds the settings that the flags left out, from the environment and a profile.
func (to *connection) settle(getenv func(string) string, kept profile) {
	to.Account = cmp.Or(to.Account, getenv("TENANTKIT_ACCOUNT"), kept.Account)
	to.Header = cmp.Or(to.Header, getenv("TENANTKIT_HEADER_PREFIX"), kept.Header, "Service-")
	to.Version = cmp.Or(to.Version, getenv("TENANTKIT_SIGNATURE"), kept.Version, "1")
}

// fillServer adds the server and the credential that the flags left out, from the
// environment and the demo file.
func (to *connection) fillServer(getenv func(string) string) error {
	demo, err := demofile.Read(cmp.Or(to.demoJSON, getenv("TENANTKIT_DEMO_JSON")))
	if err != nil {
		return err
	}
	to.URL = strings.TrimSuffix(cmp.Or(to.URL, getenv("TENANTKIT_URL"), demo.URL()), "/")
	to.Key = cmp.Or(to.Key, getenv("TENANTKIT_KEY"), demo.ClientKey)
	to.Secret = cmp.Or(to.Secret, getenv("TENANTKIT_SECRET"), demo.ClientSecret)
	return nil
}

// patience is how long a request may take.
const patience = 30 * time.Second

func (to *connection) client() *http.Client {
	return &http.Client{Timeout: patience, Transport: to.transport(&to.trace)}
}

func (to *connection) transport(base http.RoundTripper) *signing.Transport {
	return &signing.Transport{
		BaseURL:   to.URL,
		ClientKey: to.Key,
		Secret:    signing.Secret(to.Secret),
		Version:   map[string]int{"1": 1, "2": 2}[to.Version],
		Account:   to.Account,
		Header:    to.Header,
		Base:      base,
		Repeat:    true, // a server that does not know Idempotency-Key may execute a lost request twice
	}
}

// at returns the URL of a path below the org, with its query. It escapes what a URL cannot
// hold, so that a filter can be written as JSON, and # because no request has a fragment.
func (to *connection) at(path string) string {
	return to.URL + "/" + unsendable.ReplaceAllStringFunc(strings.TrimPrefix(path, "/"), url.PathEscape)
}

var unsendable = regexp.MustCompile(`[^!-~]|#`)

// trace is an http.RoundTripper that sends what has been signed. It keeps the id of the
// last request and, with -v, shows requests and replies. Use it from one goroutine.
type trace struct {
	to        io.Writer
	shows     bool
	signature string // name of the header with that of version 1

	requestID string
}

func (t *trace) RoundTrip(r *http.Request) (*http.Response, error) {
	t.show("> %s %s", r.Method, r.URL.Redacted())
	t.headers(">", r.Header)
	began := time.Now()
	reply, err := http.DefaultTransport.RoundTrip(r)
	took := time.Since(began).Round(10 * time.Microsecond)
	if err != nil {
		t.requestID = ""
		t.show("< %v, after %v", err, took)
		return nil, err
	}
	t.requestID = reply.Header.Get("Request-Id")
	t.show("< %s, after %v", reply.Status, took)
	t.headers("<", reply.Header)
	return reply, nil
}

func (t *trace) show(format string, values ...any) {
	if t.shows {
		fmt.Fprintln(t.to, printable(fmt.Sprintf(format, values...)))
	}
}

// headers shows headers by name. A signature is a secret too: whoever reads it in time
// could send the request again.
func (t *trace) headers(mark string, h http.Header) {
	secret := []string{"Authorization", "Cookie", "Set-Cookie", "Signature", http.CanonicalHeaderKey(t.signature)}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			if slices.Contains(secret, name) {
				value = "REDACTED"
			}
			t.show("%s %s: %s", mark, name, value)
		}
	}
}
