package enginetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// estate is something of each kind that a store keeps of an org.
type estate struct {
	app    string
	former *token.PublicKey
	record token.Record
	hash   [32]byte
	key    string
}

// populate gives an org a client key with former secrets, a key pair with a former one, tokens,
// sessions of which one was evicted, a ticket and a second factor. Accounts and sessions of all orgs
// have the same ids.
func populate(t *testing.T, s *sqlstore.Store, org, app string) (e estate) {
	t.Helper()
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Second)
	credentials, keys := must(s.Credentials())(t), must(s.Keys())(t)
	_, secret := signing.Generate()
	expect(t, "Put", credentials.Put(ctx, auth.OrgKey(org), app, secret, signature.Credential{Account: "ann"}), nil)
	must(credentials.Rotate(ctx, auth.OrgKey(org), app, time.Hour))(t)
	e.app, e.former = app, must(keys.Generate(ctx, auth.OrgKey(org), app))(t)
	present := must(keys.Rotate(ctx, auth.OrgKey(org), app, time.Hour))(t)
	expect(t, "Expose", keys.Expose(ctx, auth.OrgKey(org), app, true), nil)
	for range 2 {
		e.record = token.Record{ID: rand.Text(), Org: auth.OrgKey(org), ClientKey: app, Subject: "ann", KeyID: present.KeyID, Issued: now}
		expect(t, "Issue", s.Ledger().Issue(ctx, e.record, nil, 10), nil)
	}
	for i, ticket := range []string{"", "", "enrol"} {
		rand.Read(e.hash[:])
		n := session.Session{Hash: e.hash, ID: fmt.Sprint("session ", i), Org: auth.OrgKey(org), Account: "ann", Ticket: ticket, Created: now, Seen: now, Expires: now.Add(time.Hour)}
		expect(t, "Create", s.Sessions().Create(ctx, n, 1), nil)
		now = now.Add(time.Second)
	}
	expect(t, "Save", must(s.Factors())(t).Save(ctx, auth.OrgKey(org), "ann", session.Factor{Secret: session.NewFactorSecret([]byte("secret"))}), nil)
	key := apiKeyOf(auth.OrgKey(org), "ann")
	key.ID = rand.Text()
	e.key = key.ID
	expect(t, "Add", s.APIKeys().Add(ctx, key, 10), nil)
	must(s.Attempts().Swap(ctx, auth.OrgKey(org), "ann", "", "1"))(t)
	must(must(s.Idempotency())(t).Begin(ctx, repeatOf(auth.OrgKey(org), "ann"), idempotency.Options{Keep: time.Hour, Lease: time.Minute, MaxBytes: 1 << 20}))(t)
	return e
}

func newClientKey() string {
	clientKey, _ := signing.Generate()
	return clientKey
}

// rowsOf counts an org's rows, and those of its client keys, in each table.
func (h home) rowsOf(t *testing.T, db *sql.DB, org string, apps ...string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, table := range []string{"credentials", "formers", "keys", "ledger", "sessions", "factors", "api_keys", "attempts"} {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM "+h.prefix+table+" WHERE org = $1", org).Scan(&n); err != nil {
			t.Fatal(err)
		}
		found[table] = n
	}
	for _, app := range apps {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM "+h.prefix+"former_keys WHERE client_key = $1", app).Scan(&n); err != nil {
			t.Fatal(err)
		}
		found["former_keys"] += n
	}
	return found
}

// TestK23AnOrgIsDeleted deletes an org and gives its key to another one.
func TestK23AnOrgIsDeleted(t *testing.T) {
	for _, h := range homes(t) {
		t.Run("K23 "+h.name, func(t *testing.T) {
			s, db, ctx := h.store(t), h.open(t), t.Context()
			gone, stays := populate(t, s, "acme", newClientKey()), populate(t, s, "globex", newClientKey())
			before := h.rowsOf(t, db, "globex", stays.app)
			want := map[string]int{"credentials": 1, "formers": 1, "keys": 1, "former_keys": 1, "ledger": 2, "sessions": 3, "factors": 1, "api_keys": 1, "attempts": 1}
			if diff := cmp.Diff(want, before); diff != "" {
				t.Fatalf("before (-want +got):\n%s", diff)
			}
			if err := s.DeleteOrg(ctx, ""); err == nil {
				t.Error("an empty org: no error")
			}
			for _, none := range []string{"\x00", "\xff", "another"} {
				expect(t, fmt.Sprintf("%q", none), s.DeleteOrg(ctx, auth.OrgKey(none)), nil)
			}
			if diff := cmp.Diff(want, h.rowsOf(t, db, "acme", gone.app)); diff != "" {
				t.Fatalf("other orgs deleted (-want +got):\n%s", diff)
			}
			for range 2 { // which may be called again
				expect(t, "DeleteOrg", s.DeleteOrg(ctx, "acme"), nil)
				for table, n := range h.rowsOf(t, db, "acme", gone.app) {
					if n != 0 {
						t.Errorf("%d rows in %s", n, table)
					}
				}
			}
			if diff := cmp.Diff(before, h.rowsOf(t, db, "globex", stays.app)); diff != "" {
				t.Errorf("another org (-before +after):\n%s", diff)
			}
			credentials, keys := must(s.Credentials())(t), must(s.Keys())(t)
			must(keys.Public(ctx, stays.former.KeyID))(t)
			must(s.Sessions().Get(ctx, "globex", stays.hash))(t)
			expect(t, "another org's token", spend(ctx, s.Ledger(), stays.record), nil)

			// The next owner of the key also gets the client key.
			again := populate(t, s, "acme", gone.app)
			if list := must(credentials.List(ctx, "acme", "", 10))(t); len(list) != 1 || len(list[0].Key.Secrets()) != 2 {
				t.Errorf("%d credentials", len(list))
			}
			if list := must(keys.Exposed(ctx, "acme"))(t); len(list) != 2 {
				t.Errorf("%d exposed keys", len(list))
			}
			if list := listed(t, s.Ledger(), again.record.Holder()); len(list) != 2 {
				t.Errorf("%d tokens", len(list))
			}
			expect(t, "K23 the former owner's token", spend(ctx, s.Ledger(), gone.record), token.ErrRevoked)
			_, err := keys.Public(ctx, gone.former.KeyID)
			expect(t, "K23 the former owner's key", err, token.ErrNotFound)
			_, err = s.Sessions().Get(ctx, "acme", gone.hash)
			expect(t, "K23 the former owner's session", err, auth.ErrNotFound)
			_, err = s.APIKeys().Get(ctx, gone.key)
			expect(t, "K23 the former owner's API key", err, auth.ErrNotFound)
			must(s.APIKeys().Get(ctx, stays.key))(t)
		})
	}
}

// TestDeleteOrgInBatches has more rows than one batch, a concurrent call, and one that was cut off.
func TestDeleteOrgInBatches(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s, db, ctx := h.store(t), h.open(t), t.Context()
			populate(t, s, "acme", newClientKey())
			bytes := map[sqlstore.Dialect]string{sqlstore.PostgreSQL: "bytea", sqlstore.SQLite: "BLOB"}
			const series = `WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 2100) `
			for _, statement := range []string{
				`INSERT INTO {credentials} (client_key, org, version, sealed, restrictions) ` + series + `SELECT 'app' || i, org, version, sealed, restrictions FROM {credentials}, s WHERE org = 'acme'`,
				`INSERT INTO {formers} (client_key, id, org, ends, sealed) ` + series + `SELECT 'app' || i, id, org, ends, sealed FROM {formers}, s WHERE org = 'acme'`,
				`INSERT INTO {keys} (client_key, org, key_id, public, sealed, exposed) ` + series + `SELECT 'app' || i, org, 'kid' || i, public, sealed, exposed FROM {keys}, s WHERE org = 'acme'`,
				`INSERT INTO {former_keys} (key_id, client_key, present, public, ends) ` + series + `SELECT 'former' || i, 'app' || i, 'kid' || i, public, ends FROM {former_keys}, s`,
				`INSERT INTO {ledger} (client_key, id, subject, key_id, uses, max_uses, issued, org) ` + series + `SELECT 'app' || i, 'id', 'ann', 'kid' || i, 0, 0, 1, 'acme' FROM s`,
				// Those of another org are the first ones, and more than a batch.
				`INSERT INTO {factors} (org, account, version, sealed, step, recovery) ` + series + `SELECT 'aaaa', 'another' || i, version, sealed, step, recovery FROM {factors}, s`,
				`INSERT INTO {factors} (org, account, version, sealed, step, recovery) ` + series + `SELECT org, 'account' || i, version, sealed, step, recovery FROM {factors}, s WHERE org = 'acme'`,
				`INSERT INTO {sessions} (hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent, remember, proof, origin, replaced) ` + series + `SELECT CAST('another' || i AS ` + bytes[h.dialect] + `), 'id' || i, 'aaaa', account, ticket, 1, 1, 1, expires, '', '', 0, '', '', 0 FROM {sessions}, s WHERE id = 'session 1'`,
				`INSERT INTO {sessions} (hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent, remember, proof, origin, replaced) ` + series + `SELECT CAST('hash' || i AS ` + bytes[h.dialect] + `), 'id ' || i, org, account, ticket, 1, 1, 1, expires, '', '', 0, '', '', 0 FROM {sessions}, s WHERE id = 'session 1'`,
			} {
				run(t, db, strings.NewReplacer("{", h.prefix, "}", "").Replace(statement))
			}
			apps := []string{"app1", "app1000", "app2100"}
			cut, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			defer cancel()
			if err := s.DeleteOrg(cut, "acme"); err != nil && !errors.Is(err, context.DeadlineExceeded) && cut.Err() == nil {
				t.Error(err)
			}
			succeed(t, 3, func(int) error { return s.DeleteOrg(ctx, "acme") })
			for table, n := range h.rowsOf(t, db, "acme", apps...) {
				if n != 0 {
					t.Errorf("%d rows in %s", n, table)
				}
			}
			if n := h.rowsOf(t, db, "aaaa"); n["factors"] != 2100 || n["sessions"] != 2100 {
				t.Errorf("rows of another org: %v", n)
			}
		})
	}
}

// TestK23RotationsDuringDeleteOrg rotates secrets and key pairs of an org while it is deleted.
func TestK23RotationsDuringDeleteOrg(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run("K23 "+h.name, func(t *testing.T) {
			stores, db, ctx := h.instances(t, 3), h.open(t), t.Context()
			for range 6 {
				var apps []string
				for range 3 {
					apps = append(apps, populate(t, stores[0], "acme", newClientKey()).app)
					must(stores[0].Sessions().DeleteOrg(ctx, "acme"))(t)
					run(t, db, "DELETE FROM "+h.prefix+"factors")
				}
				succeed(t, 3, func(i int) (err error) {
					credentials, keys := must(stores[i].Credentials())(t), must(stores[i].Keys())(t)
					for at := 0; err == nil; at++ {
						app := apps[at%len(apps)]
						switch i {
						case 0:
							time.Sleep(20 * time.Millisecond)
							return stores[i].DeleteOrg(ctx, "acme")
						case 1:
							_, err = credentials.Rotate(ctx, "acme", app, time.Hour)
						case 2:
							if _, err = keys.Rotate(ctx, "acme", app, time.Minute); errors.Is(err, token.ErrFormers) {
								err = nil
							}
						}
					}
					if slices.ContainsFunc([]error{auth.ErrNotFound, token.ErrNotFound}, func(want error) bool { return errors.Is(err, want) }) {
						return nil
					}
					return err
				})
				for table, n := range h.rowsOf(t, db, "acme", apps...) {
					if n != 0 {
						t.Errorf("%d rows in %s", n, table)
					}
				}
			}
		})
	}
}
