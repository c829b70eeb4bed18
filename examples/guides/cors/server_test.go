package cors_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/examples/guides/cors"
)

const (
	app      = "https://app.example.com"
	stranger = "https://app.example.com.evil.example"
)

// passwords knows only ann.
type passwords struct{ ann string }

func (p passwords) Password(_ context.Context, org auth.OrgKey, login string) (account, encoded string, err error) {
	if org != "acme" || login != "ann@acme.example" {
		return "", "", auth.ErrNotFound
	}
	return "ann", p.ann, nil
}

func newHandler(t *testing.T) http.Handler {
	t.Helper()
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	encoded, err := session.PBKDF2{Iterations: 1}.Hash("correct horse") // fast for a test; a server uses Manager.Hash
	if err != nil {
		t.Fatal(err)
	}
	h, err := cors.NewHandler("https://api.example.com", app, directory, passwords{encoded})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// from returns a request as a browser sends it for a page of an origin.
func from(origin, method, path, body string, cookies ...*http.Cookie) *http.Request {
	r := httptest.NewRequest(method, "https://api.example.com/acme/v2"+path, strings.NewReader(body))
	r.Header.Set("Origin", origin)
	r.Header.Set("Sec-Fetch-Site", "same-site")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const credentials = `{"login":"ann@acme.example","password":"correct horse"}`

func TestPreflight(t *testing.T) {
	h := newHandler(t)
	for origin, status := range map[string]int{app: 204, stranger: 405} {
		r := from(origin, "OPTIONS", "/notes", "")
		r.Header.Set("Access-Control-Request-Method", "POST")
		w := serve(h, r)
		allowed := w.Header().Get("Access-Control-Allow-Origin")
		if w.Code != status || (allowed == app) != (origin == app) {
			t.Errorf("%s: %d, allows %q", origin, w.Code, allowed)
		}
	}
}

func TestTrustedOrigin(t *testing.T) {
	h := newHandler(t)
	w := serve(h, from(app, "POST", "/login", credentials))
	if w.Code != 200 {
		t.Fatalf("login: %d %s", w.Code, w.Body)
	}
	cookies := w.Result().Cookies()
	for _, method := range []string{"GET /me", "POST /notes"} {
		verb, path, _ := strings.Cut(method, " ")
		w := serve(h, from(app, verb, path, "", cookies...))
		if w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != app {
			t.Errorf("%s: %d %s %v", method, w.Code, w.Body, w.Header())
		}
		if exposed := w.Header().Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "Service-Server-Time") || w.Header().Get("Service-Server-Time") == "" {
			t.Errorf("%s: exposes %q", method, exposed)
		}
	}

	t.Run("another origin is refused with the same cookie", func(t *testing.T) {
		w := serve(h, from(stranger, "POST", "/notes", "", cookies...))
		if w.Code != 403 || !strings.Contains(w.Body.String(), auth.DetailCrossOrigin) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("another origin cannot read", func(t *testing.T) {
		w := serve(h, from(stranger, "GET", "/me", "", cookies...))
		if allowed, ok := w.Header()["Access-Control-Allow-Origin"]; ok {
			t.Errorf("allows %q", allowed)
		}
	})
	t.Run("another origin cannot log in", func(t *testing.T) {
		w := serve(h, from(stranger, "POST", "/login", credentials))
		if w.Code != 403 || len(w.Result().Cookies()) != 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("a refusal can be read", func(t *testing.T) {
		w := serve(h, from(app, "GET", "/me", ""))
		if w.Code != 401 || w.Header().Get("Access-Control-Allow-Origin") != app {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
}
