package bearer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
)

// tokensFrom sets ann's TokensFrom.
func (m *minting) tokensFrom(at time.Time) {
	m.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}, TokensFrom: at})
}

// written returns a token that an app has signed by itself, at a time of the test's clock.
func (m *minting) written(t testing.TB, iat any) string {
	t.Helper()
	return signWith(t, 0, claims("iat", iat, "exp", noon.Add(time.Hour).Unix()))
}

func TestM09TokensSignedBeforeAnAccountsTokensBegin(t *testing.T) {
	begin := noon.Add(-time.Minute)
	for _, c := range []struct {
		name string
		iat  any
		from time.Time
		good bool
	}{
		{"M09 a second before", begin.Unix() - 1, begin, false},
		{"M09 at the beginning of time", 0, begin, false},
		{"M09 without iat", nil, begin, false},
		{"M09 without iat, of an account whose tokens have no beginning", nil, time.Time{}, false},
		{"M09 in the second that they begin in", begin.Unix(), begin.Add(time.Millisecond), false},
		{"at the beginning of time, of an account whose tokens have no beginning", 0, time.Time{}, true},
		{"at that second", begin.Unix(), begin, true},
		{"a second later", begin.Unix() + 1, begin, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMinting(t)
			raw := m.written(t, c.iat)
			if c.iat != nil {
				want(t, m.me(t, raw), 200, "") // the cache is warm
			}
			m.tokensFrom(c.from)
			for range 2 {
				status, fault := 200, ""
				if !c.good {
					status, fault = 401, invalid
				}
				want(t, m.me(t, raw), status, fault)
			}
		})
	}
}

// TokensFrom ends tokens of every kind, whoever made them. A request that is refused for it costs
// no use.
func TestM09EachKindOfToken(t *testing.T) {
	for name, w := range map[string]bearer.Wish{
		"M09 ephemeral": wish("ann"), "M09 permanent": wish("ann", permanent), "M09 limited-use": wish("ann", uses(3)),
	} {
		t.Run(name, func(t *testing.T) {
			m := newMinting(t)
			own, roots := m.mint(t, session("ann"), w), m.mint(t, session("root"), w)
			want(t, m.me(t, own), 200, "")
			want(t, m.me(t, roots), 200, "")
			spent := m.uses(t, "ann")
			m.tokensFrom(auth.Cached(nil, 0).TokensFrom(time.Time{}, m.clock.Now()))
			want(t, m.me(t, own), 401, invalid)
			want(t, m.me(t, roots), 401, invalid)
			if n := m.uses(t, "ann"); n != spent {
				t.Errorf("%d uses were spent by refused requests", n-spent)
			}
			later := m.mint(t, session("ann"), w) // its iat is TokensFrom
			want(t, m.me(t, later), 200, "")
			ann, err := m.directory.Account(t.Context(), "acme", "ann")
			if err != nil {
				t.Fatal(err)
			}
			m.tokensFrom(auth.Cached(nil, 0).TokensFrom(ann.TokensFrom, m.clock.Now()))
			want(t, m.me(t, later), 401, invalid)
		})
	}
}

// What TokensFrom has ended is dead in lists, too, and leaves its slots to new tokens.
func TestT36TokensFromLeavesNoCorpses(t *testing.T) {
	m := newMinting(t)
	for range 10 {
		m.mint(t, session("ann"), wish("ann", permanent))
	}
	_, _, err := m.try(t, session("ann"), wish("ann", permanent))
	if fault, ok := errors.AsType[*auth.Error](err); !ok || fault.Detail != auth.DetailTooManyTokens {
		t.Fatalf("the eleventh: %v", err)
	}
	m.tokensFrom(auth.Cached(nil, 0).TokensFrom(time.Time{}, m.clock.Now()))
	raw := m.mint(t, session("ann"), wish("ann", permanent))
	want(t, m.me(t, raw), 200, "")
	if n := len(m.records(t)); n != 1 {
		t.Errorf("T36 %d records, want the new one", n)
	}
	m.tokensFrom(auth.Cached(nil, 0).TokensFrom(time.Time{}, m.clock.Now().Add(time.Hour)))
	if err := bearer.CheckMakers(t.Context(), m.tenant, m.records(t)[0]); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("T36 listed: %v", err)
	}
	m.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true})
	if err := bearer.CheckMakers(t.Context(), m.tenant, m.records(t)[0]); err != nil {
		t.Errorf("a disabled account may come back: %v", err)
	}
}

// A minter that knows TokensFrom sets the iat of new tokens to it. Such a token is valid at once,
// because TokensFrom is ahead by less than the minute that a verifier allows.
func TestM09AMinterThatKnows(t *testing.T) {
	for _, c := range []struct {
		name string
		from time.Time
		iat  time.Time // zero: refused
	}{
		{"no beginning", time.Time{}, noon},
		{"long ago", noon.Add(-time.Hour), noon},
		{"now", noon, noon},
		{"in 4 s", noon.Add(4 * time.Second), noon.Add(4 * time.Second)},
		{"in a part of a second", noon.Add(time.Millisecond), noon.Add(time.Second)},
		{"in a minute", noon.Add(time.Minute), noon.Add(time.Minute)},
		{"in more than a minute", noon.Add(time.Minute + 1), time.Time{}},
		{"after the token's end", noon.Add(time.Hour), time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMinting(t)
			m.tokensFrom(c.from)
			w := wish("ann", func(w *bearer.Wish) { w.IssuedAt = noon.Add(30 * time.Second) }) // a client cannot request it
			raw, claims, err := m.try(t, session("ann"), w)
			if c.iat.IsZero() {
				if fault, ok := errors.AsType[*auth.Error](err); !ok || fault.Detail != auth.DetailOption {
					t.Errorf("got %v, %v", claims, err)
				}
				return
			}
			if err != nil || !claims.IssuedAt.Equal(c.iat) {
				t.Fatalf("iat %v, %v", claims.IssuedAt, err)
			}
			want(t, m.me(t, raw), 200, "")
		})
	}
}

// The clocks of instances differ. The account's tokens are ended half a second after noon, so
// TokensFrom is 4 s after noon: 2 s for instances with an older record, 1 s more, rounded up.
//
// This holds for all clocks: a token is valid at once if the instance that minted it knows the
// change. A token that was minted by an older record is refused if the clock of its instance is
// right or slow.
//
// This does not hold for a fast clock. Its instance signs an iat that is ahead. A token that it
// minted by an older record stays valid if this iat is 4 s after noon or later. A clock that is 3
// s ahead does so in the last second and a half in which its instance may not know the change. A
// clock that is 4 s ahead also does so just before the change. If the instance that ends the
// tokens has a slow clock, the other clocks are fast compared with it. Clocks within one second
// of each other leave only one such moment: the last use of the older record.
func TestM09InstancesWhoseClocksDiffer(t *testing.T) {
	const change = 500 * time.Millisecond // after noon
	for _, c := range []struct {
		name         string
		ender, clock time.Duration // how far the clocks of both instances are ahead
		at           time.Duration // after noon, true time
		knows, good  bool
	}{
		{"M09 the right clock, before the change", 0, 0, change - 1, false, false},
		{"M09 the right clock, by an older record until the last moment", 0, 0, change + 2*time.Second, false, false},
		{"the right clock, that knows", 0, 0, change + 1, true, true},
		{"M09 1 s ahead, by an older record until nearly the last moment", 0, time.Second, change + 2*time.Second - 1, false, false},
		{"M09 3 s ahead, before the change", 0, 3 * time.Second, change - 1, false, false},
		{"M09 3 s ahead, by an older record, at first", 0, 3 * time.Second, time.Second - 1, false, false},
		{"stated: 3 s ahead, by an older record, then", 0, 3 * time.Second, time.Second, false, true},
		{"stated: 4 s ahead, before the change", 0, 4 * time.Second, change - 1, false, true},
		{"3 s ahead, that knows", 0, 3 * time.Second, change + 1, true, true},
		{"M09 3 s behind, before the change", 0, -3 * time.Second, change - 1, false, false},
		{"M09 3 s behind, by an older record until the last moment", 0, -3 * time.Second, change + 2*time.Second, false, false},
		{"3 s behind, that knows", 0, -3 * time.Second, change + 1, true, true},
		{"M09 ended by an instance 3 s ahead", 3 * time.Second, 3 * time.Second, change + 2*time.Second, false, false},
		{"ended by an instance 3 s ahead, one 3 s behind knows", 3 * time.Second, -3 * time.Second, change + 1, true, true},
		{"M09 ended by an instance 3 s behind, before the change", -3 * time.Second, 0, change - 1, false, false},
		{"stated: ended by an instance 3 s behind, by an older record", -3 * time.Second, 0, time.Second, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMinting(t)
			from := auth.Cached(nil, 2*time.Second).TokensFrom(time.Time{}, noon.Add(change+c.ender))
			if c.knows {
				m.tokensFrom(from)
			}
			m.now = func() time.Time { return noon.Add(c.at + c.clock) }
			raw := m.mint(t, session("ann"), wish("ann"))
			m.now = m.clock.Now
			m.tokensFrom(from)
			m.clock.Advance(change + 3*time.Second) // all instances know it by now
			status, fault := 401, invalid
			if c.good {
				status, fault = 200, ""
			}
			want(t, m.me(t, raw), status, fault)
		})
	}
}

// Behind a cache, the change is seen after the cache's staleness. Tokens that were minted
// meanwhile are refused from then on.
func TestM09BehindACachedDirectory(t *testing.T) {
	m := newMinting(t)
	cached := auth.Cached(m.directory, 0)
	if _, err := cached.Account(t.Context(), "acme", "ann"); err != nil {
		t.Fatal(err)
	}
	m.tokensFrom(auth.Cached(nil, 0).TokensFrom(time.Time{}, noon))
	m.guard.Directory = cached
	raw := m.mint(t, session("ann"), wish("ann")) // by the older record
	want(t, m.me(t, raw), 200, "")
	m.guard.Directory = m.directory
	want(t, m.me(t, raw), 401, invalid)
}

// folding is a directory whose database ignores case when it compares text.
type folding struct{ auth.Directory }

func (f folding) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	return f.Directory.Account(ctx, org, strings.ToLower(id))
}

func (f folding) Roles(ctx context.Context, org auth.OrgKey, names []string) ([]auth.Role, error) {
	var lower []string
	for _, name := range names {
		lower = append(lower, strings.ToLower(name))
	}
	return f.Directory.Roles(ctx, org, lower)
}

func TestM11OtherSpellingsAreNobody(t *testing.T) {
	m := newMinting(t, func(w *world) { w.guard.Directory = folding{w.directory} })
	for name, raw := range map[string]string{
		"M11 a subject": signWith(t, 0, claims("sub", "ANN", "iat", noon.Unix(), "exp", noon.Unix()+60)),
		"M11 a role":    signWith(t, 0, claims("service/rls", []string{"EDITOR"}, "iat", noon.Unix(), "exp", noon.Unix()+60)),
	} {
		t.Run(name, func(t *testing.T) { want(t, m.me(t, raw), 401, invalid) })
	}
	for name, w := range map[string]bearer.Wish{
		"M11 minted for a subject": wish("ANN", permanent), "M11 minted with a role": wish("ann", roles("EDITOR")),
		"M11 minted with a role, in two spellings": wish("ann", roles("editor", "Editor")),
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := m.try(t, session("root"), w); !errors.Is(err, auth.ErrNotFound) {
				t.Errorf("got %v", err)
			}
		})
	}
	// The role that ann has is her own only by its exact name.
	if _, _, err := m.try(t, session("ann"), wish("ann", roles("Member"))); err == nil {
		t.Error("M11 a role by another name was taken for the subject's own")
	}
	want(t, m.me(t, m.mint(t, session("root"), wish("ann", roles("editor")))), 200, "")
}
