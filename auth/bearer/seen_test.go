package bearer_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

// named is a wish for a token with a name.
func named(name string) func(*bearer.Wish) { return func(w *bearer.Wish) { w.Name = name } }

func TestNames(t *testing.T) {
	for name, c := range map[string]struct {
		kind  func(*bearer.Wish)
		named string
		ok    bool
	}{
		"a line":                     {permanent, "nightly build, \u00fc", true},
		"128 bytes":                  {uses(2), strings.Repeat("x", 128), true},
		"none":                       {permanent, "", true},
		"129 bytes":                  {permanent, strings.Repeat("x", 129), false},
		"two lines":                  {permanent, "a\nb", false},
		"a zero byte":                {uses(2), "a\x00", false},
		"not UTF-8":                  {permanent, "a\xff", false},
		"text that runs to the left": {permanent, "a\u202eb", false},
		"of an ephemeral token":      {until(noon.Add(time.Minute)), "x", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMinting(t)
			_, _, err := m.try(t, session("ann"), wish("ann", c.kind, named(c.named)))
			if refused, ok := errors.AsType[*auth.Error](err); (err == nil) != c.ok || err != nil && (!ok || refused.Detail != auth.DetailOption) {
				t.Fatal(err)
			}
			if all := m.records(t); c.ok && (len(all) != 1 || all[0].Name != c.named) || !c.ok && len(all) != 0 {
				t.Errorf("the records are %+v", all)
			}
		})
	}
}

// seeing counts what a Mechanism asks of its ledger.
type seeing struct {
	token.Ledger
	uses, recorded int
}

func (c *seeing) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	c.uses++
	if !r.Seen.IsZero() {
		c.recorded++
	}
	return c.Ledger.Spend(ctx, r)
}

// TestLastUse uses a token every ten minutes of a day and a half, in which its last 14 days begin.
func TestLastUse(t *testing.T) {
	var soon []auth.Event
	ledger := new(seeing)
	m := newMinting(t, func(w *world) {
		ledger.Ledger, w.mechanism.Ledger = w.ledger, ledger
		w.guard.Observe = func(_ context.Context, e auth.Event) {
			if e.Verb != "" {
				soon = append(soon, e)
			}
		}
	})
	end := noon.Add(15*24*time.Hour - 13*time.Hour) // in 14 days at 23:00
	raw, claims, err := m.try(t, session("ann"), wish("ann", permanent, until(end)))
	if err != nil {
		t.Fatal(err)
	}
	for range 36 * 6 {
		want(t, m.me(t, raw), 200, "")
		got := m.records(t)[0]
		if late := m.now().Sub(got.Seen); late < 0 || late >= time.Hour || got.From != netip.MustParsePrefix("127.0.0.0/24") {
			t.Fatalf("used at %v: seen %v earlier from %v", m.now(), late, got.From)
		}
		m.clock.Advance(10 * time.Minute)
	}
	if ledger.uses != 36*6 || ledger.recorded != 36 {
		t.Errorf("%d uses, %d recorded, want 36", ledger.uses, ledger.recorded)
	}
	if len(soon) != 1 { // with the first use of the second day
		t.Fatalf("%d events: %+v", len(soon), soon)
	}
	if e := soon[0]; e.Verb != "ends.soon" || e.Token != claims.ID || e.App != appA || e.Account != "ann" || e.Reason != "2026-01-16" || e.Org != "acme" {
		t.Errorf("got %+v", e)
	}
	want(t, m.me(t, m.mint(t, session("ann"), wish("ann"))), 200, "")
	if ledger.uses != 36*6 {
		t.Error("the use of an ephemeral token reached the ledger")
	}
}
