package bearer_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

func TestMintRecordsWhoMadeIt(t *testing.T) {
	m := newMinting(t)
	parent, claims, err := m.try(t, session("root"), wish("root", permanent, of(appB)))
	if err != nil {
		t.Fatal(err)
	}
	short := m.holder(t, m.mint(t, session("root"), wish("root", until(noon.Add(time.Hour)))))
	for _, c := range []struct {
		name string
		by   auth.Principal
		wish bearer.Wish
		want token.Lineage
	}{
		{"by a session", session("ann"), wish("ann"), token.Lineage{Maker: "ann"}},
		{"by a session, for another", session("root"), wish("ann"), token.Lineage{Maker: "root"}},
		{"by a signature", signed("ann", appA), wish("ann"), token.Lineage{Maker: "ann", MakerApp: appA}},
		{"by a signature, for another app", signed("root", appB), wish("ann"), token.Lineage{Maker: "root", MakerApp: appB}},
		{"by a token", m.holder(t, parent), wish("ann", of(appB)), token.Lineage{Maker: "root", Parent: claims.ID}},
		{"by an ephemeral token", short, wish("ann", until(noon.Add(time.Hour))), token.Lineage{Maker: "root"}},
	} {
		for name, kind := range map[string]func(*bearer.Wish){"permanent": permanent, "limited-use": uses(3)} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				_, claims, err := m.try(t, c.by, changed(c.wish, kind))
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(m.records(t), func(r token.Record) bool { return r.ID == claims.ID })
				if i < 0 {
					t.Fatal("there is no record")
				}
				if diff := cmp.Diff(c.want, m.records(t)[i].Lineage); diff != "" {
					t.Errorf("lineage (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// ending is a change of an app or an account, and how to undo it.
type ending struct {
	name       string
	end, again func(*minting)
}

func endingsOfApp(clientKey string) []ending {
	again := func(m *minting) { m.directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"}) }
	return []ending{
		{"disabled", func(m *minting) {
			m.directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme", Disabled: true})
		}, again},
		{"deleted", func(m *minting) { m.directory.DeleteApp(clientKey) }, again},
		{"moved to another org", func(m *minting) { m.directory.PutApp(auth.App{ClientKey: clientKey, Org: "globex"}) }, again},
	}
}

func endingOfAccount(id string) []ending {
	return []ending{{"disabled", func(m *minting) {
		m.directory.PutAccount(auth.Account{ID: id, Org: "acme", Disabled: true})
	}, func(m *minting) { m.directory.PutAccount(auth.Account{ID: id, Org: "acme"}) }}}
}

// What ends a maker ends what it made, at once, and until it is undone.
func TestWhatIsMadeEndsWithItsMaker(t *testing.T) {
	for _, c := range []struct {
		name    string
		by      auth.Principal
		wish    bearer.Wish
		endings []ending
	}{
		{"M04 the signing app of a token for another app", signed("root", appB), wish("ann"), endingsOfApp(appB)},
		{"M04 the signing app of a token for another app, of one's own", signed("root", appB), wish("root"), endingsOfApp(appB)},
		{"M04 the app of a token", signed("ann", appA), wish("ann"), endingsOfApp(appA)},
		{"M18 the account of a session", session("root"), wish("ann"), endingOfAccount("root")},
		{"M18 the account of a signature", signed("root", appA), wish("ann"), endingOfAccount("root")},
		{"M18 the subject", session("root"), wish("ann"), endingOfAccount("ann")},
	} {
		for kind, alter := range map[string]func(*bearer.Wish){"permanent": permanent, "limited-use": uses(100)} {
			for _, e := range c.endings {
				t.Run(c.name+" is "+e.name+", "+kind, func(t *testing.T) {
					m := newMinting(t)
					raw := m.mint(t, c.by, changed(c.wish, alter))
					want(t, m.me(t, raw), 200, "") // the cache is warm
					e.end(m)
					want(t, m.me(t, raw), 401, invalid)
					want(t, m.me(t, raw), 401, invalid)
					e.again(m)
					want(t, m.me(t, raw), 200, "")
				})
			}
		}
	}
}

// A maker's token, or what made that token, may be gone before what it made.
func TestWhatDescendsEndsWithAnyMaker(t *testing.T) {
	for _, c := range []struct {
		name    string
		first   auth.Principal
		wish    bearer.Wish
		endings []ending
	}{
		{"M04 the signing app of its parent", signed("root", appB), wish("ann", permanent), endingsOfApp(appB)},
		{"M18 the account that made its parent", session("root"), wish("ann", permanent), endingOfAccount("root")},
	} {
		for _, e := range c.endings {
			t.Run(c.name+" is "+e.name, func(t *testing.T) {
				m := newMinting(t)
				parent := m.mint(t, c.first, c.wish)
				child := m.mint(t, m.holder(t, parent), wish("ann", permanent))
				e.end(m)
				want(t, m.me(t, parent), 401, invalid)
				want(t, m.me(t, child), 401, invalid)
			})
		}
	}
}

// If the directory fails for a maker, nothing is known about that maker.
func TestAMakerThatCannotBeLookedUpIsUnavailable(t *testing.T) {
	for name, c := range map[string]struct {
		by auth.Principal
		id string
	}{"app": {signed("root", appB), appB}, "account": {session("root"), "root"}} {
		t.Run(name, func(t *testing.T) {
			m := newMinting(t)
			raw := m.mint(t, c.by, wish("ann", permanent))
			m.guard.Directory = without{m.directory, c.id}
			want(t, m.me(t, raw), 503, "error.storeUnavailable")
			m.guard.Directory = m.directory
			want(t, m.me(t, raw), 200, "")
		})
	}
}

func TestM07ARevokedTokenMakesNothingAndEndsWhatItMade(t *testing.T) {
	m := newMinting(t)
	parent, claims, err := m.try(t, session("root"), wish("root", permanent))
	if err != nil {
		t.Fatal(err)
	}
	by := m.holder(t, parent)
	made := map[string]string{
		"permanent":                       m.mint(t, by, wish("root", permanent)),
		"permanent, for another":          m.mint(t, by, wish("ann", permanent)),
		"limited-use, for another":        m.mint(t, by, wish("ann", uses(100))),
		"permanent, until after the test": m.mint(t, by, wish("ann", permanent, until(noon.Add(time.Hour)))),
	}
	for name, raw := range made {
		if got := m.me(t, raw); got.status != 200 {
			t.Errorf("%s: got %d", name, got.status)
		}
	}
	grandchild := m.mint(t, m.holder(t, made["permanent, for another"]), wish("ann", permanent))
	if err := m.ledger.Revoke(t.Context(), heldBy(appA, token.Any), claims.ID); err != nil {
		t.Fatal(err)
	}
	made["by what it made"] = grandchild
	for name, raw := range made {
		t.Run("M07 made before, "+name, func(t *testing.T) { want(t, m.me(t, raw), 401, invalid) })
	}
	for name, w := range map[string]bearer.Wish{"permanent": wish("root", permanent), "limited-use, for another": wish("ann", uses(1))} {
		t.Run("M07 made by a request that was under way, "+name, func(t *testing.T) {
			_, _, err := m.try(t, by, w)
			if fault, ok := errors.AsType[*auth.Error](err); !ok || fault.Detail != auth.DetailInvalidToken {
				t.Errorf("got %v", err)
			}
		})
	}
	if records := m.records(t); len(records) > 0 {
		t.Errorf("the ledger has %+v", records)
	}
}

// No ledger has an ephemeral child. It lasts for minutes, and what it makes ends with it.
func TestM07EphemeralChildrenAreShort(t *testing.T) {
	m := newMinting(t)
	parent, claims, err := m.try(t, session("root"), wish("ann", permanent))
	if err != nil {
		t.Fatal(err)
	}
	by := m.holder(t, parent)
	for name, d := range map[string]time.Duration{"a day": 24 * time.Hour, "a second more": 15*time.Minute + time.Second} {
		_, _, err := m.try(t, by, wish("ann", until(noon.Add(d))))
		if _, paths := told(err); paths != "expires" || !isBeyond(err) {
			t.Errorf("M07 %s: %v", name, err)
		}
	}
	child := m.mint(t, by, wish("ann", until(noon.Add(15*time.Minute))))
	held := m.holder(t, child)
	for name, w := range map[string]bearer.Wish{
		"longer than it":  wish("ann", permanent, until(noon.Add(15*time.Minute+time.Second))),
		"without an end":  wish("ann", permanent),
		"limited for day": wish("ann", uses(3), until(noon.Add(24*time.Hour))),
	} {
		if _, _, err := m.try(t, held, w); err == nil {
			t.Errorf("M07 an ephemeral child made one %s", name)
		}
	}
	grandchild := m.mint(t, held, wish("ann", permanent, until(noon.Add(15*time.Minute))))
	if err := m.ledger.Revoke(t.Context(), heldBy(appA, token.Any), claims.ID); err != nil {
		t.Fatal(err)
	}
	want(t, m.me(t, parent), 401, invalid)
	m.clock.Advance(15 * time.Minute)
	want(t, m.me(t, child), 401, "expired.jwt")
	want(t, m.me(t, grandchild), 401, "expired.jwt")
}

func TestM08FiveMakersInARow(t *testing.T) {
	m := newMinting(t)
	by := session("root")
	var line []string
	for range 5 {
		raw := m.mint(t, by, wish("root", permanent))
		by = m.holder(t, raw)
		line = append(line, raw)
	}
	for name, w := range map[string]bearer.Wish{"permanent": wish("root", permanent), "limited-use": wish("ann", uses(1))} {
		_, _, err := m.try(t, by, w)
		if _, paths := told(err); paths != "lineage" || !isBeyond(err) {
			t.Errorf("M08 the sixth maker, %s: %v", name, err)
		}
	}
	if n := len(m.records(t)); n != 5 {
		t.Errorf("%d records", n)
	}
	m.mint(t, by, wish("root")) // it lasts for minutes, and has no ancestors
	for _, raw := range line {
		want(t, m.me(t, raw), 200, "")
	}
	// Revoke the token in the middle: it and all tokens after it end.
	if err := m.ledger.Revoke(t.Context(), heldBy(appA, token.Any), payload(t, line[2])["jti"].(string)); err != nil {
		t.Fatal(err)
	}
	for i, raw := range line {
		status, fault := 200, ""
		if i >= 2 {
			status, fault = 401, invalid
		}
		want(t, m.me(t, raw), status, fault)
	}
}

// Accounts that mint for each other gain nothing: neither a longer chain of makers, nor a token
// that outlives one of them.
func TestM08AccountsThatMintForEachOther(t *testing.T) {
	m := newMinting(t)
	for _, id := range []string{"ada", "bob"} {
		m.directory.PutAccount(auth.Account{ID: id, Org: "acme"})
	}
	by, made := session("ada"), 0
	var line []string
	for _, subject := range []string{"bob", "ada", "bob", "ada", "bob", "ada", "bob"} {
		raw, _, err := m.try(t, by, wish(subject, permanent))
		if err != nil {
			break
		}
		by, made, line = m.holder(t, raw), made+1, append(line, raw)
	}
	if made != 5 {
		t.Errorf("M08 a line of %d tokens", made)
	}
	for _, id := range []string{"ada", "bob"} {
		e := endingOfAccount(id)[0]
		e.end(m)
		for i, raw := range line {
			if got := m.me(t, raw); got.status != 401 {
				t.Errorf("M08 %s is disabled, token %d: got %d", id, i, got.status)
			}
		}
		e.again(m)
	}
	want(t, m.me(t, line[4]), 200, "")
	if n, err := m.ledger.RevokeSubject(t.Context(), heldBy(appA, "bob")); n != 3 || err != nil {
		t.Errorf("revoked %d, %v", n, err)
	}
	for i, raw := range line { // bob made the first one
		if got := m.me(t, raw); got.status != 401 {
			t.Errorf("M08 token %d after those of bob were revoked: got %d", i, got.status)
		}
	}
}

// TestTokensWithoutMakerOfAnOrgWithAnID has an org whose code is not the key of what is stored.
func TestTokensWithoutMakerOfAnOrgWithAnID(t *testing.T) {
	m := newMinting(t)
	m.mechanism.PerSubject = 1
	m.mint(t, session("root"), wish("ann", permanent))
	m.directory.PutAccount(auth.Account{ID: "root", Org: "acme", Disabled: true})
	m.tenant.Org = &auth.Org{ID: "acme", Code: "renamed"}
	m.mint(t, session("ann"), wish("ann", permanent))
	if n := len(m.records(t)); n != 1 {
		t.Errorf("%d records, want the new one", n)
	}
}
