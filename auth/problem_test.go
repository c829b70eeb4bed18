package auth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// failing returns the response of a handler that fails.
func failing(g *auth.Guard, err error, accept ...string) *httptest.ResponseRecorder {
	mux := g.Mux()
	mux.HandleFunc("GET /x", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		auth.Fail(w, r, err)
	})
	r, w := httptest.NewRequest("GET", "/acme/v2/x", nil), httptest.NewRecorder()
	r.Header["Accept"] = accept
	mux.ServeHTTP(w, r)
	return w
}

func TestProblemOrFault(t *testing.T) {
	const problem, fault = "application/problem+json", "application/json; charset=utf-8"
	for _, test := range []struct {
		name, want string
		accept     []string
	}{
		{"no header", fault, nil},
		{"anything", fault, []string{"*/*"}},
		{"both alike", fault, []string{"application/json, application/problem+json"}},
		{"a problem", problem, []string{"application/problem+json"}},
		{"in capitals", problem, []string{"Application/Problem+JSON"}},
		{"a problem, and anything less", problem, []string{"application/problem+json, */*;q=0.8"}},
		{"a problem, and JSON less", problem, []string{"application/json; q=0.5", "application/problem+json"}},
		{"a problem less than JSON", fault, []string{"application/json, application/problem+json;q=0.9"}},
		{"a problem never", fault, []string{"application/problem+json;q=0, text/html"}},
		{"a weight that is no number", fault, []string{"application/problem+json;q=NaN"}},
		{"what cannot be parsed", fault, []string{";;;,/,application/problem+json;q"}},
		{"a long list", fault, []string{"application/problem+json" + strings.Repeat(",a/b", 300)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := failing(guard(), auth.ErrForbidden, test.accept...).Header().Get("Content-Type"); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestProblem(t *testing.T) {
	g := guard()
	g.ErrorPage, g.Brand.Faults = "https://example.test/errors", "acme"
	g.RequestID = func(*http.Request) string { return "q7" }
	w := failing(g, &auth.Error{Detail: auth.DetailQuery, Reason: `not "a" list`, Path: "limit"}, "application/problem+json")
	want := map[string]any{
		"type": "https://example.test/errors#invalidArgument.query", "title": "The query is not valid.", "detail": `not "a" list`, "instance": "q7",
		"object": "fault", "name": "error", "code": "kInvalidArgument", "errCode": "acme.invalidArgument.query", "status": 400.0,
		"message": "The query is not valid.", "reason": `not "a" list`, "path": "limit", "faults": []any{},
	}
	if diff := cmp.Diff(want, decoded(t, w)); diff != "" || w.Code != 400 {
		t.Errorf("%d (-want +got):\n%s", w.Code, diff)
	}
	var f envelope.Fault
	if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil || f.Detail != auth.DetailQuery {
		t.Errorf("as a fault: %+v %v", f, err)
	}

	blank := decoded(t, failing(guard(), auth.ErrForbidden, "application/problem+json"))
	if _, named := blank["instance"]; named || blank["type"] != "about:blank" || blank["title"] != "Forbidden" || blank["detail"] != "Access denied." {
		t.Errorf("without a page: %v", blank)
	}
}

func decoded(t *testing.T, w *httptest.ResponseRecorder) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestErrorPage(t *testing.T) {
	g := guard()
	g.ErrorPage = "https://example.test/errors"
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"of this library":  {auth.ErrForbidden, `<https://example.test/errors#accessDenied.unspecified>; rel="help"`},
		"of a handler":     {foreign("a>b"), `<https://example.test/errors#a%3Eb>; rel="help"`},
		"of something new": {http.ErrNoCookie, `<https://example.test/errors#error.unspecified>; rel="help"`},
	} {
		if got := failing(g, test.err).Header().Get("Link"); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	if got := do(g.Mux(), "GET", "/acme/v2/x").Header().Get("Link"); !strings.Contains(got, "#notFound.unspecified>") {
		t.Errorf("an unknown route: %s", got)
	}
	w := httptest.NewRecorder()
	g.Fail(w, httptest.NewRequest("GET", "/", nil), auth.ErrNotFound)
	if got := w.Header().Get("Link"); !strings.Contains(got, "#notFound.unspecified>") {
		t.Errorf("outside of the mount: %s", got)
	}
	if got := failing(guard(), auth.ErrForbidden).Header().Get("Link"); got != "" {
		t.Errorf("without a page: %s", got)
	}
}

// foreign is an error of a package with codes of its own.
type foreign string

func (f foreign) Error() string { return string(f) }

func (f foreign) Fault() *envelope.Fault { return &envelope.Fault{Detail: string(f), Status: 422} }
