package auth

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/faults"
	"github.com/tenantkit/tenantkit/internal/stats"
	"github.com/tenantkit/tenantkit/scope"
)

// Guard is the access layer of a multi-tenant server. It takes requests to
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

	// ErrorPage is the URL of a page with an anchor for each code, without the namespace. A fault
	// links to its code there, with rel="help". "": no link.
	ErrorPage string

	// Scopes is the grammar of needs, tokens, roles and credentials; nil: the standard grammar.
	Scopes *scope.Grammar

	// Ceiling makes the scope claim of a token, even an empty one, limit what the roles of its
	// subject add. Without it a token has the chains of its claim and those of all its roles
	// (section 5.5 of the interface). It holds for what a token may do and for what may be
	// minted.
	Ceiling bool

	// Observe receives each decision and each verb. The request waits for it. If the request was refused
	// before its org was found, the org of its context's tenant has no code.
	Observe func(ctx context.Context, e Event)

	// RequestID returns the id under which the server's log has a request, for events and problems; nil: none.
	RequestID func(r *http.Request) string

	// Timeout limits the store calls of the tenant look-up together, and those of the
	// authentication together. Each limit starts at the first call that waits; 0: 500 ms.
	Timeout time.Duration

	Now func() time.Time // of the Guard and its mechanisms; nil: time.Now

	prepare  sync.Once
	invalid  error
	names    names
	settings Settings
	recorded recordedSets
	stamps   stamps
	warned   sync.Once // of a proxy whose header is not read
	counted  stats.Decisions
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

func (g *Guard) timeout() time.Duration { return cmp.Or(g.Timeout, 500*time.Millisecond) }

// Stats returns how many decisions there were of each mechanism and detail, faults of handlers aside. It counts
// from its first call on: call it once before the Guard serves. It panics if the Guard is not valid.
func (g *Guard) Stats() stats.Guard {
	g.mustBeValid()
	return g.counted.Read(g.names.mechanisms, faults.Details())
}

func (g *Guard) now() time.Time { return clock.Now(g.Now) }
