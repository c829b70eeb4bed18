package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
)

// options are the flags.
type options struct {
	addr     string
	db       string
	demo     bool
	demoSaid bool // whether -demo was given, either way
	demoJSON string
	baseURL  string
	brand    auth.Brand
	policy   signing.Policy
	log      string
}

// parseFlags reads the command line. It has printed whatever error it returns.
func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("platform", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "listen `address`; port 0 picks one")
	flags.StringVar(&o.db, "db", memoryDB, "`database`; memory: forgets everything at the end")
	flags.BoolVar(&o.demo, "demo", false, "seed the demo orgs (default: on a loopback address, with memory:)")
	flags.StringVar(&o.demoJSON, "demo-json", "", "seed, and write ids, credentials and base URL to `file` (0600) once listening")
	flags.StringVar(&o.baseURL, "base-url", "", "external base `URL` (default: http:// and the listen address)")
	flags.StringVar(&o.brand.Header, "header-prefix", "Service-", "`prefix` of the header names")
	flags.StringVar(&o.brand.Claims, "claim-namespace", "service/", "`prefix` of the token claims")
	flags.StringVar(&o.brand.Faults, "fault-namespace", "service", "first `word` of errCode")
	flags.DurationVar(&o.policy.Tolerance, "tolerance", 5*time.Minute, "accepted age of a signature")
	flags.DurationVar(&o.policy.FutureTolerance, "future-tolerance", time.Minute, "how far ahead of the clock a signature may be")
	flags.BoolVar(&o.policy.SingleUse, "single-use", false, "accept each signature once, also of GET and HEAD")
	flags.BoolVar(&o.policy.UnsafeMethodSiblings, "unsafe-method-siblings", false, "accept equal signatures of POST, PUT, PATCH and DELETE; they can then be replayed")
	flags.StringVar(&o.log, "log", "text", "`format` of the log: text or json")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	flags.Visit(func(f *flag.Flag) { o.demoSaid = o.demoSaid || f.Name == "demo" })
	err := o.validate(flags.Args())
	if err != nil {
		fmt.Fprintln(stderr, "platform:", err)
	}
	return o, err
}

const memoryDB = "memory:"

func (o options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.db != memoryDB:
		return fmt.Errorf("-db %q: the only database so far is %s", o.db, memoryDB)
	case o.policy.Tolerance < time.Millisecond || o.policy.FutureTolerance < time.Millisecond:
		return errors.New("-tolerance and -future-tolerance must be a millisecond or more")
	case o.log != "text" && o.log != "json":
		return fmt.Errorf("-log %q: text or json", o.log)
	}
	return nil
}

// seeds tells whether the demo orgs are wanted. Beyond the loopback interface
// they must be asked for: their accounts are open to whoever reads the output.
func (o options) seeds(listening net.Addr) bool {
	if o.demoJSON != "" || o.demoSaid {
		return o.demoJSON != "" || o.demo
	}
	tcp, ok := listening.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func (o options) baseURLAt(listening net.Addr) string {
	return cmp.Or(o.baseURL, "http://"+listening.String())
}

func (o options) newLog(w io.Writer) *slog.Logger {
	if o.log == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
