package apikey_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/internal/testing/heard"
)

func TestVerbsOfAPIKeys(t *testing.T) {
	var events []auth.Event
	w := newWorld(t, func(w *world) {
		w.guard.RequestID = heard.RequestID
		w.guard.Observe = func(_ context.Context, e auth.Event) { events = append(events, e) }
	})
	var do func(context.Context) error
	w.mux.HandleFunc("POST /do", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		if err := do(r.Context()); err != nil {
			t.Error(err)
		}
	})
	own, _ := w.make(t, func(g *apikey.Grant) { g.Account, g.App = "root", app })
	var said strings.Builder
	hears := func(name string, f func(context.Context) error, want ...string) {
		t.Helper()
		events, do = nil, f
		w.send(t, "POST", "/do", map[string]string{"Authorization": "Bearer " + own, "User-Agent": "agent"})
		if diff := cmp.Diff(want, heard.Verbs(t, events, "agent")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		fmt.Fprintf(&said, "%+v", events)
	}
	keys := w.mechanism.Keys()
	var key, successor apikey.Key
	var r, next apikey.Record
	const by = " acme/ann by root with token:#1, app " + app + ", credential #2"
	hears("made", func(ctx context.Context) (err error) {
		key, r, err = keys.Make(ctx, administrator(), w.tenant, apikey.Grant{Account: "ann", App: app, Scope: []string{"object.read.c_note"}})
		return err
	}, "apikey.made"+by)
	hears("restricted", func(ctx context.Context) error {
		return keys.Restrict(ctx, administrator(), w.tenant, r.ID, func(r *apikey.Record) error { r.Scope = nil; return nil })
	}, "apikey.restricted"+by)
	hears("replaced", func(ctx context.Context) (err error) {
		successor, next, err = keys.Replace(ctx, administrator(), w.tenant, r.ID, noon.Add(time.Hour), time.Time{})
		return err
	}, "apikey.made"+by, "apikey.replaced"+strings.Replace(by, "#2", "#3", 1))
	hears("revoked", func(ctx context.Context) error { return keys.Revoke(ctx, "acme", r.ID) }, "apikey.ended (revoked)"+by)
	hears("leaked", func(ctx context.Context) error {
		_, err := keys.RevokeLeaked(ctx, string(successor))
		return err
	}, "apikey.ended (leaked)"+by)
	hears("what is not done", func(ctx context.Context) error {
		for _, err := range []error{keys.Revoke(ctx, "acme", next.ID), keys.Revoke(ctx, "globex", next.ID)} {
			if !auth.IsNotFound(err) {
				t.Errorf("got %v", err)
			}
		}
		return nil
	})
	hears("in a transaction", func(ctx context.Context) error {
		_, r, err := keys.In(w.store).Make(ctx, administrator(), w.tenant, apikey.Grant{Account: "ann"})
		if err == nil {
			err = keys.In(w.store).Revoke(ctx, "acme", r.ID)
		}
		return err
	})
	for _, secret := range []string{own, string(key), string(successor)} {
		if strings.Contains(said.String(), secret[len(secret)-30:]) {
			t.Error("an event has a key")
		}
	}
}
