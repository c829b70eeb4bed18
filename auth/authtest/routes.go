package authtest

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// CheckRoutes sends an anonymous request to each route that is not open (auth.Public,
// auth.Optional). It fails the test if the answer is anything but 401. With a Mux, pass
// mux.Routes(). With another router, list the routes that it serves; CheckRoutes then finds a
// route without Require.
//
// The mount is the part of the path before the routes, such as "/acme/v2", for an org that the
// server knows. If the host names the org, the mount is an address: "https://acme.example.com/v2".
// Wildcards are replaced by the id 000000000000000000000001. A pattern without a method is
// requested with GET.
func CheckRoutes(t testing.TB, h http.Handler, mount string, routes []auth.Route) {
	t.Helper()
	if len(routes) == 0 {
		t.Error("authtest: no routes to check")
	}
	for _, route := range routes {
		if need := route.Need.Describe(); need.Public || need.Optional {
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
