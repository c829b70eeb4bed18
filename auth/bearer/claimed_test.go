package bearer_test

import (
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

func TestTheEventOfARejectionNamesWhomATokenIsOf(t *testing.T) {
	var events []auth.Event
	w := newWorld(t, func(w *world) { w.guard.Observe = collect(&events) })
	for name, test := range map[string]struct {
		raw  string
		want auth.Claimed
	}{
		"of another key":  {signWith(t, 1, claims()), auth.Claimed{Mechanism: "bearer", App: appA, Account: "ann"}},
		"it has expired":  {honest(t, "exp", 1), auth.Claimed{Mechanism: "bearer", App: appA, Account: "ann"}},
		"it is malformed": {"a.b.c", auth.Claimed{Mechanism: "bearer"}},
		"it is admitted":  {honest(t), auth.Claimed{}},
	} {
		t.Run(name, func(t *testing.T) {
			events = nil
			w.me(t, test.raw)
			if len(events) != 1 || events[0].Claimed != test.want {
				t.Errorf("got %+v, want %+v", events, test.want)
			}
		})
	}
}
