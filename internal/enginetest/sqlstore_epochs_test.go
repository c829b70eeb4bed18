package enginetest

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
)

func TestN13EmptiedTables(t *testing.T) {
	for _, h := range homes(t) {
		for name, statement := range map[string]string{
			"rows deleted":      "DELETE FROM %sreplays",
			"table truncated":   "TRUNCATE %sreplays",
			"table made again":  "CREATE TABLE copied AS SELECT * FROM %[1]sreplays; DROP TABLE %[1]sreplays; ALTER TABLE copied RENAME TO %[1]sreplays; ALTER TABLE %[1]sreplays ADD PRIMARY KEY (id)",
			"old rows put back": "UPDATE %[1]sreplays SET engine = 'another' WHERE id = ''; DELETE FROM %[1]sreplays WHERE id <> ''",
		} {
			if h.dialect == sqlstore.SQLite && name != "rows deleted" {
				continue
			}
			t.Run("N13 "+h.name+" "+name, func(t *testing.T) {
				s := h.store(t)
				time.Sleep(5 * time.Millisecond)
				captured := aUse()
				claims(t, "first", s, captured, nil)
				before := aUse()
				time.Sleep(5 * time.Millisecond)
				if _, err := h.open(t).Exec(fmt.Sprintf(statement, h.prefix)); err != nil {
					t.Fatal(err)
				}
				claims(t, "captured", s, captured, signing.ErrStale)
				claims(t, "signed before", s, before, signing.ErrStale)
				time.Sleep(5 * time.Millisecond)
				u := aUse()
				claims(t, "signed anew", s, u, nil)
				claims(t, "replayed", s, u, signing.ErrReplayed)
			})
		}
	}
}

// TestN13TheMillisecondOfTheEpoch claims requests signed in that millisecond and next to it.
func TestN13TheMillisecondOfTheEpoch(t *testing.T) {
	for _, h := range homes(t) {
		t.Run("N13 "+h.name, func(t *testing.T) {
			s, db := h.store(t), h.open(t)
			claims(t, "the first of the process", s, aUse(), nil)
			for _, c := range []struct {
				what   string
				signed time.Duration // time after the begin of the epoch
				want   error
			}{
				{"a millisecond before", -time.Millisecond, signing.ErrStale},
				{"in it", 0, signing.ErrStale},
				{"a millisecond after", time.Millisecond, nil},
			} {
				u := aUse()
				began := u.Signed.Add(-c.signed).UnixMilli()
				empty := map[sqlstore.Dialect]string{sqlstore.PostgreSQL: "''", sqlstore.SQLite: "x''"}[h.dialect]
				if _, err := db.Exec("UPDATE "+h.prefix+"replays SET began = $1 WHERE id = "+empty, began); err != nil {
					t.Fatal(err)
				}
				claims(t, "signed "+c.what, s, u, c.want)
			}
		})
	}
}

// TestAnEpochGoesOn opens a second instance. In PostgreSQL a request signed before is not stale,
// because PostgreSQL knows that nothing was lost.
func TestAnEpochGoesOn(t *testing.T) {
	h := newPostgresHome(t)
	s := h.store(t)
	time.Sleep(5 * time.Millisecond)
	here, there := aUse(), aUse()
	time.Sleep(5 * time.Millisecond)
	second := h.store(t)
	claims(t, "by the first instance", s, here, nil)
	claims(t, "by the second", second, there, nil)
}

// TestASignatureIsKeptForTheLatest has siblings with different retention times.
func TestASignatureIsKeptForTheLatest(t *testing.T) {
	for _, h := range homes(t) {
		for name, times := range map[string][]time.Duration{
			"the first": {20 * time.Minute, 10 * time.Minute}, "a later one": {10 * time.Minute, 20 * time.Minute},
		} {
			t.Run(h.name+", "+name, func(t *testing.T) {
				s, db := h.store(t), h.open(t)
				u := aUse()
				u.Siblings, u.Window = 8, time.Minute
				for i, keep := range times {
					u.Nonce, u.Keep = fmt.Sprintf("%016d", i), u.Signed.Add(keep)
					claims(t, "a sibling", s, u, nil)
				}
				var keep int64
				if err := db.QueryRow("SELECT keep FROM " + h.prefix + "replays WHERE uses = 2").Scan(&keep); err != nil {
					t.Fatal(err)
				}
				if want := u.Signed.Add(20 * time.Minute).UnixMilli(); keep != want {
					t.Errorf("kept until %d, want %d", keep, want)
				}
				run(t, db, "DELETE FROM "+h.prefix+"replays WHERE uses = 2")
			})
		}
	}
}

func TestN13SQLiteFilePutBack(t *testing.T) {
	h := newSQLiteHome(t)
	db := h.open(t)
	s := h.storeIn(t, db)
	claims(t, "some request", s, aUse(), nil)
	path := filepath.Join(t.TempDir(), "copy")
	if _, err := db.Exec("VACUUM INTO '" + path + "'"); err != nil {
		t.Fatal(err)
	}
	captured := aUse()
	claims(t, "after the copy was made", s, captured, nil)
	time.Sleep(5 * time.Millisecond)
	h.open = func(t testing.TB) *sql.DB { return openSQLite(t, path, "") }
	put := h.store(t)
	claims(t, "captured, with the copy in place", put, captured, signing.ErrStale)
	time.Sleep(5 * time.Millisecond)
	claims(t, "signed anew", put, aUse(), nil)
}

// aUseBefore returns another request signed at the time of u.
func aUseBefore(u signing.Use) signing.Use {
	other := aUse()
	other.Signed, other.Keep = u.Signed, u.Keep
	return other
}

// TestACopiedDatabaseBeginsAnEpoch has a copy, which was made before a claim, take the place of its
// original. The server goes on, so its start time and the copied tables are the same.
func TestACopiedDatabaseBeginsAnEpoch(t *testing.T) {
	server, err := startPostgres("-c", "fsync=on")
	skipUninstalled(t, err)
	t.Cleanup(server.stop)
	run(t, server.db, "CREATE DATABASE app")
	db := openDB(t, "pgx", strings.Replace(server.source, "/postgres", "/app", 1))
	s := must(sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL, sqlstore.Options{}))(t)
	afterEpoch()
	db.SetMaxIdleConns(0) // a database in use is neither copied nor renamed
	run(t, server.db, "CREATE DATABASE copy TEMPLATE app")
	captured := aUse()
	claims(t, "first", s, captured, nil)
	run(t, server.db, "ALTER DATABASE app RENAME TO old")
	run(t, server.db, "ALTER DATABASE copy RENAME TO app")
	claims(t, "again, in the copy", s, captured, signing.ErrStale)
	time.Sleep(5 * time.Millisecond)
	claims(t, "signed anew", s, aUse(), nil)
}
