package signature_test

import (
	"context"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

func TestTheEventOfARejectionNamesTheClientKey(t *testing.T) {
	var last auth.Event
	w := newWorld(t, func(w *world) { w.guard.Observe = func(_ context.Context, e auth.Event) { last = e } })
	for name, test := range map[string]struct {
		send func()
		want auth.Claimed
	}{
		"a wrong secret": {func() { q := w.request(); q.secret = "other"; w.send(t, q) }, auth.Claimed{Mechanism: "signature", App: acmeKey}},
		"an unknown key": {func() { q := w.request(); q.key = "nobodys"; w.send(t, q) }, auth.Claimed{Mechanism: "signature", App: "nobodys"}},
		"an account that it may not act as": {func() { q := w.request(); q.account = "cat"; w.send(t, q) },
			auth.Claimed{Mechanism: "signature", App: acmeKey, Account: "cat"}},
		"version 2":      {func() { q := w.second(); q.nonce = "x"; w.sendSecond(t, q) }, auth.Claimed{Mechanism: "signature", App: acmeKey}},
		"it is admitted": {func() { w.send(t, w.request()) }, auth.Claimed{}},
	} {
		t.Run(name, func(t *testing.T) {
			last = auth.Event{}
			test.send()
			if last.Claimed != test.want || last.Allowed != (test.want == auth.Claimed{}) {
				t.Errorf("got %+v, want %+v", last.Claimed, test.want)
			}
		})
	}
}
