package enginetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
)

// secrets holds some secrets of each kind, in a store.
type secrets struct {
	clientKeys [2]string
	plain      [][]byte
}

func keepSecrets(t *testing.T, s *sqlstore.Store) (kept secrets) {
	t.Helper()
	keys, credentials, factors := must(s.Keys())(t), must(s.Credentials())(t), must(s.Factors())(t)
	for i := range kept.clientKeys {
		clientKey, secret, err := credentials.Create(t.Context(), "acme", signature.Credential{Account: "jane"})
		if err != nil {
			t.Fatal(err)
		}
		kept.clientKeys[i] = clientKey
		kept.plain = append(kept.plain, []byte(secret))
		for range 2 {
			kept.plain = append(kept.plain, []byte(rotate(t, credentials, clientKey, time.Hour)))
		}
		if _, err := keys.Generate(t.Context(), "acme", clientKey); err != nil {
			t.Fatal(err)
		}
		pair, err := keys.Signer(t.Context(), clientKey)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(pair.Signer)
		if err != nil {
			t.Fatal(err)
		}
		active, pending := []byte(rand.Text()), []byte(rand.Text())
		factor := session.Factor{Secret: session.FactorSecret(active), Pending: session.FactorSecret(pending),
			Step: 7, Recovery: [][32]byte{{1}, {2}}}
		if err := factors.Save(t.Context(), "acme", clientKey, factor); err != nil {
			t.Fatal(err)
		}
		kept.plain = append(kept.plain, private[len(private)-64:], active, pending)
	}
	return kept
}

func rotate(t *testing.T, credentials *sqlstore.Credentials, clientKey string, grace time.Duration) signing.Secret {
	t.Helper()
	secret, err := credentials.Rotate(t.Context(), "acme", clientKey, grace)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// find looks up each secret, and returns the errors.
func (k secrets) find(t *testing.T, s *sqlstore.Store) (errs []error) {
	t.Helper()
	keys, credentials, factors := must(s.Keys())(t), must(s.Credentials())(t), must(s.Factors())(t)
	for _, clientKey := range k.clientKeys {
		_, errPair := keys.Signer(t.Context(), clientKey)
		_, errSecret := credentials.Credential(t.Context(), clientKey)
		_, errFactor := factors.Factor(t.Context(), "acme", clientKey)
		errs = append(errs, errPair, errSecret, errFactor)
	}
	return errs
}

func (k secrets) expect(t *testing.T, what string, s *sqlstore.Store, want error) {
	t.Helper()
	for i, err := range k.find(t, s) {
		if !errors.Is(err, want) {
			t.Errorf("%s: secret %d: %v, want %v", what, i, err, want)
		}
		for _, plain := range k.plain {
			if err != nil && bytes.Contains([]byte(err.Error()), plain) {
				t.Errorf("%s: an error has the secret", what)
			}
		}
	}
}

// formersOf returns the stored former secrets of a client key.
func formersOf(t *testing.T, db *sql.DB, prefix, clientKey string) (sealed [][]byte) {
	t.Helper()
	rows, err := db.Query("SELECT sealed FROM "+prefix+"formers WHERE client_key = $1 ORDER BY ends", clientKey)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var one []byte
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		sealed = append(sealed, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return sealed
}

// age moves the ends of former secrets back, as if time had passed.
func age(t *testing.T, db *sql.DB, prefix, clientKey string, by time.Duration) {
	t.Helper()
	run(t, db, "UPDATE "+prefix+"formers SET ends = ends - $1 WHERE client_key = $2", by.Milliseconds(), clientKey)
}

// content returns all rows of the tables with secrets.
func content(t *testing.T, db *sql.DB, prefix string) (all []byte) {
	t.Helper()
	for _, table := range []string{"keys", "credentials", "formers", "factors"} {
		rows, err := db.Query("SELECT * FROM " + prefix + table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.RawBytes)
		}
		for rows.Next() {
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				all = append(append(all, *v.(*sql.RawBytes)...), '\n')
			}
		}
	}
	return all
}

func TestSecretsAreSealed(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			s := h.storeIn(t, db)
			kept := keepSecrets(t, s)
			kept.expect(t, "in place", s, nil)
			all := content(t, db, h.prefix)
			for i, plain := range kept.plain {
				if len(all) < 1000 || bytes.Contains(all, plain) {
					t.Errorf("secret %d can be read in %d bytes of the tables", i, len(all))
				}
			}

			for i, clientKey := range kept.clientKeys {
				for _, own := range formersOf(t, db, h.prefix, clientKey) {
					alter := "UPDATE " + h.prefix + "formers SET sealed = $1 WHERE client_key = $2 AND sealed = $3"
					other := formersOf(t, db, h.prefix, kept.clientKeys[1-i])[0]
					run(t, db, alter, other, clientKey, own)
					_, err := must(h.store(t).Credentials())(t).Credential(t.Context(), clientKey)
					if !errors.Is(err, sqlstore.ErrSealed) {
						t.Errorf("a former secret in another row: %v, want ErrSealed", err)
					}
					run(t, db, alter, own, clientKey, other)
				}
			}

			swap := func(table, name string) {
				t.Helper()
				table = h.prefix + table
				var sealed [2][]byte
				for i, clientKey := range kept.clientKeys {
					if err := db.QueryRow("SELECT sealed FROM "+table+" WHERE "+name+" = $1", clientKey).Scan(&sealed[i]); err != nil {
						t.Fatal(err)
					}
				}
				for i, clientKey := range kept.clientKeys {
					if _, err := db.Exec("UPDATE "+table+" SET sealed = $1 WHERE "+name+" = $2", sealed[1-i], clientKey); err != nil {
						t.Fatal(err)
					}
				}
			}
			swap("keys", "client_key")
			swap("credentials", "client_key")
			swap("factors", "account")
			// Use another instance: this one has cached the credentials, from rows that seem
			// unchanged.
			kept.expect(t, "swapped", h.store(t), sqlstore.ErrSealed)
		})
	}
}

func TestSealingKeys(t *testing.T) {
	a, b := make([]byte, 32), make([]byte, 32)
	rand.Read(a)
	rand.Read(b)
	with := func(current []byte, old ...[]byte) *sqlstore.Sealer {
		return must(sqlstore.NewSealer(current, old...))(t)
	}
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			open := func(sealer *sqlstore.Sealer) *sqlstore.Store {
				h.sealer = sealer
				return h.store(t)
			}
			first := open(with(a))
			kept := keepSecrets(t, first)
			refused := func(what string, o sqlstore.Options) {
				t.Helper()
				o.Prefix = prefixOf(h.prefix)
				s, err := sqlstore.Open(t.Context(), h.open(t), h.dialect, o)
				if s != nil || !errors.Is(err, sqlstore.ErrSealingKey) {
					t.Errorf("T38 %s: Open = %v", what, err)
				}
			}
			refused("with a new key alone", sqlstore.Options{Sealer: with(b)})
			refused("without sealing", sqlstore.Options{UnsafeUnsealed: true})
			// The order of a rotation: first all instances know both keys, whichever seals.
			kept.expect(t, "with the new key too", open(with(a, b)), nil)
			both := open(with(b, a))
			kept.expect(t, "with the old key too", both, nil)
			open(with(a, b))
			open(with(b, a))
			if err := open(with(b)).Reseal(t.Context()); !errors.Is(err, sqlstore.ErrSealed) {
				t.Errorf("Reseal without the old key = %v", err)
			}
			formers := formersOf(t, h.open(t), h.prefix, kept.clientKeys[0])
			if len(formers) != 2 {
				t.Errorf("%d former secrets, want 2", len(formers))
			}
			for range 2 {
				if err := both.Reseal(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			kept.expect(t, "sealed anew, with the new key alone", open(with(b)), nil)
			refused("with the old key alone", sqlstore.Options{Sealer: with(a)})
		})
	}
}

// TestT38FirstOpenAtOnce opens new tables at once by instances of two keys. One key is that of the
// database, and it is known to all instances that have opened.
func TestT38FirstOpenAtOnce(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			sealers := [2]*sqlstore.Sealer{sealer(t), sealer(t)}
			errs := make([]error, 8)
			var wg sync.WaitGroup
			for i := range errs {
				db := h.open(t)
				wg.Go(func() {
					_, errs[i] = sqlstore.Open(t.Context(), db, h.dialect, sqlstore.Options{Prefix: prefixOf(h.prefix), Sealer: sealers[i%2]})
				})
			}
			wg.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Errorf("one key: %v, the other: %v", errs[0], errs[1])
			}
			for i, err := range errs {
				if (err == nil) != (errs[i%2] == nil) || err != nil && !errors.Is(err, sqlstore.ErrSealingKey) {
					t.Errorf("instance %d: %v", i, err)
				}
			}
		})
	}
}

func TestWithoutASealer(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			sealer := h.sealer
			h.sealer = nil
			s := h.store(t)
			_, errKeys := s.Keys()
			_, errCredentials := s.Credentials()
			_, errFactors := s.Factors()
			for _, err := range []error{errKeys, errCredentials, errFactors, s.Reseal(t.Context())} {
				if !errors.Is(err, sqlstore.ErrNoSealer) {
					t.Errorf("error %v, want ErrNoSealer", err)
				}
			}
			unsealed, err := sqlstore.Open(t.Context(), h.open(t), h.dialect, sqlstore.Options{Prefix: prefixOf(h.prefix), UnsafeUnsealed: true})
			if err != nil {
				t.Fatal(err)
			}
			kept := keepSecrets(t, unsealed)
			kept.expect(t, "unsealed", unsealed, nil)
			h.sealer = sealer
			if _, err := sqlstore.Open(t.Context(), h.open(t), h.dialect, h.options()); !errors.Is(err, sqlstore.ErrSealingKey) {
				t.Errorf("T38 unsealed, under a Sealer: Open = %v", err)
			}
			run(t, h.open(t), "UPDATE "+prefixOf(h.prefix)+"schema SET probe = NULL")
			kept.expect(t, "unsealed, under a Sealer", h.store(t), sqlstore.ErrSealed)
			if _, err := sqlstore.Open(t.Context(), h.open(t), h.dialect, sqlstore.Options{Prefix: prefixOf(h.prefix), Sealer: sealer, UnsafeUnsealed: true}); err == nil {
				t.Error("opened with both")
			}
		})
	}
}

func TestCredentialsChange(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			here, there := must(h.storeIn(t, db).Credentials())(t), must(h.store(t).Credentials())(t)
			clientKey, first, err := here.Create(t.Context(), "acme", signature.Credential{})
			if err != nil {
				t.Fatal(err)
			}
			verifies := func(what string, secret signing.Secret, want bool) {
				t.Helper()
				c, err := there.Credential(t.Context(), clientKey)
				if err != nil {
					t.Fatal(err)
				}
				if got := isSecretOf(t, c.Key, secret); got != want {
					t.Errorf("%s: verifies %v, want %v", what, got, want)
				}
			}
			verifies("the first", first, true)
			second := rotate(t, here, clientKey, time.Hour)
			verifies("the second", second, true)
			verifies("the first, in its grace", first, true)
			age(t, db, h.prefix, clientKey, time.Hour)
			verifies("the first, after it", first, false)
			verifies("the second, after it", second, true)
			third := rotate(t, here, clientKey, 0)
			verifies("the second, without grace", second, false)
			verifies("the third", third, true)

			networks := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
			nothing := func(*signature.Credential) error { return nil }
			once, again := true, 0
			err = here.Restrict(t.Context(), "acme", clientKey, func(c *signature.Credential) error {
				again++
				if once {
					once = false
					if err := there.Restrict(t.Context(), "acme", clientKey, func(c *signature.Credential) error {
						c.Networks = networks
						return nil
					}); err != nil {
						t.Error(err)
					}
				}
				c.Disabled = true
				return nil
			})
			if c, errFind := there.Credential(t.Context(), clientKey); err != nil || errFind != nil || !c.Disabled || len(c.Networks) != 1 || again != 2 {
				t.Errorf("restricted here and there: %+v, %v, %v, after %d rounds", c, err, errFind, again)
			}
			refusal := errors.New("refused")
			if err := here.Restrict(t.Context(), "acme", clientKey, func(c *signature.Credential) error { c.Disabled = false; return refusal }); err != refusal {
				t.Errorf("Restrict = %v, want the refusal as it is", err)
			}
			if c, err := there.Credential(t.Context(), clientKey); err != nil || !c.Disabled {
				t.Errorf("after a refusal: %+v, %v", c, err)
			}
			verifies("restricted", third, true)
			fourth := rotate(t, here, clientKey, time.Hour)
			if err := here.Restrict(t.Context(), "acme", clientKey, nothing); err != nil {
				t.Fatal(err)
			}
			verifies("a former one, restricted", third, true)
			if err := here.Put(t.Context(), "acme", clientKey, first, signature.Credential{}); err != nil {
				t.Fatal(err)
			}
			verifies("put again", first, true)
			verifies("what it has replaced", fourth, false)
			verifies("what came before that", third, false)
			if err := here.Delete(t.Context(), "acme", clientKey); err != nil {
				t.Fatal(err)
			}
			_, errFind := there.Credential(t.Context(), clientKey)
			_, errRotate := here.Rotate(t.Context(), "acme", clientKey, 0)
			for verb, err := range map[string]error{
				"Credential": errFind, "Rotate": errRotate, "Delete": here.Delete(t.Context(), "acme", clientKey),
				"Restrict": here.Restrict(t.Context(), "acme", clientKey, nothing),
			} {
				if !errors.Is(err, auth.ErrNotFound) {
					t.Errorf("%s of a deleted one = %v, want auth.ErrNotFound", verb, err)
				}
			}
			if err := here.Put(t.Context(), "acme", "short", first, signature.Credential{}); err == nil {
				t.Error("a client key of another shape was kept")
			}
		})
	}
}

// TestPutReplacesAllOfACredential looks from an instance that has cached the credential
// before Put, and at another credential.
func TestPutReplacesAllOfACredential(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			here, there := must(h.store(t).Credentials())(t), must(h.store(t).Credentials())(t)
			clientKey, first := signing.Generate()
			other, kept := signing.Generate()
			_, second := signing.Generate()
			put := func(org, clientKey string, secret signing.Secret, account string) {
				t.Helper()
				if err := here.Put(t.Context(), auth.OrgKey(org), clientKey, secret, signature.Credential{Account: account}); err != nil {
					t.Fatal(err)
				}
			}
			has := func(what, clientKey string, secret signing.Secret, account string) {
				t.Helper()
				c, err := there.Credential(t.Context(), clientKey)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if !isSecretOf(t, c.Key, secret) || c.Account != account {
					t.Errorf("%s: another secret, or the account %q", what, c.Account)
				}
			}
			put("acme", clientKey, first, "ann")
			put("acme", other, kept, "bob")
			has("at first", clientKey, first, "ann")
			has("the other", other, kept, "bob")
			put("acme", clientKey, second, "cat")
			has("replaced", clientKey, second, "cat")
			has("the other, afterwards", other, kept, "bob")
			if err := here.Delete(t.Context(), "acme", clientKey); err != nil {
				t.Fatal(err)
			}
			if _, err := there.Credential(t.Context(), clientKey); !errors.Is(err, auth.ErrNotFound) {
				t.Errorf("deleted: %v", err)
			}
			has("the other, when one is deleted", other, kept, "bob")
		})
	}
}

// TestK17CredentialsOfAnotherOrg calls each verb with a client key of another org.
func TestK17CredentialsOfAnotherOrg(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			here, there, ctx := must(h.store(t).Credentials())(t), must(h.store(t).Credentials())(t), t.Context()
			clientKey, first, err := here.Create(ctx, "acme", signature.Credential{Account: "ann"})
			expect(t, "Create", err, nil)
			second := rotate(t, here, clientKey, time.Hour)
			must(there.Credential(ctx, clientKey))(t)

			_, stolen := signing.Generate()
			called := false
			alter := func(*signature.Credential) error { called = true; return nil }
			expect(t, "Put", there.Put(ctx, "globex", clientKey, stolen, signature.Credential{Account: "gus"}), auth.ErrConflict)
			for _, org := range []string{"globex", "", "\x00", "\xff"} {
				_, err = there.Rotate(ctx, auth.OrgKey(org), clientKey, 0)
				expect(t, "Rotate", err, auth.ErrNotFound)
				expect(t, "Delete", there.Delete(ctx, auth.OrgKey(org), clientKey), auth.ErrNotFound)
				expect(t, "Restrict", there.Restrict(ctx, auth.OrgKey(org), clientKey, alter), auth.ErrNotFound)
				if list, err := there.List(ctx, auth.OrgKey(org), "", 10); len(list) != 0 || list == nil || err != nil {
					t.Errorf("List of %q = %v, %v", org, list, err)
				}
			}
			for _, c := range []*sqlstore.Credentials{here, there} {
				found := must(c.Credential(ctx, clientKey))(t)
				if !isSecretOf(t, found.Key, first) || !isSecretOf(t, found.Key, second) || isSecretOf(t, found.Key, stolen) || found.Account != "ann" || called {
					t.Errorf("afterwards: account %q, %d secrets", found.Account, len(found.Key.Secrets()))
				}
			}
			expect(t, "Delete by the owner", here.Delete(ctx, "acme", clientKey), nil)
			expect(t, "once it is free", there.Put(ctx, "globex", clientKey, stolen, signature.Credential{}), nil)
		})
	}
}

func TestCredentialsAreListed(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			here, there, ctx := must(h.store(t).Credentials())(t), must(h.store(t).Credentials())(t), t.Context()
			var keys []string
			for i := range 7 {
				clientKey, _, err := here.Create(ctx, "acme", signature.Credential{Account: fmt.Sprint("account ", i)})
				expect(t, "Create", err, nil)
				for range i % 3 {
					rotate(t, here, clientKey, time.Hour)
				}
				_, _, err = here.Create(ctx, "globex", signature.Credential{})
				expect(t, "Create", err, nil)
				keys = append(keys, clientKey)
			}
			slices.Sort(keys) // byte by byte, whatever the engine's locale is
			var listed []string
			for after := ""; ; after = listed[len(listed)-1] {
				page, err := there.List(ctx, "acme", after, 3)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range page {
					if found := must(there.Credential(ctx, c.Key.ClientKey()))(t); found.Account != c.Account || len(found.Key.Secrets()) != len(c.Key.Secrets()) {
						t.Errorf("%s: another credential than that of a look-up", c.Key.ClientKey())
					}
					listed = append(listed, c.Key.ClientKey())
				}
				if len(page) < 3 {
					break
				}
			}
			if diff := cmp.Diff(keys, listed); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, limit := range []int{-1, 0, 1001} {
				if list, err := there.List(ctx, "acme", "", limit); list != nil || err == nil {
					t.Errorf("a limit of %d: %v, %v", limit, list, err)
				}
			}
			if list, err := there.List(ctx, "acme", "", 1000); len(list) != 7 || err != nil {
				t.Errorf("%d credentials, %v", len(list), err)
			}
		})
	}
}

// TestCredentialsHaveFormerSecrets checks that each former secret ends with its own grace.
func TestCredentialsHaveFormerSecrets(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			here, there := must(h.storeIn(t, db).Credentials())(t), must(h.store(t).Credentials())(t)
			clientKey, first, err := here.Create(t.Context(), "acme", signature.Credential{})
			if err != nil {
				t.Fatal(err)
			}
			secrets := []signing.Secret{first}
			turn := func(grace time.Duration) { secrets = append(secrets, rotate(t, here, clientKey, grace)) }
			verify := func(what string, want ...int) {
				t.Helper()
				c, err := there.Credential(t.Context(), clientKey)
				if err != nil {
					t.Fatal(err)
				}
				var got []int
				for i, secret := range secrets {
					if isSecretOf(t, c.Key, secret) {
						got = append(got, i)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: secrets that verify (-want +got):\n%s", what, diff)
				}
			}
			turn(3 * time.Hour)
			turn(time.Hour)
			turn(2 * time.Hour)
			verify("in all graces", 0, 1, 2, 3)
			age(t, db, h.prefix, clientKey, 90*time.Minute)
			verify("after the shortest", 0, 2, 3)
			age(t, db, h.prefix, clientKey, time.Hour)
			verify("after the next", 0, 3)
			turn(time.Hour)
			if n := len(formersOf(t, db, h.prefix, clientKey)); n != 2 {
				t.Errorf("%d former secrets are kept, want the 2 that have not ended", n)
			}
			verify("rotated again", 0, 3, 4)
			age(t, db, h.prefix, clientKey, time.Hour)
			verify("after all of them", 4)
			turn(time.Hour)
			turn(time.Hour)
			turn(0)
			verify("without grace", 7)
			turn(time.Hour)
			turn(-time.Hour)
			verify("with less", 9)

			turn(time.Hour)
			for range 7 {
				turn(2 * time.Hour)
			}
			verify("as many as are kept", 9, 10, 11, 12, 13, 14, 15, 16, 17)
			turn(2 * time.Hour)
			verify("one more, of which the one with the earliest end goes", 10, 11, 12, 13, 14, 15, 16, 17, 18)
		})
	}
}

// TestCredentialsRotatedAtOnce rotates one key concurrently in two instances.
func TestCredentialsRotatedAtOnce(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			instances := []*sqlstore.Credentials{must(h.store(t).Credentials())(t), must(h.store(t).Credentials())(t)}
			clientKey, first, err := instances[0].Create(t.Context(), "acme", signature.Credential{})
			if err != nil {
				t.Fatal(err)
			}
			var secrets [8]signing.Secret
			succeed(t, len(secrets), func(i int) (err error) {
				secrets[i], err = instances[i%2].Rotate(t.Context(), "acme", clientKey, time.Hour)
				return err
			})
			c, err := instances[0].Credential(t.Context(), clientKey)
			if err != nil {
				t.Fatal(err)
			}
			for i, secret := range append(secrets[:], first) {
				if !isSecretOf(t, c.Key, secret) {
					t.Errorf("secret %d does not verify", i)
				}
			}
		})
	}
}

// TestCredentialsRotatedWhileRead checks that each look-up finds the first secret, as the present
// one or as a former one.
func TestCredentialsRotatedWhileRead(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			here, there := must(h.store(t).Credentials())(t), must(h.store(t).Credentials())(t)
			clientKey, first, err := here.Create(t.Context(), "acme", signature.Credential{})
			if err != nil {
				t.Fatal(err)
			}
			var rotated atomic.Bool
			succeed(t, 2, func(i int) error {
				if i == 0 {
					defer rotated.Store(true)
					for range 8 {
						if _, err := here.Rotate(t.Context(), "acme", clientKey, time.Hour); err != nil {
							return err
						}
					}
					return nil
				}
				for !rotated.Load() {
					c, err := there.Credential(t.Context(), clientKey)
					if err != nil {
						return err
					}
					if !isSecretOf(t, c.Key, first) {
						return errors.New("the first secret does not verify")
					}
				}
				return nil
			})
		})
	}
}

// TestResealWhileRotating has more credentials than a batch, and rotates each during Reseal. One
// has a former secret that has ended and that no key opens.
func TestResealWhileRotating(t *testing.T) {
	a, b := make([]byte, 32), make([]byte, 32)
	rand.Read(a)
	rand.Read(b)
	with := func(current []byte, old ...[]byte) *sqlstore.Sealer {
		return must(sqlstore.NewSealer(current, old...))(t)
	}
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			h.sealer = with(a)
			old := must(h.store(t).Credentials())(t)
			var clientKeys [120]string
			var secrets [len(clientKeys)]signing.Secret
			for i := range clientKeys {
				var err error
				clientKeys[i], secrets[i], err = old.Create(t.Context(), "acme", signature.Credential{})
				if err != nil {
					t.Fatal(err)
				}
			}
			h.sealer = with(b, a)
			db := h.open(t)
			store := h.storeIn(t, db)
			credentials := must(store.Credentials())(t)
			rotate(t, credentials, clientKeys[0], 0)
			run(t, db, "INSERT INTO "+h.prefix+"formers (client_key, id, org, ends, sealed) VALUES ($1, 'x', 'acme', 1, $2)", clientKeys[0], []byte("x"))
			succeed(t, 2, func(i int) error {
				if i == 0 {
					return store.Reseal(t.Context())
				}
				for _, clientKey := range clientKeys[1:] {
					if _, err := credentials.Rotate(t.Context(), "acme", clientKey, time.Hour); err != nil {
						return err
					}
				}
				return nil
			})
			if formers := formersOf(t, db, h.prefix, clientKeys[0]); len(formers) != 0 {
				t.Errorf("%d former secrets that have ended are kept", len(formers))
			}
			h.sealer = with(b)
			fresh := must(h.store(t).Credentials())(t)
			for i, clientKey := range clientKeys {
				c, err := fresh.Credential(t.Context(), clientKey)
				if err != nil {
					t.Fatalf("credential %d: %v", i, err)
				}
				if i > 0 && !isSecretOf(t, c.Key, secrets[i]) {
					t.Errorf("credential %d: the former secret does not verify", i)
				}
			}
		})
	}
}

// isSecretOf reports whether a key verifies signatures by a secret.
func isSecretOf(t *testing.T, key *signing.Key, secret signing.Secret) bool {
	t.Helper()
	v := signing.Verifier{Keys: anyKey{key}, Replays: acceptAll{}}
	_, err := v.Verify(t.Context(), signedRequest(key.ClientKey(), secret), "/notes")
	if err != nil && !errors.Is(err, signing.ErrMismatch) {
		t.Fatal(err)
	}
	return err == nil
}

type anyKey struct{ key *signing.Key }

func (k anyKey) Key(context.Context, string) (*signing.Key, error) { return k.key, nil }

type acceptAll struct{}

func (acceptAll) Claim(context.Context, signing.Use) error { return nil }

func signedRequest(clientKey string, secret signing.Secret) *http.Request {
	r := httptest.NewRequest("GET", "/notes", nil)
	names, timestamp := signing.HeadersFor(""), strconv.FormatInt(time.Now().UnixMilli(), 10)
	r.Header.Set(names.ClientKey, clientKey)
	r.Header.Set(names.Timestamp, timestamp)
	r.Header.Set(names.Nonce, rand.Text()[:16])
	r.Header.Set(names.Signature, signing.Sign(clientKey, secret, "/notes", "GET", timestamp))
	return r
}

// TestK30ResealLeavesWhatNoKeyOpens spoils one secret of each table. The others are resealed, and the
// error names the spoiled ones.
func TestK30ResealLeavesWhatNoKeyOpens(t *testing.T) {
	a, b := make([]byte, 32), make([]byte, 32)
	rand.Read(a)
	rand.Read(b)
	for _, h := range homes(t) {
		t.Run("K30 "+h.name, func(t *testing.T) {
			h.sealer = must(sqlstore.NewSealer(a))(t)
			db, old := h.open(t), h.store(t)
			bad, good := newClientKey(), newClientKey()
			populate(t, old, "acme", bad)
			populate(t, old, "globex", good)
			for _, table := range []string{"keys", "factors", "credentials", "formers"} {
				run(t, db, "UPDATE "+h.prefix+table+" SET sealed = $1 WHERE org = 'acme'", []byte("no key opens this secret"))
			}
			h.sealer = must(sqlstore.NewSealer(b, a))(t)
			err := h.store(t).Reseal(t.Context())
			if !errors.Is(err, sqlstore.ErrSealed) {
				t.Fatalf("Reseal = %v, want ErrSealed", err)
			}
			t.Log(err)
			for _, says := range []string{"4 secrets", "key pair of " + strconv.Quote(bad) + ` in org "acme"`, "signing secret of " + strconv.Quote(bad), `second factor of "ann" in org "acme"`} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("the error %q does not say %q", err, says)
				}
			}
			if strings.Contains(err.Error(), "globex") {
				t.Errorf("the error %q names what was resealed", err)
			}
			h.sealer = must(sqlstore.NewSealer(b))(t)
			fresh := h.store(t)
			must(must(fresh.Keys())(t).Signer(t.Context(), good))(t)
			must(must(fresh.Factors())(t).Factor(t.Context(), "globex", "ann"))(t)
			if c := must(must(fresh.Credentials())(t).Credential(t.Context(), good))(t); len(c.Key.Secrets()) != 2 {
				t.Errorf("%d secrets, want 2", len(c.Key.Secrets()))
			}
		})
	}
}

// TestResealReadsEachRowOnce counts the rows that PostgreSQL reads.
func TestResealReadsEachRowOnce(t *testing.T) {
	h := newPostgresHome(t)
	a, b := make([]byte, 32), make([]byte, 32)
	rand.Read(a)
	rand.Read(b)
	h.sealer = must(sqlstore.NewSealer(a))(t)
	credentials := must(h.store(t).Credentials())(t)
	const secrets = 2000
	succeed(t, 8, func(int) (err error) {
		for range secrets / 8 {
			_, _, err = credentials.Create(t.Context(), "acme", signature.Credential{})
			if err != nil {
				return err
			}
		}
		return nil
	})
	h.sealer = must(sqlstore.NewSealer(b, a))(t)
	watching, db := h.open(t), openDB(t, "pgx", durablePostgres(t)+"&application_name="+h.prefix)
	// A connection reports its reads when it ends, at the latest.
	read := func() (rows int) {
		db.SetMaxIdleConns(0)
		ended := until(func() (ended bool) {
			err := watching.QueryRow("SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = $1", h.prefix).Scan(&ended)
			return err == nil && ended
		})
		if !ended {
			t.Fatal("connections do not end")
		}
		query := "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE relname = $1"
		if err := watching.QueryRow(query, h.prefix+"credentials").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	run(t, watching, "VACUUM ANALYZE "+h.prefix+"credentials")
	s := h.storeIn(t, db)
	reseal := func(most int) {
		before := read()
		db.SetMaxIdleConns(8)
		expect(t, "Reseal", s.Reseal(t.Context()), nil)
		if n := read() - before; n > most {
			t.Errorf("%d secrets, %d rows read", secrets, n)
		} else {
			t.Logf("%d secrets, %d rows read", secrets, n)
		}
	}
	var first []byte
	if err := watching.QueryRow("SELECT sealed FROM " + h.prefix + "credentials ORDER BY client_key LIMIT 1").Scan(&first); err != nil {
		t.Fatal(err)
	}
	reseal(3 * secrets) // the one that selects and the one that updates
	run(t, watching, "UPDATE "+h.prefix+"credentials SET sealed = $1 WHERE client_key = (SELECT min(client_key) FROM "+h.prefix+"credentials)", first)
	run(t, watching, "VACUUM ANALYZE "+h.prefix+"credentials")
	reseal(secrets + secrets/2) // also if there is only one to seal
}
