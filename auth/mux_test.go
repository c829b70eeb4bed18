package auth_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
)

func TestMuxAnswersInFaultsAndNeverRedirects(t *testing.T) {
	mux := guard().Mux()
	mux.Handle("GET /notes", auth.Public, whoami)
	mux.Handle("POST /notes", auth.Public, whoami)
	mux.Handle("GET /files/{path...}", auth.Public, whoami)
	mux.Handle("GET /", auth.Public, whoami)

	tests := []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/notes", 200, ""},
		{"HEAD", "/notes", 200, ""},
		{"GET", "/notes/", 200, ""},
		{"POST", "/notes", 200, ""},
		{"PUT", "/notes", 405, "GET, HEAD, POST"},
		{"OPTIONS", "/notes", 405, "GET, HEAD, POST"},
		{"CONNECT", "/notes", 405, "GET, HEAD, POST"},
		{"GET", "/files/a/b", 200, ""},
		{"GET", "/files", 404, ""},
		{"GET", "", 200, ""},
		{"GET", "/", 200, ""},
		{"GET", "/none", 404, ""},
		{"BREW", "/none", 404, ""},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			w := do(mux, test.method, "/acme/v2"+test.path)
			if w.Code != test.status || w.Header().Get("Allow") != test.allow || w.Header().Get("Location") != "" {
				t.Errorf("got %d %v, want %d and Allow %q", w.Code, w.Header(), test.status, test.allow)
			}
			if w.Code != 200 && errCode(t, w.Body.Bytes()) == "" {
				t.Errorf("not a fault: %s", w.Body)
			}
		})
	}
}

func TestMuxRefusesPatternsThatWouldNeverMatch(t *testing.T) {
	for _, pattern := range []string{"GET example.test/notes", "GET /notes/", "notes", "", "GET  ", "GET /{x", "GET /notes/{$}"} {
		t.Run(pattern, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("taken")
				}
			}()
			guard().Mux().Handle(pattern, auth.Public, whoami)
		})
	}
}

func TestMuxTellsItsRoutes(t *testing.T) {
	mux := guard().Mux()
	mux.Handle("GET /notes", auth.Optional, whoami)
	mux.HandleFunc("GET /", auth.Authenticated, whoami)
	var got []string
	for _, route := range mux.Routes() {
		name := "closed"
		if need := route.Need.Describe(); need.Public || need.Optional {
			name = "open"
		}
		got = append(got, route.Pattern+" "+name)
	}
	if diff := cmp.Diff([]string{"GET /notes open", "GET /{$} closed"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHandlersSeeThePattern(t *testing.T) {
	mux := guard().Mux()
	mux.HandleFunc("GET /notes/{id}/{rest...}", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		if r.Pattern != "GET /notes/{id}/{rest...}" || r.PathValue("id") != "a/b" || r.PathValue("rest") != "c/d e" {
			t.Errorf("pattern %q, id %q, rest %q", r.Pattern, r.PathValue("id"), r.PathValue("rest"))
		}
	})
	if w := do(mux, "GET", "/acme/v2/notes/a%2Fb/c/d%20e"); w.Code != 200 {
		t.Errorf("got %d", w.Code)
	}
}
