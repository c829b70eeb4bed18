package session

import (
	"cmp"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// cookieName is the name of a cookie without its prefix. It may contain {org}.
type cookieName string

const (
	hostPrefix = "__Host-"
	orgMark    = "{org}"
)

func (m *Manager) sessionCookie() cookieName { return named(m.Cookies.Session, "session-"+orgMark) }

func (m *Manager) ticketCookie() cookieName { return named(m.Cookies.Ticket, "ticket-"+orgMark) }

func (m *Manager) deviceCookie() cookieName { return named(m.Cookies.Device, "device-"+orgMark) }

func named(name, otherwise string) cookieName {
	return cookieName(strings.TrimPrefix(cmp.Or(name, otherwise), hostPrefix))
}

func (n cookieName) isValid() bool {
	name := strings.Replace(string(n), orgMark, "acme", 1)
	return (&http.Cookie{Name: name, Value: "x"}).Valid() == nil && !strings.ContainsAny(name, "{}")
}

// prefix returns the prefix of cookie names in requests and replies of t.
func prefix(t *auth.Tenant) string {
	if t.Loopback() {
		return ""
	}
	return hostPrefix
}

// nameParts are the parts of a cookie's name in requests of one tenant. With parts, no
// string is built for each request.
type nameParts [4]string

func (s nameParts) is(name string) bool {
	for _, part := range s {
		rest, ok := strings.CutPrefix(name, part)
		if !ok {
			return false
		}
		name = rest
	}
	return name == ""
}

// values yields the value of each cookie of this name in the request.
func (n cookieName) values(r *http.Request, t *auth.Tenant) iter.Seq[string] {
	return func(yield func(string) bool) {
		before, after, perOrg := strings.Cut(string(n), orgMark)
		own := nameParts{prefix(t), before, "", after}
		if perOrg {
			own[2] = string(t.Org.Key())
		}
		for _, line := range r.Header["Cookie"] {
			for line != "" {
				var part string
				part, line, _ = strings.Cut(line, ";")
				// Only spaces and tabs: browsers do not apply the __Host- rules to a name behind another
				// kind of blank, so another host could set that cookie.
				name, value, _ := strings.Cut(strings.Trim(part, " \t"), "=")
				if own.is(name) && !yield(value) {
					return
				}
			}
		}
	}
}

// isSent reports whether the request carries the cookie.
func (n cookieName) isSent(r *http.Request, t *auth.Tenant) bool {
	_, count := n.read(r, t)
	return count > 0
}

// read returns the value of the cookie, and how many cookies of its name the request
// carries. The value is that of the last one.
func (n cookieName) read(r *http.Request, t *auth.Tenant) (value string, count int) {
	for value = range n.values(r, t) {
		count++
	}
	return value, count
}

// cookie has no Max-Age: the browser forgets it when it is closed.
func (n cookieName) cookie(t *auth.Tenant, value string) *http.Cookie {
	return &http.Cookie{
		Name:     prefix(t) + strings.Replace(string(n), orgMark, string(t.Org.Key()), 1),
		Value:    value,
		Path:     "/",
		Secure:   !t.Loopback(),
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
	}
}

// send sends a cookie to the browser. No cache may keep the reply.
func send(w http.ResponseWriter, c *http.Cookie) {
	w.Header().Set("Cache-Control", "no-store")
	http.SetCookie(w, c)
}

// sendSession sends the token of s. The browser keeps it until the session's absolute
// end, if the org or the owner wants that.
func (m *Manager) sendSession(w http.ResponseWriter, t *auth.Tenant, s *Session, token token) {
	c := m.sessionCookie().cookie(t, token.text())
	if t.Org.Session.Persistent || s.Remember && t.Org.Session.RememberIdle > 0 {
		c.MaxAge = max(1, int(s.end(t.Org).Sub(m.now())/time.Second)) // 0 would mean until it is closed
	}
	send(w, c)
}

// cleared returns a cookie that makes the browser forget this one.
func (n cookieName) cleared(t *auth.Tenant) *http.Cookie {
	c := n.cookie(t, "")
	c.MaxAge = -1
	c.Expires = time.Unix(1, 0)
	return c
}

// hash returns the hash of the token in this cookie. ok is false unless the request
// carries exactly one.
func (n cookieName) hash(r *http.Request, t *auth.Tenant) (hash [32]byte, ok bool) {
	value, count := n.read(r, t)
	s, ok := parseToken(value)
	if count != 1 || !ok {
		return hash, false
	}
	return s.hash(), true
}

// SameOrigin refuses a request that a page of another origin made a browser send. It
// decides by Sec-Fetch-Site and Origin. GET, HEAD and OPTIONS pass, because they must
// not change anything. A request with neither header passes, because no browser sent
// it. The error is an *auth.Error with auth.DetailCrossOrigin.
//
// Every request that a session authenticates must pass this check, and so must Login,
// VerifyCode, Start, Factors.Enrol, Factors.Confirm and Logout. Call it in handlers of Public routes that
// change something before they call one of these.
func (m *Manager) SameOrigin(r *http.Request) error {
	if err := cmp.Or(m.CrossOrigin, &sameOriginOnly).Check(r); err != nil {
		return &auth.Error{Detail: auth.DetailCrossOrigin, Err: err}
	}
	return nil
}

var sameOriginOnly http.CrossOriginProtection
