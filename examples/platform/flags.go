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
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
)

// options are the flags.
type options struct {
	addr           string
	db             string
	redis          string
	sealingKeyFile string
	demo           bool
	demoSaid       bool // whether -demo was given, either way
	demoJSON       string
	baseURL        string
	brand          auth.Brand
	policy         signing.Policy
	cookie         string
	ticket         string
	device         string
	session        auth.SessionPolicy // of the demo org
	sessionSaid    bool               // whether any of it was given
	storeTimeout   time.Duration
	log            string
	proxies        proxies
	plaintextDB    bool // to a database on another host
	plaintextRedis bool // to a Redis on another host
}

// parseFlags reads the command line. It has printed whatever error it returns.
func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("platform", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "listen `address`; port 0 picks one")
	flags.StringVar(&o.db, "db", defaultDB, "`database`: memory:, which forgets everything at the end, sqlite:FILE or postgres://…")
	flags.StringVar(&o.redis, "redis", "", "`address` of a Redis, redis://…, on another host rediss://…: replays, tokens, sessions and attempts move there")
	flags.StringVar(&o.sealingKeyFile, "sealing-key-file", "", "`file` of the key that secrets in the database are sealed with, made when absent (default: beside the SQLite file)")
	flags.BoolVar(&o.demo, "demo", false, "seed the demo orgs, or issue fresh credentials of them (default: on a loopback address, in memory: or an empty "+defaultDB+")")
	flags.StringVar(&o.demoJSON, "demo-json", "", "seed, and write ids, credentials and base URL to `file` (0600) once listening")
	flags.StringVar(&o.baseURL, "base-url", "", "external base `URL` (default: http:// and the listen address)")
	flags.StringVar(&o.brand.Header, "header-prefix", "Service-", "`prefix` of the header names")
	flags.StringVar(&o.brand.Claims, "claim-namespace", "service/", "`prefix` of the token claims")
	flags.StringVar(&o.brand.Faults, "fault-namespace", "service", "first `word` of errCode")
	flags.DurationVar(&o.policy.Tolerance, "tolerance", 5*time.Minute, "accepted age of a signature")
	flags.DurationVar(&o.policy.FutureTolerance, "future-tolerance", time.Minute, "how far ahead of the clock a signature may be")
	flags.BoolVar(&o.policy.SingleUse, "single-use", false, "accept each signature once, also of GET and HEAD")
	flags.BoolVar(&o.policy.UnsafeMethodSiblings, "unsafe-method-siblings", false, "accept equal signatures of POST, PUT, PATCH and DELETE; they can then be replayed")
	flags.StringVar(&o.cookie, "session-cookie", "__Host-session-{org}", "`name` of the session cookie")
	flags.StringVar(&o.ticket, "ticket-cookie", "__Host-ticket-{org}", "`name` of the cookie between password and second factor")
	flags.StringVar(&o.device, "device-cookie", "__Host-device-{org}", "`name` of the cookie of a device that somebody has signed in on")
	flags.DurationVar(&o.session.Idle, "idle", 30*time.Minute, "demo org: a session unused for this long is over")
	flags.DurationVar(&o.session.Max, "max-session", 12*time.Hour, "demo org: a session is over this long after login")
	flags.BoolVar(&o.session.SecondFactor, "require-second-factor", false, "demo org: accounts must have a second factor")
	flags.DurationVar(&o.storeTimeout, "store-timeout", 500*time.Millisecond, "how long a request waits for the stores before it is refused with 503")
	header := flags.String("client-addr-header", "", "`name` of the header in which a trusted proxy says where a request comes from, such as X-Forwarded-For")
	networks := flags.String("trusted-proxies", "", "`networks` of the proxies that set -client-addr-header, with commas between them")
	flags.BoolVar(&o.plaintextDB, "unsafe-plaintext-database", false, "talk to a PostgreSQL on another host without TLS, or without verifying whose certificate it has")
	flags.BoolVar(&o.plaintextRedis, "unsafe-plaintext-redis", false, "talk to a Redis on another host without TLS, or without verifying whose certificate it has")
	flags.StringVar(&o.log, "log", "text", "`format` of the log: text or json")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "demo":
			o.demoSaid = true
		case "idle", "max-session", "require-second-factor":
			o.sessionSaid = true
		}
	})
	var err error
	if o.proxies, err = newProxies(*header, *networks); err == nil {
		err = o.validate(flags.Args())
	}
	if err != nil {
		fmt.Fprintln(stderr, "platform:", err)
	}
	return o, err
}

// What -db begins with. Anything else is PostgreSQL's.
const (
	memoryDB = "memory:"
	sqliteDB = "sqlite:"

	defaultDB = sqliteDB + "platform.db"
)

func (o options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.db != memoryDB && !strings.HasPrefix(o.db, sqliteDB) && !strings.HasPrefix(o.db, "postgres://"):
		return errors.New("-db: memory:, sqlite:FILE or postgres://…")
	case strings.HasPrefix(o.db, "postgres://") && o.sealingKeyFile == "":
		return errors.New("-sealing-key-file is required with postgres://: all instances share one key")
	case !o.plaintextDB && anyoneAnswers(o.db):
		return errors.New("-db: a PostgreSQL on another host whose certificate is not verified: add sslmode=verify-full, or sslmode=verify-ca with the CA in sslrootcert, or say -unsafe-plaintext-database")
	case !o.plaintextRedis && anyoneAnswersRedis(o.redis):
		return errors.New("-redis: a Redis on another host whose certificate is not verified: begin with rediss://, without skip_verify, or say -unsafe-plaintext-redis")
	case o.policy.Tolerance < time.Millisecond || o.policy.FutureTolerance < time.Millisecond:
		return errors.New("-tolerance and -future-tolerance must be a millisecond or more")
	case o.session.Idle < time.Second || o.session.Max < time.Second:
		return errors.New("-idle and -max-session must be a second or more")
	case o.storeTimeout < time.Millisecond:
		return errors.New("-store-timeout must be a millisecond or more")
	case o.log != "text" && o.log != "json":
		return fmt.Errorf("-log %q: text or json", o.log)
	}
	return nil
}

// anyoneAnswers tells of the address of a PostgreSQL that passwords and secrets may
// reach in the clear, or whoever answers in its place: sslmode require wants TLS, and
// takes any certificate.
func anyoneAnswers(address string) bool {
	if !strings.HasPrefix(address, "postgres://") {
		return false
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return false // openStore says so
	}
	hosts := []*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}
	return slices.ContainsFunc(append(hosts, config.Fallbacks...), func(h *pgconn.FallbackConfig) bool {
		return !isLoopback(h.Host) && !filepath.IsAbs(h.Host) && !verifies(h.TLSConfig)
	})
}

// anyoneAnswersRedis is the same of a Redis.
func anyoneAnswersRedis(address string) bool {
	settings, err := redis.ParseURL(address)
	if err != nil {
		return false // moveToRedis says so
	}
	host, _, err := net.SplitHostPort(settings.Addr)
	return settings.Network != "unix" && (err != nil || !isLoopback(host)) && !verifies(settings.TLSConfig)
}

// verifies tells whether a server has to prove who it is: by its name, or by a
// certificate of a CA of one's own. One of all CAs, of any name, is everybody's.
func verifies(c *tls.Config) bool {
	return c != nil && (!c.InsecureSkipVerify || c.VerifyPeerCertificate != nil && c.RootCAs != nil)
}

// seeds tells whether the demo orgs are wanted. In a database of one's own, in
// one that holds something, beyond the loopback interface and behind a base URL of
// another host they must be asked for: their accounts are open to whoever reads the
// output.
func (o options) seeds(listening net.Addr, empty bool) bool {
	if o.demoJSON != "" || o.demoSaid {
		return o.demoJSON != "" || o.demo
	}
	tcp, ok := listening.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback() && o.isLocal() && empty && (o.db == memoryDB || o.db == defaultDB)
}

// isLocal tells that the base URL, too, is of this host.
func (o options) isLocal() bool {
	base, err := url.Parse(o.baseURL)
	return o.baseURL == "" || err == nil && isLoopback(base.Hostname())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
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
