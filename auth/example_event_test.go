package auth_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
)

// exampleObserved returns a Mux whose requests are ann's, and whose observer is observe.
func exampleObserved(observe func(context.Context, auth.Event)) *auth.Mux {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	g := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})},
		Observe:    observe,
		RequestID:  func(r *http.Request) string { return r.Header.Get("X-Request-Id") }, // of the proxy in front
	}
	return g.Mux()
}

func exampleRequest(path string) *http.Request {
	r := httptest.NewRequest("POST", path, nil)
	r.Header.Set("X-Request-Id", "42")
	return r
}

// An application reports what it does in its own tables.
func ExampleEmit() {
	mux := exampleObserved(func(_ context.Context, e auth.Event) {
		if e.Verb != "" { // otherwise a decision
			fmt.Printf("%s: %s of %s by %s, request %s\n", e.Verb, e.Account, e.Org, e.Actor, e.Request)
		}
	})
	mux.HandleFunc("POST /accounts/{id}/disable", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		// … the account is disabled, and the transaction is committed
		auth.Emit(r.Context(), auth.Event{Verb: "account.changed", Account: r.PathValue("id"), Reason: "disabled"})
	})
	mux.ServeHTTP(httptest.NewRecorder(), exampleRequest("/acme/v2/accounts/bob/disable"))
	// Output: account.changed: bob of acme by ann, request 42
}

// A store that keeps a log of its own asks who does what it does.
func ExampleTrace() {
	mux := exampleObserved(nil)
	mux.HandleFunc("POST /notes", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		e := auth.Trace(r.Context(), auth.Event{Verb: "account.changed", Account: "bob"})
		fmt.Println(e.Verb, e.Account, "by", e.Actor, "at", e.Route, "from", e.Address)
	})
	mux.ServeHTTP(httptest.NewRecorder(), exampleRequest("/acme/v2/notes"))
	// Output: account.changed bob by ann at POST /notes from 192.0.2.1
}

// What verbs there are of tokens.
func ExampleVerbs() {
	fmt.Println(slices.DeleteFunc(auth.Verbs(), func(verb string) bool { return !strings.HasPrefix(verb, "token.") }))
	// Output: [token.made token.renewed token.spent token.revoked token.reused]
}

// Requests wait for the observer. For a sink that may be slow, it takes a queue with a bound, and counts what
// does not fit.
func ExampleEvent() {
	queue, dropped := make(chan auth.Event, 2), new(atomic.Int64)
	mux := exampleObserved(func(_ context.Context, e auth.Event) {
		select {
		case queue <- e:
		default:
			dropped.Add(1)
		}
	})
	mux.HandleFunc("POST /notes", auth.Authenticated, func(http.ResponseWriter, *http.Request) {})
	for range 3 {
		mux.ServeHTTP(httptest.NewRecorder(), exampleRequest("/acme/v2/notes"))
	}
	close(queue)           // when the server has drained
	for e := range queue { // in a goroutine of its own
		slog.Debug("event", "route", e.Route, "account", e.Account, "allowed", e.Allowed)
	}
	fmt.Println(dropped.Load(), "dropped")
	// Output: 1 dropped
}
