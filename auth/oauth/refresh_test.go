package oauth_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// refresh asks to renew a token, as an app of acme.
func (w *world) refresh(t testing.TB, clientKey string, secret signing.Secret, raw string, pairs ...string) answer {
	t.Helper()
	return w.send(t, ask("/base/acme/v2/oauth/token", clientKey, secret, append([]string{"grant_type", "refresh_token", "refresh_token", raw}, pairs...)...))
}

func TestRefresh(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	clock := func() time.Time { return now }
	w := newWorld(t, func(w *world) {
		w.guard.Now, w.keys.Now, w.ledger = clock, clock, token.NewMemoryLedger(clock)
		w.bearer.Ledger = w.ledger
	})
	for _, uses := range []int64{0, 5} {
		first := w.record(t, acmeKey, "acme", "ann", uses, func(c *token.Claims) {
			c.Scope, c.Expires = []string{"object.read.c_note"}, now.Add(time.Hour)
		})
		got := w.refresh(t, acmeKey, acmeSecret, first)
		want(t, got, 200, "")
		var reply struct {
			Refresh string `json:"refresh_token"`
		}
		if err := json.Unmarshal([]byte(got.text), &reply); err != nil {
			t.Fatal(err)
		}
		if reply.Refresh != got.Token || got.Token == first || got.Ends != 3600 || got.Scope != "object.read.c_note" || got.Type != "Bearer" {
			t.Errorf("got %s", got.text)
		}
		for _, raw := range []string{got.Token, first} {
			if status := w.me(t, "acme", raw); status != 200 {
				t.Errorf("me: %d", status)
			}
		}
		now = now.Add(token.Grace)
		want(t, w.refresh(t, acmeKey, acmeSecret, first), 400, "invalid_grant")
		if last := w.events[len(w.events)-1]; !errors.Is(last.Err, token.ErrReused) || last.App != acmeKey || last.Claimed.Account != "ann" {
			t.Errorf("the event: %+v", last)
		}
		if status := w.me(t, "acme", got.Token); status != 401 {
			t.Errorf("the successor, of an ended family: %d", status)
		}
	}
}

func TestM25RefreshRefused(t *testing.T) {
	w := newWorld(t)
	raw := w.record(t, acmeKey, "acme", "ann", 0)
	others := w.record(t, otherKey, "acme", "ann", 0)
	for what, c := range map[string]struct {
		got    answer
		status int
		code   string
	}{
		"no client":              {w.refresh(t, "", "", raw), 401, "invalid_client"},
		"another secret":         {w.refresh(t, acmeKey, otherSecret, raw), 401, "invalid_client"},
		"another client":         {w.refresh(t, otherKey, otherSecret, raw), 400, "invalid_grant"},
		"another client's token": {w.refresh(t, acmeKey, acmeSecret, others), 400, "invalid_grant"},
		"an ephemeral token":     {w.refresh(t, acmeKey, acmeSecret, w.token(t).Token), 400, "invalid_grant"},
		"no token":               {w.refresh(t, acmeKey, acmeSecret, "e30.e30.e30"), 400, "invalid_grant"},
		"nothing":                {w.refresh(t, acmeKey, acmeSecret, ""), 400, "invalid_request"},
		"a scope":                {w.refresh(t, acmeKey, acmeSecret, raw, "scope", "*"), 400, "invalid_scope"},
		"a resource":             {w.refresh(t, acmeKey, acmeSecret, raw, "resource", "https://else.example.test"), 400, "invalid_target"},
	} {
		t.Run(what, func(t *testing.T) { want(t, c.got, c.status, c.code) })
	}
	for _, one := range []string{raw, others} {
		if status := w.me(t, "acme", one); status != 200 {
			t.Errorf("a refusal has ended a token: %d", status)
		}
	}
	without := newWorld(t, func(w *world) { w.bearer.Ledger = nil })
	want(t, without.refresh(t, acmeKey, acmeSecret, raw), 400, "unsupported_grant_type")
}
