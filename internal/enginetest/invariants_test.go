package enginetest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// TestSabotage is K06: a fault in each call of each store, and what must hold nevertheless.
func TestSabotage(t *testing.T) {
	t.Parallel()
	for _, store := range []struct {
		name   string
		open   func(t *testing.T) shared
		stride int
	}{
		{"memory", func(*testing.T) shared { return sharedInMemory() }, 1},
		{"SQLite", func(t *testing.T) shared { return sharedInSQL(t, newSQLiteHome(t)) }, len(modes)},
		{"PostgreSQL", func(t *testing.T) shared { return sharedInSQL(t, newPostgresHome(t)) }, len(modes)},
		{"Redis", sharedInRedis, len(modes)},
	} {
		if raceEnabled && store.name != "memory" {
			continue // under the race detector the days in memory are enough, and these take minutes
		}
		t.Run(store.name, func(t *testing.T) {
			if store.name != "memory" {
				leftToTheGate(t)
			}
			t.Parallel()
			sabotageEachCall(t, store.open, store.stride)
		})
	}
}

// sabotageEachCall makes each call fail in at least one mode. In each mode it spoils every
// stride-th call, with another first call. Each mode has its own stores.
func sabotageEachCall(t *testing.T, open func(t *testing.T) shared, stride int) {
	pair, err := token.GeneratePair(2048)
	if err != nil {
		t.Fatal(err)
	}
	count := newWorld(t, open(t), pair, new(sabotage))
	count.day(t)
	count.end(t)
	count.coverEachMethod(t)
	calls := count.calls.Load()
	for first, mode := range modes {
		t.Run("K06 "+string(mode), func(t *testing.T) {
			t.Parallel()
			s := open(t)
			for at := int64(first%stride) + 1; at <= calls; at += int64(stride) {
				w := newWorld(t, s, pair, &sabotage{mode: mode, at: at})
				w.day(t)
				w.at, w.server = 0, w.calm // spoil nothing in the next day
				w.recovers(t)
				w.end(t)
				if t.Failed() {
					t.Fatalf("at call %d of %d", at, calls)
				}
			}
		})
	}
}

// day runs each kind of request that a server gets, once.
func (w *world) day(t *testing.T) {
	t.Helper()
	w.requests(t)
	w.tokens(t)
	w.people(t)
	w.secondFactor(t)
	for credential, n := range w.accepted {
		if kind, _, _ := strings.Cut(credential, " "); kind == "request" && n > 1 {
			t.Errorf("I1 %s: accepted %d times", credential, n)
		}
	}
	if n := w.accepted["limited"]; n > 2 {
		t.Errorf("I2 a token of 2 uses: accepted %d times", n)
	}
}

// use sends a copy of a request with a credential, and adds it to the history.
func (w *world) use(t *testing.T, credential string, r *http.Request) {
	t.Helper()
	reply := w.send(t, r.Clone(t.Context()))
	if reply.StatusCode != http.StatusOK {
		return
	}
	w.accepted[credential]++
	if w.over[credential] {
		t.Errorf("I3/I4 %s: accepted after it was over", credential)
	}
}

// ends sends a request that ends a credential if it succeeds.
func (w *world) ends(t *testing.T, credential string, r *http.Request) {
	t.Helper()
	if w.send(t, r).StatusCode == http.StatusOK {
		w.over[credential] = true
	}
}

func (w *world) requests(t *testing.T) {
	t.Helper()
	for i, method := range []string{"GET", "POST"} {
		r := w.signed(method)
		for range 3 {
			w.use(t, fmt.Sprint("request ", i), r)
		}
	}
}

func (w *world) tokens(t *testing.T) {
	t.Helper()
	limited, _ := w.mint(t, 2)
	for range 4 {
		w.use(t, "limited", w.bearing(limited))
	}
	revoked, jti := w.mint(t, 0)
	w.use(t, "revoked", w.bearing(revoked))
	w.ends(t, "revoked", w.request("POST", "/revoke/"+jti))
	w.use(t, "revoked", w.bearing(revoked))
	w.use(t, "revoked", w.bearing(revoked))

	renewed, _ := w.mint(t, 0)
	renewal := w.request("POST", "/renew")
	renewal.Header = w.bearing(renewed).Header
	w.ends(t, "renewed", renewal)
	w.use(t, "renewed", w.bearing(renewed))

	subject, _ := w.mint(t, 0)
	w.use(t, "subject", w.bearing(subject))
	w.send(t, w.request("GET", "/tokens"))
	w.ends(t, "subject", w.request("POST", "/revoke"))
	w.use(t, "subject", w.bearing(subject))

	w.send(t, w.request("GET", "/certs"))
}

func (w *world) people(t *testing.T) {
	t.Helper()
	first := w.login(t, w.account)
	another := w.login(t, w.account)
	w.now = func() time.Time { return time.Now().Add(5 * time.Minute) } // so the store records the next use
	defer func() { w.now = time.Now }()
	w.use(t, "session first", w.cookie(first))
	w.use(t, "session another", w.cookie(another))
	w.ends(t, "session another", w.posting("/another", first))
	w.use(t, "session another", w.cookie(another))

	other := w.login(t, w.account)
	w.use(t, "session other", w.cookie(other))
	w.ends(t, "session other", w.posting("/others", first))
	w.use(t, "session other", w.cookie(other))

	reply := w.send(t, w.posting("/stepup", first))
	renewed := cookieOf(reply)
	w.over["session first"] = reply.StatusCode == http.StatusOK
	w.use(t, "session first", w.cookie(first))
	w.use(t, "session renewed", w.cookie(renewed))
	w.ends(t, "session renewed", w.posting("/logout", renewed))
	w.use(t, "session renewed", w.cookie(renewed))

	last := w.login(t, w.account)
	w.use(t, "session last", w.cookie(last))
	w.ends(t, "session last", w.request("POST", "/everybody"))
	w.use(t, "session last", w.cookie(last))
}

func (w *world) secondFactor(t *testing.T) {
	t.Helper()
	ticket := w.login(t, "second")
	r := w.posting("/code", ticket)
	r.Header.Set("Code", codeOf(w.factor.Reveal(), w.now()))
	for range 3 {
		if reply := w.send(t, r.Clone(t.Context())); reply.StatusCode == http.StatusOK {
			w.accepted["request of a code"]++
		}
	}
}

// recovers is I6: without the fault everything works again by itself.
func (w *world) recovers(t *testing.T) {
	t.Helper()
	want := func(what string, reply *http.Response, status int) {
		t.Helper()
		if reply.StatusCode != status {
			t.Errorf("I6 %s: status %d", what, reply.StatusCode)
		}
	}
	want("a request", w.send(t, w.signed("POST")), 200)
	limited, _ := w.mint(t, 1)
	want("a token", w.send(t, w.bearing(limited)), 200)
	want("a token that was used up", w.send(t, w.bearing(limited)), 401)
	cookie := w.login(t, w.account)
	want("a session", w.send(t, w.cookie(cookie)), 200)
	want("a logout", w.send(t, w.posting("/logout", cookie)), 200)
	want("a session that was ended", w.send(t, w.cookie(cookie)), 401)
}
