package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

func TestScopeRoute(t *testing.T)      { check(t, "ScopeRoute", routes(t)) }
func BenchmarkScopeRoute(b *testing.B) { race(b, routes(b)) }

const routeChains = 1000

// holder is a mechanism whose principal has a scope set.
type holder struct{ set scope.Set }

func (holder) Name() string { return "holder" }

func (holder) Bind(*auth.Settings) error { return nil }

func (holder) Presented(*http.Request) auth.Presence { return auth.InHeader }
func (holder) Challenge(*auth.Tenant, error) string  { return "" }

func (h holder) Authenticate(context.Context, *http.Request, *auth.Tenant) (auth.Principal, error) {
	return auth.Principal{Org: "acme", Account: subject, Mechanism: "holder", Scope: h.set}, nil
}

// routes decide requests of GET /c_messages/{id} that were routed and authenticated
// before. Only the need of the route is left to check.
func routes(t testing.TB) []contender {
	list := instances(routeChains)
	guard := &auth.Guard{BaseURL: baseURL, Directory: newDirectory(0), Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{holder{compiled(t, list)}}}
	good := routed(t, guard, list[routeChains/2].id)
	bad := map[string]*http.Request{
		"another instance": routed(t, guard, instance(routeChains).id),
		"a star":           routed(t, guard, "*"),
		"a longer id":      routed(t, guard, list[routeChains/2].id+"0"),
	}
	of := func(name string, decide func(*http.Request) bool) contender {
		call := func(r *http.Request) func() error {
			return func() error {
				if !decide(r) {
					return errRefused
				}
				return nil
			}
		}
		c := contender{name: name, good: call(good), bad: map[string]func() error{}}
		for name, r := range bad {
			c.bad[name] = call(r)
		}
		return c
	}
	const prefix = "object.read.c_message."
	keys := mapCompile(texts(list))
	tree, err := natsCompile(texts(list))
	if err != nil {
		t.Fatal(err)
	}
	text := list[routeChains/2].text()
	return []contender{
		of("map", func(*http.Request) bool { return keys[text] }),
		of(ours, requires(guard, auth.Allow(prefix+"{id}"))),
		of("tenantkit authenticated", requires(guard, auth.Authenticated)),
		of("map of texts", func(r *http.Request) bool { return keys[prefix+r.PathValue("id")] }),
		of("NATS sublist", func(r *http.Request) bool { return tree.HasInterest(prefix + r.PathValue("id")) }),
	}
}

// routed returns a request as a handler gets it.
func routed(t testing.TB, guard *auth.Guard, id string) (at *http.Request) {
	mux := guard.Mux()
	mux.HandleFunc("GET /c_messages/{id}", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) { at = r })
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, audience+"/c_messages/"+id, nil))
	if at == nil {
		t.Fatalf("%s: %d %s", id, w.Code, w.Body)
	}
	return at
}

// requires reports whether a need lets a request pass to a handler.
func requires(guard *auth.Guard, n auth.Need) func(*http.Request) bool {
	reached := 0
	h := guard.Require(n)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	w := discard{http.Header{}}
	return func(r *http.Request) bool {
		before := reached
		h.ServeHTTP(w, r)
		return reached != before
	}
}
