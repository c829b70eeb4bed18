package authtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
)

func ExampleRequest() {
	handler := func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("hello,", auth.From(r.Context()).Account)
	}
	handler(httptest.NewRecorder(), authtest.Request("GET", "/", nil, auth.Principal{Account: "ann"}))
	// Output: hello, ann
}

func ExampleAs() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Scope: scope.Set{}})},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Some("object.read.c_note"), func(http.ResponseWriter, *http.Request) {})

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/acme/v2/notes", nil))
	fmt.Println(w.Code) // the zero Set permits nothing
	// Output: 403
}

func ExampleClient() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("signed:", r.Header.Get("Service-Client-Signature") != "")
	}))
	defer server.Close()
	clientKey, secret := signing.Generate()
	client := authtest.Client(server, "/acme/v2", clientKey, secret)
	reply, err := client.Get(server.URL + "/acme/v2/notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	reply.Body.Close()
	// Output: signed: true
}

func ExampleClock() {
	clock := authtest.NewClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	policy := signing.Policy{Now: clock.Now}
	clock.Advance(5 * time.Minute)
	fmt.Println(policy.Now().Format(time.TimeOnly))
	// Output: 03:09:05
}

func ExampleCheckRoutes() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})}, // yours here
	}
	mux := guard.Mux()

	_ = func(t *testing.T) { // a test of yours
		authtest.CheckRoutes(t, mux, "/acme/v2", mux.Routes())
	}
}
