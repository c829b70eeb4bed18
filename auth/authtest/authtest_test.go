package authtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
)

func directory() *auth.Memory {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "acme"})
	d.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	return d
}

func guard(mechanisms ...auth.Mechanism) *auth.Guard {
	return &auth.Guard{BaseURL: "https://api.example.test", Directory: directory(), Roles: auth.RolesDoNotLimit, Mechanisms: mechanisms}
}

var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	auth.Reply(w, r, envelope.Result[string]{Data: auth.From(r.Context()).Account})
})

var part = auth.PartHandler(func(w http.ResponseWriter, r *http.Request, _ scope.Part) { whoami.ServeHTTP(w, r) })

func TestAsIsHeldToTheNeeds(t *testing.T) {
	reader, err := new(scope.Grammar).Compile("test", "object.read")
	if err != nil {
		t.Fatal(err)
	}
	mux := guard(authtest.As(auth.Principal{Account: "ann", Scope: reader})).Mux()
	mux.Handle("GET /notes", auth.Some("object.read.c_note"), part)
	mux.Handle("POST /notes", auth.Allow("object.create.c_note"), whoami)
	for method, status := range map[string]int{"GET": 200, "POST": 403} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, "/acme/v2/notes", nil))
		if w.Code != status {
			t.Errorf("%s: got %d %s, want %d", method, w.Code, w.Body, status)
		}
	}
}

func TestAsCannotCrossOrgs(t *testing.T) {
	mux := guard(authtest.As(auth.Principal{Org: "globex", Account: "ann"})).Mux()
	mux.Handle("GET /notes", auth.Authenticated, whoami)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/acme/v2/notes", nil))
	if w.Code == 200 {
		t.Error("a principal of another org got in")
	}
}

// failures records the errors that a test would report.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Helper() {}
func (f *failures) Error(args ...any) {
	f.texts = append(f.texts, fmt.Sprint(args...))
}
func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

func TestCheckRoutes(t *testing.T) {
	deny := guard(&signature.Mechanism{Credentials: signature.Memory{}, Replays: signing.NewMemory(0)})
	mux := deny.Mux()
	mux.Handle("GET /status", auth.Public, whoami)
	mux.Handle("GET /notes", auth.Optional, whoami)
	mux.Handle("GET /notes/{id}", auth.Some("object.read.c_note.{id}"), part)
	mux.Handle("GET /notes/{id}/{path...}", auth.Some("object.read.c_note.{id}.{path...}"), part)
	mux.Handle("POST /", auth.Authenticated, whoami)
	authtest.CheckRoutes(t, mux, "/acme/v2", mux.Routes())

	other := http.NewServeMux()
	other.Handle("GET /notes/{id}", deny.Require(auth.Authenticated)(whoami))
	other.Handle("DELETE /notes/{id}", whoami) // forgotten
	found := &failures{TB: t}
	authtest.CheckRoutes(found, deny.Mount(other), "/acme/v2", []auth.Route{
		{Pattern: "GET /notes/{id}", Need: auth.Authenticated},
		{Pattern: "DELETE /notes/{id}", Need: auth.Authenticated},
		{Pattern: "/notes/{id}", Need: auth.Authenticated}, // without a method: GET
	})
	if len(found.texts) != 1 || !strings.Contains(found.texts[0], "DELETE /notes/{id}") {
		t.Errorf("found %q", found.texts)
	}

	none := &failures{TB: t}
	authtest.CheckRoutes(none, mux, "/acme/v2", nil)
	if len(none.texts) != 1 {
		t.Error("an empty table of routes passed")
	}
}

func TestClockStandsStill(t *testing.T) {
	start := time.UnixMilli(1_790_000_000_000)
	clock := authtest.NewClock(start)
	if !clock.Now().Equal(start) || !clock.Advance(time.Minute).Equal(start.Add(time.Minute)) || !clock.Now().Equal(start.Add(time.Minute)) {
		t.Error(clock.Now())
	}
}
