package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/examples/internal/demofile"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// The limits of a load. They are enough to test a server of one's own, and too low for an attack.
const (
	maxDuration    = 10 * time.Minute
	maxConcurrency = 512
	maxRate        = 1_000_000
)

// defaultPaths are routes of the reference server that do different work. There are
// several, because signatures of one path in one millisecond are equal.
var defaultPaths = []string{
	"/accounts/me",
	"/connections?limit=10",
	"/c_messages?limit=10&paths[]=c_text",
	"/c_conversations?limit=10&paths[]=c_title",
}

type options struct {
	credentials
	at          []*url.URL
	rate        int // per second; 0: as fast as possible
	concurrency int
	duration    time.Duration
	mix         mix
	paths       []string
	maxFailed   uint64
	maxP99      time.Duration // 0: any
	remote      bool
	json        bool
	pid         int
	plot        string
	version     bool
}

func (p program) parse(args []string) (options, error) {
	o := options{mix: mix{signed: 1, bearer: 1, session: 1}}
	flags := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	o.define(flags)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(p.out, help)
		flags.SetOutput(p.out)
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, usageError(err.Error() + "; loadgen -help lists the flags")
	case flags.NArg() > 0:
		return o, usageError(fmt.Sprintf("unexpected argument %q", flags.Arg(0)))
	case o.version:
		return o, nil
	}
	if len(o.paths) == 0 {
		o.paths = defaultPaths
	}
	if err := o.credentials.fill(p.getenv); err != nil {
		return o, err
	}
	if err := o.validate(); err != nil {
		return o, usageError(err.Error())
	}
	return o, nil
}

func (o *options) define(flags *flag.FlagSet) {
	o.credentials.define(flags)
	flags.IntVar(&o.rate, "rate", 0, "requests a `second` in all; 0 is as fast as possible")
	flags.IntVar(&o.concurrency, "concurrency", 8, "`requests` in flight at most")
	flags.DurationVar(&o.duration, "duration", 10*time.Second, "how long, with a unit: 30s, 1m30s; 10m at most")
	flags.Var(&o.mix, "mix", "`shares` of the kinds of credential")
	flags.Func("path", "`path` below the org to fetch, with its query; repeat it for more (default: four of the reference server)", add(&o.paths))
	flags.Uint64Var(&o.maxFailed, "max-failed", 0, "faults at most; with more, the exit status is 1")
	flags.DurationVar(&o.maxP99, "max-p99", 0, "99 % of the requests must take no longer, or the exit status is 1: 20ms (default: any time)")
	flags.BoolVar(&o.remote, "remote", false, "allow a URL of another machine; use it only for a server of your own")
	flags.BoolVar(&o.json, "json", false, "print the report as one JSON object")
	flags.StringVar(&o.plot, "plot", "", "`file` for a chart of the run, a page of HTML")
	flags.BoolVar(&o.version, "version", false, "print the version")
	flags.IntVar(&o.pid, "pid", 0, "`process` id on this machine, such as the server's, whose memory and CPU to watch")
}

func (o *options) validate() (err error) {
	switch {
	case o.duration <= 0 || o.duration > maxDuration:
		return fmt.Errorf("-duration is more than 0 and at most %v", maxDuration)
	case o.concurrency < 1 || o.concurrency > maxConcurrency:
		return fmt.Errorf("-concurrency is 1 to %d", maxConcurrency)
	case o.rate < 0 || o.rate > maxRate:
		return fmt.Errorf("-rate is 0 to %d", maxRate)
	}
	for _, path := range o.paths {
		if !strings.HasPrefix(path, "/") || strings.Contains(path, "#") {
			return fmt.Errorf("-path %q: a path begins with / and has no #", path)
		}
	}
	if err := o.credentials.cover(o.mix); err != nil {
		return err
	}
	o.at, err = targets(o.urls, o.remote)
	return err
}

// add returns what a flag of several words calls.
func add(to *[]string) func(string) error {
	return func(word string) error {
		*to = append(*to, word)
		return nil
	}
}

// credentials are the URLs of a service and the credentials to present there.
type credentials struct {
	urls      []string // one per instance, with org and version
	header    string
	key       string
	secret    signing.Secret
	signature int // its version
	token     token.Token
	email     string
	password  signing.Secret
	demoJSON  string
}

func (c *credentials) define(flags *flag.FlagSet) {
	flags.Func("url", "`URL` of the service with org and version; repeat it for several instances of one service", add(&c.urls))
	flags.StringVar(&c.header, "header-prefix", "", "`prefix` of the header names (default Service-)")
	flags.StringVar(&c.key, "key", "", "client `key`")
	flags.StringVar((*string)(&c.secret), "secret", "", "client `secret`")
	flags.IntVar(&c.signature, "signature", 1, "`version` of the signatures: 1 or 2")
	flags.StringVar((*string)(&c.token), "token", "", "bearer `token`")
	flags.StringVar(&c.email, "email", "", "`address` to log in with")
	flags.StringVar((*string)(&c.password), "password", "", "`password` to log in with")
	flags.StringVar(&c.demoJSON, "demo-json", "", "`file` that the reference server wrote")
}

func (c *credentials) fill(getenv func(string) string) error {
	demo, err := demofile.Read(cmp.Or(c.demoJSON, getenv("TENANTKIT_DEMO_JSON")))
	if err != nil {
		return err
	}
	if at := cmp.Or(getenv("TENANTKIT_URL"), demo.URL()); len(c.urls) == 0 && at != "" {
		c.urls = []string{at}
	}
	for i, at := range c.urls {
		c.urls[i] = strings.TrimSuffix(at, "/")
	}
	c.header = cmp.Or(c.header, getenv("TENANTKIT_HEADER_PREFIX"), "Service-")
	c.key = cmp.Or(c.key, getenv("TENANTKIT_KEY"), demo.ClientKey)
	c.secret = cmp.Or(c.secret, signing.Secret(getenv("TENANTKIT_SECRET")), signing.Secret(demo.ClientSecret))
	c.token = cmp.Or(c.token, token.Token(getenv("TENANTKIT_TOKEN")), token.Token(demo.EphemeralToken))
	c.email = cmp.Or(c.email, getenv("TENANTKIT_EMAIL"), demo.AccountEmail)
	c.password = cmp.Or(c.password, signing.Secret(getenv("TENANTKIT_PASSWORD")), signing.Secret(demo.AccountPassword))
	return nil
}

func (c *credentials) cover(m mix) error {
	switch {
	case len(c.urls) == 0:
		return errors.New("the server's URL is needed; loadgen -help says where from")
	case m[signed] > 0 && (c.key == "" || c.secret == ""):
		return errors.New("signed requests need a client key and its secret, or leave them out of -mix")
	case c.signature != 1 && c.signature != 2:
		return errors.New("-signature is 1 or 2")
	case m[bearer] > 0 && c.token == "":
		return errors.New("bearer requests need a token, or leave them out of -mix")
	case m[session] > 0 && (c.email == "" || c.password == ""):
		return errors.New("sessions need an email address and its password, or leave them out of -mix")
	}
	return nil
}

// The kinds of requests, by their credential.
const (
	signed  = "signed"
	bearer  = "bearer"
	session = "session"
)

var kinds = []string{signed, bearer, session}

// maxShare is the greatest sum of a mix, and so the greatest length of a round.
const maxShare = 1000

// mix is how many requests of each kind are sent in one round.
type mix map[string]int

func (m *mix) String() string {
	var shares []string
	for _, kind := range kinds {
		if share := (*m)[kind]; share > 0 {
			shares = append(shares, fmt.Sprintf("%s=%d", kind, share))
		}
	}
	return strings.Join(shares, ",")
}

// Set implements flag.Value. A kind that text does not name is not sent.
func (m *mix) Set(text string) error {
	read, sum := make(mix), 0
	for part := range strings.SplitSeq(text, ",") {
		kind, number, _ := strings.Cut(part, "=")
		share, err := strconv.Atoi(number)
		if !slices.Contains(kinds, kind) || err != nil || share < 0 || share > maxShare || read[kind] > 0 {
			return errors.New("shares of signed, bearer and session, such as signed=2,bearer=1")
		}
		if sum += share; share > 0 {
			read[kind] = share
		}
	}
	if sum == 0 || sum > maxShare {
		return fmt.Errorf("the shares add up to 1 to %d", maxShare)
	}
	*m = read
	return nil
}
