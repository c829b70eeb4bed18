package auth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

const (
	id      = "5b0000000000000000000001"
	otherID = "5b0000000000000000000002"
)

// scoped admits every request as a principal with the scope in the header Letter-Scope, chains
// separated by spaces.
type scoped struct{}

func (scoped) Name() string { return "scoped" }

func (scoped) Bind(*auth.Settings) error { return nil }

func (scoped) Presented(*http.Request) auth.Presence { return auth.InHeader }

func (scoped) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	set, err := new(scope.Grammar).Compile("letter", strings.Fields(r.Header.Get("Letter-Scope"))...)
	return auth.Principal{Org: auth.OrgKey(t.Org.Code), Account: "ann", Mechanism: "scoped", Scope: set, Granted: set}, err
}

func (scoped) Challenge(_ *auth.Tenant, err error) string {
	var e *auth.Error
	if errors.As(err, &e) && e.Detail == auth.DetailScope {
		return `Scoped error="insufficient_scope", scope="` + e.Reason + `"`
	}
	return "Scoped"
}

func TestScopeNeeds(t *testing.T) {
	g := guard()
	g.Mechanisms = []auth.Mechanism{letter{name: "Crumb", presence: auth.InCookie}, scoped{}}
	mux := g.Mux()
	mux.Handle("GET /notes", auth.Some("object.read.c_note"), part(whoami))
	mux.Handle("GET /notes/{id}", auth.Some("object.read.c_note.{id}"), part(whoami))
	mux.Handle("DELETE /notes/{id}", auth.Allow("object.delete.c_note.{id}"), whoami)
	mux.Handle("GET /notes/{id}/{path...}", auth.Allow("object.read.c_note.{id}.{path...}"), whoami)
	mux.Handle("POST /routes/{name}", auth.Allow("script.route.{name}"), whoami)
	mux.Handle("GET /views/{name}", auth.Allow("view.execute.{name}"), whoami)
	mux.Handle("GET /admin", auth.Allow("admin.read").By("scoped"), whoami)

	tests := []struct {
		name, scope, method, path string
		status                    int
		reason                    string
	}{
		{"no scope at all", "", "GET", "/notes", 403, "object.read.c_note"},
		{"everything", "*", "GET", "/notes", 200, ""},
		{"a list, all of it", "object.read.c_note", "GET", "/notes", 200, ""},
		{"a list, one object of it", "object.read.c_note." + id, "GET", "/notes", 200, ""},
		{"a list, one property of it", "object.read.c_note.*.title", "GET", "/notes", 200, ""},
		{"a list, another verb", "object.update.c_note", "GET", "/notes", 403, "object.read.c_note"},
		{"one object, one property of it", "object.read.c_note.*.title", "GET", "/notes/" + id, 200, ""},
		{"one object, granted another", "object.read.c_note." + otherID, "GET", "/notes/" + id, 403, "object.read.c_note." + id},
		{"whole need, granted in part", "object.delete.c_note." + otherID, "DELETE", "/notes/" + id, 403, "object.delete.c_note." + id},
		{"whole need, granted", "object.delete.c_note." + id, "DELETE", "/notes/" + id, 200, ""},
		{"a property", "object.read.c_note.*.author.name", "GET", "/notes/" + id + "/author/name", 200, ""},
		{"a property above the granted one", "object.read.c_note.*.author.name", "GET", "/notes/" + id + "/author", 403, "object.read.c_note." + id + ".author"},
		{"a script route", "script.execute.route.tidy", "POST", "/routes/tidy", 200, ""},
		{"another script route", "script.route.tidy", "POST", "/routes/tidier", 403, "script.route.tidier"},
		{"a view", "view", "GET", "/views/report", 200, ""},
		{"an administrative route", "admin.*", "GET", "/admin", 200, ""},
		{"a value outside the grammar is a thing that does not exist", "*", "GET", "/notes/seven", 404, ""},
		{"a star is no identifier", "object.read.c_note", "GET", "/notes/*", 404, ""},
		{"a dot makes no deeper need", "object.read", "GET", "/notes/" + id + ".secret", 404, ""},
		{"a slash makes no deeper need", "object.read", "GET", "/notes/" + id + "%2Fsecret", 404, ""},
		{"a star is no property", "*", "GET", "/notes/" + id + "/*", 404, ""},
		{"a word of the language is no route", "*", "POST", "/routes/runner", 404, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := do(mux, test.method, "/acme/v2"+test.path, "Letter-Scope", test.scope)
			var fault *envelope.Fault
			if err := envelope.Decode(w.Body, 1<<12, new(envelope.Result[string])); err != nil && !errors.As(err, &fault) {
				t.Fatal(err)
			}
			if w.Code != test.status {
				t.Fatalf("got %d %v, want %d", w.Code, fault, test.status)
			}
			if test.status != 403 {
				return
			}
			if fault.Detail != auth.DetailScope || fault.Reason != test.reason {
				t.Errorf("got %v, want the need %s as the reason", fault, test.reason)
			}
			want := `Scoped error="insufficient_scope", scope="` + test.reason + `"`
			if got := w.Header().Values("WWW-Authenticate"); len(got) != 1 || got[0] != want {
				t.Errorf("challenges %q, want %q alone", got, want)
			}
		})
	}
}

// A type in a path value would make another need than the route's: a grant of only this type
// would cover it.
func TestM13ATypeIsTheRoutesToName(t *testing.T) {
	g := guard()
	g.Mechanisms = []auth.Mechanism{scoped{}}
	mux := g.Mux()
	mux.Handle("GET /{name}", auth.Some("object.read.{name}"), part(whoami))
	mux.Handle("GET /{name}/{id}", auth.Some("object.read.{name}.{id}"), part(whoami))
	mux.Handle("PUT /notes/{id}", auth.Allow("object.update.c_note.{id}"), whoami)
	mux.Handle("GET /{name}/{id}/{path...}", auth.Allow("object.read.{name}.{id}.{path...}"), whoami)
	mux.Handle("GET /drafts/of/all/{id}", auth.Allow("object.read.c_note#draft.{id}"), whoami)
	mux.Handle("POST /routes/{name}", auth.Allow("script.route.{name}"), whoami)
	mux.Handle("POST /views/{name}", auth.Allow("view.execute.{name}"), whoami)

	const drafts = "object.read.c_note#draft"
	for _, c := range []struct {
		name, scope, method, path string
		status                    int
	}{
		{"M13 in a name, granted this type", drafts, "GET", "/c_note%23draft", 404},
		{"M13 in a name, granted everything", "*", "GET", "/c_note%23draft", 404},
		{"M13 in a name before an id, granted this type", drafts, "GET", "/c_note%23draft/" + id, 404},
		{"M13 in an id, granted everything", "*", "GET", "/c_note/" + id + "%23draft", 404},
		{"M13 in an id that is changed, granted everything", "*", "PUT", "/notes/" + id + "%23draft", 404},
		{"M13 in a path, granted everything", "*", "GET", "/c_note/" + id + "/author%23draft", 404},
		{"M13 in the midst of a path, granted this type", "object.read.c_note.*.c_set[]#draft", "GET", "/c_note/" + id + "/c_set[]%23draft/name", 404},
		{"M13 in the name before a path, granted this type", drafts, "GET", "/c_note%23draft/" + id + "/author", 404},
		{"M13 alone", "*", "GET", "/%23", 404},
		{"M13 in a script route", "*", "POST", "/routes/tidy%23draft", 404},
		{"M13 in a view", "*", "POST", "/views/report%23draft", 404},
		{"M13 as text that was escaped twice", "*", "GET", "/c_note%2523draft", 404},
		{"a route that names the type itself, granted this type", drafts, "GET", "/drafts/of/all/" + id, 200},
		{"a route that names the type itself, granted all types", "object.read.c_note", "GET", "/drafts/of/all/" + id, 200},
		{"a list without a type, granted one type: a part of it", drafts, "GET", "/c_note", 200},
		{"a whole path without a type, granted one type", drafts, "GET", "/c_note/" + id + "/author", 403},
		{"a path without a type, granted", "object.read.c_note", "GET", "/c_note/" + id + "/author/name", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			if w := do(mux, c.method, "/acme/v2"+c.path, "Letter-Scope", c.scope); w.Code != c.status {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, c.status)
			}
		})
	}
}

func TestNeedsThatCannotBeMetAreRefusedAtRegistration(t *testing.T) {
	for name, test := range map[string]struct {
		pattern string
		need    auth.Need
	}{
		"a chain that does not parse": {"GET /x", auth.Allow("object.read.c_note.title")},
		"an unknown root":             {"GET /x", auth.Allow("objects.read")},
		"nothing":                     {"GET /x", auth.Allow("")},
		"a place without a name":      {"GET /x/{id}", auth.Allow("object.read.c_note.{}")},
		"a place that is not closed":  {"GET /x/{id}", auth.Allow("object.read.c_note.{id")},
		"a place the route lacks":     {"GET /x/{key}", auth.Allow("object.read.c_note.{id}")},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("taken")
				}
			}()
			guard().Mux().Handle(test.pattern, test.need, whoami)
		})
	}
}

func TestAViewRunsWithoutScope(t *testing.T) {
	narrow, err := new(scope.Grammar).Compile("token", "view.execute.report")
	if err != nil {
		t.Fatal(err)
	}
	p := auth.Principal{Org: "acme", Account: "ann", Scope: narrow, Granted: narrow, Roles: []string{"editor"},
		Access: auth.Access{Grant: 4, SkipACL: true, SkipCreateACL: true}}
	view := auth.From(auth.With(t.Context(), p.WithoutScope()))
	read := scope.Object(scope.Read, "c_note", "", "")
	if !view.Scope.Allows(read) || view.Granted.Allows(read) {
		t.Error("the scope is not lifted, or what may be passed on is")
	}
	if view.Account != "ann" || !view.AtLeast(4) || view.AtLeast(5) || view.AtLeast(0) || view.Access != p.Access || !view.HasRole("editor") {
		t.Errorf("the rest of the principal changed: %+v", view)
	}
	if p.Scope.Allows(read) {
		t.Error("the principal itself was altered")
	}
	if !(auth.Principal{Roles: []string{"member"}}).HasRole("member") || p.HasRole("member") {
		t.Error("roles")
	}
}

func TestNobodyMayDoAnything(t *testing.T) {
	p := auth.From(t.Context())
	if p.Scope.Allows(scope.Object(scope.Read, "c_note", "", "")) || p.AtLeast(1) || p.HasRole("") {
		t.Error("the zero Principal may do something")
	}
}
