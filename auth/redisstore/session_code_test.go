package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth/session"
)

// FuzzSession decodes any text as a session. If it encodes the session and decodes it
// again, the result must be equal.
func FuzzSession(f *testing.F) {
	const times = "   1763700000000   1763700000000   1763700000000   1763743200000"
	f.Add("S" + times + "3:0ab4:acme3:ann0:9:192.0.2.14:test")
	f.Add("S" + times + "0:4:acme3:ann4:code0:0:")
	f.Add("S" + times + "0:0:0:4:code0:0:")
	f.Add("S" + times + "3:0ab4:acme3:ann0:9:192.0.2.14:testR")
	f.Add("R")
	f.Add("M0123456789abcdef0123456789abcdef")
	f.Add("S" + times + "3:0ab-1:99999999999999999999:")
	var held, written string
	s := &server{info: fit, config: everysec}
	do := func(ctx context.Context, args ...any) (any, error) {
		switch {
		case args[0] == "MGET":
			return []any{held, nil}, nil
		case args[0] == "EVALSHA" && len(args) > 7:
			written = args[7].(string) // the first argument after four keys
			return int64(0), nil
		}
		return s.do(ctx, args...)
	}
	f.Fuzz(func(t *testing.T, record string) {
		sessions := open(t, do).Sessions()
		held = record
		got, err := sessions.Get(t.Context(), "acme", [32]byte{1})
		if err != nil {
			if diff := cmp.Diff(session.Session{}, got); diff != "" {
				t.Errorf("an error beside a session:\n%s", diff)
			}
			return
		}
		if err := sessions.Create(t.Context(), got, 0); err != nil {
			t.Fatalf("Create of %+v: %v", got, err)
		}
		held = written
		again, err := sessions.Get(t.Context(), "acme", [32]byte{1})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("%q became %q:\n%s", record, written, diff)
		}
	})
}

func TestSessionsOfAnyText(t *testing.T) {
	var held string
	s := &server{info: fit, config: everysec}
	sessions := open(t, func(ctx context.Context, args ...any) (any, error) {
		switch {
		case args[0] == "MGET":
			return []any{[]byte(held), []byte("3")}, nil
		case args[0] == "EVALSHA" && len(args) > 7:
			held = args[7].(string)
			return int64(0), nil
		}
		return s.do(ctx, args...)
	}).Sessions()
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)} {
		want := session.Session{Hash: [32]byte{7}, ID: "1:2", Org: "\xff\x00", Account: "3:", Ticket: "enrol",
			Created: at.UTC(), Authenticated: at.UTC(), Seen: at.UTC(), Expires: at.UTC(), Address: "::1", Agent: "a: ü\r\n", Proof: `{"m":["pwd"]}`, Origin: "9:", Remember: at.Year() == 1970}
		if err := sessions.Create(t.Context(), want, 0); err != nil {
			t.Fatal(err)
		}
		got, err := sessions.Get(t.Context(), want.Org, want.Hash)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
