package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// watcher is a client of GET /events. It reads the format with the standard library
// only.
type watcher struct {
	t     *testing.T
	reply *http.Response
	lines *bufio.Scanner
}

// watch opens a stream. present adds the credential to the request.
func (s *server) watch(t *testing.T, present func(*http.Request)) *watcher {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL+"/"+s.Org+"/v2/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	present(r)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reply.Body.Close() })
	if got := reply.Header.Get("Content-Type"); reply.StatusCode != 200 || got != "text/event-stream" {
		text, _ := io.ReadAll(reply.Body)
		t.Fatalf("%d %s: %s", reply.StatusCode, got, text)
	}
	return &watcher{t, reply, bufio.NewScanner(reply.Body)}
}

// next returns the next event. A comment has the name ":". At the end of the stream the
// name is "".
func (w *watcher) next() (name string, data value) {
	w.t.Helper()
	for w.lines.Scan() {
		switch field, text, _ := strings.Cut(w.lines.Text(), ": "); field {
		case ":":
			name = ":"
		case "event":
			name = text
		case "data":
			if err := json.Unmarshal([]byte(text), &data); err != nil {
				w.t.Fatalf("%v: %s", err, text)
			}
		case "":
			return name, data
		}
	}
	return "", nil
}

// until returns the first event for which found is true. The test fails if the stream
// ends before.
func (w *watcher) until(found func(name string, data value) bool) value {
	w.t.Helper()
	for {
		name, data := w.next()
		if name == "" {
			w.t.Fatal("the stream has ended")
		}
		if found(name, data) {
			return data
		}
	}
}

// fault returns the errCode of the event that ends the stream.
func (w *watcher) fault() any {
	w.t.Helper()
	end := w.until(func(name string, _ value) bool { return name == "end" })
	if name, _ := w.next(); name != "" {
		w.t.Errorf("%s after the end", name)
	}
	return end["errCode"]
}

func TestEventsSayWhyACredentialWasRejected(t *testing.T) {
	t.Parallel()
	s := start(t)
	made := s.as(t, "", "POST", "/apps", `{"name":"Partner","credential":{"account":"`+s.AccountID+`"}}`).ok(t)
	key, one := made["_id"].(string), "/apps/"+made["_id"].(string)
	wrong := value{"_id": key, "secret": strings.Repeat("w", 64)}
	other := value{"_id": s.OtherClientKey, "secret": s.OtherClientSecret}
	minted := s.as(t, "", "POST", s.tokensPath(), `{"sub":"`+s.AccountID+`","scope":[],"permanent":true}`).ok(t)["data"].(value)
	s.as(t, "", "DELETE", s.tokensPath()+"/"+minted["jti"].(string), "").ok(t)
	past := `"` + time.Now().Add(-time.Hour).UTC().Format(dateLayout) + `"`
	patch := func(body string) func() { return func() { s.as(t, "", "PATCH", one, body).ok(t) } }
	type want struct{ reason, claimed any }
	tests := []struct {
		name    string
		before  func()
		request func() answer
		want
	}{
		{"a wrong secret", nil, func() answer { return s.signedBy(t, wrong, "GET", "/accounts/me", "") }, want{"signature", key}},
		{"an unknown key", nil, func() answer {
			return s.signedBy(t, value{"_id": strings.Repeat("k", 22), "secret": strings.Repeat("w", 64)}, "GET", "/accounts/me", "")
		}, want{"unknown key", nil}},
		{"a key of another org", nil, func() answer { return s.signedBy(t, other, "GET", "/accounts/me", "") }, want{"unknown key", nil}},
		{"another network", patch(`{"credential":{"networks":["192.0.2.0/24"]}}`), func() answer { return s.signedBy(t, made, "GET", "/accounts/me", "") }, want{"network", key}},
		{"after its end", patch(`{"credential":{"networks":null,"notAfter":` + past + `}}`), func() answer { return s.signedBy(t, made, "GET", "/accounts/me", "") }, want{"expired", key}},
		{"a disabled app", patch(`{"disabled":true,"credential":{"notAfter":null}}`), func() answer { return s.signedBy(t, made, "GET", "/accounts/me", "") }, want{"disabled", key}},
		{"a revoked token", nil, func() answer { return s.bearing(t, minted["token"].(string), "GET", "/accounts/me", "") }, want{"revoked", s.ClientKey}},
		{"a scope", nil, func() answer { return s.bearing(t, s.NarrowToken, "GET", "/connections", "") }, want{"scope", nil}},
		{"nothing", nil, func() answer { return s.do(t, call{path: "/accounts/me", unsigned: true}) }, want{"no credential", nil}},
	}
	ids := make(map[string]int) // of requests
	for i, test := range tests {
		if test.before != nil {
			test.before()
		}
		ids[test.request().header.Get("Request-Id")] = i
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BaseURL+"/"+s.Org+"/v2/events?history=500", nil)
	if err != nil {
		t.Fatal(err)
	}
	byToken(s.AdminToken)(r)
	reply, err := http.DefaultClient.Do(r) // who opens the stream afterwards still sees them
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	w := &watcher{t, reply, bufio.NewScanner(reply.Body)}
	for range tests {
		var i int
		e := w.until(func(_ string, data value) (known bool) {
			id, _ := data["requestId"].(string)
			i, known = ids[id]
			if known && testing.Verbose() {
				t.Log(tests[i].name, data)
			}
			return known
		})
		if got := (want{e["reason"], e["claimed"]}); got != tests[i].want || e["address"] != "127.0.0.1" || e["status"] == nil {
			t.Errorf("%s: %v", tests[i].name, e)
		}
	}
}

func TestTheHistoryOfAnOrgIsBounded(t *testing.T) {
	h := newHistory()
	for i := range historyOrgs + 1 {
		for n := range historySize + 3 {
			h.add(auth.Event{Org: auth.OrgKey(fmt.Sprint(i)), Count: int64(n), Time: time.Unix(int64(i), 0)})
		}
	}
	kept := h.last("1", historySize)
	if len(kept) != historySize || kept[0].Count != 3 || kept[historySize-1].Count != historySize+2 || len(h.last("1", 2)) != 2 || h.last("0", 1) != nil {
		t.Errorf("%d kept, %d orgs", len(kept), len(h.orgs))
	}
	if n := testing.AllocsPerRun(100, func() { h.add(auth.Event{Org: "1"}) }); n != 0 {
		t.Errorf("%v allocations for a decision", n)
	}
}

func byToken(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func (b *browser) byCookie(r *http.Request) {
	for _, c := range b.jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
}

// signedIn returns a browser with a session.
func (s *server) signedIn(t *testing.T, email, password string) *browser {
	t.Helper()
	b := s.browser(t)
	b.post(t, "/accounts/login", value{"email": email, "password": password}).ok(t)
	return b
}

func TestOnlyAdministratorsWatch(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.refused(t, s.do(t, call{path: "/events", unsigned: true}), 401, "accessDenied.noCredentialsSupplied")
	s.refused(t, s.do(t, call{path: "/events", account: s.AccountID}), 403, "accessDenied.unspecified")
	s.refused(t, s.signedIn(t, s.AccountEmail, s.AccountPassword).get(t, "/events"), 403, "accessDenied.unspecified")
	narrow := s.mint(t, s.AdminAccountID, `{"sub":"`+s.AdminAccountID+`","scope":["admin.update"]}`)["token"].(string)
	s.scopeRefused(t, s.bearing(t, narrow, "GET", "/events", ""), "admin.read")
	if head := s.do(t, call{method: "HEAD", path: "/events"}); head.status != 200 || head.header.Get("Cache-Control") != "no-store" {
		t.Errorf("HEAD: %d %v", head.status, head.header)
	}
}

func TestEventsTellDecisions(t *testing.T) {
	t.Parallel()
	s := start(t)
	w := s.watch(t, s.signedIn(t, s.AdminEmail, s.AdminPassword).byCookie)
	const typed = "TypedByAClient"
	calls := map[string]answer{
		"allowed":   s.do(t, call{path: `/c_messages?limit=1&where={"c_text":"` + typed + `"}`}),
		"an object": s.bearing(t, s.AdminToken, "GET", "/c_messages/"+message1, ""),
		"denied":    s.bearing(t, s.NarrowToken, "GET", "/connections", ""),
		"anonymous": s.do(t, call{path: "/apps", unsigned: true}),
		"handler":   s.do(t, call{path: "/apps/" + typed}),
		"forged":    s.bearing(t, s.AdminToken+typed, "GET", "/apps", ""),
		"no route":  s.do(t, call{path: "/" + typed}),
		"elsewhere": s.do(t, call{path: "/c_messages", other: true}),
		"last":      s.do(t, call{path: "/views"}),
	}
	got := make(map[string]value)
	for {
		e := w.until(func(name string, _ value) bool { return name == "event" })
		for name, reply := range calls {
			if e["requestId"] == reply.header.Get("Request-Id") && (got[name] == nil || e["handler"] == true) {
				got[name] = e
			}
		}
		if strings.Contains(fmt.Sprint(e), typed) {
			t.Errorf("shows what a client has typed: %v", e)
		}
		if got["last"] != nil {
			break
		}
	}
	for name, e := range got {
		if _, err := time.Parse(dateLayout, e["at"].(string)); err != nil || e["took"].(float64) < 0 {
			t.Errorf("%s: %v", name, e)
		}
		for _, own := range []string{"at", "took", "requestId", "address", "agent"} {
			delete(e, own)
		}
	}
	const fault, sees = "service.", "object.read.c_message.*.c_text"
	want := map[string]value{
		"allowed": {"object": "event", "route": "GET /c_messages", "by": "app:" + s.ClientKey, "mechanism": "signature", "app": s.ClientKey, "account": s.AdminAccountID,
			"allowed": true, "need": "object.read.c_message", "chain": "*", "source": "unscoped"},
		"an object": {"object": "event", "route": "GET /c_messages/{id}", "by": "app:" + s.ClientKey, "mechanism": "bearer", "app": s.ClientKey, "account": s.AdminAccountID,
			"allowed": true, "need": "object.read.c_message." + message1, "chain": "*", "source": "token"},
		"denied": {"object": "event", "route": "GET /connections", "by": "app:" + s.ClientKey, "mechanism": "bearer", "app": s.ClientKey, "account": s.AccountID,
			"allowed": false, "fault": fault + auth.DetailScope, "status": 403.0, "reason": "scope", "need": "object.read.connection", "chain": sees, "source": "token"},
		"anonymous": {"object": "event", "route": "GET /apps", "allowed": false, "fault": fault + auth.DetailNoCredentials, "status": 401.0, "reason": "no credential", "need": "admin.read"},
		"handler": {"object": "event", "route": "GET /apps/{key}", "by": "app:" + s.ClientKey, "mechanism": "signature", "app": s.ClientKey, "account": s.AdminAccountID,
			"allowed": true, "handler": true, "fault": fault + auth.DetailUnknownApp, "status": 404.0},
		"forged":   {"object": "event", "route": "GET /apps", "allowed": false, "fault": fault + auth.DetailInvalidToken, "status": 401.0, "reason": "token", "claimed": s.ClientKey, "need": "admin.read"},
		"no route": {"object": "event", "allowed": false, "fault": fault + auth.DetailNotFound, "status": 404.0},
		"last": {"object": "event", "route": "GET /views", "by": "app:" + s.ClientKey, "mechanism": "signature", "app": s.ClientKey, "account": s.AdminAccountID,
			"allowed": true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEventsEnd is F27: a stream looks at its credential again, and ends with it.
func TestEventsEnd(t *testing.T) {
	for _, test := range []struct {
		name, fault string
		open        func(t *testing.T, s *server) (present func(*http.Request), end func())
	}{
		{"a session that is revoked", auth.DetailSessionExpired, func(t *testing.T, s *server) (func(*http.Request), func()) {
			here, there := s.signedIn(t, s.AdminEmail, s.AdminPassword), s.signedIn(t, s.AdminEmail, s.AdminPassword)
			return here.byCookie, func() { there.send(t, "DELETE", "/accounts/me/sessions", "").ok(t) }
		}},
		{"a session that is signed out", auth.DetailSessionExpired, func(t *testing.T, s *server) (func(*http.Request), func()) {
			b := s.signedIn(t, s.AdminEmail, s.AdminPassword)
			return b.byCookie, func() {
				kept := *b
				kept.post(t, "/accounts/me/logout", nil).ok(t)
			}
		}},
		{"an account that is no administrator any more", auth.DetailForbidden, func(t *testing.T, s *server) (func(*http.Request), func()) {
			roles := func(names string) {
				s.do(t, call{method: "PATCH", path: "/admin/accounts/" + s.AccountID, body: `{"roles":[` + names + `]}`}).ok(t)
			}
			roles(`"administrator"`)
			return s.signedIn(t, s.AccountEmail, s.AccountPassword).byCookie, func() { roles(`"member"`) }
		}},
		{"a token that is revoked", auth.DetailInvalidToken, func(t *testing.T, s *server) (func(*http.Request), func()) {
			minted := s.mint(t, s.AdminAccountID, wish(s.AdminAccountID, `,"permanent":true`))
			return byToken(minted["token"].(string)), func() {
				s.do(t, call{method: "DELETE", path: s.tokensPath() + "/" + minted["jti"].(string)}).ok(t)
			}
		}},
		{"a token whose key is replaced", auth.DetailInvalidToken, func(t *testing.T, s *server) (func(*http.Request), func()) {
			return byToken(s.AdminToken), func() { s.do(t, call{method: "POST", path: "/apps/" + s.ClientKey + "/keypair"}).ok(t) }
		}},
		{"a signature whose secret is replaced", auth.DetailInvalidSignature, func(t *testing.T, s *server) (func(*http.Request), func()) {
			present := func(r *http.Request) { s.sign(r, "/events", s.ClientKey, s.ClientSecret) }
			return present, func() {
				admin := s.signedIn(t, s.AdminEmail, s.AdminPassword)
				admin.post(t, "/apps/"+s.ClientKey+"/secret", value{"grace": 0}).ok(t)
			}
		}},
	} {
		t.Run("F27 "+test.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			present, end := test.open(t, s)
			w := s.watch(t, present)
			for range 2 { // the first comment is the start, the second a recheck that has passed
				w.until(func(name string, _ value) bool { return name == ":" })
			}
			end()
			if got := w.fault(); got != "service."+test.fault {
				t.Errorf("ended by %v", got)
			}
		})
	}
	t.Run("F27 a limited token loses one use by the request, and none by watching", func(t *testing.T) {
		t.Parallel()
		s := start(t)
		minted := s.mint(t, s.AdminAccountID, wish(s.AdminAccountID, `,"maxUses":9`))
		w := s.watch(t, byToken(minted["token"].(string)))
		for range 3 {
			w.until(func(name string, _ value) bool { return name == ":" })
		}
		listed := items(t, s.do(t, call{path: s.subjectPath(s.AdminAccountID)}).ok(t), false)
		if uses := listed[0].(value)["uses"]; uses != 1. {
			t.Errorf("%v uses", uses)
		}
	})
	t.Run("F27 nobody waits longer than two seconds for the end", func(t *testing.T) {
		if recheckInterval != 2*time.Second {
			t.Error(recheckInterval)
		}
	})
}

// served returns a platform with its server, for tests that need both.
func served(t *testing.T, configure func(*http.Server)) (*platform, *server) {
	t.Helper()
	p := parts(t, io.Discard)
	web := httptest.NewUnstartedServer(p.handler(p.routes()))
	configure(web.Config)
	web.Start()
	t.Cleanup(web.Close)
	f, err := p.seed(t.Context(), options{demoMessages: fewMessages})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{facts: *f, brand: "Service-", faults: "service"}
	s.BaseURL = web.URL
	t.Cleanup(p.feed.close)
	return p, s
}

// TestTheServersTimeoutsCutNoStream uses timeouts that are shorter than two rechecks.
func TestTheServersTimeoutsCutNoStream(t *testing.T) {
	t.Parallel()
	_, s := served(t, func(server *http.Server) { server.ReadTimeout, server.WriteTimeout = 3*time.Second, 3*time.Second })
	w := s.watch(t, byToken(s.AdminToken))
	for range 3 {
		w.until(func(name string, _ value) bool { return name == ":" })
	}
}

// TestFlood is K26: no reader costs more than its bound, none delays a request, and no
// decision is lost without being counted.
func TestFlood(t *testing.T) {
	t.Run("K26 a reader that does not read", func(t *testing.T) {
		p, s := served(t, func(*http.Server) {})
		w := s.watch(t, byToken(s.AdminToken))
		const flood = 100_000
		e := auth.Event{Route: "GET /flood", Org: acme, Allowed: true, Need: scope.Admin(scope.Read), Scope: scope.Unscoped()}
		for range flood {
			p.observe(t.Context(), e)
		}
		seen, dropped := 0, 0
		w.until(func(name string, data value) bool {
			switch {
			case name == "dropped":
				dropped += int(data["count"].(float64))
			case data["route"] == "GET /flood":
				seen++
			}
			return seen+dropped >= flood
		})
		if dropped == 0 || seen < feedSize {
			t.Errorf("%d seen, %d dropped", seen, dropped)
		}
	})
	t.Run("K26 the latest stay, in order", func(t *testing.T) {
		f := newFeed()
		reader, err := f.open(acme, eventFilter{})
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, count := range []int{3, feedSize, feedSize + 7, 5*feedSize + 1} {
			for range count {
				n++
				f.publish(acme, func() eventReply { return eventReply{Count: n} })
			}
			wait, dropped := len(reader.waiting), int(reader.dropped.Swap(0))
			if wait != min(count, feedSize) || dropped != count-wait {
				t.Errorf("of %d: %d wait, %d dropped", count, wait, dropped)
			}
			for i := range wait {
				if e, want := <-reader.waiting, n-int64(wait)+1+int64(i); e.Count != want {
					t.Fatalf("%d in place of %d", e.Count, want)
				}
			}
		}
	})
	t.Run("K26 another org sees nothing, and only so many watch one", func(t *testing.T) {
		f := newFeed()
		other, err := f.open(globex, eventFilter{})
		if err != nil {
			t.Fatal(err)
		}
		var last *feedReader
		for range feedReaders {
			if last, err = f.open(acme, eventFilter{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err = f.open(acme, eventFilter{}); auth.DetailThrottled != err.(*auth.Error).Detail {
			t.Errorf("one more: %v", err)
		}
		f.publish(acme, func() eventReply { return eventReply{} })
		if len(other.waiting) != 0 {
			t.Error("another org's")
		}
		f.leave(acme, last)
		if _, err = f.open(acme, eventFilter{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("K26 nothing is made without a reader", func(t *testing.T) {
		p := parts(t, io.Discard)
		e := auth.Event{Route: "GET /flood", Org: acme, Allowed: true, Need: scope.Admin(scope.Read), Scope: scope.Unscoped()}
		if n := testing.AllocsPerRun(100, func() { p.feed.publish(e.Org, func() eventReply { return p.event(t.Context(), e) }) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// TestDrainingWaitsForNoStream: the server of this test ends with its cleanup, which
// runs before the check.
func TestDrainingWaitsForNoStream(t *testing.T) {
	t.Parallel()
	var s *server
	t.Cleanup(func() {
		if log := s.log.String(); strings.Contains(log, "still in flight") || !strings.Contains(log, "draining") {
			t.Errorf("%s", log)
		}
	})
	s = start(t)
	r, err := http.NewRequest(http.MethodGet, s.BaseURL+"/"+s.Org+"/v2/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	byToken(s.AdminToken)(r)
	reply, err := http.DefaultClient.Do(r)
	if err != nil || reply.StatusCode != 200 {
		t.Fatal(err, reply)
	}
	go io.Copy(io.Discard, reply.Body)
}
