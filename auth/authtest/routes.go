package authtest

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// CheckRoutes sends an anonymous request to each route and fails the test if
// one that is not open (auth.Public, auth.Optional) answers with anything but a
// 401. With a Mux the routes are mux.Routes(); with another router, list what
// it serves: a route that was registered without Require is found here.
//
// The mount is what stands before the routes: "/acme/v2", of an org the server
// knows. Wildcards are filled with the id 000000000000000000000001. A pattern
// without a method is asked by GET.
func CheckRoutes(t testing.TB, h http.Handler, mount string, routes []auth.Route) {
	t.Helper()
	if len(routes) == 0 {
		t.Error("authtest: no routes to check")
	}
	for _, route := range routes {
		if route.Need.Open() {
			continue
		}
		method, path, ok := strings.Cut(route.Pattern, " ")
		if !ok {
			method, path = http.MethodGet, route.Pattern
		}
		path = strings.TrimSuffix(path, "{$}")
		path = wildcard.ReplaceAllString(path, "000000000000000000000001")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, mount+strings.TrimSpace(path), nil))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("authtest: %s answers an anonymous caller with %d, want 401", route.Pattern, w.Code)
		}
	}
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)
