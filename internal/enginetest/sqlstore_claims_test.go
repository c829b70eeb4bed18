package enginetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// TestN15RefusedClaimsWaitForNoLock holds SQLite's lock during claims. Refused claims do not take
// it, so replays cannot block other requests.
func TestN15RefusedClaimsWaitForNoLock(t *testing.T) {
	h := newSQLiteHome(t)
	db := h.open(t)
	s := h.storeIn(t, db)
	single, get := aUse(), aUse()
	get.Siblings, get.Window = 2, time.Hour
	sibling := get
	sibling.Nonce = aUse().Nonce
	for what, u := range map[string]signing.Use{"single use": single, "a GET": get} {
		claims(t, what, s, u, nil)
	}
	claims(t, "its sibling", s, sibling, nil)

	lock, err := h.open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	freshNonce, freshSignature, third, stale, late := single, single, get, aUse(), aUse()
	freshNonce.Nonce, freshSignature.Signature, third.Nonce = aUse().Nonce, aUse().Signature, aUse().Nonce
	stale.Signed = stale.Signed.Add(-time.Hour)
	late.Keep = time.Now().Add(-time.Second)
	for _, c := range []struct {
		name string
		use  signing.Use
		want error
	}{
		{"N15 an exact replay", single, signing.ErrReplayed},
		{"N15 a captured signature with a fresh nonce", freshNonce, signing.ErrReplayed},
		{"N15 a used nonce with a fresh signature", freshSignature, signing.ErrReplayed},
		{"N15 a sibling beyond the last place", third, signing.ErrReplayed},
		{"N15 signed before the epoch", stale, signing.ErrStale},
		{"N15 past its retention", late, signing.ErrStale},
	} {
		t.Run(c.name, func(t *testing.T) { claims(t, c.name, s, c.use, c.want) })
	}

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = s.Replays().Claim(ctx, aUse())
	if err == nil || errors.Is(err, signing.ErrReplayed) || errors.Is(err, signing.ErrStale) {
		t.Errorf("a new claim: %v, want one that could not be made", err)
	}
}

// TestN15ClaimsThatWaitedForTheLock has claims that passed the look-up. They then wait for SQLite's
// lock until they must be refused.
func TestN15ClaimsThatWaitedForTheLock(t *testing.T) {
	h := newSQLiteHome(t)
	db := h.open(t)
	s := h.storeIn(t, db)
	const held = 400 * time.Millisecond
	sibling := func(u signing.Use) signing.Use {
		u.Nonce = aUse().Nonce
		return u
	}
	places, window, late := aUse(), aUse(), aUse()
	places.Siblings, places.Window = 2, time.Hour
	window.Siblings, window.Window = 2, held/2
	late.Keep = time.Now().Add(held / 2)
	claims(t, "the first of two", s, places, nil)
	claims(t, "the first of a window", s, window, nil)

	lock, err := h.open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	outcomes := make([]chan error, 4)
	for i, u := range []signing.Use{sibling(places), sibling(places), sibling(window), late} {
		outcomes[i] = make(chan error, 1)
		go func() { outcomes[i] <- s.Replays().Claim(t.Context(), u) }()
	}
	time.Sleep(held)
	if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	one, other := <-outcomes[0], <-outcomes[1]
	if one != nil {
		one, other = other, one
	}
	expect(t, "the one that took the last place", one, nil)
	expect(t, "N15 the one that came too late for it", other, signing.ErrReplayed)
	expect(t, "N15 one whose window ended meanwhile", <-outcomes[2], signing.ErrReplayed)
	expect(t, "N15 one whose retention ended meanwhile", <-outcomes[3], signing.ErrStale)
}

// TestN15ALostRaceInPostgres locks a signature's row until another claim of that signature waits
// for it. It then checks what that claim leaves.
func TestN15ALostRaceInPostgres(t *testing.T) {
	h := newPostgresHome(t)
	db := h.open(t)
	s := h.storeIn(t, db)
	claims(t, "the first", s, aUse(), nil)

	u := aUse()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	taken := sha256.Sum256([]byte("s" + string(u.Signature[:]) + u.ClientKey))
	if _, err := tx.Exec("INSERT INTO "+h.prefix+"replays (id, keep, uses, began, engine) VALUES ($1, $2, $3, 0, '')",
		taken[:], u.Keep.UnixMilli(), 1<<30); err != nil {
		t.Fatal(err)
	}
	lines, before := logged(t), tuplesOf(t, h, db)
	lost := make(chan error, 1)
	go func() { lost <- s.Replays().Claim(t.Context(), u) }()
	waits := until(func() (waits bool) {
		err := db.QueryRow("SELECT EXISTS (SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.query LIKE '%' || $1 || 'replays%')",
			h.prefix).Scan(&waits)
		return err == nil && waits
	})
	if !waits {
		t.Fatal("it does not wait")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, "N15 the one that lost", <-lost, signing.ErrReplayed)
	claims(t, "a new one", s, aUse(), nil)

	after := tuplesOf(t, h, db)
	const written = 1 + 2 // written by the transaction and the new claim
	if after.rows != before.rows+written {
		t.Errorf("%d rows became %d", before.rows, after.rows)
	}
	if dead := after.places - before.places - written; dead != 1 {
		t.Errorf("%d dead rows, want 1", dead)
	}
	claims(t, "a replay afterwards", s, u, signing.ErrReplayed)
	if again := tuplesOf(t, h, db); again != after {
		t.Errorf("a replay afterwards leaves something: %+v became %+v", after, again)
	}
	if more := logged(t)[len(lines):]; bytes.Contains(more, []byte("ERROR")) {
		t.Errorf("the server's log:\n%s", more)
	}
	u.Signature = aUse().Signature
	claims(t, "its nonce with another signature", s, u, nil)
}

// TestN13AnEpochBeginsBesideAClaim begins the epoch between two statements of a claim, of a request that was
// signed by a clock that is a little ahead.
func TestN13AnEpochBeginsBesideAClaim(t *testing.T) {
	h := newPostgresHome(t)
	other, db := h.store(t), h.open(t)
	p := newPuppet(func(text string) string { return text }, func(text string) bool { return strings.Contains(text, "replays") })
	s := h.storeIn(t, p.open(t, "pgx", durablePostgres(t)))
	run(t, db, "DELETE FROM "+h.prefix+"replays")
	p.free.Store(false)
	u := aUse()
	u.Signed = u.Signed.Add(30 * time.Second)
	var err error
	p.start(func() { err = s.Replays().Claim(t.Context(), u) })
	p.on <- true
	<-p.at // nothing is recorded, and it has not asked why
	claims(t, "N13 the claim that begins the epoch", other, aUse(), signing.ErrStale)
	p.free.Store(true)
	p.on <- true
	<-p.at
	expect(t, "N13 the claim beside it", err, nil)
	claims(t, "N13 its replay", other, u, signing.ErrReplayed)
}

// TestPostgresLogsNoError opens a store for the first time, and makes ordinary replays and refusals.
func TestPostgresLogsNoError(t *testing.T) {
	h := newPostgresHome(t)
	lines := logged(t)
	s := h.store(t)
	u, stale := aUse(), aUse()
	stale.Signed = u.Signed.Add(-time.Hour)
	claims(t, "the first", s, u, nil)
	claims(t, "a replay", s, u, signing.ErrReplayed)
	claims(t, "of before", s, stale, signing.ErrStale)
	errs := make(chan error)
	v := aUse()
	for range 16 {
		go func() {
			u := v
			u.Nonce = aUse().Nonce
			errs <- s.Replays().Claim(t.Context(), u)
		}()
	}
	for range 16 {
		if err := <-errs; err != nil && !errors.Is(err, signing.ErrReplayed) {
			t.Error(err)
		}
	}
	h.store(t)
	if more := logged(t)[len(lines):]; bytes.Contains(more, []byte("ERROR")) {
		t.Errorf("the server's log:\n%s", more)
	}
}

// tuples are the number of visible rows and the number of all row slots, including dead ones.
type tuples struct{ rows, places int }

func tuplesOf(t *testing.T, h home, db *sql.DB) (n tuples) {
	t.Helper()
	query := "SELECT count(*), coalesce(max((ctid::text::point)[1]), 0)::int FROM " + h.prefix + "replays"
	if err := db.QueryRow(query).Scan(&n.rows, &n.places); err != nil {
		t.Fatal(err)
	}
	return n
}

// logged returns the log of the server of all homes.
func logged(t *testing.T) []byte {
	t.Helper()
	if durable.server == nil {
		t.Skip("the server is another one's, and so is its log")
	}
	text, err := os.ReadFile(filepath.Join(durable.server.folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
