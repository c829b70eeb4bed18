package auth

import (
	"net/http"
	"slices"
	"strings"
)

// Mux routes the requests of a Guard. It is an http.ServeMux with the same pattern language.
// Each of its routes has a need, its 404 and 405 are faults, and it never redirects. Patterns
// are relative to the mount: "GET /notes/{id}".
type Mux struct {
	guard   *Guard
	mux     http.ServeMux
	mounted http.Handler
	routes  []Route
}

// Route is a registered pattern and its need.
type Route struct {
	Pattern string
	Need    Need
}

// Mux returns an empty Mux, ready to serve at the root of a server. It panics if the Guard is
// not valid.
func (g *Guard) Mux() *Mux {
	m := &Mux{guard: g}
	m.mounted = g.Mount(http.HandlerFunc(m.route))
	return m
}

// Handle registers a handler for a pattern, behind a need. It panics on the zero Need and on
// a need that Require refuses. It panics if the need uses a path value that the
// pattern lacks. It also panics on a pattern that http.ServeMux refuses, that names a host,
// or that ends in a slash. The Guard cuts a trailing slash, so such a route would never
// match. For the same reason {path...} is never empty.
func (m *Mux) Handle(pattern string, n Need, h http.Handler) {
	path := strings.TrimLeft(pattern[strings.IndexAny(pattern, " \t")+1:], " \t")
	if !strings.HasPrefix(path, "/") {
		panic("auth: pattern " + pattern + " names a host")
	}
	if len(path) > 1 && strings.HasSuffix(strings.TrimSuffix(path, "{$}"), "/") && path != "/{$}" {
		panic("auth: pattern " + pattern + " ends in a slash")
	}
	if path == "/" {
		// In ServeMux "/" matches every path; here it is only the root.
		pattern += "{$}"
	}
	rule := n.mustCompile(m.guard)
	if name := rule.operation.missing(pattern); name != "" {
		panic("auth: pattern " + pattern + " has no {" + name + "} for its need " + n.operation)
	}
	m.mux.Handle(pattern, route{m.guard.require(rule, h)})
	m.routes = append(m.routes, Route{Pattern: pattern, Need: n})
}

// HandleFunc registers a function: see Handle.
func (m *Mux) HandleFunc(pattern string, n Need, h http.HandlerFunc) {
	m.Handle(pattern, n, h)
}

// Routes returns the registered routes in the order of registration.
func (m *Mux) Routes() []Route { return slices.Clone(m.routes) }

func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mounted.ServeHTTP(w, r)
}

// route is a registered handler. It gets the real ResponseWriter. What ServeMux's own
// redirect, 404 and 405 handlers write is discarded.
type route struct{ http.Handler }

func (h route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := w.(*discarder)
	to := a.to
	a.to = nil
	h.Handler.ServeHTTP(to, r)
}

// discarder is the ResponseWriter that ServeMux gets. It discards what is written to it.
type discarder struct {
	to     http.ResponseWriter // nil: a handler has it
	header http.Header
}

func (m *Mux) route(w http.ResponseWriter, r *http.Request) {
	a := &callOf(r.Context(), m.guard).discarder
	*a = discarder{to: w}
	m.mux.ServeHTTP(a, r)
	if a.to == nil {
		return
	}
	r.Pattern = "" // of a redirect that was not sent
	if allow := a.Header().Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		Fail(w, r, &Error{Detail: DetailMethod})
		return
	}
	Fail(w, r, &Error{Detail: DetailNotFound})
}

func (a *discarder) Header() http.Header {
	if a.header == nil {
		a.header = make(http.Header)
	}
	return a.header
}

func (a *discarder) Write(b []byte) (int, error) { return len(b), nil }
func (a *discarder) WriteHeader(int)             {}
