package bearer_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/internal/testing/heard"
	"github.com/tenantkit/tenantkit/token"
)

// renewing is a minting with a route that renews, and what its observer sees.
type renewing struct {
	*minting
	less   bearer.Less
	mu     sync.Mutex
	events []auth.Event
}

func newRenewing(t testing.TB) *renewing {
	t.Helper()
	r := &renewing{}
	r.minting = newMinting(t, func(w *world) {
		w.guard.RequestID = heard.RequestID
		w.guard.Observe = func(_ context.Context, e auth.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, e)
		}
	})
	r.mux.HandleFunc("POST /renew", auth.Public, func(w http.ResponseWriter, req *http.Request) {
		signed, _, err := r.mechanism.Renew(req, r.less)
		if err != nil {
			auth.Fail(w, req, err)
			return
		}
		auth.Reply(w, req, map[string]string{"token": string(signed)})
	})
	return r
}

func (r *renewing) ask(t testing.TB, raw string) reply {
	t.Helper()
	return r.minting.ask(t, "POST", "/acme/v2/renew", "Authorization", "Bearer "+raw)
}

func (r *renewing) renew(t testing.TB, raw string) string {
	t.Helper()
	got := r.ask(t, raw)
	var body struct{ Token string }
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != 200 || body.Token == "" {
		t.Fatalf("Renew: %d %s", got.status, got.body)
	}
	return body.Token
}

// said returns what a token says.
func (m *minting) said(t testing.TB, raw string) token.Claims {
	t.Helper()
	seen, _, err := m.mechanism.Inspect(t.Context(), raw, m.tenant)
	if err != nil {
		t.Fatal(err)
	}
	return seen.Claims()
}

// A token of an account whose tokens begin in half a minute has that time as its iat, and so has its successor.
func TestRenewBeforeTokensFrom(t *testing.T) {
	r := newRenewing(t)
	r.tokensFrom(noon.Add(30 * time.Second))
	first := r.mint(t, session("ann"), wish("ann", permanent))
	want(t, r.me(t, r.renew(t, first)), 200, "")
}

func TestRenew(t *testing.T) {
	for name, kind := range map[string]func(*bearer.Wish){"permanent": permanent, "limited": uses(5)} {
		t.Run(name, func(t *testing.T) {
			r := newRenewing(t)
			first := r.mint(t, session("root"), wish("ann", kind, chains("object.read.c_note"), until(noon.Add(time.Hour)), roles("editor"), func(w *bearer.Wish) {
				w.Extra = map[string]json.RawMessage{"device": json.RawMessage(`"phone"`)}
			}))
			before, holder := r.said(t, first), r.holder(t, first)
			r.clock.Advance(10 * time.Minute)
			second := r.renew(t, first)
			after := r.said(t, second)
			if after.ID != before.ID+"~1" || !after.IssuedAt.Equal(noon.Add(10*time.Minute)) {
				t.Errorf("jti %q of %q, iat %v", after.ID, before.ID, after.IssuedAt)
			}
			after.ID, after.IssuedAt = before.ID, before.IssuedAt
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("claims (-token +successor):\n%s", diff)
			}
			if got := r.holder(t, second); got.TokenID != holder.TokenID || got.Maker != "root" {
				t.Errorf("TokenID %q, then %q; maker %q", holder.TokenID, got.TokenID, got.Maker)
			}
			if again := r.said(t, r.renew(t, first)); again.ID != before.ID+"~1" {
				t.Errorf("jti %q, within the grace", again.ID)
			}
			if all := r.records(t); len(all) != 1 || name == "limited" && all[0].Uses != 2 {
				t.Errorf("records %+v", all)
			}
			r.clock.Advance(token.Grace - time.Second)
			want(t, r.me(t, first), 200, "")
			if e := r.events[slices.IndexFunc(r.events, func(e auth.Event) bool { return e.Handler })]; e.Account != "ann" || e.App != appA || e.Err != nil {
				t.Errorf("the event of a renewal: %+v", e)
			}
		})
	}
}

// TestM25ATokenIsUsedAfterItsGrace: a phone and a thief have the same token.
func TestM25ATokenIsUsedAfterItsGrace(t *testing.T) {
	for name, use := range map[string]func(*renewing, string) reply{
		"for a request": func(r *renewing, raw string) reply { return r.me(t, raw) },
		"to renew it":   func(r *renewing, raw string) reply { return r.ask(t, raw) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRenewing(t)
			first := r.mint(t, session("ann"), wish("ann", permanent))
			second := r.renew(t, first)
			child := r.mint(t, r.holder(t, second), wish("ann", permanent))
			r.clock.Advance(token.Grace)
			want(t, r.me(t, second), 200, "")
			want(t, r.me(t, child), 200, "")
			r.events = nil
			want(t, use(r, first), 401, auth.DetailInvalidToken)
			if last := r.events[len(r.events)-1]; !errors.Is(last.Err, token.ErrReused) || last.Claimed.Account != "ann" || last.Claimed.App != appA {
				t.Errorf("the event: %+v", last)
			}
			for _, raw := range []string{second, child} {
				want(t, r.me(t, raw), 401, auth.DetailInvalidToken)
			}
			if len(r.records(t)) != 0 {
				t.Error("records are left")
			}
		})
	}
	t.Run("while the thief renews before each grace ends", func(t *testing.T) {
		r := newRenewing(t)
		first := r.mint(t, session("ann"), wish("ann", permanent))
		stolen := first
		for range 3 {
			stolen = r.renew(t, stolen)
			r.clock.Advance(token.Grace - time.Second)
		}
		want(t, r.me(t, first), 401, auth.DetailInvalidToken)
		if last := r.events[len(r.events)-1]; !errors.Is(last.Err, token.ErrReused) {
			t.Errorf("the event: %+v", last)
		}
		want(t, r.me(t, stolen), 401, auth.DetailInvalidToken)
	})
}

func TestM25ASuccessorDoesNoMore(t *testing.T) {
	t.Run("a scope or an end beyond its own", func(t *testing.T) {
		r := newRenewing(t)
		raw := r.mint(t, session("ann"), wish("ann", permanent, chains("object.read.c_note", "object.update.c_note"), until(noon.Add(time.Hour))))
		plain := r.mint(t, session("ann"), changed(wish("ann", permanent), func(w *bearer.Wish) { w.Scope = nil }))
		r.directory.PutRole("acme", auth.Role{Name: "member", Scope: []string{"object.delete.c_note"}})
		for _, c := range []struct {
			raw  string
			less bearer.Less
		}{
			{raw, bearer.Less{Scope: []string{""}}},
			{raw, bearer.Less{Scope: []string{"object.read"}}},
			{raw, bearer.Less{Scope: []string{"object.delete.c_note"}}}, // of its role
			{raw, bearer.Less{Expires: noon.Add(time.Hour + time.Second)}},
			{plain, bearer.Less{Scope: []string{"object.delete.c_note"}}}, // which it would keep without the role
		} {
			r.less = c.less
			want(t, r.ask(t, c.raw), 403, auth.DetailDelegation)
		}
		r.less = bearer.Less{Scope: []string{"object.raed"}}
		if got := r.ask(t, raw); got.status != 400 {
			t.Errorf("a chain that does not parse: %d %s", got.status, got.body)
		}
		want(t, r.me(t, raw), 200, "")
		want(t, r.me(t, plain), 200, "")
		r.less = bearer.Less{Scope: []string{"object.read.c_note"}, Expires: noon.Add(time.Minute)}
		less := r.renew(t, raw)
		if c := r.said(t, less); !slices.Equal(c.Scope, r.less.Scope) || !c.Expires.Equal(r.less.Expires) {
			t.Errorf("claims %+v", c)
		}
		r.less = bearer.Less{}
		want(t, r.ask(t, raw), 401, auth.DetailInvalidToken) // which would have been as wide as before
		want(t, r.me(t, less), 401, auth.DetailInvalidToken)
	})
	t.Run("longer than the former key that has signed the token", func(t *testing.T) {
		r := newRenewing(t)
		raw := r.mint(t, session("ann"), wish("ann", permanent))
		if _, err := r.keys.Rotate(t.Context(), "acme", appA, time.Hour); err != nil {
			t.Fatal(err)
		}
		second := r.renew(t, raw)
		if c := r.said(t, second); !c.Expires.Equal(noon.Add(time.Hour)) {
			t.Errorf("Expires = %v", c.Expires)
		}
		if third := r.said(t, r.renew(t, second)); !third.Expires.Equal(noon.Add(time.Hour)) {
			t.Errorf("Expires = %v, of the third", third.Expires)
		}
	})
}

func TestM25WhatIsNotRenewed(t *testing.T) {
	for name, c := range map[string]struct {
		kind   func(*bearer.Wish)
		spoil  func(*testing.T, *renewing, *string)
		status int
		fault  string
	}{
		"an ephemeral token": {func(*bearer.Wish) {}, func(*testing.T, *renewing, *string) {}, 400, "invalidArgument.option"},
		"no token":           {permanent, func(_ *testing.T, _ *renewing, raw *string) { *raw = "" }, 401, auth.DetailInvalidToken},
		"an altered one": {permanent, func(_ *testing.T, _ *renewing, raw *string) {
			*raw = strings.Replace(*raw, ".", ".e30", 1)
		}, 401, auth.DetailInvalidToken},
		"a revoked one": {permanent, func(t *testing.T, r *renewing, _ *string) {
			for _, record := range r.records(t) {
				if err := r.ledger.Revoke(t.Context(), record.Holder(), record.ID); err != nil {
					t.Fatal(err)
				}
			}
		}, 401, auth.DetailInvalidToken},
		"one of a disabled account": {permanent, func(_ *testing.T, r *renewing, _ *string) {
			r.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true})
		}, 401, auth.DetailInvalidToken},
		"one from before TokensFrom": {permanent, func(_ *testing.T, r *renewing, _ *string) {
			r.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", TokensFrom: noon.Add(time.Second)})
		}, 401, auth.DetailInvalidToken},
		"one whose maker is gone": {permanent, func(_ *testing.T, r *renewing, _ *string) {
			r.directory.PutAccount(auth.Account{ID: "root", Org: "acme", Disabled: true})
		}, 401, auth.DetailInvalidToken},
		"one whose key was replaced": {permanent, func(t *testing.T, r *renewing, _ *string) { r.putPair(t, 3, appA, "acme") }, 401, auth.DetailInvalidToken},
		"a spent one":                {uses(1), func(t *testing.T, r *renewing, raw *string) { want(t, r.me(t, *raw), 200, "") }, 401, auth.DetailInvalidToken},
		"an expired one": {permanent, func(_ *testing.T, r *renewing, _ *string) { r.clock.Advance(time.Hour) },
			401, auth.DetailTokenExpired},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRenewing(t)
			raw := r.mint(t, session("root"), wish("ann", c.kind, until(noon.Add(time.Hour))))
			c.spoil(t, r, &raw)
			before := r.records(t)
			got := r.ask(t, raw)
			if got.status != c.status || got.fault != c.fault {
				t.Errorf("got %d %q, want %d %q", got.status, got.fault, c.status, c.fault)
			}
			if diff := cmp.Diff(before, r.records(t), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("a refusal has changed the ledger:\n%s", diff)
			}
		})
	}
	r := newRenewing(t)
	want(t, r.minting.ask(t, "POST", "/acme/v2/renew"), 401, auth.DetailNoCredentials)
	raw := r.mint(t, session("ann"), wish("ann", permanent))
	if got := r.minting.ask(t, "POST", "/globex/v2/renew", "Authorization", "Bearer "+raw); got.status != 401 {
		t.Errorf("at another org: %d %s", got.status, got.body)
	}
	r.mechanism.Ledger = &downedRenewals{Ledger: r.ledger}
	want(t, r.ask(t, raw), 503, auth.DetailUnavailable)
	r.mechanism.Ledger = r.ledger
	want(t, r.me(t, raw), 200, "")
}

type downedRenewals struct{ token.Ledger }

func (downedRenewals) Renew(context.Context, token.Record, token.Record, time.Duration) error {
	return http.ErrServerClosed
}

// TestM25RenewalsAtOnce: all get tokens of one jti, and one record counts.
func TestM25RenewalsAtOnce(t *testing.T) {
	r := newRenewing(t)
	raw := r.mint(t, session("ann"), wish("ann", permanent))
	var wg sync.WaitGroup
	ids := make([]string, 16)
	for i := range ids {
		wg.Go(func() {
			_, c, err := r.mechanism.RenewToken(t.Context(), r.tenant, raw, bearer.Less{})
			if err != nil {
				t.Error(err)
			}
			ids[i] = c.ID
		})
	}
	wg.Wait()
	if slices.Sort(ids); ids[0] != ids[15] || len(r.records(t)) != 1 {
		t.Errorf("ids %q, records %+v", ids, r.records(t))
	}
}
