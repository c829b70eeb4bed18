// Package chi puts a Guard around a chi router. Every router except the Guard's own
// Mux is protected in this way.
//
// A Mux does some things by itself that this server does in other ways:
//
//   - Mount stands outside the router, so that the router sees paths below
//     /{org}/{version}. Require stands on each route. The test finds routes
//     without it: it walks the router, and authtest.CheckRoutes calls each route
//     without a credential.
//   - The router's own 404 and 405 are not faults unless they are replaced.
//   - Path values stay escaped: /names/a%20b has the value a%20b. Identifiers of
//     the standard grammar have no escapes.
//   - The route for GET does not answer HEAD. chi has middleware.GetHead.
//
// Set Require with With, and not with Use. auth.Allow("…{id}") reads path values,
// which chi sets when it has found the route. A middleware that the outer router
// got through Use runs before that.
package chi

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// NewHandler serves the notes of every org of the Guard.
func NewHandler(guard *auth.Guard) http.Handler {
	return guard.Mount(NewRouter(guard))
}

// NewRouter returns the router below the mount. It is a function of its own, so
// that a test can walk the router.
func NewRouter(guard *auth.Guard) chi.Router {
	router := chi.NewRouter()
	router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		auth.Fail(w, r, auth.ErrNotFound)
	})
	router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		allow(w.Header(), router, r)
		auth.Fail(w, r, &auth.Error{Detail: auth.DetailMethod})
	})

	need := func(n auth.Need) chi.Router { return router.With(guard.Require(n)) }
	need(auth.Public).Get("/status", answer("up"))
	need(auth.Public).Get("/names/{name}", func(w http.ResponseWriter, r *http.Request) {
		answer(r.PathValue("name"))(w, r)
	})
	need(auth.Some("object.read.c_note")).Method("GET", "/notes", auth.PartHandler(list))
	need(auth.Allow("object.read.c_note.{id}")).Get("/notes/{id}", answer("a note"))
	need(auth.Allow("object.delete.c_note.{id}")).Delete("/notes/{id}", answer("gone"))
	return router
}

// allow sets the Allow header to the methods of a path (RFC 9110, section 15.5.6).
// chi sets this header in its own answer only.
func allow(h http.Header, router chi.Routes, r *http.Request) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if router.Match(chi.NewRouteContext(), method, r.URL.EscapedPath()) {
			h.Add("Allow", method)
		}
	}
}

// list narrows to the part that the caller may read. Get takes only functions, so it is
// registered by Method.
func list(w http.ResponseWriter, r *http.Request, part scope.Part) {
	ids, all := part.IDs()
	if all {
		ids = []string{"all"}
	}
	auth.Reply(w, r, envelope.Result[[]string]{Data: ids})
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		auth.Reply(w, r, envelope.Result[string]{Data: text})
	}
}
