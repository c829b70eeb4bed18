package enginetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// Sealing detects altered secrets. It does not tell an older value of the same row from the latest:
// only write access to the database protects against that.
func TestAlteredSecretsDoNotOpen(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			s := h.storeIn(t, db)
			account := keepSecrets(t, s).clientKeys[0]
			factors := must(s.Factors())(t)
			table := h.prefix + "factors"
			var sealed []byte
			if err := db.QueryRow("SELECT sealed FROM "+table+" WHERE account = $1", account).Scan(&sealed); err != nil {
				t.Fatal(err)
			}
			find := func(kept []byte) error {
				t.Helper()
				if _, err := db.Exec("UPDATE "+table+" SET sealed = $1 WHERE account = $2", kept, account); err != nil {
					t.Fatal(err)
				}
				_, err := factors.Factor(t.Context(), "acme", account)
				return err
			}

			for i := range sealed {
				altered := bytes.Clone(sealed)
				altered[i] ^= 1 << (i % 8)
				if err := find(altered); !errors.Is(err, sqlstore.ErrSealed) {
					t.Errorf("byte %d of %d altered: %v, want ErrSealed", i, len(sealed), err)
				}
			}
			for what, kept := range map[string][]byte{
				"nothing": {}, "cut": sealed[:len(sealed)-1], "longer": append(bytes.Clone(sealed), 0), "the head alone": sealed[:9],
				"a plain secret": append([]byte{0, 21}, make([]byte, 21)...),
			} {
				if err := find(kept); !errors.Is(err, sqlstore.ErrSealed) {
					t.Errorf("%s: %v, want ErrSealed", what, err)
				}
			}

			if err := find(sealed); err != nil {
				t.Fatal(err)
			}
			factor, err := factors.Factor(t.Context(), "acme", account)
			if err != nil {
				t.Fatal(err)
			}
			factor.Secret = session.FactorSecret(bytes.Repeat([]byte("s"), 20))
			if err := factors.Save(t.Context(), "acme", account, factor); err != nil {
				t.Fatal(err)
			}
			if err := find(sealed); err != nil {
				t.Errorf("an older value, put back: %v; if it is told apart now, THREATS.md may say so", err)
			}
		})
	}
}

// TestK18FormerKeysOfARow replaces and deletes the row of a pair by hand. Its former keys must not
// outlive the pair that has followed them.
func TestK18FormerKeysOfARow(t *testing.T) {
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

// TestAlteredRestrictionsAreNoLock gives rows a text that the error of reading them quotes. It must not
// read as the engine's answer that another process has the lock, which is waited for.
func TestAlteredRestrictionsAreNoLock(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			s := h.storeIn(t, db)
			credentials := must(s.Credentials())(t)
			clientKey, _, err := credentials.Create(t.Context(), "acme", signature.Credential{Account: "ann"})
			expect(t, "Create", err, nil)
			run(t, db, "UPDATE "+h.prefix+`credentials SET restrictions = '{"account":"ann","created":"database is locked"}'`)
			for name, verb := range map[string]func(context.Context) error{
				"Credential": func(ctx context.Context) error { _, err := credentials.Credential(ctx, clientKey); return err },
				"List":       func(ctx context.Context) error { _, err := credentials.List(ctx, "acme", "", 10); return err },
				"Restrict": func(ctx context.Context) error {
					return credentials.Restrict(ctx, "acme", clientKey, func(*signature.Credential) error { return nil })
				},
				"RevokeAccount": func(ctx context.Context) error { return s.RevokeAccount(ctx, "acme", "ann") },
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if err := verb(ctx); err == nil || ctx.Err() != nil || errors.Is(err, auth.ErrUnavailable) {
					t.Errorf("%s: %v, %v", name, err, ctx.Err())
				}
				cancel()
			}
		})
	}
}
