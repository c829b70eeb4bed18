// Package chi puts a Guard around a chi router, as one would around any router
// but the Guard's own Mux.
//
// Some things are different from a Mux, which does them by itself:
//
//   - Mount stands outside the router, so that the router sees paths below
//     /{org}/{version}, and Require stands on each route. What finds a route
//     without it is the test: it walks the router, and authtest.CheckRoutes
//     asks each route without a credential.
//   - The router's own 404 and 405 are not faults unless they are replaced.
//   - Path values stay escaped: /names/a%20b has the value a%20b. Identifiers of
//     the standard grammar have no escapes.
//   - A HEAD is not answered by the route for GET; chi has middleware.GetHead.
//
// Require is given by With, and not by Use: chi fills path values, which
// auth.Allow("…{id}") reads, when it has found the route, and what Use added to
// the outer router runs before that.
package chi

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// NewHandler serves the notes of every org of the Guard.
func NewHandler(guard *auth.Guard) http.Handler {
	return guard.Mount(NewRouter(guard))
}

// NewRouter is what stands below the mount: apart, so that a test can walk it.
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
	need(auth.Some("object.read.c_note")).Get("/notes", answer("notes"))
	need(auth.Some("object.read.c_note.{id}")).Get("/notes/{id}", answer("a note"))
	need(auth.Allow("object.delete.c_note.{id}")).Delete("/notes/{id}", answer("gone"))
	return router
}

// allow names the methods that a path has (RFC 9110, section 15.5.6): chi sets
// the header in its own answer only.
func allow(h http.Header, router chi.Routes, r *http.Request) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if router.Match(chi.NewRouteContext(), method, r.URL.EscapedPath()) {
			h.Add("Allow", method)
		}
	}
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		auth.Reply(w, r, envelope.Result[string]{Data: text})
	}
}
