package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

func open(t *testing.T, do redisstore.Do) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), do, redisstore.Options{Prefix: "p:"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var aUse = signing.Use{ClientKey: "key", Nonce: "0123456789abcdef", Signed: time.Now(), Seen: time.Now(), Keep: time.Now().Add(time.Minute)}

// verbsOf returns calls of all methods that ask the server.
func verbsOf(t *testing.T, opened *redisstore.Store) map[string]func(context.Context) error {
	t.Helper()
	ledger := opened.Ledger()
	sessions := opened.Sessions()
	key := token.Holder{Org: "acme", ClientKey: "key", Subject: "ann"}
	last := func(_ any, err error) error { return err }
	return map[string]func(context.Context) error{
		"Claim": func(ctx context.Context) error { return opened.Replays().Claim(ctx, aUse) },
		"Used": func(ctx context.Context) error {
			return last(opened.Replays().(signing.UsedNonces).Used(ctx, "key", aUse.Nonce))
		},
		"Issue":         func(ctx context.Context) error { return ledger.Issue(ctx, token.Record{ID: "1"}, nil, 1) },
		"Spend":         func(ctx context.Context) error { return last(ledger.Spend(ctx, token.Record{ID: "1"})) },
		"Revoke":        func(ctx context.Context) error { return ledger.Revoke(ctx, key, "1") },
		"RevokeSubject": func(ctx context.Context) error { return last(ledger.RevokeSubject(ctx, key)) },
		"List": func(ctx context.Context) error {
			_, _, err := ledger.List(ctx, key, token.Position{}, 1)
			return err
		},
		"List of an app": func(ctx context.Context) error {
			_, _, err := ledger.List(ctx, token.Holder{Org: "acme", ClientKey: "key", Subject: token.Any}, token.Position{}, 1)
			return err
		},
		"Create": func(ctx context.Context) error {
			return sessions.Create(ctx, session.Session{Org: "acme", Account: "ann"}, 1)
		},
		"Get":       func(ctx context.Context) error { return last(sessions.Get(ctx, "acme", [32]byte{})) },
		"Touch":     func(ctx context.Context) error { return sessions.Touch(ctx, "acme", [32]byte{}, time.Now()) },
		"Replace":   func(ctx context.Context) error { return sessions.Replace(ctx, "acme", [32]byte{}, session.Session{}) },
		"Delete":    func(ctx context.Context) error { return sessions.Delete(ctx, "acme", [32]byte{}) },
		"DeleteID":  func(ctx context.Context) error { return sessions.DeleteID(ctx, "acme", "ann", "1") },
		"DeleteAll": func(ctx context.Context) error { return last(sessions.DeleteAll(ctx, "acme", "ann", "")) },
		"DeleteOrg": func(ctx context.Context) error { return last(sessions.DeleteOrg(ctx, "acme")) },
		"sessions":  func(ctx context.Context) error { return last(sessions.List(ctx, "acme", "ann")) },
		"Load":      func(ctx context.Context) error { return last(opened.Attempts().Load(ctx, "acme", "key")) },
		"Swap":      func(ctx context.Context) error { return last(opened.Attempts().Swap(ctx, "acme", "key", "", "1")) },
	}
}

func TestVerbsTakeOneRoundTrip(t *testing.T) {
	s := &server{info: fit, config: everysec, scripts: true}
	for name, verb := range verbsOf(t, open(t, s.do)) {
		s.calls = nil
		if verb(t.Context()); len(s.calls) != 1 {
			t.Errorf("%s sends %v", name, s.calls)
		}
	}
}

func TestErrorsOfAClientAreUnavailable(t *testing.T) {
	s := &server{info: fit, config: everysec, scripts: true}
	var fail error
	verbs := verbsOf(t, open(t, func(ctx context.Context, args ...any) (any, error) {
		if fail != nil {
			return nil, fail
		}
		return s.do(ctx, args...)
	}))
	fail = errors.New("connection reset")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, verb := range verbs {
		if err := verb(t.Context()); !errors.Is(err, auth.ErrUnavailable) || !errors.Is(err, fail) {
			t.Errorf("%s = %v", name, err)
		}
		if err := verb(ended); !errors.Is(err, auth.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s after the end of its context = %v", name, err)
		}
	}
}

func TestAnUnknownScriptIsSent(t *testing.T) {
	s := &server{info: fit, config: everysec}
	replays := open(t, s.do).Replays()
	s.calls = nil
	if err := replays.Claim(t.Context(), aUse); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"EVALSHA", "EVAL"}, s.calls); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestWhatIsAmbiguousIsNotSentAgain(t *testing.T) {
	s := &server{info: fit, config: everysec, scripts: true}
	fail := error(nil)
	do := func(ctx context.Context, args ...any) (any, error) {
		reply, err := s.do(ctx, args...)
		return reply, errors.Join(err, fail)
	}
	replays := open(t, do).Replays()
	for _, fail = range []error{errors.New("connection reset"), errors.New("OOM command not allowed"), context.DeadlineExceeded} {
		s.calls = nil
		err := replays.Claim(t.Context(), aUse)
		if !errors.Is(err, fail) || len(s.calls) != 1 {
			t.Errorf("Claim = %v after %d commands", err, len(s.calls))
		}
	}
}

// openReplying opens a fake server that gives one reply to everything, once a reply is
// set.
func openReplying(t *testing.T, reply *any) *redisstore.Store {
	t.Helper()
	s := &server{info: fit, config: everysec}
	return open(t, func(ctx context.Context, args ...any) (any, error) {
		if *reply == nil {
			return s.do(ctx, args...)
		}
		return *reply, nil
	})
}

// TestRepliesOfAnotherKind tests replies that a proxy or a wrong Do may give: none of
// them may count as an acceptance.
func TestRepliesOfAnotherKind(t *testing.T) {
	var reply any
	opened := openReplying(t, &reply)
	ledger := opened.Ledger()
	sessions := opened.Sessions()
	known := []error{signing.ErrReplayed, signing.ErrStale, token.ErrRevoked, auth.ErrNotFound, session.ErrEvicted}
	for _, reply = range []any{"0", "OK", int64(9), int64(-1), true, []any{}, []any{int64(0)}, []any{"S"}, []any{"", ""}, []any{[]any{"x"}}, 0.0} {
		ctx := t.Context()
		_, get := sessions.Get(ctx, "acme", [32]byte{})
		_, spend := ledger.Spend(ctx, token.Record{})
		_, load := opened.Attempts().Load(ctx, "acme", "key")
		_, swap := opened.Attempts().Swap(ctx, "acme", "key", "", "1")
		for verb, err := range map[string]error{
			"Claim": opened.Replays().Claim(ctx, aUse),
			"Spend": spend,
			"Touch": sessions.Touch(ctx, "acme", [32]byte{}, time.Now()),
			"Get":   get,
			"Load":  load,
			"Swap":  swap,
		} {
			if err == nil || slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) }) {
				t.Errorf("%s of %#v = %v", verb, reply, err)
			}
		}
	}
}

// TestRepliesToSpend tests replies that resemble an acceptance.
func TestRepliesToSpend(t *testing.T) {
	var reply any
	ledger := openReplying(t, &reply).Ledger()
	want := token.Lineage{Maker: "ann", MakerApp: "app", Parent: "up", Name: "ci"}
	for _, c := range []struct {
		reply any
		ok    bool
	}{
		{[]any{int64(0), "ann", "app", "up", "ci"}, true},
		{[]any{int64(0), []byte("ann"), "app", []byte("up"), "ci"}, true},
		{[]any{int64(1), "ann", "app", "up", "ci"}, false},
		{[]any{"0", "ann", "app", "up", "ci"}, false},
		{[]any{nil, "ann", "app", "up", "ci"}, false},
		{[]any{int64(0), "ann", "app", "up"}, false},
		{[]any{int64(0), "ann", "app", "up", "ci", ""}, false},
		{[]any{int64(0), "ann", "app", "up", nil}, false},
		{[]any{int64(0), "ann", "app", "up", int64(0)}, false},
		{[]any{"ann", "app", "up", "ci"}, false},
		{int64(0), false},
	} {
		reply = c.reply
		got, err := ledger.Spend(t.Context(), token.Record{})
		if (err == nil) != c.ok || c.ok && got != want || !c.ok && got != (token.Lineage{}) {
			t.Errorf("Spend of %#v = %+v, %v", reply, got, err)
		}
		if errors.Is(err, token.ErrRevoked) || errors.Is(err, token.ErrExhausted) {
			t.Errorf("Spend of %#v = %v, which nobody has said", reply, err)
		}
	}
}

// TestListsOfAnotherKind tests rows that no script returns: a list without them would
// hide a token or a session.
func TestListsOfAnotherKind(t *testing.T) {
	var reply any
	opened := openReplying(t, &reply)
	ledger := opened.Ledger()
	sessions := opened.Sessions()
	hash, times := strings.Repeat("h", 32), strings.Repeat(" ", 15)+"1"
	record := "S" + strings.Repeat(times, 4) + strings.Repeat("0:", 8)
	key := token.Holder{Org: "acme", ClientKey: "key", Subject: "ann"}
	tokens := func() error { _, _, err := ledger.List(t.Context(), key, token.Position{}, 1); return err }
	opens := func() error { _, err := sessions.List(t.Context(), "acme", "ann"); return err }
	for _, c := range []struct {
		name string
		list func() error
		row  any
		ok   bool
	}{
		{"a token", tokens, []any{"id", "kid", "1", "2", "1", "", "", "", "", "ann", "0", "ci", "0", ""}, true},
		{"a token that expires", tokens, []any{"id", []byte("kid"), "1", "2", "1", "9", "ann", "app", "up", "ann", "0", "ci", "0", ""}, true},
		{"a token of fewer fields", tokens, []any{"id", "kid", "1", "2", "1", "", "", "", ""}, false},
		{"a token whose uses are no number", tokens, []any{"id", "kid", "x", "2", "1", "", "", "", "", "ann", "0", "ci", "0", ""}, false},
		{"a token whose end is no number", tokens, []any{"id", "kid", "1", "2", "1", "x", "", "", "", "ann", "0", "ci", "0", ""}, false},
		{"a token with a field that is no text", tokens, []any{"id", nil, "1", "2", "1", "", "", "", "", "ann", "0", "ci", "0", ""}, false},
		{"a token whose last use is no number", tokens, []any{"id", "kid", "1", "2", "1", "", "", "", "", "ann", "0", "", "x", ""}, false},
		{"a token that was used from no network", tokens, []any{"id", "kid", "1", "2", "1", "", "", "", "", "ann", "0", "", "1", "x"}, false},
		{"a token that is no row", tokens, "id", false},
		{"a session", opens, []any{hash, record}, true},
		{"a session whose hash is short", opens, []any{hash[1:], record}, false},
		{"a session with a time that is none", opens, []any{hash, strings.Replace(record, "1", "x", 1)}, false},
		{"a session with more than its fields", opens, []any{hash, record + "0:"}, false},
		{"a session of fewer fields", opens, []any{hash, record[:len(record)-2]}, false},
		{"what is left of an evicted session", opens, []any{hash, "R"}, false},
	} {
		reply = []any{c.row}
		if err := c.list(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, reply = range []any{"x", int64(1)} {
		if tokens() == nil || opens() == nil {
			t.Errorf("%v is listed", reply)
		}
	}
	app := token.Holder{Org: "acme", ClientKey: "key", Subject: token.Any}
	row := []any{"id", "kid", "1", "2", "1", "", "", "", "", "ann", "0", "ci", "0", ""}
	for _, c := range []struct {
		name  string
		reply any
		ok    bool
	}{
		{"the last page", []any{"", row}, true},
		{"a page before others", []any{"1000000000000001id", row}, true},
		{"a page of dead records", []any{[]byte("1000000000000001id")}, true},
		{"no page", []any{}, false},
		{"a page without its end", []any{row}, false},
		{"a page whose end is short", []any{"100000000000001", row}, false},
		{"a page whose end has no time", []any{"100000000000000xid", row}, false},
		{"a page with a row that is none", []any{"", "id"}, false},
		{"no array", "x", false},
	} {
		reply = c.reply
		page, next, err := ledger.List(t.Context(), app, token.Position{}, 1)
		if (err == nil) != c.ok || !c.ok && (page != nil || !next.IsZero()) {
			t.Errorf("%s: %v, %v, %v", c.name, page, next, err)
		}
	}
}

// TestStats counts a command once.
func TestStats(t *testing.T) {
	var reply any
	s := openReplying(t, &reply)
	first := s.Stats()
	reply = int64(0)
	if err := s.Ledger().Revoke(t.Context(), token.Holder{ClientKey: "app", Subject: "ann"}, "id"); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for i, count := range s.Stats().Counts {
		n += count - first.Counts[i]
	}
	if n != 1 || s.Stats().Sum <= first.Sum {
		t.Errorf("%d commands, %v; at first %v", n, s.Stats().Sum, first.Sum)
	}
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	s := &server{info: fit, config: everysec, scripts: true}
	replays := open(t, s.do).Replays()
	s.calls = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := replays.Claim(ctx, aUse); !errors.Is(err, context.Canceled) || s.calls != nil {
		t.Errorf("Claim = %v, sent %v", err, s.calls)
	}
}
