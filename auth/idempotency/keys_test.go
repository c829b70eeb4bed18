package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/scope"
)

// notes registers a handler that tells its run, its caller and its body.
func (w *world) notes(options ...func(http.ResponseWriter, *http.Request)) {
	h := func(rw http.ResponseWriter, r *http.Request) {
		n := w.run()
		body, _ := io.ReadAll(r.Body)
		p := auth.From(r.Context())
		h := rw.Header()
		h.Set("Content-Type", "text/plain")
		h.Set("Location", "/notes/1")
		h.Set("ETag", `"1"`)
		h.Set("Set-Cookie", "secret=cookie")
		h.Set("X-Other", "other")
		for _, f := range options {
			f(rw, r)
		}
		fmt.Fprintf(rw, "run %d of %s in %s by %s: %s", n, p.Account, p.Org, p.App, body)
	}
	for _, pattern := range []string{"/notes", "/others/{id}"} {
		w.mux.Handle(pattern, auth.Optional, w.keys.Wrap(http.HandlerFunc(h)))
	}
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestARepetitionGetsTheFirstResponse(t *testing.T) {
	for _, method := range []string{"POST", "PATCH", "PUT", "DELETE"} {
		for _, code := range []int{200, 201, 202, 303, 400, 404, 409, 500, 503} {
			t.Run(fmt.Sprint(method, code), func(t *testing.T) {
				w := newWorld(t)
				w.notes(status(code))
				q := request{method: method, body: "body"}
				first := w.do(q)
				w.expect("the first", first, code, "run 1 of ann in acme by app: body")
				w.replayed("the first", first, false)
				if first.Header().Get("Set-Cookie") == "" {
					t.Error("the first one has lost its cookie")
				}
				for range 2 {
					again := w.do(q)
					w.expect("again", again, code, "run 1 of ann in acme by app: body")
					w.replayed("again", again, true)
					for name, want := range map[string]string{"Content-Type": "text/plain", "Location": "/notes/1", "Etag": `"1"`, "Set-Cookie": "", "X-Other": "", "Cache-Control": "no-store"} {
						if got := again.Header().Get(name); got != want {
							t.Errorf("%s %q, want %q", name, got, want)
						}
					}
				}
				w.ran(1)
			})
		}
	}
}

// TestR01NoResponseIsForAnother repeats a request in every other org, as every other caller, on another
// path, and with another authority.
func TestR01NoResponseIsForAnother(t *testing.T) {
	ann := auth.Principal{Account: "ann", Caller: "ann", App: "app", Roles: []string{"writer", "reader"},
		Scope: chains("object.read.c_note", "object.update.c_note")}
	ann.Granted = ann.Scope
	authorities := map[string]func(*auth.Principal){
		"the same": func(*auth.Principal) {},
		"roles and chains in another order": func(p *auth.Principal) {
			p.Roles, p.Scope = []string{"reader", "writer", "reader"}, chains("object.update.c_note", "object.read.c_note")
		},
		"a narrower scope":     func(p *auth.Principal) { p.Scope = chains("object.read.c_note") },
		"a wider scope":        func(p *auth.Principal) { p.Scope = scope.Unscoped() },
		"no scope":             func(p *auth.Principal) { p.Scope = scope.Set{} },
		"less to grant":        func(p *auth.Principal) { p.Granted = chains("object.read.c_note") },
		"a role less":          func(p *auth.Principal) { p.Roles = p.Roles[:1] },
		"a role more":          func(p *auth.Principal) { p.Roles = append(p.Roles[:2:2], "third") },
		"roles as one name":    func(p *auth.Principal) { p.Roles = []string{"writerreader"} },
		"access to all":        func(p *auth.Principal) { p.Grant = 8 },
		"without access rules": func(p *auth.Principal) { p.SkipACL = true },
		"to create without":    func(p *auth.Principal) { p.SkipCreateACL = true },
		"as another account":   func(p *auth.Principal) { p.Account = "carl" },
		"another app":          func(p *auth.Principal) { p.App = "another" },
		"no app":               func(p *auth.Principal) { p.App = "" },
	}
	w := newWorld(t)
	w.notes()
	w.who["first"] = ann
	first := request{who: "first", path: "/acme/v2/others/1", body: "first"}
	w.expect("the first", w.do(first), 200, "run 1 ")
	leaks, answered, runs := 0, 0, 1
	for _, org := range []string{"acme", "globex"} {
		for _, caller := range []string{"ann", "bob", "an", "annn"} {
			for name, change := range authorities {
				for _, path := range []string{"/others/1", "/others/2", "/notes"} {
					p := ann
					p.Account, p.Caller = caller, caller
					change(&p)
					w.who["other"] = p
					res := w.do(request{who: "other", path: "/" + org + "/v2" + path, body: "first"})
					same := org == "acme" && caller == "ann" && path == "/others/1"
					switch entitled := same && (name == "the same" || strings.HasPrefix(name, "roles and chains")); {
					case entitled && strings.Contains(res.Body.String(), "run 1 "):
						answered++
					case entitled, strings.Contains(res.Body.String(), "run 1 "):
						leaks++
						t.Errorf("%s, %s, %s, %s: %d %s", org, caller, name, path, res.Code, res.Body)
					case same && p.App == "app" && (res.Code != 409 || !strings.Contains(res.Body.String(), "accessDenied.idempotencyAuthority")):
						t.Errorf("%s: %d %s, want 409", name, res.Code, res.Body)
					}
				}
			}
		}
	}
	if leaks != 0 || answered != 2 || runs != 1 {
		t.Errorf("%d leaks, %d answers", leaks, answered)
	}
}

func TestTheSameRequest(t *testing.T) {
	first := request{path: "/acme/v2/others/1?b=2&a=1&a=2", body: `{"a":1}`, kind: "application/json"}
	for name, c := range map[string]struct {
		change func(*request)
		same   bool
	}{
		"unchanged":                       {func(*request) {}, true},
		"names of the query in order":     {func(q *request) { q.path = "/acme/v2/others/1?a=1&a=2&b=2" }, true},
		"another spelling of a value":     {func(q *request) { q.path = "/acme/v2/others/1?b=%32&a=1&a=2" }, true},
		"values of a name in other order": {func(q *request) { q.path = "/acme/v2/others/1?b=2&a=2&a=1" }, false},
		"another query":                   {func(q *request) { q.path = "/acme/v2/others/1?b=2&a=1" }, false},
		"a query more":                    {func(q *request) { q.path += "&c" }, false},
		"another path of the route":       {func(q *request) { q.path = "/acme/v2/others/2?b=2&a=1&a=2" }, false},
		"another method of the route":     {func(q *request) { q.method = "PATCH" }, false},
		"another body":                    {func(q *request) { q.body = `{"a":2}` }, false},
		"a longer body":                   {func(q *request) { q.body += " " }, false},
		"no body":                         {func(q *request) { q.body = "" }, false},
		"another content type":            {func(q *request) { q.kind = "text/plain" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.notes()
			w.do(first)
			again := first
			c.change(&again)
			if res := w.do(again); c.same {
				w.expect("again", res, 200, "run 1 ")
			} else {
				w.expect("again", res, 422, "invalidArgument.idempotencyKey")
			}
			w.ran(1)
			w.expect("the first, again", w.do(first), 200, "run 1 ")
		})
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	for name, key := range map[string][]string{
		"empty": {""}, "two": {"a", "b"}, "the same twice": {"a", "a"}, "a blank": {"a b"}, "a control character": {"a\x01"}, "a line break": {"a\nb"},
		"DEL": {"a\x7f"}, "not ASCII": {"é"}, "a zero byte": {"\x00"}, "256 characters": {strings.Repeat("k", 256)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.notes()
			w.expect("it", w.do(request{key: key}), 400, "invalidArgument.idempotencyHeader")
			w.ran(0)
			if w.store.begins != 0 {
				t.Error("the store was asked")
			}
		})
	}
	w := newWorld(t)
	w.notes()
	for _, key := range []string{"k", strings.Repeat("~", 255), `"8e03978e-40d5-43dd-bc93-6894a57f9324"`, "a,b;c='\\"} {
		w.expect(key, w.do(request{key: []string{key}}), 200, "run ")
	}
	w.ran(4)
}

func TestRequestsWithoutEntries(t *testing.T) {
	w := newWorld(t)
	w.notes()
	none := []string{}
	for name, q := range map[string]request{
		"no key": {key: none}, "GET": {method: "GET"}, "HEAD": {method: "HEAD"}, "nobody": {who: "nobody"}, "a malformed key of nobody": {who: "nobody", key: []string{"", ""}},
	} {
		for range 2 {
			if res := w.do(q); res.Code != 200 || res.Header().Get("Idempotent-Replayed") != "" {
				t.Errorf("%s: %d %s", name, res.Code, res.Body)
			}
		}
	}
	w.ran(10)
	if w.store.begins+w.store.ends != 0 {
		t.Errorf("the store was asked %d times", w.store.begins+w.store.ends)
	}
}

func TestRequired(t *testing.T) {
	w := newWorld(t)
	w.mux.Handle("/notes", auth.Optional, w.keys.Required(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.run() })))
	w.expect("no key", w.do(request{key: []string{}}), 400, "invalidArgument.idempotencyHeader")
	w.expect("nobody", w.do(request{who: "nobody"}), 401, "noCredentialsSupplied")
	w.expect("nobody without a key", w.do(request{who: "nobody", key: []string{}}), 401, "noCredentialsSupplied")
	w.ran(0)
	w.expect("a key", w.do(request{}), 200, "")
	w.expect("again", w.do(request{}), 200, "")
	w.ran(1)
	w.expect("GET", w.do(request{method: "GET", key: []string{}}), 200, "")
}

func TestPartHandlers(t *testing.T) {
	w := newWorld(t)
	w.who["reader"] = auth.Principal{Account: "r", Caller: "r", Scope: chains("object.create.c_note")}
	w.mux.Handle("POST /notes", auth.Some("object.create.c_note"), w.keys.Wrap(auth.PartHandler(func(rw http.ResponseWriter, r *http.Request, part scope.Part) {
		_, all := part.IDs()
		fmt.Fprint(rw, w.run(), all)
	})))
	for range 2 {
		w.expect("with a key", w.do(request{who: "reader"}), 200, "1 true")
	}
	w.expect("without", w.do(request{who: "reader", key: []string{}}), 200, "2 true")
}

func TestWhileItIsExecuted(t *testing.T) {
	w := newWorld(t)
	running, answer := make(chan bool), make(chan bool)
	w.notes(func(http.ResponseWriter, *http.Request) { running <- true; <-answer })
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- w.do(request{}) }()
	<-running
	busy := w.do(request{})
	w.expect("meanwhile", busy, 409, "invalidArgument.idempotencyPending")
	w.replayed("meanwhile", busy, false)
	if after := busy.Header().Get("Retry-After"); after != "1" {
		t.Errorf("Retry-After %q", after)
	}
	w.expect("another request", w.do(request{body: "another"}), 422, "invalidArgument.idempotencyKey")
	answer <- true
	w.expect("the first", <-first, 200, "run 1 ")
	w.expect("again", w.do(request{}), 200, "run 1 ")
	w.ran(1)
}

// TestWhatIsKept has what a handler does, and what a repetition gets.
func TestWhatIsKept(t *testing.T) {
	const kept, reference, nothing = 0, 1, 2
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		do   func(http.ResponseWriter, *http.Request)
		keep int
	}{
		"a response":           {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "short") }, kept},
		"as long as it may be": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, long[:64]) }, kept},
		"an empty one":         {func(http.ResponseWriter, *http.Request) {}, kept},
		"204":                  {status(204), kept},
		"a fault":              {func(w http.ResponseWriter, r *http.Request) { auth.Fail(w, r, errors.New("broken")) }, reference},
		"too long":             {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, long) }, reference},
		"too long, in pieces": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, long[:60])
			io.WriteString(w, long[60:])
		}, reference},
		"flushed": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			io.WriteString(w, "b")
		}, reference},
		"flushed by a controller":        {func(w http.ResponseWriter, _ *http.Request) { http.NewResponseController(w).Flush() }, reference},
		"no effect":                      {func(w http.ResponseWriter, r *http.Request) { idempotency.NoEffect(r.Context()); w.WriteHeader(400) }, nothing},
		"no effect, said after all else": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400); idempotency.NoEffect(r.Context()) }, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *idempotency.Options) { o.MaxReply = 64 })
			w.mux.HandleFunc("GET /other", auth.Public, func(http.ResponseWriter, *http.Request) {})
			w.mux.Handle("POST /notes", auth.Authenticated, w.keys.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				w.run()
				rw.Header().Set("Location", "/notes/1")
				c.do(rw, r)
			})))
			first, again := w.do(request{}), w.do(request{})
			switch c.keep {
			case nothing:
				w.replayed("again", again, false)
				w.ran(2)
			case kept:
				w.expect("again", again, first.Code, first.Body.String())
				w.replayed("again", again, true)
				w.ran(1)
			case reference:
				w.expect("again", again, 409, "conflict.idempotencyReply")
				w.replayed("again", again, true)
				w.ran(1)
			}
			if c.keep != nothing && again.Header().Get("Location") != "/notes/1" {
				t.Error("no Location")
			}
			if c.keep == reference && first.Code == 409 || first.Header().Get("Idempotent-Replayed") != "" {
				t.Errorf("the first: %d %s", first.Code, first.Body)
			}
		})
	}
}

func TestAPanicIsKept(t *testing.T) {
	for _, cause := range []any{"bug", http.ErrAbortHandler} {
		w := newWorld(t)
		w.notes(func(http.ResponseWriter, *http.Request) { panic(cause) })
		func() {
			defer func() {
				if got := recover(); got != cause {
					t.Errorf("recovered %v", got)
				}
			}()
			w.do(request{})
		}()
		w.expect("again", w.do(request{}), 409, "conflict.idempotencyReply")
		w.ran(1)
	}
}

// TestR02SecretsAreNotKept looks for them in what the store has got, and repeats routes with Reference.
func TestR02SecretsAreNotKept(t *testing.T) {
	const secret = "the-secret-of-this-request"
	w := newWorld(t)
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.run()
		rw.Header().Set("Location", "/keys/1")
		rw.Header().Set("Set-Cookie", secret)
		if r.Method == "PATCH" {
			rw.WriteHeader(400)
			io.WriteString(rw, "refused")
			return
		}
		io.WriteString(rw, secret)
	})
	w.mux.Handle("POST /notes", auth.Authenticated, w.keys.Wrap(handler))
	w.mux.Handle("/keys", auth.Authenticated, w.keys.Wrap(handler, idempotency.Reference))
	w.mux.Handle("POST /required", auth.Authenticated, w.keys.Required(handler, idempotency.Reference))
	w.do(request{body: secret, key: []string{secret}})
	w.expect("sealed", w.do(request{body: secret, key: []string{secret}}), 200, secret)
	for _, path := range []string{"/acme/v2/keys", "/acme/v2/required"} {
		q := request{path: path, body: secret}
		w.expect("the first", w.do(q), 200, secret)
		again := w.do(q)
		w.expect("again", again, 409, "its response is not kept")
		if again.Header().Get("Location") != "/keys/1" || strings.Contains(again.Body.String(), secret) {
			t.Errorf("again: %v %s", again.Header(), again.Body)
		}
	}
	refused := request{path: "/acme/v2/keys", method: "PATCH", key: []string{"refused"}}
	w.do(refused)
	w.expect("a refusal has no secret", w.do(refused), 400, "refused")
	for _, e := range w.store.stored {
		if text := fmt.Sprintf("%s %s", e.Sealed, fmt.Sprint(e)); strings.Contains(text, secret) || bytes.Contains(e.Sealed, []byte("/keys/1")) {
			t.Errorf("stored in the clear: %q", text)
		}
	}
}

func TestR03AnEntryOfAnotherRowDoesNotOpen(t *testing.T) {
	w := newWorld(t)
	w.notes()
	w.do(request{key: []string{"other"}})
	other := w.store.stored[len(w.store.stored)-1]
	w.do(request{})
	for name, swap := range map[string]func(idempotency.Entry) idempotency.Entry{
		"another row's": func(e idempotency.Entry) idempotency.Entry { e.Sealed = other.Sealed; return e },
		"an altered one": func(e idempotency.Entry) idempotency.Entry {
			e.Sealed = bytes.Clone(e.Sealed)
			e.Sealed[20] ^= 1
			return e
		},
		"none":               func(e idempotency.Entry) idempotency.Entry { e.Sealed = nil; return e },
		"said to be running": func(e idempotency.Entry) idempotency.Entry { e.Fence = "fence"; return e },
	} {
		w.store.swap = swap
		res := w.do(request{})
		w.expect(name, res, 409, "conflict.idempotencyReply")
		w.expect(name, res, 409, "it cannot be opened")
	}
	w.store.swap = nil
	w.expect("as it was", w.do(request{}), 200, "run 2 ")
	w.ran(2)
}

func TestR04RefusedRequestsLeaveNoEntry(t *testing.T) {
	w := newWorld(t, func(o *idempotency.Options) { o.MaxBytes = 2400 })
	w.notes()
	w.mux.Handle("POST /forbidden", auth.Allow("admin.update"), w.keys.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.run() })))
	for name, c := range map[string]struct {
		q      request
		status int
	}{
		"an unknown caller":   {request{who: "unknown"}, 401},
		"a missing scope":     {request{path: "/acme/v2/forbidden"}, 403},
		"an unknown org":      {request{path: "/none/v2/notes"}, 404},
		"an unknown route":    {request{path: "/acme/v2/none"}, 404},
		"a malformed key":     {request{key: []string{" "}}, 400},
		"a body that is long": {request{body: strings.Repeat("x", 1<<20+1)}, 413},
	} {
		w.expect(name, w.do(c.q), c.status, "")
	}
	if w.store.begins != 0 {
		t.Errorf("the store was asked %d times", w.store.begins)
	}
	for i := range 2 {
		w.do(request{key: []string{fmt.Sprint(i)}})
	}
	for i := range 5 {
		res := w.do(request{key: []string{fmt.Sprint("flood", i)}})
		w.expect("too many", res, 429, "throttled.unspecified")
		if res.Header().Get("Retry-After") != "60" {
			t.Errorf("Retry-After %q", res.Header().Get("Retry-After"))
		}
	}
	w.expect("one that is there", w.do(request{key: []string{"1"}}), 200, "run 2 ")
	w.expect("another caller", w.do(request{who: "bob"}), 200, "run 3 ")
	w.expect("another org", w.do(request{who: "elsewhere", path: "/globex/v2/notes"}), 200, "run 4 ")
	w.clock.Advance(25 * time.Hour)
	w.expect("a day later", w.do(request{key: []string{"flood0"}}), 200, "run 5 ")
	w.expect("what was kept is forgotten", w.do(request{key: []string{"1"}}), 200, "run 6 ")
}

func TestTheStoreIsAway(t *testing.T) {
	w := newWorld(t)
	w.notes()
	w.store.away = true
	w.expect("before the handler", w.do(request{}), 503, "error.storeUnavailable")
	w.ran(0)
	w.store.away, w.store.lost = false, true
	w.expect("after it", w.do(request{}), 200, "run 1 ")
	w.store.lost = false
	w.expect("during the lease", w.do(request{}), 409, "idempotencyPending")
	w.clock.Advance(time.Minute)
	w.expect("after the lease, another request", w.do(request{body: "another"}), 422, "invalidArgument.idempotencyKey")
	w.expect("that request has the lease", w.do(request{}), 409, "idempotencyPending")
	w.clock.Advance(time.Minute)
	w.expect("after the lease", w.do(request{}), 200, "run 2 ")
	w.expect("again", w.do(request{}), 200, "run 2 ")
}

func TestTheLeaseEndsTheContext(t *testing.T) {
	w := newWorld(t, func(o *idempotency.Options) { o.Lease = 50 * time.Millisecond })
	var ends, now time.Time
	w.notes(func(_ http.ResponseWriter, r *http.Request) {
		ends, _ = r.Context().Deadline()
		now = time.Now()
		<-r.Context().Done()
	})
	w.do(request{})
	if left := ends.Sub(now); left <= 0 || left > 50*time.Millisecond {
		t.Errorf("the context ends in %v", left)
	}
}

func TestOutsideOfAGuard(t *testing.T) {
	w := newWorld(t)
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Idempotency-Key", "key")
	r = r.WithContext(auth.With(r.Context(), w.who["ann"]))
	res := httptest.NewRecorder()
	w.keys.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.run() })).ServeHTTP(res, r)
	w.expect("it", res, 500, "")
	w.ran(0)
}

func TestNewPanics(t *testing.T) {
	good := idempotency.Options{Sealer: newSealer("k")}
	for name, c := range map[string]func(o idempotency.Options) *idempotency.Keys{
		"no store": func(o idempotency.Options) *idempotency.Keys { return idempotency.New(nil, o) },
		"no sealer": func(o idempotency.Options) *idempotency.Keys {
			o.Sealer = nil
			return idempotency.New(idempotency.NewMemory(nil), o)
		},
		"a lease of a day": func(o idempotency.Options) *idempotency.Keys {
			o.Lease = 24 * time.Hour
			return idempotency.New(idempotency.NewMemory(nil), o)
		},
		"a lease that is over": func(o idempotency.Options) *idempotency.Keys {
			o.Lease = -1
			return idempotency.New(idempotency.NewMemory(nil), o)
		},
		"a negative bound": func(o idempotency.Options) *idempotency.Keys {
			o.MaxBytes = -1
			return idempotency.New(idempotency.NewMemory(nil), o)
		},
		"a negative response": func(o idempotency.Options) *idempotency.Keys {
			o.MaxReply = -1
			return idempotency.New(idempotency.NewMemory(nil), o)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			c(good)
		}()
	}
}

// TestWithoutAKeyItCostsNothing compares the allocations with those of the handler alone.
func TestWithoutAKeyItCostsNothing(t *testing.T) {
	w := newWorld(t)
	plain := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	part := auth.PartHandler(func(http.ResponseWriter, *http.Request, scope.Part) {})
	wrapped, wrappedPart := w.keys.Wrap(plain), w.keys.Wrap(part).(auth.PartHandler)
	r := httptest.NewRequest("POST", "/acme/v2/notes", nil)
	r = r.WithContext(auth.With(r.Context(), w.who["ann"]))
	rw := httptest.NewRecorder()
	if n := testing.AllocsPerRun(100, func() { wrapped.ServeHTTP(rw, r); wrappedPart(rw, r, scope.Part{}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if w.store.begins+w.store.ends != 0 {
		t.Error("the store was asked")
	}
}

// TestR11AClientThatGoesAway does so while its request is executed. Its repetition gets the response of a
// handler that was not interrupted.
func TestR11AClientThatGoesAway(t *testing.T) {
	w := newWorld(t)
	var canceled error
	ctx, cancel := context.WithCancel(t.Context())
	w.notes(func(rw http.ResponseWriter, r *http.Request) {
		cancel()
		if canceled = r.Context().Err(); canceled != nil {
			rw.WriteHeader(503)
		}
	})
	r := httptest.NewRequestWithContext(ctx, "POST", "/acme/v2/notes", nil)
	r.Header = http.Header{"Who": {"ann"}, "Idempotency-Key": {"key"}}
	w.mux.ServeHTTP(httptest.NewRecorder(), r)
	if canceled != nil {
		t.Errorf("the handler's context: %v", canceled)
	}
	w.expect("again", w.do(request{}), 200, "run 1 ")
	w.ran(1)
}

// slow is a body that comes after a while.
type slow struct{ after time.Duration }

func (s slow) Read([]byte) (int, error) { time.Sleep(s.after); return 0, io.EOF }

func TestTheLeaseBeginsAfterTheBody(t *testing.T) {
	w := newWorld(t, func(o *idempotency.Options) { o.Lease = 2 * time.Second })
	w.notes(func(_ http.ResponseWriter, r *http.Request) {
		if ends, _ := r.Context().Deadline(); time.Until(ends) < time.Second {
			t.Errorf("it ends in %v", time.Until(ends))
		}
	})
	r := httptest.NewRequest("POST", "/acme/v2/notes", slow{1200 * time.Millisecond})
	r.Header = http.Header{"Who": {"ann"}, "Idempotency-Key": {"key"}}
	w.mux.ServeHTTP(httptest.NewRecorder(), r)
	w.ran(1)
}

// TestR12AScopeTooLargeToCompare has more pairs of chains than package scope lists.
func TestR12AScopeTooLargeToCompare(t *testing.T) {
	w := newWorld(t)
	w.notes()
	list := func(first int) scope.Set {
		var all []string
		for i := range 200 {
			all = append(all, fmt.Sprint("object.read.c_n", first+i))
		}
		return chains(all...)
	}
	p := w.who["ann"]
	p.Scope = list(0).Intersect(list(0))
	w.who["ann"] = p
	w.expect("the first", w.do(request{}), 200, "run 1 ")
	p.Scope = list(0).Intersect(list(10))
	w.who["ann"] = p
	w.expect("narrowed", w.do(request{}), 409, "accessDenied.idempotencyAuthority")
	w.ran(1)
}

// TestAnEncodedResponse is of a middleware between Wrap and the handler, which compresses.
func TestAnEncodedResponse(t *testing.T) {
	w := newWorld(t)
	w.notes(func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Content-Encoding", "gzip") })
	w.do(request{})
	if again := w.do(request{}); again.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("again: %v", again.Header())
	}
}
