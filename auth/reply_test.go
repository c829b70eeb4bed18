package auth_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// unwritable fails to encode, with an error that is a refusal.
type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { return nil, auth.ErrNotFound }

func TestReply(t *testing.T) {
	var events []auth.Event
	g := guard()
	g.Brand.Faults = "acme"
	g.Observe = func(_ context.Context, e auth.Event) { events = append(events, e) }
	replies := map[string]any{
		"/value":      envelope.Result[int]{Data: 1},
		"/list":       &envelope.List[int]{},
		"/nan":        envelope.Result[float64]{Data: math.NaN()},
		"/function":   envelope.List[any]{Data: []any{"first", func() {}}},
		"/unwritable": unwritable{},
	}
	mux := g.Mux()
	for path, v := range replies {
		mux.HandleFunc("GET "+path, auth.Public, func(w http.ResponseWriter, r *http.Request) { auth.Reply(w, r, v) })
	}
	for path, want := range map[string]string{
		"/value":      `{"object":"result","data":1}`,
		"/list":       `{"object":"list","data":[],"hasMore":false}`,
		"/nan":        "",
		"/function":   "",
		"/unwritable": "",
	} {
		t.Run(path, func(t *testing.T) {
			events = nil
			w := do(mux, "GET", "/acme/v2"+path)
			if got := w.Header().Get("Content-Type"); got != "application/json; charset=utf-8" {
				t.Errorf("Content-Type %q", got)
			}
			if got := w.Header().Get("Cache-Control") + ", " + w.Header().Get("X-Content-Type-Options"); got != "no-store, nosniff" {
				t.Error(got)
			}
			if want != "" {
				if w.Code != 200 || w.Body.String() != want {
					t.Errorf("got %d %s", w.Code, w.Body)
				}
				return
			}
			if got := errCode(t, w.Body.Bytes()); w.Code != 500 || got != "acme.error.unspecified" {
				t.Errorf("got %d %s", w.Code, got)
			}
			last := events[len(events)-1]
			if !last.Handler || last.Detail != auth.DetailInternal || last.Err == nil {
				t.Errorf("observed %+v", last)
			}
			if path == "/unwritable" && !errors.Is(last.Err, auth.ErrNotFound) {
				t.Errorf("the cause is not told: %v", last.Err)
			}
		})
	}
}

// The fault of an unexpected error is the same, whoever writes it.
func TestInternalErrorsReadAlike(t *testing.T) {
	g := guard()
	r := httptest.NewRequest("GET", "/", nil)
	bodies := make(map[string]string)
	for name, answer := range map[string]func(http.ResponseWriter){
		"Fail":                 func(w http.ResponseWriter) { auth.Fail(w, r, errors.New("x")) },
		"Guard.Fail":           func(w http.ResponseWriter) { g.Fail(w, r, &auth.Error{Detail: auth.DetailInternal}) },
		"an unknown detail":    func(w http.ResponseWriter) { auth.Fail(w, r, &auth.Error{Detail: "no.such"}) },
		"Reply":                func(w http.ResponseWriter) { auth.Reply(w, r, func() {}) },
		"Require, not mounted": func(w http.ResponseWriter) { g.Require(auth.Public)(whoami).ServeHTTP(w, r) },
	} {
		w := httptest.NewRecorder()
		answer(w)
		bodies[name] = w.Body.String()
	}
	for name, body := range bodies {
		if diff := cmp.Diff(bodies["Fail"], body); diff != "" {
			t.Errorf("%s (-Fail +it):\n%s", name, diff)
		}
	}
}

func TestRequireFollowsItsBrandOutsideTheMount(t *testing.T) {
	g := guard()
	g.Brand.Faults = "acme"
	w := do(g.Require(auth.Public)(whoami), "GET", "/acme/v2/x")
	if got := errCode(t, w.Body.Bytes()); w.Code != 500 || got != "acme.error.unspecified" {
		t.Errorf("got %d %s", w.Code, got)
	}
}
