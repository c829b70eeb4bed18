package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
)

// A route whose clients expect errors of another form.
func ExampleFailAs() {
	handler := func(w http.ResponseWriter, r *http.Request) {
		auth.FailAs(w, r, &auth.Error{Detail: auth.DetailThrottled}, func(e *auth.Error) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(e.Fault().Status)
			fmt.Fprint(w, e.Fault().Message)
		})
	}
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Body, w.Header().Get("Retry-After"), w.Header().Get("Cache-Control"))
	// Output: 429 Too many requests. 1 no-store
}

// Each fault links to a page about its code. A client of RFC 9457 asks for that form.
func ExampleFail_problem() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	mux := (&auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})},
		ErrorPage:  "https://docs.example.com/errors",
	}).Mux()
	r := httptest.NewRequest("GET", "/acme/v2/unknown", nil)
	r.Header.Set("Accept", "application/problem+json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Header().Get("Link"))
	fmt.Println(w.Body.String()[:83])
	// Output:
	// <https://docs.example.com/errors#notFound.unspecified>; rel="help"
	// {"type":"https://docs.example.com/errors#notFound.unspecified","title":"Not found."
}

// A handler that authenticates its callers itself tells the Guard's observer who they are.
func ExampleIdentify() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	g := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})},
		Observe: func(_ context.Context, e auth.Event) {
			fmt.Printf("allowed %v, app %q, claimed %q, detail %q\n", e.Allowed, e.App, e.Claimed.App, e.Detail)
		},
	}
	mux := g.Mux()
	mux.HandleFunc("POST /login", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		t := auth.TenantFrom(r.Context())
		app, password, _ := r.BasicAuth()
		if password != "correct" {
			t.Claim(auth.Claimed{Mechanism: "basic", App: app})
			auth.Fail(w, r, &auth.Error{Detail: auth.DetailInvalidCredentials})
			return
		}
		auth.Identify(r, auth.Principal{Org: t.Org.Key(), App: app, Mechanism: "basic"})
	})
	for _, password := range []string{"wrong", "correct"} {
		r := httptest.NewRequest("POST", "/acme/v2/login", nil)
		r.SetBasicAuth("bank", password)
		mux.ServeHTTP(httptest.NewRecorder(), r)
	}
	// Output:
	// allowed true, app "", claimed "", detail ""
	// allowed true, app "", claimed "bank", detail "accessDenied.invalidCredentials"
	// allowed true, app "", claimed "", detail ""
	// allowed true, app "bank", claimed "", detail ""
}

// A server that opens its store tells the operator what to set.
func ExampleSettingError() {
	open := func() error { // stands for sqlstore.Open or redisstore.Open
		return fmt.Errorf("sqlstore: open: %w", &auth.SettingError{Setting: "fsync", Value: "off", Remedy: "set it to on, or set UnsafeDurability"})
	}
	var wrong *auth.SettingError
	if errors.As(open(), &wrong) {
		fmt.Printf("%s is %s: %s\n", wrong.Setting, wrong.Value, wrong.Remedy)
	}
	// Output: fsync is off: set it to on, or set UnsafeDurability
}
