package auth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// A handler of Some that does not know of parts would answer with the whole.
func TestTheHandlerOfSomeTakesAPart(t *testing.T) {
	nothing := auth.PartHandler(func(http.ResponseWriter, *http.Request, scope.Part) {})
	for name, c := range map[string]struct {
		need    auth.Need
		handler http.Handler
		refused string // the panic; "": none
	}{
		"Some with a PartHandler":      {auth.Some("object.read.c_note"), nothing, ""},
		"Some with another handler":    {auth.Some("object.read.c_note"), whoami, "must be an auth.PartHandler"},
		"Some, and middleware between": {auth.Some("object.read.c_note"), http.StripPrefix("/x", nothing), "must be an auth.PartHandler"},
		"Some of admin":                {auth.Some("admin.read"), nothing, "only operations on objects"},
		"Allow with a PartHandler":     {auth.Allow("object.read.c_note"), nothing, "needs auth.Some"},
		"Public with a PartHandler":    {auth.Public, nothing, "needs auth.Some"},
	} {
		for by, register := range map[string]func(){
			"Handle":  func() { guard().Mux().Handle("GET /notes", c.need, c.handler) },
			"Require": func() { guard().Require(c.need)(c.handler) },
		} {
			t.Run(name+", "+by, func(t *testing.T) {
				defer func() {
					if got := fmt.Sprint(recover()); c.refused == "" && got != "<nil>" || !strings.Contains(got, c.refused) {
						t.Errorf("panic %q, want %q", got, c.refused)
					}
				}()
				register()
			})
		}
	}
}

func TestAPartHandlerGetsThePart(t *testing.T) {
	g := guard()
	g.Mechanisms = []auth.Mechanism{scoped{}}
	mux := g.Mux()
	show := auth.PartHandler(func(w http.ResponseWriter, r *http.Request, part scope.Part) {
		ids, all := part.IDs()
		fmt.Fprint(w, ids, all, part.Property("title"), part.Of(id)("title"))
	})
	mux.Handle("GET /notes", auth.Some("object.read.c_note"), show)
	mux.Handle("PATCH /notes/{id}", auth.Some("object.update.c_note.{id}"), show)
	mux.Handle("GET /any/{name}", auth.Some("object.read.{name}"), show)
	for _, c := range []struct{ method, path, chains, want string }{
		{"GET", "/notes", "object.read", "[] true true true"},
		{"GET", "/notes", "object.read.c_note." + id, "[" + id + "] false false true"},
		{"GET", "/notes", "object.read.c_note.*.title", "[] true true true"},
		{"GET", "/notes", "object.read.c_note." + otherID + ".title object.update", "[" + otherID + "] false false false"},
		{"PATCH", "/notes/" + id, "object.read object.update.c_note." + id + ".title", "[" + id + "] false false true"},
		{"GET", "/any/c_note", "object.read.c_note object.read.c_book." + id, "[] true true true"},
		{"GET", "/any/c_book", "object.read.c_note object.read.c_book." + id, "[" + id + "] false false true"},
	} {
		if w := do(mux, c.method, "/acme/v2"+c.path, "Letter-Scope", c.chains); w.Code != 200 || w.Body.String() != c.want {
			t.Errorf("%s %s with %s: got %d %s, want %s", c.method, c.path, c.chains, w.Code, w.Body, c.want)
		}
	}
}

// Outside of what Require has made there is no part, and Check would lose it.
func TestWithoutAPartNothingIsServed(t *testing.T) {
	ran := false
	h := auth.PartHandler(func(http.ResponseWriter, *http.Request, scope.Part) { ran = true })
	if w := do(h, "GET", "/"); w.Code != 500 || ran {
		t.Errorf("called without Require: %d", w.Code)
	}
	g := guard()
	mux := g.Mux()
	mux.HandleFunc("GET /check", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		if _, err := g.Check(r, auth.Some("object.read.c_note")); err != nil {
			auth.Fail(w, r, err)
		}
	})
	if w := do(mux, "GET", "/acme/v2/check", "Letter-Wax", "ann"); w.Code != 500 {
		t.Errorf("Check: %d", w.Code)
	}
}
