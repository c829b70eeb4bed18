package audit_test

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/audit"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// full returns an entry with a value in each field.
func full(i int) audit.Entry {
	return audit.Entry{Mail: "ann@acme.example", Event: auth.Event{
		Time: began.Add(time.Duration(i) * time.Second), Verb: "token.made", Actor: "ada", Account: "ann", App: "app", Credential: "key",
		Token: fmt.Sprint("token", i), Session: "session", By: "session:x", Reason: "reason", Count: 3, Detail: "detail", Route: "GET /", Request: "request",
		Address: netip.MustParseAddr("192.0.2.1"), Agent: "agent",
	}}
}

func chain(n int) (entries []audit.Entry, head audit.Head) { return extend(nil, n, "ann") }

// extend appends entries up to n of an account.
func extend(entries []audit.Entry, n int, account string) ([]audit.Entry, audit.Head) {
	head := audit.Head{Org: "acme"}
	if last := len(entries) - 1; last >= 0 {
		head.Count, head.Hash, head.Time = entries[last].N, entries[last].Hash, entries[last].Time
	}
	entries = slices.Clone(entries)
	for i := len(entries); i < n; i++ {
		e := full(i)
		e.Account = account
		head = head.Append(&e)
		entries = append(entries, e)
	}
	return entries, head
}

// TestAppendCopiesNoPersonalText compares the allocations of entries with a short text and with a long one.
func TestAppendCopiesNoPersonalText(t *testing.T) {
	allocations := func(agent string) float64 {
		e, head := full(1), audit.Head{Org: "acme"}
		e.Agent = agent
		return testing.AllocsPerRun(100, func() { head.Append(&e) })
	}
	if short, long := allocations("curl"), allocations(strings.Repeat("a", 200)); long > short+1 { // the text of the commitment grows once more
		t.Errorf("%v allocations with a short agent, %v with a long one", short, long)
	}
}

func verify(v audit.Verifier, entries []audit.Entry, head audit.Head) error {
	v.After.Org = "acme"
	for i := range entries {
		if err := v.Add(&entries[i]); err != nil {
			return err
		}
	}
	return v.End(head)
}

func TestVerifier(t *testing.T) {
	entries, head := chain(10)
	long, longHead := extend(entries, 12, "ann")
	other, otherHead := extend(entries[:5], 10, "eve") // a fork
	backwards := []audit.Entry{}
	back := audit.Head{Org: "acme"}
	for i := range 5 {
		e := full(-i)
		back = back.Append(&e)
		backwards = append(backwards, e)
	}
	at := func(i int) audit.Head {
		return audit.Head{Org: "acme", Count: entries[i-1].N, Hash: entries[i-1].Hash, Time: entries[i-1].Time}
	}
	seal := at(4).Seal(4)
	sealedHead := head.Append(&seal)
	for _, test := range []struct {
		name    string
		v       audit.Verifier
		entries []audit.Entry
		head    audit.Head
		n       int64 // of the broken entry; 0: it holds
	}{
		{"it holds", audit.Verifier{}, entries, head, 0},
		{"nothing", audit.Verifier{}, nil, audit.Head{Org: "acme"}, 0},
		{"clocks set back", audit.Verifier{}, backwards, back, 0},
		{"the head is kept elsewhere, too", audit.Verifier{Checkpoint: head}, entries, head, 0},
		{"more was appended since", audit.Verifier{Checkpoint: head}, long, longHead, 0},
		{"cut in the middle", audit.Verifier{}, slices.Delete(slices.Clone(entries), 3, 4), head, 4},
		{"cut at the beginning", audit.Verifier{}, entries[1:], head, 1},
		{"cut at the end", audit.Verifier{}, entries[:9], head, 10},
		{"cut at the end, with the head", audit.Verifier{Checkpoint: head}, entries[:9], at(9), 10},
		{"all cut", audit.Verifier{Checkpoint: head}, nil, audit.Head{Org: "acme"}, 1},
		{"one twice", audit.Verifier{}, slices.Insert(slices.Clone(entries), 3, entries[2]), head, 3},
		{"two in another order", audit.Verifier{}, slices.Concat(entries[:3], []audit.Entry{entries[4], entries[3]}, entries[5:]), head, 4},
		{"a fork", audit.Verifier{Checkpoint: head}, other, otherHead, 10},
		{"a fork, of an earlier checkpoint", audit.Verifier{Checkpoint: at(6)}, other, otherHead, 6},
		{"a fork after the checkpoint", audit.Verifier{Checkpoint: at(5)}, other, otherHead, 0}, // nobody can know
		{"spliced", audit.Verifier{}, slices.Concat(entries[:5], other[5:]), head, 10},
		{"a checkpoint of the future", audit.Verifier{Checkpoint: longHead}, entries, head, 11},
		{"a head that counts less", audit.Verifier{}, entries, at(9), 10},
		{"a head of another hash", audit.Verifier{}, entries, audit.Head{Org: "acme", Count: 10, Hash: at(9).Hash, Time: head.Time}, 10},
		{"a head of another time", audit.Verifier{}, entries, audit.Head{Org: "acme", Count: 10, Hash: head.Hash, Time: head.Time.Add(1)}, 10},
		{"sealed", audit.Verifier{After: at(4)}, append(slices.Clone(entries[4:]), seal), sealedHead, 0},
		{"sealed, with a checkpoint of then", audit.Verifier{After: at(4), Checkpoint: at(4)}, append(slices.Clone(entries[4:]), seal), sealedHead, 0},
		// Whoever can write to the database can also write a seal of any rows, and what follows it.
		{"sealed, with an older checkpoint", audit.Verifier{After: at(4), Checkpoint: at(2)}, append(slices.Clone(entries[4:]), seal), sealedHead, 2},
		{"a checkpoint of another org", audit.Verifier{Checkpoint: audit.Head{Org: "umbrella", Count: 10, Hash: head.Hash}}, entries, head, 10},
		{"sealed, with another checkpoint", audit.Verifier{After: at(4), Checkpoint: audit.Head{Org: "acme", Count: 4, Hash: "x"}}, append(slices.Clone(entries[4:]), seal), sealedHead, 4},
		{"no entry seals", audit.Verifier{After: at(4)}, entries[4:], head, 1},
		{"another entry is sealed", audit.Verifier{After: at(5)}, append(slices.Clone(entries[5:]), seal), sealedHead, 1},
	} {
		t.Run(test.name, func(t *testing.T) { expectBroken(t, verify(test.v, test.entries, test.head), test.n) })
	}
}

func expectBroken(t *testing.T, err error, n int64) {
	t.Helper()
	broken, ok := errors.AsType[*audit.Broken](err)
	if (err == nil) != (n == 0) || err != nil && (!ok || broken.N != n || !strings.Contains(err.Error(), fmt.Sprint("row ", n))) {
		t.Errorf("%v, want row %d", err, n)
	}
}

// TestEachBit flips each bit of each text and number of an entry.
func TestEachBit(t *testing.T) {
	entries, head := chain(5)
	value := reflect.ValueOf(&entries[2]).Elem()
	flipped := 0
	check := func(name string) {
		flipped++
		if err := verify(audit.Verifier{}, entries, head); err == nil {
			t.Errorf("%s: not found", name)
		} else if broken, ok := errors.AsType[*audit.Broken](err); !ok || broken.N != 3 && name != "N" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, field := range fieldsOf(value) {
		switch v := field.Interface().(type) {
		case string:
			for i := range 8 * len(v) {
				text := []byte(v)
				text[i/8] ^= 1 << (i % 8)
				field.SetString(string(text))
				check(name)
			}
			field.SetString(v)
		case int64:
			for i := range 64 {
				field.SetInt(v ^ 1<<i)
				check(name)
			}
			field.SetInt(v)
		case time.Time:
			for i := range 40 {
				field.Set(reflect.ValueOf(time.UnixMilli(v.UnixMilli() ^ 1<<i)))
				check(name)
			}
			field.Set(reflect.ValueOf(v))
		case netip.Addr:
			for i := range 32 {
				b := v.As4()
				b[i/8] ^= 1 << (i % 8)
				field.Set(reflect.ValueOf(netip.AddrFrom4(b)))
				check(name)
			}
			field.Set(reflect.ValueOf(v))
		}
	}
	if err := verify(audit.Verifier{}, entries, head); err != nil || flipped < 2000 {
		t.Errorf("%v after %d flips", err, flipped)
	}
}

// fieldsOf returns the fields that full sets, and the others of an entry.
func fieldsOf(entry reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for _, of := range []reflect.Value{entry, entry.FieldByName("Event")} {
		for i := range of.NumField() {
			if name := of.Type().Field(i).Name; name != "Event" && name != "Org" && !of.Field(i).IsZero() {
				fields[name] = of.Field(i)
			}
		}
	}
	return fields
}

func TestPersonalFieldsAreErased(t *testing.T) {
	entries, head := chain(5)
	erase := func(e *audit.Entry) { e.Address, e.Agent, e.Mail, e.Salt = netip.Addr{}, "", "", "" }
	erase(&entries[1])
	expectBroken(t, verify(audit.Verifier{Checkpoint: head}, entries, head), 0)
	entries[1].Agent = "forged"
	expectBroken(t, verify(audit.Verifier{}, entries, head), 2)
	erase(&entries[1])
	entries[2].Salt = entries[3].Salt
	expectBroken(t, verify(audit.Verifier{}, entries, head), 3)
}

func TestWithoutPersonalFieldsThereIsNoCommitment(t *testing.T) {
	e := audit.Entry{Event: auth.Event{Verb: "token.made"}}
	head := audit.Head{Org: "acme"}.Append(&e)
	if e.Salt+e.Commitment != "" {
		t.Error(e)
	}
	expectBroken(t, verify(audit.Verifier{}, []audit.Entry{e}, head), 0)
	e.Agent = "forged"
	expectBroken(t, verify(audit.Verifier{}, []audit.Entry{e}, head), 1)
}

func TestJSON(t *testing.T) {
	entries, head := chain(3)
	var back []audit.Entry
	for _, e := range entries {
		var again audit.Entry
		if err := json.Unmarshal(must(json.Marshal(e)), &again); err != nil {
			t.Fatal(err)
		}
		again.Org = e.Org
		if diff := cmp.Diff(e, again, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Error(diff)
		}
		back = append(back, again)
	}
	expectBroken(t, verify(audit.Verifier{}, back, head), 0)
	if json.Unmarshal([]byte(`{"address":"x"}`), &back[0]) == nil || json.Unmarshal([]byte(`{"n":"x"}`), &back[0]) == nil {
		t.Error("accepted")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var key = ed25519.NewKeyFromSeed([]byte("a seed of thirty-two bytes, yes."))

func TestCheckpoints(t *testing.T) {
	_, head := chain(3)
	for _, h := range []audit.Head{head, {Org: "a b/c%é\n"}, {Org: "x", Count: 1 << 60, Hash: head.Hash, Time: began}} {
		line := h.Sign(key)
		got, by, err := audit.ReadCheckpoint(line + "\n")
		h.Time = time.UnixMilli(h.Time.UnixMilli()).UTC()
		if err != nil || got != h || !by.Equal(key.Public()) || strings.Contains(line, "\n") {
			t.Errorf("%q: %v %v %v", line, got, by, err)
		}
		for i := range len(line) {
			changed := []byte(line)
			changed[i] ^= 1
			if _, _, err := audit.ReadCheckpoint(string(changed)); err == nil {
				t.Errorf("%q: %v", changed, err)
			}
			if _, _, err := audit.ReadCheckpoint(line[:i]); err == nil {
				t.Errorf("%q: %v", line[:i], err)
			}
		}
	}
}

func FuzzReadCheckpoint(f *testing.F) {
	_, head := chain(1)
	f.Add(head.Sign(key))
	f.Add("tenantkit-audit-checkpoint-1 a 1 h 1 k s")
	f.Fuzz(func(t *testing.T, line string) {
		h, by, err := audit.ReadCheckpoint(line)
		if err == nil && by.Equal(key.Public()) && h.Sign(key) != strings.TrimSpace(line) {
			t.Errorf("%q is read as %q", line, h.Sign(key))
		}
	})
}
