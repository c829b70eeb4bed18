package body_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope/body"
)

func TestHandle(t *testing.T) {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{BaseURL: "https://api.example.test", Directory: directory, Roles: auth.RolesLimit, Brand: auth.Brand{Faults: "mine"}, Mechanisms: []auth.Mechanism{&session.Manager{Store: new(session.Memory).Sessions(), Attempts: new(session.Memory).Attempts()}}}
	mux := guard.Mux()
	mux.Handle("POST /lines", auth.Public, body.Handle(func(_ http.ResponseWriter, _ *http.Request, in line) (line, error) {
		if in.Price < 0 {
			return in, auth.ErrConflict
		}
		return in, nil
	}))
	mux.Handle("POST /form", auth.Public, body.None(func(_ http.ResponseWriter, r *http.Request) (string, error) {
		return "read", r.ParseForm()
	}))
	for name, test := range map[string]struct {
		path, mediaType, text string
		status                int
		want                  string
	}{
		"a value":              {"lines", "application/json", `{"article":"x"}`, 200, `{"article":"x"}`},
		"an error":             {"lines", "application/json", `{"article":"x","price":-1}`, 409, `"mine.conflict.unspecified"`},
		"an unknown member":    {"lines", "application/json", `{"article":"x","more":1}`, 400, `"path":"more"`},
		"another type":         {"lines", "text/plain", `{}`, 415, `"mine.unsupportedMediaType.unspecified"`},
		"more than 64 KiB":     {"lines", "application/json", strings.Repeat(" ", 64<<10+1), 413, `"mine.tooLarge.unspecified"`},
		"a form":               {"form", "application/x-www-form-urlencoded", "a=b", 200, `"read"`},
		"a form without bound": {"form", "application/x-www-form-urlencoded", strings.Repeat("a", 64<<10+1), 413, `"mine.tooLarge.unspecified"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/acme/v2/"+test.path, strings.NewReader(test.text))
			r.Header.Set("Content-Type", test.mediaType)
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	defer func() {
		if recover() == nil {
			t.Error("a body that is not a struct is found by the first request only")
		}
	}()
	body.Handle(func(_ http.ResponseWriter, _ *http.Request, in []string) ([]string, error) { return in, nil })
}
