// Package forward lets a Guard decide for services behind a reverse proxy: nginx with
// auth_request, Caddy or Traefik with forward_auth, HAProxy with a subrequest in Lua. The
// proxy asks a Door about each request, without the body. If the answer is 200, it
// passes the request on, with the identity that the answer has in its headers.
//
// A signature of version 2 covers the body, which a Door never sees. So it accepts version
// 2 only if the proxy says that there is no body. See guides/forward.md.
package forward

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// Headers are those in which a proxy says what it was asked. The value of Body is none
// for a request without a body. If Body is "", the Door accepts no version 2.
type Headers struct{ Method, URI, Body string }

// A client could send the headers of the other kind, so a Door refuses them.
var (
	Nginx       = Headers{"X-Original-Method", "X-Original-Uri", "X-Original-Body"} // and HAProxy
	ForwardAuth = Headers{"X-Forwarded-Method", "X-Forwarded-Uri", ""}              // Caddy, Traefik
)

// The headers of the identity. Each value is escaped like a segment of a path, those of
// roles with commas between them.
const (
	Org     = "X-Auth-Org"
	App     = "X-Auth-App"
	Account = "X-Auth-Account"
	Roles   = "X-Auth-Roles"
)

// Door answers the subrequests of a proxy. Only the proxy may reach it.
type Door struct {
	Guard *auth.Guard
	Need  auth.Need // of all requests behind the proxy
	From  Headers   // Nginx or ForwardAuth
}

// Handler returns the handler for the path that the proxy asks. It panics if the
// Guard or the Need is not valid.
func (d Door) Handler() http.Handler {
	checked := d.Guard.Mount(d.Guard.Require(d.Need)(http.HandlerFunc(admitted)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		original, err := d.original(r)
		if err != nil {
			d.Guard.Fail(w, r, &auth.Error{Detail: auth.DetailAmbiguous, Err: err})
			return
		}
		checked.ServeHTTP(w, original)
	})
}

// admitted tells the proxy who is asking. A header without a value replaces one that
// the client has sent.
func admitted(w http.ResponseWriter, r *http.Request) {
	p := auth.From(r.Context())
	var roles []string
	for _, role := range p.Roles {
		roles = append(roles, url.PathEscape(role))
	}
	h := w.Header()
	h.Set(Org, url.PathEscape(string(p.Org)))
	h.Set(App, url.PathEscape(p.App))
	h.Set(Account, url.PathEscape(p.Account))
	h.Set(Roles, strings.Join(roles, ","))
	auth.Reply(w, r, envelope.Result[bool]{Data: true})
}

// original returns the request that the proxy was asked, without its body.
func (d Door) original(r *http.Request) (*http.Request, error) {
	if err := d.check(r.Header); err != nil {
		return nil, err
	}
	method, uri := r.Header.Get(d.From.Method), r.Header.Get(d.From.URI)
	target, err := url.ParseRequestURI(uri)
	if err != nil || !strings.HasPrefix(uri, "/") {
		return nil, errors.New("forward: the URI is not a path")
	}
	if r.Header["Signature-Input"] != nil && (d.From.Body == "" || r.Header.Get(d.From.Body) != "none") {
		return nil, errors.New("forward: there may be a body, which a signature covers, and it is not here")
	}
	o := r.Clone(r.Context())
	o.Method, o.URL, o.RequestURI = method, target, uri
	o.Body, o.ContentLength, o.TransferEncoding = http.NoBody, 0, nil
	return o, nil
}

// check rejects headers that another reader behind the proxy could take for those of
// the proxy or of a Door. CGI and WSGI read X_Auth_Account as X-Auth-Account, and PHP
// reads X.Auth.Account so, too. So two names are the same if their letters and digits are.
func (d Door) check(h http.Header) error {
	own := []string{d.From.Method, d.From.URI, d.From.Body}
	for name, values := range h {
		switch {
		case slices.Contains(own, name):
			if len(values) != 1 {
				return errors.New("forward: a header of the proxy is there twice")
			}
		case slices.Contains(reserved, lettersAndDigits(name)):
			return errors.New("forward: the client has sent a header of the proxy")
		}
	}
	if h.Get(d.From.Method) == "" || h.Get(d.From.URI) == "" {
		return errors.New("forward: the proxy does not say what it was asked")
	}
	return nil
}

// reserved are the names of all headers of reverse proxies and of a Door.
var reserved = func() (names []string) {
	for _, name := range []string{Org, App, Account, Roles, Nginx.Method, Nginx.URI, Nginx.Body, ForwardAuth.Method, ForwardAuth.URI} {
		names = append(names, lettersAndDigits(name))
	}
	return names
}()

func lettersAndDigits(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			return c
		}
		return -1
	}, strings.ToLower(name))
}
