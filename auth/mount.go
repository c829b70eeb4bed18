package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/urlpath"
)

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
	if !ascii.IsMethod(r.Method) {
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
	found, err := g.org(&c.lookup, to.Org)
	if err != nil {
		return "", err
	}
	// A path with one trailing slash names the same resource. The slash is cut before
	// routing and before the signature is checked, so that both read one path.
	rest = cmp.Or(strings.TrimSuffix(to.Rest, "/"), "/")
	c.tenant.Org, c.tenant.Version, c.tenant.Command = found, to.Version, rest
	if to.Authority != "" {
		authority := to.Authority // here, so that most requests do not allocate it
		c.tenant.authority = &authority
	}
	return rest, nil
}

func (g *Guard) resolve(ctx context.Context, r *http.Request, path string) (Address, error) {
	if g.Resolve == nil {
		org, below, _ := strings.Cut(path[1:], "/")
		version, _, _ := strings.Cut(below, "/")
		if org == "" || version == "" {
			return Address{}, ErrNotFound
		}
		return Address{Org: org, Version: version, Rest: cmp.Or(below[len(version):], "/")}, nil
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

func (g *Guard) org(ctx context.Context, code string) (*Org, error) {
	if !isOrg(code) {
		return nil, &Error{Detail: DetailUnknownOrg}
	}
	org, err := g.Directory.Org(ctx, code)
	if err = lookup("org", org == nil, err); errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Detail: DetailUnknownOrg, Err: err}
	}
	switch served := g.under(org, code); {
	case served == nil || org.Disabled:
		return nil, &Error{Detail: DetailUnknownOrg}
	// What is stored for the following orgs could be another org's.
	case g.OrgIDs != (org.ID != ""):
		return nil, errors.New("auth: the Directory returned an Org with an ID and Guard.OrgIDs is not set, or one without and it is")
	case !ascii.OrgKey.Holds(string(org.Key()), 1, 64): // it is part of cookie names
		return nil, errors.New("auth: the Directory returned an Org whose ID is not 1 to 64 of [A-Za-z0-9._~-]")
	case org.ID == "" && len(org.FormerCodes) > 0:
		return nil, errors.New("auth: the Directory returned an Org with FormerCodes and without an ID")
	default:
		return served, nil
	}
}

// under returns the org as it answers requests to this code, or nil if it does not.
//
// Under a former code it is a copy with that code as its Code: URLs, audiences and documents
// that a client gets are those that it asks, so that a client that knows nothing of the
// change goes on. Tokens for the current code stay valid.
func (g *Guard) under(o *Org, code string) *Org {
	if o.Code == code {
		return o
	}
	if !g.FormerCodes || !slices.Contains(o.FormerCodes, code) {
		return nil
	}
	former := *o // a Directory shares what it returns
	former.Code, former.FormerCodes = code, append(slices.Clone(o.FormerCodes), o.Code)
	return &former
}

// isOrg reports whether code may name an org: [a-z0-9][a-z0-9_-]{0,39}.
func isOrg(code string) bool {
	return ascii.LowerName.Holds(code, 1, 40) && code[0] != '-' && code[0] != '_'
}

// stamps caches the value of the Server-Time header. Replies of the same millisecond share
// one slice. This is safe: http.Header replaces values and never changes one, and an append
// copies the slice, because it has no spare capacity.
type stamps struct{ latest atomic.Pointer[stamp] }

type stamp struct {
	millis int64
	values [1]string
}

// at returns the header's values for a time, in whole Unix milliseconds.
func (s *stamps) at(now time.Time) []string {
	millis := now.UnixMilli()
	latest := s.latest.Load()
	if latest == nil || latest.millis != millis {
		latest = &stamp{millis, [1]string{strconv.FormatInt(millis, 10)}}
		s.latest.Store(latest)
	}
	return latest.values[:]
}
