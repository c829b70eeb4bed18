package idempotency_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/testing/heard"
)

func TestVerbsOfRepetitions(t *testing.T) {
	var events []auth.Event
	w := newWorld(t)
	w.mux.Guard().RequestID = heard.RequestID
	w.mux.Guard().Observe = func(_ context.Context, e auth.Event) { events = append(events, e) }
	w.mux.Handle("POST /notes", auth.Authenticated, w.keys.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.Write([]byte("{}")) })))
	w.do(request{})
	first := heard.Verbs(t, events, "")
	events = nil
	w.do(request{})
	again := heard.Verbs(t, events, "")
	events = nil
	w.do(request{body: "another"})
	want := [][]string{nil, {"repeat.answered acme/ann by ann with app:app"}, nil}
	if diff := cmp.Diff(want, [][]string{first, again, heard.Verbs(t, events, "")}); diff != "" {
		t.Error(diff)
	}
}
