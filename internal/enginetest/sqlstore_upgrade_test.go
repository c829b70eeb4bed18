package enginetest

import (
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// version1 creates the tables of version 1, with a permanent token and a limited-use token with one
// use of two left. Their apps are acme's, and have a key pair that nothing here reads.
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
		h.ownedInVersion1(t, db, r.ClientKey)
		_, err := db.Exec("INSERT INTO "+h.prefix+"ledger (client_key, id, subject, key_id, uses, max_uses, issued) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			r.ClientKey, r.ID, r.Subject, r.KeyID, r.Uses, r.MaxUses, r.Issued.Unix())
		if err != nil {
			t.Fatal(err)
		}
	}
	return db, permanent, limited
}

// ownedInVersion1 adds a row for the key pair of an app of acme.
func (h home) ownedInVersion1(t *testing.T, db *sql.DB, clientKey string) {
	t.Helper()
	run(t, db, "INSERT INTO "+h.prefix+"keys (client_key, org, key_id, public, sealed, exposed) VALUES ($1, 'acme', $2, $3, $3, 0)",
		clientKey, rand.Text(), []byte{})
}

func (h home) version(t *testing.T, db *sql.DB) (version int) {
	t.Helper()
	if err := db.QueryRow("SELECT max(version) FROM " + h.prefix + "schema").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

// TestUpgrade starts instances concurrently over tables of version 1.
func TestUpgrade(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db, permanent, limited := h.version1(t)
			stores := h.instances(t, 4)
			if got := h.version(t, db); got != 6 {
				t.Errorf("version %d, want 6", got)
			}
			ledger, ctx := stores[0].Ledger(), t.Context()
			expect(t, "the permanent token", spend(ctx, ledger, permanent), nil)
			expect(t, "the last use", spend(ctx, ledger, limited), nil)
			expect(t, "one use more", spend(ctx, ledger, limited), token.ErrExhausted)

			child := aToken()
			child.ClientKey, child.Lineage = permanent.ClientKey, token.Lineage{Maker: "ann", MakerApp: "app", Parent: permanent.ID}
			expect(t, "Issue", stores[1].Ledger().Issue(ctx, child, nil, 10), nil)
			if got, err := ledger.Spend(ctx, child); got != child.Lineage || err != nil {
				t.Errorf("Spend = %+v, %v, want %+v", got, err, child.Lineage)
			}
			if got, err := ledger.Spend(ctx, permanent); got != (token.Lineage{}) || err != nil {
				t.Errorf("Spend = %+v, %v, want no lineage", got, err)
			}
			expect(t, "Revoke", ledger.Revoke(ctx, permanent.Holder(), permanent.ID), nil)
			expect(t, "made by the revoked one", spend(ctx, ledger, child), token.ErrRevoked)

			fresh := homeLike(t, h)
			fresh.store(t)
			for _, table := range []string{"ledger", "keys", "former_keys", "credentials", "formers", "sessions"} {
				if diff := cmp.Diff(fresh.parts(t, table), h.parts(t, table)); diff != "" {
					t.Errorf("%s (-new +upgraded):\n%s", table, diff)
				}
			}
			if _, err := db.Exec(sqlstore.Schema(h.dialect, h.prefix)); err != nil {
				t.Errorf("the schema by hand, afterwards: %v", err)
			}
		})
	}
}

// TestSchemaOverAnEarlierVersion runs the present schema over version 1: the result must not pass
// for the present version.
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

// TestSchemaRunToItsEnd runs the present schema over version 1 by a tool that continues
// after errors, as psql does.
func TestSchemaRunToItsEnd(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db, permanent, _ := h.version1(t)
			failures := 0
			for statement := range strings.SplitSeq(sqlstore.Schema(h.dialect, h.prefix), ";\n") {
				if _, err := db.Exec(statement); err != nil {
					failures++
				}
			}
			if got := h.version(t, db); got != 1 || failures == 0 {
				t.Errorf("version %d after %d errors, want 1", got, failures)
			}
			expect(t, "afterwards, the permanent token", spend(t.Context(), h.store(t).Ledger(), permanent), nil)
		})
	}
}

// TestUpgradeOfFormerSecrets has former secrets in a column of JSON, which must become rows.
func TestUpgradeOfFormerSecrets(t *testing.T) {
	for _, h := range homes(t) {
		for _, unsealed := range []bool{false, true} {
			t.Run(fmt.Sprint(h.name, " unsealed ", unsealed), func(t *testing.T) {
				h := homeLike(t, h)
				h.unsealed = unsealed
				db, _, _ := h.version1(t)
				clientKey, secrets := h.rotatedInVersion1(t, db)
				never, _ := h.rotatedInVersion1(t, db)
				run(t, db, "UPDATE "+h.prefix+"credentials SET formers = '[]' WHERE client_key = $1", never)

				credentials := must(h.instances(t, 4)[3].Credentials())(t)
				found := must(credentials.Credential(t.Context(), clientKey))(t)
				for i, secret := range secrets {
					if !isSecretOf(t, found.Key, secret) {
						t.Errorf("secret %d of %d does not verify", i, len(secrets))
					}
				}
				age(t, db, h.prefix, clientKey, 90*time.Minute)
				found = must(credentials.Credential(t.Context(), clientKey))(t)
				if isSecretOf(t, found.Key, secrets[0]) || !isSecretOf(t, found.Key, secrets[1]) {
					t.Error("a former secret has another end than before")
				}
				if n := must(credentials.Credential(t.Context(), never))(t).Key.Secrets(); n != 1 {
					t.Errorf("%d secrets of a key that was not rotated", n)
				}
				rotate(t, credentials, clientKey, 0)
				if n := h.held(t, db, "formers"); n != 0 {
					t.Errorf("%d former secrets after a rotation without grace", n)
				}
			})
		}
	}
}

// TestUpgradeDuringARotation has an instance of the version before rotate a secret
// without grace while the tables are upgraded. SQLite has one writer at a time.
func TestUpgradeDuringARotation(t *testing.T) {
	for _, h := range homes(t) {
		if h.dialect != sqlstore.PostgreSQL {
			continue
		}
		db, _, _ := h.version1(t)
		clientKey, secrets := h.rotatedInVersion1(t, db)
		rotation := must(db.BeginTx(t.Context(), nil))(t)
		defer rotation.Rollback()
		if _, err := rotation.Exec("UPDATE "+h.prefix+"credentials SET version = 'w', formers = '[]' WHERE client_key = $1", clientKey); err != nil {
			t.Fatal(err)
		}
		opened := make(chan error, 1)
		go func() {
			_, err := sqlstore.Open(t.Context(), h.open(t), h.dialect, h.options())
			opened <- err
		}()
		waits := "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%" + h.prefix + "credentials%'"
		if !until(func() (yes bool) { return db.QueryRow(waits).Scan(&yes) == nil && yes }) {
			t.Fatal("the upgrade does not wait")
		}
		expect(t, "the rotation", rotation.Commit(), nil)
		expect(t, "Open", <-opened, nil)
		found := must(must(h.store(t).Credentials())(t).Credential(t.Context(), clientKey))(t)
		for _, former := range secrets[:len(secrets)-1] {
			if isSecretOf(t, found.Key, former) {
				t.Error("a former secret verifies after a rotation without grace")
			}
		}
	}
}

// TestUpgradeOfFormerSecretsThatAreNone has a column that no store has written.
func TestUpgradeOfFormerSecretsThatAreNone(t *testing.T) {
	for _, h := range homes(t) {
		for _, text := range []string{"", "x", `{"until":1}`, `[{"until":"1","sealed":"AA=="}]`, `[{"until":1,"sealed":"?"}]`, `[{"until":1}]`} {
			t.Run(h.name+" "+text, func(t *testing.T) {
				h := homeLike(t, h)
				db, permanent, _ := h.version1(t)
				h.rotatedInVersion1(t, db)
				clientKey, _ := h.rotatedInVersion1(t, db)
				run(t, db, "UPDATE "+h.prefix+"credentials SET formers = $1 WHERE client_key = $2", text, clientKey)
				before := append(h.parts(t, "ledger"), h.parts(t, "credentials")...)
				s, err := sqlstore.Open(t.Context(), db, h.dialect, h.options())
				if s != nil || err == nil || !strings.Contains(err.Error(), "former secrets of \""+clientKey+"\"") {
					t.Errorf("Open = %v", err)
				}
				if diff := cmp.Diff(before, append(h.parts(t, "ledger"), h.parts(t, "credentials")...)); diff != "" || h.version(t, db) != 1 {
					t.Errorf("version %d, and the tables (-before +after):\n%s", h.version(t, db), diff)
				}
				if _, err := db.Exec("SELECT 1 FROM " + h.prefix + "formers"); err == nil {
					t.Error("the new table is there")
				}
				run(t, db, "UPDATE "+h.prefix+"credentials SET formers = '[]' WHERE client_key = $1", clientKey)
				expect(t, "when it is put right, the permanent token", spend(t.Context(), h.store(t).Ledger(), permanent), nil)
			})
		}
	}
}

// rotatedInVersion1 adds a credential to tables of version 1 that was rotated twice, with a grace
// of one hour and then of two. It returns the secrets, the first one first.
func (h home) rotatedInVersion1(t *testing.T, db *sql.DB) (clientKey string, secrets []signing.Secret) {
	t.Helper()
	present := homeLike(t, h)
	present.sealer, present.unsealed = h.sealer, h.unsealed
	from := present.open(t)
	credentials := must(present.storeIn(t, from).Credentials())(t)
	clientKey, first, err := credentials.Create(t.Context(), "acme", signature.Credential{})
	if err != nil {
		t.Fatal(err)
	}
	secrets = []signing.Secret{first, rotate(t, credentials, clientKey, time.Hour), rotate(t, credentials, clientKey, 2*time.Hour)}

	type former struct {
		Until  int64  `json:"until"`
		Sealed []byte `json:"sealed"`
	}
	formers := make([]former, 2)
	for i := range formers {
		text := "SELECT ends, sealed FROM " + present.prefix + "formers WHERE client_key = $1 ORDER BY ends LIMIT 1 OFFSET $2"
		if err := from.QueryRow(text, clientKey, i).Scan(&formers[i].Until, &formers[i].Sealed); err != nil {
			t.Fatal(err)
		}
	}
	text := must(json.Marshal(formers))(t)
	var sealed []byte
	var restrictions string
	if err := from.QueryRow("SELECT sealed, restrictions FROM "+present.prefix+"credentials").Scan(&sealed, &restrictions); err != nil {
		t.Fatal(err)
	}
	run(t, db, "INSERT INTO "+h.prefix+"credentials (client_key, org, version, sealed, formers, restrictions) VALUES ($1, 'acme', 'v', $2, $3, $4)",
		clientKey, sealed, string(text), restrictions)
	return clientKey, secrets
}

// TestSchemaOverVersion2 runs the present schema over version 2, which has each of its tables.
func TestSchemaOverVersion2(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			h.storeIn(t, db)
			for _, statement := range []string{
				"DROP TABLE {former_keys}", "DROP INDEX {ledger}_issued", "DROP INDEX {ledger}_org", "ALTER TABLE {ledger} DROP COLUMN org", "DROP INDEX {credentials}_org",
				"DROP TABLE {formers}", "ALTER TABLE {credentials} ADD COLUMN formers text NOT NULL DEFAULT '[]'",
				"ALTER TABLE {sessions} DROP COLUMN remember", "UPDATE {schema} SET version = 2",
			} {
				run(t, db, strings.NewReplacer("{", h.prefix, "}", "").Replace(statement))
			}
			clientKey, secrets := h.rotatedInVersion1(t, db)
			if _, err := db.Exec(sqlstore.Schema(h.dialect, h.prefix)); err == nil || h.version(t, db) != 2 {
				t.Errorf("version %d, %v", h.version(t, db), err)
			}
			found := must(must(h.store(t).Credentials())(t).Credential(t.Context(), clientKey))(t)
			if n := found.Key.Secrets(); n != len(secrets) {
				t.Errorf("afterwards, %d secrets, want %d", n, len(secrets))
			}
		})
	}
}

// version3 makes the tables of the present version those of version 3.
func (h home) version3(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, statement := range []string{
		"DROP TABLE {former_keys}", "DROP INDEX {ledger}_issued", "DROP INDEX {ledger}_org", "ALTER TABLE {ledger} DROP COLUMN org", "DROP INDEX {credentials}_org",
		"ALTER TABLE {sessions} DROP COLUMN remember", "UPDATE {schema} SET version = 3",
	} {
		run(t, db, strings.NewReplacer("{", h.prefix, "}", "").Replace(statement))
	}
}

// issueInVersion3 runs the statement with which version 3 issues a token.
func (h home) issueInVersion3(t *testing.T, db *sql.DB) token.Record {
	t.Helper()
	r := aToken()
	run(t, db, "INSERT INTO "+h.prefix+"ledger (client_key, id, subject, key_id, uses, max_uses, issued) VALUES ($1, $2, $3, $4, 0, 0, $5)",
		r.ClientKey, r.ID, r.Subject, r.KeyID, r.Issued.Unix())
	return r
}

// TestUpgradeOfOwners checks whose the records of version 3 are afterwards. A record whose owner is
// unknown could not be revoked, so it must not be accepted either.
func TestUpgradeOfOwners(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			h.storeIn(t, db)
			h.version3(t, db)
			owned, unowned := h.issueInVersion3(t, db), h.issueInVersion3(t, db)
			h.ownedInVersion1(t, db, owned.ClientKey)
			ledger, ctx := h.store(t).Ledger(), t.Context()
			late := h.issueInVersion3(t, db) // by a program of version 3 that still runs
			h.ownedInVersion1(t, db, late.ClientKey)

			expect(t, "of an app with a key pair", spend(ctx, ledger, owned), nil)
			for what, r := range map[string]token.Record{"of an app without one": unowned, "issued after the upgrade": late} {
				expect(t, what, spend(ctx, ledger, r), token.ErrRevoked)
				for _, org := range []string{"", "acme"} {
					of := token.Holder{Org: org, ClientKey: r.ClientKey, Subject: r.Subject}
					expect(t, what+": Revoke", ledger.Revoke(ctx, of, r.ID), token.ErrNotFound)
					if list, _, err := ledger.List(ctx, of, token.Position{}, token.MaxPage); len(list) != 0 || err != nil {
						t.Errorf("%s: List = %v, %v", what, list, err)
					}
				}
				child := aToken()
				child.ClientKey, child.Parent = r.ClientKey, r.ID
				expect(t, what+": a child", ledger.Issue(ctx, child, nil, 10), token.ErrRevoked)
			}
			rival := owned.Holder()
			rival.Org = "rival"
			expect(t, "Revoke by another org", ledger.Revoke(ctx, rival, owned.ID), token.ErrNotFound)
			expect(t, "Revoke", ledger.Revoke(ctx, owned.Holder(), owned.ID), nil)
		})
	}
}

// TestK18FormerKeysBesideVersion3 replaces and deletes a pair as a program of version 3 does, which
// does not know of former keys. They must not outlive the pair that has followed them.
func TestK18FormerKeysBesideVersion3(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			keys, ctx := must(h.storeIn(t, db).Keys())(t), t.Context()
			for what, statement := range map[string]string{
				"Generate": "UPDATE {keys} SET key_id = 'another' WHERE client_key = $1",
				"Delete":   "DELETE FROM {keys} WHERE client_key = $1",
			} {
				app := rand.Text()
				former := must(keys.Generate(ctx, "acme", app))(t)
				must(keys.Rotate(ctx, "acme", app, time.Hour))(t)
				must(keys.Public(ctx, former.KeyID))(t)
				run(t, db, strings.NewReplacer("{", h.prefix, "}", "").Replace(statement), app)
				_, err := keys.Public(ctx, former.KeyID)
				expect(t, what, err, token.ErrNotFound)
				if what == "Generate" {
					must(keys.Rotate(ctx, "acme", app, time.Hour))(t)
					_, err := keys.Public(ctx, former.KeyID)
					expect(t, "Generate and Rotate", err, token.ErrNotFound)
				}
				run(t, db, "DELETE FROM "+h.prefix+"keys WHERE client_key = $1", app)
				must(keys.Generate(ctx, "acme", app))(t)
				_, err = keys.Public(ctx, former.KeyID)
				expect(t, what+" and Generate", err, token.ErrNotFound)
			}
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

// parts returns the columns and indexes of a table. In SQLite, STRICT tables have other type names,
// and their primary keys are NOT NULL.
func (h home) parts(t *testing.T, table string) (parts []string) {
	t.Helper()
	query := `SELECT name || ' ' || replace(type, 'bigint', 'INTEGER') || ' ' || max("notnull", pk > 0) || ' ' || coalesce(dflt_value, '-') FROM pragma_table_info('` + h.prefix + table + `')
		UNION ALL SELECT coalesce(sql, '-') FROM sqlite_schema WHERE type = 'index' AND tbl_name = '` + h.prefix + table + `' ORDER BY 1`
	if h.dialect == sqlstore.PostgreSQL {
		query = `SELECT concat_ws(' ', column_name, data_type, collation_name, is_nullable, column_default)
			FROM information_schema.columns WHERE table_name = '` + h.prefix + table + `'
			UNION ALL SELECT indexdef FROM pg_indexes WHERE tablename = '` + h.prefix + table + `' ORDER BY 1`
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
	if err := rows.Err(); err != nil || len(parts) < 5 {
		t.Fatal(parts, err)
	}
	return parts
}
