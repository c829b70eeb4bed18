package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/baseurl"
	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/urlpath"
	"github.com/tenantkit/tenantkit/scope"
)

// Guard is the front door of a multi-tenant server. It takes requests to
// /{org}/{version}/…, finds the org, lets one mechanism authenticate, and checks the
// route's need. Only then it runs the handler, with the principal in the request's context.
// It answers each refusal with a fault.
//
// A Guard must not be copied or changed once used. Its methods are safe for concurrent use.
type Guard struct {
	BaseURL    string      // required: external URL of the server; never taken from the Host header
	Directory  Directory   // required
	Mechanisms []Mechanism // required, at least one
	Roles      Roles       // required: whether roles limit sessions and signed requests

	// Versions are the served version segments; nil: v2.
	Versions []string

	// Audiences are further version segments whose tokens are valid at every version, such
	// as v1 for tokens that were minted before v2 was served; nil: none. They need not be
	// among the Versions. The chains and claims of such a token mean what they mean at the
	// version that is asked: name no version in which they meant less.
	Audiences []string

	// Resolve finds the tenant that a request is addressed to. It is for servers whose
	// tenants are not in the first two path segments. It is called with a clean path. An
	// error that wraps ErrNotFound is answered with 404, any other error with 503. ctx ends
	// with the Timeout. nil: the first two path segments.
	Resolve func(ctx context.Context, r *http.Request) (Address, error)

	// OrgIDs says that each Org has an ID. Without it none has one. An org for which it is wrong
	// is answered with 500, because its things could be another org's: see Org.ID.
	OrgIDs bool

	FormerCodes bool // needs OrgIDs: serve orgs under their Org.FormerCodes, too; the Directory must find them

	// Proxies are the proxies in front of the server, from whose header the address of a client
	// is read, for attempts that are counted by address and credentials limited to networks.
	// The zero value: no header is read. Behind a proxy all clients then have one address.
	Proxies Proxies

	Brand Brand // of the Guard and its mechanisms

	// Scopes is the grammar of needs, tokens, roles and credentials; nil: the standard grammar.
	Scopes *scope.Grammar

	// Ceiling makes the scope claim of a token, even an empty one, limit what the roles of its
	// subject add. Without it a token has the chains of its claim and those of all its roles
	// (section 5.5 of the interface). It holds for what a token may do and for what may be
	// minted.
	Ceiling bool

	// Deny writes refusals instead of the Guard, for another body or status. The headers of
	// the refusal (challenge, Retry-After, Cache-Control) are already set.
	Deny func(w http.ResponseWriter, r *http.Request, err *Error)

	// Observe receives each decision. The request waits for it. If the request was refused
	// before its org was found, the org of its context's tenant has no code.
	Observe func(ctx context.Context, e Event)

	// Timeout limits the store calls of the tenant look-up together, and those of the
	// authentication together. Each limit starts at the first call that waits; 0: 500 ms.
	Timeout time.Duration

	Now func() time.Time // of the Guard and its mechanisms; nil: time.Now

	prepare  sync.Once
	invalid  error
	names    names
	settings Settings
	recorded sets[recordedSet]
	narrowed sets[narrowedSet]
	stamps   stamps
	warned   sync.Once // of a proxy whose header is not read
}

// Brand holds a server's own names on the wire. Mechanisms and clients use them.
type Brand struct {
	Header string // prefix of request and response headers; "": Service-
	Claims string // prefix of token claims; "": service/
	Faults string // first part of errCode; "": service
}

// Address is the tenant that a request is addressed to.
type Address struct {
	Org     string // code
	Version string
	Rest    string // escaped path below the mount; it must start with a slash

	// Authority is the host of the tenant's URL, with its port unless that is the default:
	// "acme.example.com". Version 2 of a signature covers it. Make it from configuration or
	// from the org's code, not from the Host header. "": that of BaseURL. If the path does not
	// hold the org either, only the client key binds a signed request to its org.
	Authority string
}

// Event is one decision of a Guard. It holds ids and codes, never a secret. If a request
// was admitted and its handler then called Identify or Fail, there is another event for
// each. All are Allowed, and those have Handler set. A failed login is such an event, because
// its route is Public: find it by its Detail.
type Event struct {
	Route     string // Request.Pattern, as Mux and http.ServeMux set it; empty if no route matched
	Mechanism string // empty if none authenticated the request, and no handler identified its caller
	Detail    string // of the fault; empty if there is none
	Org       OrgKey
	App       string
	Account   string
	Claimed   Claimed       // whom a rejected credential names; only with a Detail
	Allowed   bool          // the Guard admitted the request
	Handler   bool          // of the handler: it called Fail with Detail, or Identify if there is none
	Took      time.Duration // from the Guard's start to the decision; with Handler also in the handler
	Err       error         // the cause of the fault, and chains that were dropped from the scope

	// Need is the operation that the route needs, and Scope is that of the principal.
	// Scope.Explain(Need) names the chain that decided. Need is not valid if the route needs
	// no operation, if the request names nothing that can exist, and with Handler.
	Need  scope.Need
	Scope scope.Set
}

// names holds what is derived from the configuration once.
type names struct {
	serverTime string
	versions   []string
	mechanisms [][]string // of the principals of each of Mechanisms
	loopback   bool       // BaseURL is http on a loopback host
}

// Validate reports what is missing or inconsistent. Mux and Mount call it and panic on an
// error, as http.ServeMux does on a bad pattern. It checks only once: a Guard must not be
// changed after it.
func (g *Guard) Validate() error {
	g.prepare.Do(func() { g.invalid = errors.Join(g.validate()...) })
	return g.invalid
}

func (g *Guard) validate() (problems []error) {
	g.setNames()
	problem := func(wrong bool, text string) {
		if wrong {
			problems = append(problems, errors.New("auth: Guard."+text))
		}
	}
	problem(!g.setLoopback(), "BaseURL must be an absolute http or https URL without query and trailing slash")
	problem(g.Directory == nil, "Directory is required")
	problem(len(g.Mechanisms) == 0, "Mechanisms must hold at least one")
	problem(slices.Contains(g.Mechanisms, nil), "Mechanisms holds a nil one")
	problem(slices.Contains(g.names.versions, "") || len(g.names.versions) == 0,
		"Versions must hold at least one, and none that is empty")
	problem(g.Roles != RolesLimit && g.Roles != RolesDoNotLimit, "Roles is required: set RolesLimit, and the roles of an account "+
		"limit its sessions and signed requests, or RolesDoNotLimit, and only your handlers limit them")
	problem(slices.Contains(g.Audiences, ""), "Audiences must not hold an empty one")
	problem(!isHeaderPrefix(g.Brand.Header), "Brand.Header must be letters, digits and hyphens")
	problem(strings.ContainsAny(g.Brand.Faults, ".\"\\"), "Brand.Faults must not hold a dot or a quote")
	problem(g.FormerCodes && !g.OrgIDs, "OrgIDs is required beside FormerCodes: without an ID an org's Code must never change")
	problem(g.Timeout < 0, "Timeout must not be negative")
	problems = append(problems, g.Proxies.validate(), g.Scopes.Validate())
	for _, m := range g.Mechanisms {
		if m != nil {
			problem(m.Name() == "", "Mechanisms holds one without a name")
			problems = append(problems, m.Bind(&g.settings))
			g.names.mechanisms = append(g.names.mechanisms, namesOf(m, &g.settings))
		}
	}
	return problems
}

// namesOf returns the names that principals of a mechanism have.
func namesOf(m Mechanism, s *Settings) []string {
	names := []string{m.Name()}
	if d, ok := m.(Describer); ok {
		names = append(names, d.Scheme(s).Also...)
	}
	return names
}

// setNames derives the names that requests need from the configuration.
func (g *Guard) setNames() {
	g.recorded.init()
	g.narrowed.init()
	g.Brand = g.Brand.withDefaults()
	g.settings = Settings{g.Brand, g.Scopes, g.Roles, g.Ceiling, g.Now, g.Mechanisms}
	g.names.serverTime = http.CanonicalHeaderKey(g.Brand.Header + "Server-Time")
	g.names.versions = g.Versions
	if g.Versions == nil {
		g.names.versions = []string{"v2"}
	}
}

// setLoopback sets names.loopback, and reports whether BaseURL is valid.
func (g *Guard) setLoopback() bool {
	u, ok := baseurl.Parse(g.BaseURL)
	if !ok || strings.ContainsAny(g.BaseURL, "?#") || strings.HasSuffix(g.BaseURL, "/") {
		return false
	}
	g.names.loopback = u.Scheme == "http" && isLoopback(u.Hostname())
	return true
}

func (b Brand) withDefaults() Brand {
	return Brand{
		Header: cmp.Or(b.Header, "Service-"),
		Claims: cmp.Or(b.Claims, "service/"),
		Faults: cmp.Or(b.Faults, "service"),
	}
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func isHeaderPrefix(prefix string) bool {
	return !strings.ContainsFunc(prefix, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// Settings returns what the Guard says for all its mechanisms, with the defaults filled in. It
// panics if the Guard is not valid.
func (g *Guard) Settings() *Settings {
	g.mustBeValid()
	return &g.settings
}

// Mount takes requests to /{org}/{version}/… and passes them to next, with the tenant in
// their context and without the mount in their path. With a router other than Mux, put
// Mount outside the router, and Require on each route. Mount panics if the Guard is not
// valid.
func (g *Guard) Mount(next http.Handler) http.Handler {
	g.mustBeValid()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{Context: r.Context(), mechanism: none}
		c.tenant.guard, c.tenant.url, c.tenant.Org = g, r.URL, &noOrg
		w.Header()[g.names.serverTime] = g.stamps.at(g.now())
		if g.Observe != nil {
			c.began = time.Since(epoch)
		}
		rest, err := g.enter(w, r, c)
		if err != nil {
			c.answer(w, r, err, decision{})
			return
		}
		next.ServeHTTP(w, c.under(r, rest))
	})
}

// ServerTime sets the Server-Time header on every reply of next, as Mount does for its own
// replies (section 1 of the interface). Use it for a server that also writes replies
// outside the mount. Replies of Mount still have one such header. Put ServerTime outside
// everything that may write a reply, such as a middleware that recovers from panics. It
// panics if the Guard is not valid.
func (g *Guard) ServerTime(next http.Handler) http.Handler {
	g.mustBeValid()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()[g.names.serverTime] = g.stamps.at(g.now())
		next.ServeHTTP(w, r)
	})
}

func (g *Guard) mustBeValid() {
	if err := g.Validate(); err != nil {
		panic(err)
	}
}

// enter finds the tenant of a request. Its checks are in the order of the refusals.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request, c *call) (rest string, err error) {
	path, ok := urlpath.Clean(r.URL)
	if !ok {
		return "", &Error{Detail: DetailPath}
	}
	if !isMethod(r.Method) {
		w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE")
		return "", &Error{Detail: DetailMethod}
	}
	c.lookup.Context, c.lookup.timeout = c.Context, g.timeout()
	defer c.lookup.stop()
	to, err := g.resolve(&c.lookup, r, path)
	if err != nil {
		return "", err
	}
	if !slices.Contains(g.names.versions, to.Version) {
		return "", &Error{Detail: DetailVersion}
	}
	found, err := g.org(c, to.Org)
	if err != nil {
		return "", err
	}
	// A path with one trailing slash names the same resource. The slash is cut before
	// routing and before the signature is checked, so that both read one path.
	if rest = strings.TrimSuffix(to.Rest, "/"); rest == "" {
		rest = "/"
	}
	c.tenant.Org, c.tenant.Version, c.tenant.Command = found, to.Version, rest
	if to.Authority != "" {
		authority := to.Authority // here, so that most requests do not allocate it
		c.tenant.authority = &authority
	}
	return rest, nil
}

func (g *Guard) resolve(ctx context.Context, r *http.Request, path string) (Address, error) {
	if g.Resolve == nil {
		org, version, rest, ok := splitMount(path)
		if !ok {
			return Address{}, ErrNotFound
		}
		return Address{Org: org, Version: version, Rest: rest}, nil
	}
	to, err := g.Resolve(ctx, r)
	switch {
	case err != nil:
		return Address{}, lookup("mount", true, err)
	case !urlpath.IsClean(to.Rest):
		return Address{}, ErrNotFound
	}
	return to, nil
}

func (g *Guard) org(c *call, code string) (*Org, error) {
	if !isOrg(code) {
		return nil, &Error{Detail: DetailUnknownOrg}
	}
	org, err := g.Directory.Org(&c.lookup, code)
	if err = lookup("org", org == nil, err); errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Detail: DetailUnknownOrg, Err: err}
	}
	served := g.under(org, code)
	if served == nil || org.Disabled {
		return nil, &Error{Detail: DetailUnknownOrg}
	}
	return served, g.checkKey(org)
}

// checkKey refuses orgs whose stored things could be another org's.
func (g *Guard) checkKey(org *Org) error {
	switch {
	case g.OrgIDs != (org.ID != ""):
		return errNoOrgID
	case !isKey(string(org.Key())):
		return errOrgID
	case org.ID == "" && len(org.FormerCodes) > 0:
		return errFormerKey
	}
	return nil
}

var (
	errNoOrgID   = errors.New("auth: the Directory returned an Org with an ID and Guard.OrgIDs is not set, or one without and it is")
	errOrgID     = errors.New("auth: the Directory returned an Org whose ID is not 1 to 64 of [A-Za-z0-9._~-]")
	errFormerKey = errors.New("auth: the Directory returned an Org with FormerCodes and without an ID")
)

// chooseMechanism returns the index of the mechanism whose credential the request presents.
// If two have the same presence, it refuses the request before either records anything.
func (g *Guard) chooseMechanism(r *http.Request) (chosen int32, found Presence, err error) {
	chosen = none
	tie := false
	for i, m := range g.Mechanisms {
		switch presence := m.Presented(r); {
		case presence == Absent || presence < found:
		case presence == found:
			tie = true
		default:
			chosen, found, tie = int32(i), presence, false
		}
	}
	if tie {
		return none, found, &Error{Detail: DetailAmbiguous}
	}
	return chosen, found, nil
}

// Require lets a request through to a handler if it meets the need. It must be below Mount;
// otherwise it refuses every request. It panics on the zero Need, on a need whose operation
// does not parse, and on a name of By or Fresh that no mechanism has.
func (g *Guard) Require(n Need) func(http.Handler) http.Handler {
	rule, err := n.compile(g)
	if err != nil {
		panic(err)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := callOf(r.Context(), g)
			if c == nil {
				g.Fail(w, r, errOutside)
				return
			}
			p, err := c.check(r, rule)
			if err != nil {
				c.answer(w, r, err, decision{need: rule.operation})
				return
			}
			c.admit(r, p, rule)
			next.ServeHTTP(w, r)
		})
	}
}

// Check decides whether a request meets a need, and returns its principal. It writes
// nothing. It is for handlers of Public routes that need only the decision. A request is
// authenticated once, however often it is checked. Check does not change what From returns.
func (g *Guard) Check(r *http.Request, n Need) (Principal, error) {
	rule, err := n.compile(g)
	if err != nil {
		return Principal{}, err
	}
	c := callOf(r.Context(), g)
	if c == nil {
		return Principal{}, errOutside
	}
	p, err := c.check(r, rule)
	if err != nil {
		return Principal{}, err
	}
	return *p, nil
}

var errOutside = errors.New("auth: the request did not come through this Guard's Mount")

func (g *Guard) timeout() time.Duration { return cmp.Or(g.Timeout, 500*time.Millisecond) }

func (g *Guard) now() time.Time { return clock.Now(g.Now) }
