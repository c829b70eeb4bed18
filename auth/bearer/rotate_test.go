package bearer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

func (m *minting) rotate(t testing.TB, overlap time.Duration) {
	t.Helper()
	if _, err := m.keys.Rotate(t.Context(), "acme", appA, overlap); err != nil {
		t.Fatal(err)
	}
}

// TestT32TokensOfAFormerKey rotates the pair of the app: tokens from before work until the stated
// end, and those from after go on.
func TestT32TokensOfAFormerKey(t *testing.T) {
	m := newMinting(t)
	before := m.mint(t, session("ann"), wish("ann", permanent))
	unused := m.mint(t, session("ann"), wish("ann", uses(5)))
	want(t, m.me(t, before), 200, "") // the cache is warm
	m.rotate(t, time.Hour)
	after := m.mint(t, session("ann"), wish("ann", permanent))
	want(t, m.me(t, before), 200, "")
	want(t, m.me(t, after), 200, "")
	m.clock.Advance(time.Hour)
	want(t, m.me(t, before), 401, invalid)
	want(t, m.me(t, unused), 401, invalid)
	want(t, m.me(t, after), 200, "")
}

// TestM19TokensOfAFormerKeyMakeNothingThatOutlastsIt has a permanent token make others. It ends with
// its key, which no record of the ledger shows.
func TestM19TokensOfAFormerKeyMakeNothingThatOutlastsIt(t *testing.T) {
	m := newMinting(t)
	raw := m.mint(t, session("ann"), wish("ann", permanent))
	if by := m.holder(t, raw); !by.Expires.IsZero() {
		t.Fatalf("expires at %v", by.Expires)
	}
	m.rotate(t, time.Hour)
	by := m.holder(t, raw)
	if !by.Expires.Equal(noon.Add(time.Hour)) {
		t.Errorf("the principal expires at %v", by.Expires)
	}
	for name, c := range map[string]struct {
		wish   bearer.Wish
		beyond bool
	}{
		"M19 permanent":                       {wish("ann", permanent), true},
		"M19 limited-use":                     {wish("ann", uses(3)), true},
		"M19 permanent, a second longer":      {wish("ann", permanent, until(noon.Add(time.Hour+time.Second))), true},
		"M19 ephemeral, longer":               {wish("ann", until(noon.Add(2*time.Hour))), true},
		"M19 permanent, until the key's end":  {wish("ann", permanent, until(noon.Add(time.Hour))), false},
		"M19 limited-use, until the key ends": {wish("ann", uses(3), until(noon.Add(time.Hour))), false},
		"M19 ephemeral":                       {wish("ann"), false},
	} {
		t.Run(name, func(t *testing.T) {
			made, _, err := m.try(t, by, c.wish)
			if !c.beyond {
				if err != nil {
					t.Fatal(err)
				}
				want(t, m.me(t, made), 200, "")
				return
			}
			if _, paths := told(err); paths != "expires" || !isBeyond(err) {
				t.Fatalf("made, or %v", err)
			}
		})
	}
	records := len(m.records(t))
	m.clock.Advance(time.Hour)
	for _, r := range m.records(t) {
		if r.Parent != "" {
			t.Errorf("a record outlasts the key of its maker: %+v", r)
		}
	}
	if records < 3 {
		t.Errorf("%d records before", records)
	}
}

// TestM20ReplacedWhileMinting replaces the key pair between the admission of a request and its
// minting. What it makes would be signed with the new key.
func TestM20ReplacedWhileMinting(t *testing.T) {
	m := newMinting(t)
	by := m.holder(t, m.mint(t, session("ann"), wish("ann", permanent)))
	if _, err := m.keys.Generate(t.Context(), "acme", appA); err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]bearer.Wish{"ephemeral": wish("ann"), "permanent": wish("ann", permanent), "limited-use": wish("ann", uses(1))} {
		_, _, err := m.try(t, by, w)
		if fault, ok := errors.AsType[*auth.Error](err); !ok || fault.Detail != auth.DetailInvalidToken {
			t.Errorf("M20 %s: got %v", name, err)
		}
	}
	for _, r := range m.records(t) {
		if r.Parent != "" {
			t.Errorf("a record of a maker that has ended: %+v", r)
		}
	}
}

// TestM20AForgedTokenOutlivesNoNewKey has somebody who holds the leaked key pair of an app. Tokens
// that they sign are admitted until each process knows of the new pair, and must not make tokens
// that the new pair signs.
func TestM20AForgedTokenOutlivesNoNewKey(t *testing.T) {
	m := newMinting(t, func(w *world) { // a process that does not know yet of the new pair
		w.mechanism.Keys = token.Cached(&w.keys, time.Hour)
	})
	raw := honest(t, "exp", nil, "iat", noon.Unix(), "sub", "root", "service/scp", []string{""})
	want(t, m.me(t, raw), 200, "")
	if _, err := m.keys.Generate(t.Context(), "acme", appA); err != nil {
		t.Fatal(err)
	}
	by, late := m.holder(t, raw), noon.Add(1000*time.Hour)
	for name, w := range map[string]bearer.Wish{
		"ephemeral":   wish("root"),
		"permanent":   wish("root", permanent, until(late)),
		"limited-use": wish("root", uses(9), until(late)),
		"for another": wish("ann", permanent, until(late)),
	} {
		_, _, err := m.try(t, by, w)
		if fault, ok := errors.AsType[*auth.Error](err); !ok || fault.Detail != auth.DetailInvalidToken {
			t.Errorf("M20 %s: got %v", name, err)
		}
	}
	if records := m.records(t); len(records) != 0 {
		t.Errorf("M20 %d records are left", len(records))
	}
}

// TestMintNamesTheOwner checks the org in the ledger's records.
func TestMintNamesTheOwner(t *testing.T) {
	m := newMinting(t)
	m.mint(t, session("ann"), wish("ann", permanent))
	for _, r := range m.records(t) {
		if diff := cmp.Diff(token.Holder{Org: "acme", ClientKey: appA, Subject: "ann"}, r.Holder()); diff != "" {
			t.Error(diff)
		}
	}
}
