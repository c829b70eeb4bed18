package enginetest

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// version1 makes the tables of version 1, with a permanent and a limited-use
// token that has one use of two left.
func (h home) version1(t *testing.T) (db *sql.DB, permanent, limited token.Record) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "version1-"+strings.ToLower(h.name)+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	db = h.open(t)
	if _, err := db.Exec(strings.ReplaceAll(string(text), "tenantkit_", h.prefix)); err != nil {
		t.Fatal(err)
	}
	permanent, limited = aToken(), aToken()
	limited.MaxUses, limited.Uses = 2, 1
	for _, r := range []token.Record{permanent, limited} {
		_, err := db.Exec("INSERT INTO "+h.prefix+"ledger (client_key, id, subject, key_id, uses, max_uses, issued) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			r.ClientKey, r.ID, r.Subject, r.KeyID, r.Uses, r.MaxUses, r.Issued.Unix())
		if err != nil {
			t.Fatal(err)
		}
	}
	return db, permanent, limited
}

func (h home) version(t *testing.T, db *sql.DB) (version int) {
	t.Helper()
	if err := db.QueryRow("SELECT max(version) FROM " + h.prefix + "schema").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

// TestUpgrade has instances start at once over tables of version 1.
func TestUpgrade(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db, permanent, limited := h.version1(t)
			stores := h.instances(t, 4)
			if got := h.version(t, db); got != 2 {
				t.Errorf("version %d, want 2", got)
			}
			ledger, ctx := stores[0].Ledger(), t.Context()
			expect(t, "the permanent token", spend(ctx, ledger, permanent), nil)
			expect(t, "the last use", spend(ctx, ledger, limited), nil)
			expect(t, "one use more", spend(ctx, ledger, limited), token.ErrExhausted)

			child := aToken()
			child.ClientKey, child.Lineage = permanent.ClientKey, token.Lineage{Maker: "ann", MakerApp: "app", Parent: permanent.ID}
			expect(t, "Issue", stores[1].Ledger().Issue(ctx, child, 10), nil)
			if got, err := ledger.Spend(ctx, child); got != child.Lineage || err != nil {
				t.Errorf("Spend = %+v, %v, want %+v", got, err, child.Lineage)
			}
			if got, err := ledger.Spend(ctx, permanent); got != (token.Lineage{}) || err != nil {
				t.Errorf("Spend = %+v, %v, want no lineage", got, err)
			}
			expect(t, "Revoke", ledger.Revoke(ctx, permanent.ClientKey, permanent.ID), nil)
			expect(t, "made by the revoked one", spend(ctx, ledger, child), token.ErrRevoked)

			fresh := homeLike(t, h)
			fresh.store(t)
			if diff := cmp.Diff(fresh.ledgerTable(t), h.ledgerTable(t)); diff != "" {
				t.Errorf("the table (-new +upgraded):\n%s", diff)
			}
			if _, err := db.Exec(sqlstore.Schema(h.dialect, h.prefix)); err != nil {
				t.Errorf("the schema by hand, afterwards: %v", err)
			}
		})
	}
}

// TestSchemaOverAnEarlierVersion has the present schema meet version 1: what it
// makes must not pass for version 2.
func TestSchemaOverAnEarlierVersion(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db, permanent, _ := h.version1(t)
			if _, err := db.Exec(sqlstore.Schema(h.dialect, h.prefix)); err == nil {
				t.Error("no error")
			}
			if got := h.version(t, db); got != 1 {
				t.Errorf("version %d, want 1", got)
			}
			expect(t, "afterwards, the permanent token", spend(t.Context(), h.store(t).Ledger(), permanent), nil)
		})
	}
}

// homeLike returns a new home in the same engine.
func homeLike(t *testing.T, h home) home {
	t.Helper()
	if h.dialect == sqlstore.SQLite {
		return newSQLiteHome(t)
	}
	return newPostgresHome(t)
}

// ledgerTable returns the columns and indexes of the ledger.
func (h home) ledgerTable(t *testing.T) (parts []string) {
	t.Helper()
	query := `SELECT name || ' ' || type || ' ' || "notnull" || ' ' || coalesce(dflt_value, '-') FROM pragma_table_info('` + h.prefix + `ledger')
		UNION ALL SELECT coalesce(sql, '-') FROM sqlite_schema WHERE type = 'index' AND tbl_name = '` + h.prefix + `ledger' ORDER BY 1`
	if h.dialect == sqlstore.PostgreSQL {
		query = `SELECT concat_ws(' ', column_name, data_type, collation_name, is_nullable, column_default)
			FROM information_schema.columns WHERE table_name = '` + h.prefix + `ledger'
			UNION ALL SELECT indexdef FROM pg_indexes WHERE tablename = '` + h.prefix + `ledger' ORDER BY 1`
	}
	rows, err := h.open(t).Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var part string
		if err := rows.Scan(&part); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, strings.ReplaceAll(strings.ReplaceAll(part, h.prefix, ""), "IF NOT EXISTS ", ""))
	}
	if err := rows.Err(); err != nil || len(parts) < 12 {
		t.Fatal(parts, err)
	}
	return parts
}
