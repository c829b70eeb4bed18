package chi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	chirouter "github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/examples/guides/chi"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
)

func guard(m auth.Mechanism) *auth.Guard {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	return &auth.Guard{BaseURL: "https://api.example.com", Directory: directory, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{m}}
}

// open are the routes that anybody may call. Every other route of the router must
// refuse a request without a credential.
var open = map[string]bool{"GET /status": true, "GET /names/{name}": true}

func TestRoutesAreGuarded(t *testing.T) {
	g := guard(&signature.Mechanism{Credentials: signature.Memory{}, Replays: signing.NewMemory(0)})
	authtest.CheckRoutes(t, chi.NewHandler(g), "/acme/v2", routes(t, chi.NewRouter(g)))
}

func routes(t *testing.T, r chirouter.Routes) (all []auth.Route) {
	t.Helper()
	add := func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		route := auth.Route{Pattern: method + " " + path, Need: auth.Authenticated}
		if open[route.Pattern] {
			route.Need = auth.Public
		}
		all = append(all, route)
		return nil
	}
	if err := chirouter.Walk(r, add); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestHandler(t *testing.T) {
	const mine, other = "5b0000000000000000000001", "5b0000000000000000000002"
	set, err := new(scope.Grammar).Compile("test", "object.read.c_note", "object.delete.c_note."+mine)
	if err != nil {
		t.Fatal(err)
	}
	h := chi.NewHandler(guard(authtest.As(auth.Principal{Account: "ann", Scope: set})))
	for _, test := range []struct {
		request string
		status  int
		body    string
	}{
		{"GET /acme/v2/status", 200, `"up"`},
		{"GET /acme/v2/names/a%20b", 200, `"a%20b"`},
		{"GET /acme/v2/notes", 200, `["all"]`},
		{"GET /acme/v2/notes/" + other, 200, `"a note"`},
		{"DELETE /acme/v2/notes/" + mine, 200, `"gone"`},
		{"DELETE /acme/v2/notes/" + other, 403, auth.DetailScope},
		{"GET /acme/v2/others", 404, auth.DetailNotFound},
		{"GET /other/v2/notes", 404, auth.DetailUnknownOrg},
		{"POST /acme/v2/notes", 405, auth.DetailMethod},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.body) {
			t.Errorf("%s: %d %s", test.request, w.Code, w.Body)
		}
		if allow := w.Header()["Allow"]; test.status == 405 && !cmp.Equal(allow, []string{"GET"}) {
			t.Errorf("%s: Allow %q", test.request, allow)
		}
	}
}
