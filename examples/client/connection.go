package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/examples/internal/demofile"
	"github.com/tenantkit/tenantkit/signing"
)

type connection struct {
	url      string // with org and version
	key      string
	secret   signing.Secret
	account  string
	header   string
	version  string // of signatures
	demoJSON string
	profile  string

	json    bool // print plain JSON, also on a terminal
	verbose bool
	trace   trace
}

// flags returns the flag set of a command that talks to a server. It has the flags
// that all these commands share.
func (c cli) flags(name string, to *connection) *pflag.FlagSet {
	flags := flagSet(name)
	flags.StringVar(&to.url, "url", "", "`URL` of the service with org and version")
	flags.StringVar(&to.key, "key", "", "client `key`")
	flags.StringVar((*string)(&to.secret), "secret", "", "client `secret`")
	flags.StringVar(&to.account, "account", "", "`id` of the account to act as, instead of the credential's own")
	flags.StringVar(&to.header, "header-prefix", "", "`prefix` of the header names (default Service-)")
	flags.StringVar(&to.version, "signature", "", "`version` of the signatures: 1, or 2, which covers query, body and account (default 1)")
	flags.StringVar(&to.demoJSON, "demo-json", "", "`file` that the reference server wrote")
	flags.StringVar(&to.profile, "profile", "", "`name` of a server and a credential that client login has kept")
	flags.BoolVar(&to.json, "json", false, "print plain JSON, and a fault as JSON, also on a terminal")
	flags.VarP(c.query, "query", "q", "print only what this `expression` of jq finds in each reply, and strings without quotes: .data[]._id")
	flags.BoolVarP(&to.verbose, "verbose", "v", false, "print each request and reply with their headers on standard error; secrets and signatures are REDACTED")
	return flags
}

// sending returns a command that sends or signs requests, for which it needs a complete
// connection. Define adds flags of its own; it may be nil.
func (c cli) sending(name string, arguments int, define func(*pflag.FlagSet), run func(context.Context, *connection, []string) error) *cobra.Command {
	var to connection
	flags := c.flags(name, &to)
	if define != nil {
		define(flags)
	}
	return c.connecting(flags, arguments, &to, func(ctx context.Context, args []string) error {
		if err := to.complete(c); err != nil {
			return err
		}
		return run(ctx, &to, args)
	})
}

func (c cli) connecting(flags *pflag.FlagSet, arguments int, to *connection, run func(context.Context, []string) error) *cobra.Command {
	cmd := c.command(flags, arguments, func(ctx context.Context, args []string) error {
		to.trace = trace{to: c.errs, shows: to.verbose, secretHeader: func() string { return signing.HeadersFor(to.header).Signature }}
		return to.refusal(ctx, run(ctx, args))
	})
	c.completeProfiles(cmd)
	if strings.HasPrefix(manual[flags.Name()].arguments, "PATH") {
		c.completePaths(cmd, to)
	}
	_ = cmd.RegisterFlagCompletionFunc("signature", cobra.FixedCompletions([]string{"1", "2"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("demo-json")
	return cmd
}

// refusal adds the id of the request to a fault, for whoever reads the server's log, and what the credential
// holds to a scope that it lacks.
func (to *connection) refusal(ctx context.Context, err error) error {
	fault, ok := errors.AsType[*envelope.Fault](err)
	switch {
	case ok && to.json:
		return &refusedJSON{fault}
	case ok && fault.Detail == "accessDenied.scope" && to.trace.requestID != "":
		id := to.trace.requestID // not that of the question for what is held
		return fmt.Errorf("%w is needed%s (request %s)", err, to.held(ctx), printable(id))
	case ok && to.trace.requestID != "":
		return fmt.Errorf("%w (request %s)", err, printable(to.trace.requestID))
	}
	return err
}

const mostHeld = 10 // chains that are named

// held names the chains of the credential, or nothing if the server does not tell them.
func (to *connection) held(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var me struct {
		Scope []string `json:"scope"`
	}
	if err := to.fetch(ctx, http.MethodGet, to.at("/accounts/me?scope=true"), "", &me); err != nil || me.Scope == nil {
		return ""
	}
	if len(me.Scope) == 0 {
		return ", nothing is held"
	}
	more := ""
	if n := len(me.Scope) - mostHeld; n > 0 {
		me.Scope, more = me.Scope[:mostHeld], fmt.Sprintf(" and %d more", n)
	}
	return ", held " + printable(strings.Join(me.Scope, " ")) + more
}

// complete adds what the flags left out. It returns an error if the URL, the client
// key or the secret is still missing.
func (to *connection) complete(c cli) error {
	if err := to.fill(c); err != nil {
		return err
	}
	if to.url == "" || to.key == "" || to.secret == "" {
		return usageError("the server's URL, a client key and its secret are needed; client login asks for all, and client help connection says what else has them")
	}
	if err := checkURL(to.url); err != nil {
		return err
	}
	return to.checkVersion()
}

func (to *connection) checkVersion() error {
	if to.version != "1" && to.version != "2" {
		return usageError(fmt.Sprintf("there is no version %q of signatures: it is 1 or 2", to.version))
	}
	return nil
}

// fill adds what the flags left out, from the environment, the demo file and a profile. A profile
// is used as a whole or not at all: a credential is never sent to the URL of another source.
func (to *connection) fill(c cli) error {
	name := to.profile
	if name != "" && (to.url != "" || to.key != "" || to.secret != "" || to.demoJSON != "") {
		return usageError("--profile has the URL, the key and the secret: give it without --url, --key, --secret and --demo-json")
	}
	if name == "" {
		if err := to.fillServer(c.getenv); err != nil {
			return err
		}
		if to.url == "" && to.key == "" && to.secret == "" {
			all, err := c.readProfiles()
			if err != nil {
				return err
			}
			if _, kept := all.Known[all.current()]; kept {
				name = all.current()
			}
		}
	}
	var p profile
	if name != "" {
		all, err := c.readProfiles()
		if err == nil {
			p, err = all.get(name)
		}
		if err != nil {
			return err
		}
		to.url, to.key, to.secret = p.URL, p.Key, signing.Secret(p.Secret)
	}
	to.settle(c.getenv, p)
	return nil
}

// settle adds the settings that the flags left out, from the environment and a profile.
func (to *connection) settle(getenv func(string) string, p profile) {
	to.account = cmp.Or(to.account, getenv("TENANTKIT_ACCOUNT"), p.Account)
	to.header = cmp.Or(to.header, getenv("TENANTKIT_HEADER_PREFIX"), p.Header, "Service-")
	to.version = cmp.Or(to.version, getenv("TENANTKIT_SIGNATURE"), p.Version, "1")
}

// fillServer adds the server and the credential that the flags left out, from the
// environment and the demo file.
func (to *connection) fillServer(getenv func(string) string) error {
	to.url = cmp.Or(to.url, getenv("TENANTKIT_URL"))
	to.key = cmp.Or(to.key, getenv("TENANTKIT_KEY"))
	to.secret = cmp.Or(to.secret, signing.Secret(getenv("TENANTKIT_SECRET")))
	demo, err := demofile.Read(cmp.Or(to.demoJSON, getenv("TENANTKIT_DEMO_JSON")))
	if err != nil {
		return err
	}
	to.url = strings.TrimSuffix(cmp.Or(to.url, demo.URL()), "/")
	to.key = cmp.Or(to.key, demo.ClientKey)
	to.secret = cmp.Or(to.secret, signing.Secret(demo.ClientSecret))
	return nil
}

// patience is how long a request may take.
const patience = 30 * time.Second

func (to *connection) client() *http.Client {
	transport := to.transport()
	transport.Base = &to.trace
	return &http.Client{Timeout: patience, Transport: transport}
}

func (to *connection) transport() *signing.Transport {
	return &signing.Transport{
		BaseURL:   to.url,
		ClientKey: to.key,
		Secret:    to.secret,
		Version:   map[string]int{"1": 1, "2": 2}[to.version],
		Account:   to.account,
		Header:    to.header,
		Repeat:    true, // a server that does not know Idempotency-Key may execute a lost request twice
	}
}

// at returns the URL of a path below the org, with its query. It escapes what a URL cannot
// hold, so that a filter can be written as JSON, and # because no request has a fragment.
func (to *connection) at(path string) string {
	var escaped strings.Builder
	for _, b := range []byte(strings.TrimPrefix(path, "/")) {
		if b <= ' ' || b > '~' || b == '#' {
			fmt.Fprintf(&escaped, "%%%02X", b)
		} else {
			escaped.WriteByte(b)
		}
	}
	return to.url + "/" + escaped.String()
}

// checkPath returns an error for a whole URL in place of a path.
func checkPath(path string) error {
	if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
		return usageError("PATH is what stands behind the org and the version in the URL: /accounts/me")
	}
	return nil
}

// trace is an http.RoundTripper that sends what has been signed. It keeps the id of the
// last request and, with -v, shows requests and replies. Use it from one goroutine.
type trace struct {
	to           io.Writer
	shows        bool
	secretHeader func() string // name of the header with the signature

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
	secret := []string{"Authorization", "Cookie", "Set-Cookie", "Signature"}
	if t.secretHeader != nil {
		secret = append(secret, http.CanonicalHeaderKey(t.secretHeader()))
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			if slices.Contains(secret, name) {
				value = "REDACTED"
			}
			t.show("%s %s: %s", mark, name, value)
		}
	}
}
