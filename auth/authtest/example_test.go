package authtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

func ExampleAs() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Scope: scope.Set{}})},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(http.ResponseWriter, *http.Request) {})

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/acme/v2/notes", nil))
	fmt.Println(w.Code) // the zero Set permits nothing
	// Output: 403
}

// Clients of one server with a brand of its own, a version v1, and tenants on subdomains.
func ExampleClients() {
	guard := &auth.Guard{Roles: auth.RolesLimit, BaseURL: "https://example.com", Brand: auth.Brand{Header: "Acme-"}} // and its other fields
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Printf("%s signed=%t token=%q cookies=%q\n", r.Host, r.Header.Get("Acme-Client-Signature") != "",
			r.Header.Get("Authorization"), r.Header.Get("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "__Host-session-acme", Value: "token", Path: "/", Secure: true})
	})
	clients := authtest.Clients{Handler: server, URL: "https://acme.example.com/v1", Guard: guard}
	clientKey, secret := signing.Generate()

	clients.Signed(clientKey, secret).Get(clients.URL + "/notes")
	clients.Bearer(token.Token("a.b.c")).Get(clients.URL + "/notes")
	ann, err := clients.SignedIn("/login", map[string]string{"login": "ann", "password": "open sesame"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ann.Get(clients.URL + "/notes")
	// Output:
	// acme.example.com signed=true token="" cookies=""
	// acme.example.com signed=false token="Bearer a.b.c" cookies=""
	// acme.example.com signed=false token="" cookies=""
	// acme.example.com signed=false token="" cookies="__Host-session-acme=token"
}

// The code of a second factor, at the server's time.
func ExampleTOTP() {
	secret := session.FactorSecret("12345678901234567890") // Enrolment.Secret
	fmt.Println(authtest.TOTP(secret, time.Unix(59, 0)))
	// Output: 287082
}

func ExampleClock() {
	clock := authtest.NewClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	guard := &auth.Guard{Now: clock.Now}
	clock.Advance(5 * time.Minute)
	fmt.Println(guard.Now().Format(time.TimeOnly))
	// Output: 03:09:05
}

func ExampleCheckRoutes() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})}, // yours here
	}
	mux := guard.Mux()

	_ = func(t *testing.T) { // a test of yours
		authtest.CheckRoutes(t, mux, "/acme/v2", mux.Routes())
	}
}

func ExampleCheckMechanism() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	var mechanism auth.Mechanism // yours, with a credential of ann
	with := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Acme-Key", value) }
	}

	_ = func(t *testing.T) { // a test of yours
		authtest.CheckMechanism(t, authtest.Candidate{
			Mechanism: mechanism,
			Directory: directory, Org: "acme",
			Present: with("the key of ann"),
			Refused: map[string]func(*http.Request){"unknown": with("no key"), "ended": with("an older key of ann")},
		})
	}
}
