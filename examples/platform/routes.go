package main

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// routes is everything below /{org}/{version}, and what each route needs.
func (p *platform) routes() *auth.Mux {
	mux := p.guard.Mux()

	accounts := accounts{p.store}
	mux.HandleFunc("GET /accounts/me", auth.Authenticated, reply(accounts.me))

	mux.HandleFunc("GET /schemas", auth.Authenticated, reply(listSchemas))

	for _, s := range schemas {
		objects := objects{schema: s.Schema, store: p.store}
		all, one := "/"+s.plural, "/"+s.plural+"/{id}"
		mux.HandleFunc("GET "+all, auth.Some("object.read."+s.Object), reply(objects.list))
		mux.HandleFunc("POST "+all, auth.Allow("object.create."+s.Object), reply(objects.create))
		mux.HandleFunc("GET "+one, auth.Some("object.read."+s.Object+".{id}"), reply(objects.get))
		mux.HandleFunc("PATCH "+one, auth.Allow("object.update."+s.Object+".{id}"), reply(objects.update))
		mux.HandleFunc("DELETE "+one, auth.Allow("object.delete."+s.Object+".{id}"), reply(objects.delete))
		mux.HandleFunc("GET "+one+"/{path...}", auth.Some("object.read."+s.Object+".{id}.{path...}"), reply(objects.property))
	}
	return mux
}

// reply makes a handler of a function that answers a request with a value, or
// with an error whose fault is sent instead. A handler of this kind cannot fail
// halfway through its reply.
func reply[T any](answer func(*http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := answer(r)
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		envelope.Write(w, value)
	}
}
