package session

import (
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// cookieName is a cookie's name without its prefix, {org} in it.
type cookieName string

const (
	hostPrefix = "__Host-"
	orgMark    = "{org}"
)

func (m *Manager) sessionCookie() cookieName { return named(m.SessionCookie, "session-"+orgMark) }

func (m *Manager) ticketCookie() cookieName { return named(m.TicketCookie, "ticket-"+orgMark) }

func (m *Manager) deviceCookie() cookieName { return named(m.DeviceCookie, "device-"+orgMark) }

func named(name, otherwise string) cookieName {
	if name == "" {
		return cookieName(otherwise)
	}
	return cookieName(strings.TrimPrefix(name, hostPrefix))
}

func (n cookieName) validate() error {
	name := strings.Replace(string(n), orgMark, "acme", 1)
	if (&http.Cookie{Name: name, Value: "x"}).Valid() != nil || strings.ContainsAny(name, "{}") {
		return errors.New("is not a cookie's name with at most one " + orgMark)
	}
	return nil
}

// prefix is what stands before the name in t's replies and requests.
func prefix(t *auth.Tenant) string {
	if t.Loopback() {
		return ""
	}
	return hostPrefix
}

// spelling is a cookie's name in one tenant's requests, in the parts it is put
// together from: no string is built for a request.
type spelling [4]string

func (n cookieName) in(t *auth.Tenant) spelling {
	before, after, perOrg := strings.Cut(string(n), orgMark)
	if !perOrg {
		return spelling{prefix(t), before}
	}
	return spelling{prefix(t), before, t.Org.Code, after}
}

func (s spelling) is(name string) bool {
	for _, part := range s {
		rest, ok := strings.CutPrefix(name, part)
		if !ok {
			return false
		}
		name = rest
	}
	return name == ""
}

// values are those of each cookie of this name that a request carries.
func (n cookieName) values(r *http.Request, t *auth.Tenant) iter.Seq[string] {
	return func(yield func(string) bool) {
		own := n.in(t)
		for _, line := range r.Header["Cookie"] {
			for line != "" {
				var part string
				part, line, _ = strings.Cut(line, ";")
				name, value, _ := strings.Cut(trimmed(part), "=")
				if own.is(name) && !yield(value) {
					return
				}
			}
		}
	}
}

// trimmed cuts blanks and tabs off, and nothing else. A browser does not hold a
// name that begins with another kind of blank to its prefix: what is cut off
// here, a neighbouring host could write in front.
func trimmed(part string) string {
	for part != "" && (part[0] == ' ' || part[0] == '\t') {
		part = part[1:]
	}
	for end := len(part) - 1; end >= 0 && (part[end] == ' ' || part[end] == '\t'); end-- {
		part = part[:end]
	}
	return part
}

// isSent tells whether a request carries the cookie.
func (n cookieName) isSent(r *http.Request, t *auth.Tenant) bool {
	for range n.values(r, t) {
		return true
	}
	return false
}

// read returns the value of the cookie and how many there are of its name.
func (n cookieName) read(r *http.Request, t *auth.Tenant) (value string, count int) {
	for value = range n.values(r, t) {
		count++
	}
	return value, count
}

// cookie has no Expires: it ends with the browser, or when the session does.
func (n cookieName) cookie(t *auth.Tenant, value string) *http.Cookie {
	return &http.Cookie{
		Name:     prefix(t) + strings.Replace(string(n), orgMark, t.Org.Code, 1),
		Value:    value,
		Path:     "/",
		Secure:   !t.Loopback(),
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
	}
}

// set sends the secret to the browser. The reply must not be kept by anyone.
func (n cookieName) set(w http.ResponseWriter, t *auth.Tenant, s secret) {
	w.Header().Set("Cache-Control", "no-store")
	http.SetCookie(w, n.cookie(t, s.text()))
}

// cleared tells the browser to forget the cookie.
func (n cookieName) cleared(t *auth.Tenant) *http.Cookie {
	c := n.cookie(t, "")
	c.MaxAge = -1
	c.Expires = time.Unix(1, 0)
	return c
}

// hash returns the hash of the secret that a request carries in this cookie,
// exactly once.
func (n cookieName) hash(r *http.Request, t *auth.Tenant) (hash [32]byte, ok bool) {
	value, count := n.read(r, t)
	s, ok := parseSecret(value)
	if count != 1 || !ok {
		return hash, false
	}
	return s.hash(), true
}

// SameOrigin refuses a request that a page of another origin made a browser
// send, judged by Sec-Fetch-Site and Origin: one that may change something, so
// GET, HEAD and OPTIONS pass. A request with neither header is no browser's,
// and passes, too. The error is an *auth.Error with auth.DetailCrossOrigin.
//
// Sessions, Login, Verify, Start, Enrol and Confirm are protected by it. It is
// for handlers of Public routes that change something before they call one.
func (m *Manager) SameOrigin(r *http.Request) error {
	protection := m.CrossOrigin
	if protection == nil {
		protection = &anyOther
	}
	if err := protection.Check(r); err != nil {
		return &auth.Error{Detail: auth.DetailCrossOrigin, Err: err}
	}
	return nil
}

var anyOther http.CrossOriginProtection
