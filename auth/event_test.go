package auth_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/testing/heard"
)

func TestVerbsOfApplications(t *testing.T) {
	var events []auth.Event
	g := guard()
	g.RequestID = heard.RequestID
	g.Observe = func(_ context.Context, e auth.Event) { events = append(events, e) }
	mux := g.Mux()
	mux.HandleFunc("POST /accounts/{id}", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		auth.Emit(r.Context(), auth.Event{Verb: "account.made", Account: r.PathValue("id"), Reason: strings.Repeat("\x00", 1<<20)})
		e := auth.Trace(r.Context(), auth.Event{Actor: "somebody else", Org: "globex"})
		if e.Actor != "somebody else" || e.Org != "globex" || e.By != "" || e.Request != heard.Request {
			t.Errorf("Trace has replaced what was said: %+v", e)
		}
	})
	r := httptest.NewRequest("POST", "/acme/v2/accounts/bob", nil)
	r.Header.Set("Letter-Wax", "ann")
	r.Header.Set("User-Agent", "agent")
	mux.ServeHTTP(httptest.NewRecorder(), r)
	want := []string{"account.made (" + strings.Repeat("?", 256) + ") acme/bob by ann"}
	if diff := cmp.Diff(want, heard.Verbs(t, events, "agent")); diff != "" {
		t.Error(diff)
	}
}

// An account's id names somebody else in another org: whoever acts there has proven nothing to it.
func TestAVerbAtAnotherOrgNamesNobodyOfThisOne(t *testing.T) {
	g := guard()
	g.Observe = func(context.Context, auth.Event) {}
	mux := g.Mux()
	mux.HandleFunc("POST /enter", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		for org, actor := range map[auth.OrgKey]string{"": "ann", auth.From(r.Context()).Org: "ann", "globex": "", auth.PersonKey: ""} {
			if e := auth.Trace(r.Context(), auth.Event{Verb: "session.entered", Org: org, Account: "bob"}); e.Actor != actor || (actor == "") != (e.Mechanism == "") || e.Time.IsZero() {
				t.Errorf("%q: %+v", org, e)
			}
		}
	})
	r := httptest.NewRequest("POST", "/acme/v2/enter", nil)
	r.Header.Set("Letter-Wax", "ann")
	mux.ServeHTTP(httptest.NewRecorder(), r)
}

func TestOutsideOfARequestNobodyIsTold(t *testing.T) {
	auth.Emit(t.Context(), auth.Event{Verb: "account.made"})
	if e := auth.Trace(t.Context(), auth.Event{Account: "bob"}); e.Account != "bob" || !e.Time.IsZero() || e.Org != "" {
		t.Errorf("%+v", e)
	}
}

func TestTheVocabularyIsClosed(t *testing.T) {
	all := auth.Verbs()
	shape := regexp.MustCompile(`^[a-z]+\.[a-z]+$`)
	for _, verb := range all {
		if !shape.MatchString(verb) {
			t.Errorf("%q", verb)
		}
	}
	all[0] = "x"
	if first := auth.Verbs()[0]; first == "x" || len(slices.Compact(slices.Sorted(slices.Values(auth.Verbs())))) != len(all) {
		t.Error("a caller can change the vocabulary, or a verb is there twice")
	}
}

// What was done stays done, and the client learns it.
func TestAnObserverThatPanicsFailsNoRequest(t *testing.T) {
	var log bytes.Buffer
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(previous)
	g := guard()
	g.Observe = func(_ context.Context, e auth.Event) { panic("no disk") }
	mux := g.Mux()
	mux.HandleFunc("POST /notes", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		auth.Emit(r.Context(), auth.Event{Verb: "account.made"})
		w.WriteHeader(http.StatusCreated)
	})
	for wax, status := range map[string]int{"ann": 201, "": 401} {
		r := httptest.NewRequest("POST", "/acme/v2/notes", nil)
		if wax != "" {
			r.Header.Set("Letter-Wax", wax)
		}
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Code != status {
			t.Errorf("%q: %d", wax, w.Code)
		}
	}
	if n := strings.Count(log.String(), "no disk"); n != 3 { // two decisions and a verb
		t.Errorf("%d panics in the log", n)
	}
}

// An observer may keep events, as a queue of them does. Strangers must not make it keep whole headers.
func TestEventsKeepNoLongTexts(t *testing.T) {
	const requests, long = 32, 1 << 20
	g := guard()
	kept := make([]auth.Event, 0, 2*requests)
	g.Observe = func(_ context.Context, e auth.Event) { kept = append(kept, e) }
	g.RequestID = func(r *http.Request) string { return r.Header.Get("Test-Id") }
	mux := g.Mux()
	mux.HandleFunc("GET /notes", auth.Authenticated, func(http.ResponseWriter, *http.Request) {})
	before := heapBytes()
	for range requests {
		r := httptest.NewRequest("GET", "/acme/v2/notes", nil)
		r.Header.Set("User-Agent", strings.Repeat("a", long))
		r.Header.Set("Test-Id", strings.Repeat("i", long))
		mux.ServeHTTP(httptest.NewRecorder(), r)
	}
	if used := heapBytes() - before; used > requests*long/8 || len(kept) != requests || len(kept[0].Agent) != 256 {
		t.Errorf("%d events take %d KiB", len(kept), used>>10)
	}
	runtime.KeepAlive(kept)
}

// An observer of its own costs no allocation, and nobody's costs none for a verb.
func TestEventsAllocateNothing(t *testing.T) {
	costs := func(observe func(context.Context, auth.Event)) float64 {
		g := guard()
		g.Observe = observe
		if observe != nil {
			g.RequestID = heard.RequestID
		}
		mux := g.Mux()
		mux.HandleFunc("GET /notes/{id}", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
			auth.Emit(r.Context(), auth.Event{Verb: "account.made", Account: "bob", Reason: "import"})
		})
		r := httptest.NewRequest("GET", "/acme/v2/notes/5b0000000000000000000001", nil)
		r.Header.Set("Letter-Wax", "ann")
		r.Header.Set("User-Agent", "Mozilla/5.0")
		w := discard{http.Header{}}
		return testing.AllocsPerRun(100, func() { mux.ServeHTTP(w, r) })
	}
	var last auth.Event
	without, with := costs(nil), costs(func(_ context.Context, e auth.Event) { last = e })
	if without > 2 || with != without || last.Verb == "" {
		t.Errorf("%v allocations without an observer, %v with one", without, with)
	}
}
