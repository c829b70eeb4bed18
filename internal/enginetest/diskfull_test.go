package enginetest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

func TestK04DiskFull(t *testing.T) {
	t.Run("K04 SQLite", sqliteDiskFull)
	t.Run("K04 PostgreSQL", postgresDiskFull)
}

// sqliteDiskFull limits the file, so that SQLite reports a full disk.
func sqliteDiskFull(t *testing.T) {
	db := openSQLite(t, filepath.Join(t.TempDir(), "store"), "")
	db.SetMaxOpenConns(1) // the limit is per connection
	s, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pages := func(most int) {
		if _, err := db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", most)); err != nil {
			t.Fatal(err)
		}
	}
	withoutRoom(t, s, func() { pages(1) }, func() { pages(1 << 30) }) // SQLite keeps at least the present pages
}

func postgresDiskFull(t *testing.T) {
	server := postgresOnSmallDisk(t)
	s, err := sqlstore.Open(t.Context(), server.db, sqlstore.PostgreSQL, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var free func()
	withoutRoom(t, s, func() { free = fill(t, server.folder) }, func() { free() })
}

// withoutRoom uses a store until its disk is full, and again after the disk has room. The disk gets
// full in the middle of an operation, so each call may fail or not. No call may return a wrong
// result, and later calls must agree with the results.
func withoutRoom(t *testing.T, s *sqlstore.Store, fill, free func()) {
	t.Helper()
	time.Sleep(5 * time.Millisecond)
	before, r := aUse(), aToken()
	r.MaxUses = 3
	claims(t, "first", s, before, nil)
	if err := errors.Join(s.Ledger().Issue(t.Context(), r, nil, 10), spend(t.Context(), s.Ledger(), r)); err != nil {
		t.Fatal(err)
	}

	fill()
	accepted, failed := untilFull(t, s)
	claims(t, "a replay, on a full disk", s, before, signing.ErrReplayed)
	issued, refused := issuedUntilFull(t, s)
	spent := 1
	for range 2 {
		if err := spend(t.Context(), s.Ledger(), r); err == nil {
			spent++
		} else if errors.Is(err, token.ErrRevoked) || errors.Is(err, token.ErrExhausted) {
			t.Errorf("Spend on a full disk = %v", err)
		}
	}

	free()
	for _, u := range append(accepted, before) {
		claims(t, "accepted before", s, u, signing.ErrReplayed)
	}
	for _, u := range failed {
		if err := s.Replays().Claim(t.Context(), u); err != nil && !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("Claim with room again = %v", err)
		}
		claims(t, "accepted or not, and then again", s, u, signing.ErrReplayed)
	}
	for _, one := range issued {
		if err := spend(t.Context(), s.Ledger(), one); err != nil {
			t.Errorf("Spend of what was issued = %v", err)
		}
	}
	if err := spend(t.Context(), s.Ledger(), refused); !errors.Is(err, token.ErrRevoked) {
		t.Errorf("Spend of what was not issued = %v", err)
	}
	for range 5 {
		if spend(t.Context(), s.Ledger(), r) == nil {
			spent++
		}
	}
	if spent > 3 {
		t.Errorf("I2 %d uses of 3", spent)
	}
	claims(t, "I6 signed anew", s, aUse(), nil)
}

// untilFull claims until several claims in succession have failed.
func untilFull(t *testing.T, s *sqlstore.Store) (accepted, failed []signing.Use) {
	t.Helper()
	for row := 0; row < 5; {
		u := aUse()
		switch err := s.Replays().Claim(t.Context(), u); {
		case err == nil:
			accepted, row = append(accepted, u), 0
		case slices.ContainsFunc([]error{signing.ErrReplayed, signing.ErrStale, signing.ErrFull},
			func(said error) bool { return errors.Is(err, said) }):
			t.Fatalf("Claim on a full disk = %v", err)
		default:
			failed, row = append(failed, u), row+1
		}
		if len(accepted) > 20_000 {
			t.Fatal("the disk is never full")
		}
	}
	t.Logf("%d claims until the disk was full, and %d failed", len(accepted), len(failed))
	return accepted, failed
}

// issuedUntilFull issues tokens until one call fails.
func issuedUntilFull(t *testing.T, s *sqlstore.Store) (issued []token.Record, refused token.Record) {
	t.Helper()
	for len(issued) < 20_000 {
		r := aToken()
		r.Subject = rand.Text()
		err := s.Ledger().Issue(t.Context(), r, nil, 10)
		if errors.Is(err, token.ErrTooMany) {
			t.Fatalf("Issue on a full disk = %v", err)
		}
		if err != nil {
			return issued, r
		}
		issued = append(issued, r)
	}
	t.Fatal("the disk is never full")
	return nil, token.Record{}
}
