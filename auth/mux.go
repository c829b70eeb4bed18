package auth

import (
	"net/http"
	"slices"
	"strings"
)

// Mux routes the requests of a Guard. It is an http.ServeMux, with its pattern
// language, whose routes cannot lack a need, whose 404 and 405 are faults, and
// which never redirects. Patterns are relative to the mount: "GET /notes/{id}".
type Mux struct {
	guard   *Guard
	mux     http.ServeMux
	mounted http.Handler
	routes  []Route
}

// Route is a registered pattern and what it needs.
type Route struct {
	Pattern string
	Need    Need
}

// Mux returns an empty Mux, ready to serve at the root of a server. It panics
// if the Guard is not valid.
func (g *Guard) Mux() *Mux {
	m := &Mux{guard: g}
	m.mounted = g.Mount(http.HandlerFunc(m.route))
	return m
}

// Handle registers a handler for a pattern, behind a need. It panics on the
// zero Need, on a need whose operation does not parse or asks for a path value
// that the pattern does not have, and on a pattern that http.ServeMux refuses,
// that names a host, or that ends in a slash: the Guard trims one, so such a
// route would never match. For the same reason {path...} is never empty.
func (m *Mux) Handle(pattern string, n Need, h http.Handler) {
	path := strings.TrimLeft(pattern[strings.IndexAny(pattern, " \t")+1:], " \t")
	if !strings.HasPrefix(path, "/") {
		panic("auth: pattern " + pattern + " names a host")
	}
	if len(path) > 1 && strings.HasSuffix(strings.TrimSuffix(path, "{$}"), "/") && path != "/{$}" {
		panic("auth: pattern " + pattern + " ends in a slash")
	}
	if path == "/" {
		// In ServeMux a lone slash is every path; here it is the root.
		pattern += "{$}"
	}
	m.checkPlaces(pattern, n)
	m.mux.Handle(pattern, route{m.guard.Require(n)(h)})
	m.routes = append(m.routes, Route{Pattern: pattern, Need: n})
}

// checkPlaces panics on an operation that no request of this route could fill.
// What does not parse is left to Require.
func (m *Mux) checkPlaces(pattern string, n Need) {
	rule, err := n.compile(m.guard.Scopes)
	if err != nil || rule.operation == nil {
		return
	}
	for _, name := range rule.operation.places() {
		if !strings.Contains(pattern, "{"+name+"}") && !strings.Contains(pattern, "{"+name+"...}") {
			panic("auth: pattern " + pattern + " has no {" + name + "} for its need " + n.operation)
		}
	}
}

// HandleFunc registers a function: see Handle.
func (m *Mux) HandleFunc(pattern string, n Need, h http.HandlerFunc) {
	m.Handle(pattern, n, h)
}

// Routes returns what has been registered, in that order.
func (m *Mux) Routes() []Route { return slices.Clone(m.routes) }

func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mounted.ServeHTTP(w, r)
}

// route is a handler that was registered here. It takes the response back from
// the mute, which those that ServeMux makes up for redirects, 404 and 405 do
// not know of.
type route struct{ http.Handler }

func (h route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := w.(*mute)
	a.routed = true
	h.Handler.ServeHTTP(a.to, r)
}

// mute is the ResponseWriter that ServeMux gets. What is written to it goes
// nowhere.
type mute struct {
	to     http.ResponseWriter
	routed bool
	header http.Header
}

func (m *Mux) route(w http.ResponseWriter, r *http.Request) {
	a := &callOf(r.Context(), m.guard).mute
	*a = mute{to: w}
	m.mux.ServeHTTP(a, r)
	if a.routed {
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

func (a *mute) Header() http.Header {
	if a.header == nil {
		a.header = make(http.Header)
	}
	return a.header
}

func (a *mute) Write(b []byte) (int, error) { return len(b), nil }
func (a *mute) WriteHeader(int)             {}
