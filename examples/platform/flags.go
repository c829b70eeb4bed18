package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/signing"
)

type options struct {
	addr           string
	db             string
	redis          string
	sealingKeyFile string
	given          []string // names of the flags on the command line
	demo           bool
	demoJSON       string
	demoMessages   int // no flag: how many the demo has, for tests that need few
	baseURL        string
	brand          auth.Brand
	ceiling        bool // no flag: the interface has none, and tests compare both
	policy         signing.Policy
	cookies        session.Cookies
	sha256Codes    bool
	keyPrefix      string // of API keys
	mailDir        string
	docsURL        string
	session        auth.SessionPolicy // of the demo org
	storeTimeout   time.Duration
	log            string
	logLevel       slog.Level
	audit          bool
	checkpoint     string // file
	version        bool
	help           string // to print instead of serving
	proxies        auth.Proxies
	issuers        issuerFlags
	plaintextDB    bool // allow plaintext to a database on another host
	plaintextRedis bool // allow plaintext to a Redis on another host
}

const help = `platform is a small tenant platform, for whoever wants to see or test one.

    platform                      serve at http://127.0.0.1:8080, with demo data in platform.db
    platform -db memory: -demo-json demo.json
                                  keep nothing but a file of credentials, for scripts
    platform -demo                the same with fresh credentials, for a platform.db with data
    platform -version             print the version
`

// helpOf returns the help. It has the flags by what they are for, those first that matter most.
func helpOf(groups []*flag.FlagSet) string {
	text := new(strings.Builder)
	text.WriteString(help)
	for _, group := range groups {
		fmt.Fprintf(text, "\n%s:\n", group.Name())
		group.SetOutput(text)
		group.PrintDefaults()
	}
	return text.String()
}

// parseFlags reads the command line. If it returns an error, it has printed it in one line.
// With flag.ErrHelp the options have the help instead.
func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("platform", flag.ContinueOnError)
	var groups []*flag.FlagSet
	in := func(title string) *flag.FlagSet {
		groups = append(groups, flag.NewFlagSet(title, flag.ContinueOnError))
		return groups[len(groups)-1]
	}
	group := in("First")
	group.StringVar(&o.addr, "addr", "127.0.0.1:8080", "listen `address`; port 0 picks one")
	group.StringVar(&o.db, "db", defaultDB, "`database`: memory:, which forgets everything at the end, sqlite:FILE or postgres://…")
	group.BoolVar(&o.demo, "demo", false, "seed the demo orgs, or issue fresh credentials of them (default: on a loopback address, in memory: or an empty "+defaultDB+")")

	group = in("Where")
	group.StringVar(&o.baseURL, "base-url", "", "external base `URL` (default: http:// and the listen address)")
	header := group.String("client-addr-header", "", "`name` of the header in which a trusted proxy says where a request comes from, such as X-Forwarded-For")
	networks := group.String("trusted-proxies", "", "`networks` of the proxies that set -client-addr-header, with commas between them")

	group = in("Demo")
	group.StringVar(&o.demoJSON, "demo-json", "", "seed, and write ids, credentials and base URL to `file` (0600) once listening")
	group.DurationVar(&o.session.Idle, "idle", 30*time.Minute, "demo org: a session unused for this long expires")
	group.DurationVar(&o.session.Max, "max-session", 12*time.Hour, "demo org: a session expires this long after login")
	group.BoolVar(&o.session.SecondFactor, "require-second-factor", false, "demo org: accounts must have a second factor")

	group = in("Stores")
	group.StringVar(&o.redis, "redis", "", "`address` of a Redis for replays, tokens, sessions and attempts: redis://…, or rediss://… on another host")
	group.StringVar(&o.sealingKeyFile, "sealing-key-file", "", "`file` of the key that secrets in the database are sealed with, made when absent (default: beside the SQLite file)")
	group.DurationVar(&o.storeTimeout, "store-timeout", 500*time.Millisecond, "how long a request waits for the stores before it is rejected with 503")
	group.StringVar(&o.mailDir, "mail-dir", "", "`folder` that gets each mail as a file (default: the demo prints mails to the log, and other servers send none)")
	group.BoolVar(&o.sha256Codes, "sha256-codes", false, "second factors are codes by HMAC-SHA-256, as GODEBUG=fips140=only requires; it is for a database without enrolled factors")
	group.BoolVar(&o.plaintextDB, "unsafe-plaintext-database", false, "talk to a PostgreSQL on another host without TLS, or without verifying its certificate")
	group.BoolVar(&o.plaintextRedis, "unsafe-plaintext-redis", false, "talk to a Redis on another host without TLS, or without verifying its certificate")

	group = in("Signatures")
	versions := group.String("signature-versions", "1,2", "`versions` of signatures to accept: 1, 2 or both; version 2 covers query and body too")
	group.DurationVar(&o.policy.Tolerance, "tolerance", 5*time.Minute, "accepted age of a signature")
	group.DurationVar(&o.policy.FutureTolerance, "future-tolerance", time.Minute, "how far ahead of the clock a signature may be")
	group.BoolVar(&o.policy.SingleUse, "single-use", false, "accept each signature once, also of GET and HEAD")
	group.BoolVar(&o.policy.UnsafeMethodSiblings, "unsafe-method-siblings", false, "accept equal signatures of POST, PUT, PATCH and DELETE; they can then be replayed")

	group = in("Tokens and names")
	group.Var(&o.issuers, "issuer", "`ORG:NAME=URL,AUDIENCE,JWKS` of another issuer whose tokens ORG accepts; without JWKS the URL has an OpenID configuration; may be repeated")
	group.StringVar(&o.keyPrefix, "api-key-prefix", "service_live", "`beginning` of the API keys, for people and secret scanners")
	group.StringVar(&o.brand.Header, "header-prefix", "Service-", "`prefix` of the header names")
	group.StringVar(&o.brand.Claims, "claim-namespace", "service/", "`prefix` of the token claims")
	group.StringVar(&o.brand.Faults, "fault-namespace", "service", "first `word` of errCode")
	group.StringVar(&o.docsURL, "docs-url", "", "`URL` of a page with an anchor for each errCode, such as guides/errors.md: faults link to it")
	group.StringVar(&o.cookies.Session, "session-cookie", "__Host-session-{org}", "`name` of the session cookie")
	group.StringVar(&o.cookies.Ticket, "ticket-cookie", "__Host-ticket-{org}", "`name` of the cookie between password and second factor")
	group.StringVar(&o.cookies.Device, "device-cookie", "__Host-device-{org}", "`name` of the cookie of a device that a person has signed in on")

	group = in("Logs")
	group.BoolVar(&o.audit, "audit", true, "keep an audit log; of sessions and tokens in Redis it has nothing")
	group.StringVar(&o.checkpoint, "audit-checkpoint", "", "`file` that gets a signed line with the end of each org's audit log, once a minute and at the end: keep it where who can write to the database cannot")
	group.StringVar(&o.log, "log", "text", "`format` of the log: text or json")
	group.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "least `level` of a line of the log: debug, info, warn or error; a request is info, and one that fails in the server is error")
	group.BoolVar(&o.version, "version", false, "print the version")
	for _, group := range groups {
		group.VisitAll(func(f *flag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
	}
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		o.help = helpOf(groups)
		return o, flag.ErrHelp
	case err != nil:
		fmt.Fprintf(stderr, "platform: %v; platform -help lists the flags\n", err)
		return o, err
	}
	flags.Visit(func(f *flag.Flag) { o.given = append(o.given, f.Name) })
	var err error
	var known bool
	if o.proxies, err = auth.ParseProxies(*header, *networks); err != nil {
		err = fmt.Errorf("-client-addr-header and -trusted-proxies: %w", err)
	} else if o.policy.Version, known = map[string]int{"1,2": 0, "1": 1, "2": 2}[*versions]; !known {
		err = errors.New("-signature-versions is 1, 2 or 1,2")
	}
	if err = cmp.Or(err, o.validate(flags.Args())); err != nil {
		fmt.Fprintln(stderr, "platform:", err)
	}
	return o, err
}

// The beginnings of -db. Any other address is of PostgreSQL.
const (
	memoryDB = "memory:"
	sqliteDB = "sqlite:"

	defaultDB = sqliteDB + "platform.db"
)

func (o options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case !isListenAddress(o.addr):
		return fmt.Errorf("-addr %q: a host and a port, such as 127.0.0.1:8080", o.addr)
	case o.baseURL != "" && !isBaseURL(o.baseURL):
		return errors.New("-base-url: http:// or https:// and a host, without a password, a query and a slash at the end")
	case o.docsURL != "" && !isBaseURL(strings.TrimSuffix(o.docsURL, "/")):
		return errors.New("-docs-url: http:// or https:// and a host, without a password, a query and a fragment")
	case o.db != memoryDB && !strings.HasPrefix(o.db, sqliteDB) && !strings.HasPrefix(o.db, "postgres://"):
		return errors.New("-db: memory:, sqlite:FILE or postgres://…")
	case strings.HasPrefix(o.db, "postgres://") && o.sealingKeyFile == "":
		return errors.New("-sealing-key-file is required with postgres://: all instances share one key")
	case o.policy.Tolerance < time.Millisecond || o.policy.FutureTolerance < time.Millisecond:
		return errors.New("-tolerance and -future-tolerance must be a millisecond or more")
	case o.session.Idle < time.Second || o.session.Max < time.Second:
		return errors.New("-idle and -max-session must be a second or more")
	case o.storeTimeout < time.Millisecond:
		return errors.New("-store-timeout must be a millisecond or more")
	case o.checkpoint != "" && !o.audit:
		return errors.New("-audit-checkpoint needs -audit")
	case o.log != "text" && o.log != "json":
		return fmt.Errorf("-log %q: text or json", o.log)
	}
	return cmp.Or(o.checkDatabase(), o.checkRedis(), o.checkNames())
}

// checkNames refuses names that the library would refuse too, but by the names of its fields.
func (o options) checkNames() error {
	if strings.Trim(o.brand.Header, "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
		return fmt.Errorf("-header-prefix %q: letters, digits and hyphens", o.brand.Header)
	}
	if strings.ContainsAny(o.brand.Faults, ".\"\\") {
		return fmt.Errorf("-fault-namespace %q: one word without a dot or a quote", o.brand.Faults)
	}
	for name, value := range map[string]string{"session-cookie": o.cookies.Session, "ticket-cookie": o.cookies.Ticket, "device-cookie": o.cookies.Device} {
		cookie := strings.Replace(value, "{org}", "org", 1)
		if (&http.Cookie{Name: cookie, Value: "x"}).Valid() != nil || strings.ContainsAny(cookie, "{}") {
			return fmt.Errorf("-%s %q: the name of a cookie, with {org} once at most", name, value)
		}
	}
	return nil
}

// isListenAddress reports whether addr has a host, which may be empty, and a port.
func isListenAddress(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

// isBaseURL reports whether a Guard would accept the base URL.
func isBaseURL(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.User == nil && !strings.ContainsAny(base, "?#") && !strings.HasSuffix(base, "/")
}

// checkDatabase refuses a PostgreSQL on another host whose certificate is not verified.
// Passwords and secrets could then be sent in the clear or to an attacker. sslmode=require
// is not enough: it wants TLS but accepts any certificate. The errors of the parsers of
// addresses may show a password, so they are not shown.
func (o options) checkDatabase() error {
	if !strings.HasPrefix(o.db, "postgres://") {
		return nil
	}
	config, err := pgx.ParseConfig(o.db)
	if err != nil {
		return errors.New("-db: not the address of a PostgreSQL")
	}
	hosts := append([]*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	if !o.plaintextDB && slices.ContainsFunc(hosts, func(h *pgconn.FallbackConfig) bool {
		return !isLoopback(h.Host) && !filepath.IsAbs(h.Host) && !verifiesServer(h.TLSConfig)
	}) {
		return errors.New("-db: a PostgreSQL on another host whose certificate is not verified: add sslmode=verify-full, or sslmode=verify-ca with the CA in sslrootcert, or say -unsafe-plaintext-database")
	}
	return nil
}

// checkRedis is checkDatabase for a Redis.
func (o options) checkRedis() error {
	if o.redis == "" {
		return nil
	}
	settings, err := redis.ParseURL(o.redis)
	if err != nil {
		return errors.New("-redis: not the address of a Redis")
	}
	host, _, err := net.SplitHostPort(settings.Addr)
	if !o.plaintextRedis && settings.Network != "unix" && (err != nil || !isLoopback(host)) && !verifiesServer(settings.TLSConfig) {
		return errors.New("-redis: a Redis on another host whose certificate is not verified: begin with rediss://, without skip_verify, or say -unsafe-plaintext-redis")
	}
	return nil
}

// verifiesServer reports whether a server must prove its identity: by its name, or
// by a certificate of the CA in the configuration. With the public CAs and any
// name, anybody could get a certificate.
func verifiesServer(c *tls.Config) bool {
	return c != nil && (!c.InsecureSkipVerify || c.VerifyPeerCertificate != nil && c.RootCAs != nil)
}

// seedsDemo reports whether to seed the demo orgs. Anybody who can read the output
// can use their accounts. So a flag must ask for them if:
//
//   - the database is neither in memory nor the default file,
//   - the database holds data,
//   - the server listens beyond the loopback interface, or
//   - the base URL is of another host.
func (o options) seedsDemo(listening net.Addr, empty bool) bool {
	if o.demoJSON != "" || o.isGiven("demo") {
		return o.demoJSON != "" || o.demo
	}
	tcp, ok := listening.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback() && o.isLocal() && empty && (o.db == memoryDB || o.db == defaultDB)
}

// isGiven reports whether one of the flags is on the command line.
func (o options) isGiven(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(o.given, name) })
}

// isLocal reports whether the base URL is of this host, too.
func (o options) isLocal() bool {
	base, err := url.Parse(o.baseURL)
	return o.baseURL == "" || err == nil && isLoopback(base.Hostname())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (o options) newLog(w io.Writer) *slog.Logger {
	settings := &slog.HandlerOptions{Level: o.logLevel}
	if o.log == "json" {
		settings.ReplaceAttr = inMilliseconds
		return slog.New(slog.NewJSONHandler(w, settings))
	}
	return slog.New(slog.NewTextHandler(w, settings))
}

// inMilliseconds writes a duration as a number of milliseconds, and says so in its name:
// took becomes took_ms. By itself slog writes nanoseconds, without a unit.
func inMilliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"_ms", float64(a.Value.Duration())/float64(time.Millisecond))
}
