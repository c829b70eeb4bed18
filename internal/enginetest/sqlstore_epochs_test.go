package enginetest

import (
	"database/sql"
	"fmt"
	"path/filepath"
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

// aUseBefore is one more request signed when u was.
func aUseBefore(u signing.Use) signing.Use {
	other := aUse()
	other.Signed, other.Keep = u.Signed, u.Keep
	return other
}
