package enginetest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// TestNamesThatAreNoText has names that PostgreSQL does not accept. In each engine they are unknown
// and cannot be created.
func TestNamesThatAreNoText(t *testing.T) {
	for _, h := range homes(t) {
		for _, name := range []string{"zero\x00byte", "no UTF-8 \xff"} {
			t.Run(fmt.Sprintf("%s %q", h.name, name), func(t *testing.T) {
				s, ctx := h.store(t), t.Context()
				keys, credentials, factors := must(s.Keys())(t), must(s.Credentials())(t), must(s.Factors())(t)
				r, n := aToken(), aSession(name)
				r.Subject = name
				for what, err := range map[string]error{
					"Issue": s.Ledger().Issue(ctx, r, nil, 10), "Create": s.Sessions().Create(ctx, n, 0),
					"Save": factors.Save(ctx, "acme", name, session.Factor{}),
				} {
					if err == nil {
						t.Errorf("%s of %q succeeded", what, name)
					}
				}
				_, public := keys.Public(ctx, name)
				_, signer := keys.Signer(ctx, name)
				_, credential := credentials.Credential(ctx, name)
				for what, c := range map[string]struct{ err, want error }{
					"Spend":      {spend(ctx, s.Ledger(), r), token.ErrRevoked},
					"Renew":      {s.Ledger().Renew(ctx, r, r, token.Grace), token.ErrRevoked},
					"Revoke":     {s.Ledger().Revoke(ctx, heldBy(r.ClientKey, token.Any), name), token.ErrNotFound},
					"DeleteID":   {s.Sessions().DeleteID(ctx, "acme", name, n.ID), auth.ErrNotFound},
					"Public":     {public, token.ErrNotFound},
					"Signer":     {signer, token.ErrNoKeyPair},
					"Delete":     {keys.Delete(ctx, "acme", name), token.ErrNotFound},
					"Credential": {credential, auth.ErrNotFound},
				} {
					expect(t, what, c.err, c.want)
				}
				revoked, err := s.Ledger().RevokeSubject(ctx, heldBy(r.ClientKey, name))
				ended, err1 := s.Sessions().DeleteAll(ctx, "acme", name, "")
				endedOrg, err6 := s.Sessions().DeleteOrg(ctx, auth.OrgKey(name))
				tokens, _, err2 := s.Ledger().List(ctx, heldBy(r.ClientKey, name), token.Position{}, token.MaxPage)
				sessions, err3 := s.Sessions().List(ctx, "acme", name)
				exposed, err4 := keys.Exposed(ctx, auth.OrgKey(name))
				factor, err5 := factors.Factor(ctx, "acme", name)
				if err := errors.Join(err, err1, err2, err3, err4, err5, err6); err != nil {
					t.Error(err)
				}
				if n := revoked + ended + endedOrg + len(tokens) + len(sessions) + len(exposed); n > 0 || factor.Version > 0 {
					t.Errorf("%d things of %q were found, and the factor %v", n, name, factor.Version)
				}
			})
		}
	}
}

// TestAFarEndIsReadAsItWasWritten has the end of a token in more milliseconds than fit in an integer. SQLite
// compares it as a floating point number.
func TestAFarEndIsReadAsItWasWritten(t *testing.T) {
	s, r := newSQLiteHome(t).store(t), aToken()
	r.Expires = time.Unix(1<<55, 0).UTC()
	expect(t, "Issue", s.Ledger().Issue(t.Context(), r, nil, 10), nil)
	page, _, err := s.Ledger().List(t.Context(), heldBy(r.ClientKey, r.Subject), token.Position{}, token.MaxPage)
	if err != nil || len(page) != 1 || !page[0].Expires.Equal(r.Expires) || !page[0].Issued.Equal(r.Issued) {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestKeysThatAreNoText has no text as the key of a token that was renewed. Its family ends as with any other key.
func TestKeysThatAreNoText(t *testing.T) {
	for _, h := range homes(t) {
		for _, name := range []string{"zero\x00byte", "no UTF-8 \xff"} {
			t.Run(fmt.Sprintf("%s %q", h.name, name), func(t *testing.T) {
				ledger, ctx, r := h.store(t).Ledger(), t.Context(), aToken()
				expect(t, "Issue", ledger.Issue(ctx, r, nil, 10), nil)
				expect(t, "Renew", ledger.Renew(ctx, r, r, 0), nil)
				former := r
				former.KeyID = name
				expect(t, "Spend", spend(ctx, ledger, former), token.ErrReused)
				r.Generation++
				expect(t, "Spend", spend(ctx, ledger, r), token.ErrRevoked)
			})
		}
	}
}

// TestRowsThatWereAltered writes to the tables what no store has written. The store must return an
// error, and not one that means "not found".
func TestRowsThatWereAltered(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		sealed := h.store(t)
		run(t, h.open(t), "UPDATE "+prefixOf(h.prefix)+"schema SET probe = NULL")
		unsealed, err := sqlstore.Open(t.Context(), h.open(t), h.dialect, sqlstore.Options{Prefix: prefixOf(h.prefix), UnsafeUnsealed: true})
		if err != nil {
			t.Fatal(err)
		}
		n := aSession("jane")
		if err := unsealed.Sessions().Create(t.Context(), n, 0); err != nil {
			t.Fatal(err)
		}
		signer := func(ctx context.Context, s *sqlstore.Store, clientKey string) error {
			_, err := must(s.Keys())(t).Signer(ctx, clientKey)
			return err
		}
		credential := func(ctx context.Context, s *sqlstore.Store, clientKey string) error {
			_, err := must(s.Credentials())(t).Credential(ctx, clientKey)
			return err
		}
		factor := func(ctx context.Context, s *sqlstore.Store, clientKey string) error {
			_, err := must(s.Factors())(t).Factor(ctx, "acme", clientKey)
			return err
		}
		for name, c := range map[string]struct {
			set   string // column and value of the row of $1
			value any
			find  func(ctx context.Context, s *sqlstore.Store, clientKey string) error
			is    error
		}{
			"a public key that is none":                {"{keys} SET public = $2 WHERE client_key", []byte("x"), signer, nil},
			"the private key is that of another":       {"{keys} SET sealed = (SELECT k.sealed FROM {keys} k WHERE k.client_key <> $1 AND $2 = 0 LIMIT 1) WHERE client_key", 0, signer, nil},
			"a private key that is none":               {"{keys} SET sealed = $2 WHERE client_key", []byte("\x00x"), signer, nil},
			"a private key that is empty":              {"{keys} SET sealed = $2 WHERE client_key", []byte{}, signer, sqlstore.ErrSealed},
			"another key id":                           {"{keys} SET key_id = $2 WHERE client_key", rand.Text(), signer, nil},
			"restrictions that are no JSON":            {"{credentials} SET restrictions = $2 WHERE client_key", "x", credential, nil},
			"a secret that is sealed, without sealing": {"{credentials} SET sealed = $2 WHERE client_key", []byte("\x01xxxxxxxxx"), credential, sqlstore.ErrSealed},
			"a secret that is too short":               {"{credentials} SET sealed = $2 WHERE client_key", []byte("\x00"), credential, nil},
			"factors that are none":                    {"{factors} SET sealed = $2 WHERE account", []byte("\x00"), factor, nil},
			"factors that end in the middle":           {"{factors} SET sealed = $2 WHERE account", []byte("\x00\x09x"), factor, nil},
			"a pending factor that is not there":       {"{factors} SET sealed = $2 WHERE account", []byte("\x00\x02x"), factor, nil},
		} {
			t.Run(h.name+" "+name, func(t *testing.T) {
				db := h.open(t)
				kept := keepSecrets(t, unsealed)
				clientKey := kept.clientKeys[0]
				statement := "UPDATE " + strings.ReplaceAll(strings.ReplaceAll(c.set, "{", h.prefix), "}", "") + " = $1"
				if _, err := db.Exec(statement, clientKey, c.value); err != nil {
					t.Fatal(err)
				}
				err := c.find(t.Context(), unsealed, clientKey)
				if err == nil || errors.Is(err, token.ErrNoKeyPair) || errors.Is(err, auth.ErrNotFound) || c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("error %v, want %v", err, c.is)
				}
				if err := c.find(t.Context(), sealed, clientKey); err == nil {
					t.Error("found by a store that seals")
				}
			})
		}
		t.Run(h.name+" a session's hash that is too short", func(t *testing.T) {
			if _, err := h.open(t).Exec("UPDATE "+h.prefix+"sessions SET hash = $1 WHERE hash = $2", []byte("x"), n.Hash[:]); err != nil {
				t.Fatal(err)
			}
			if list, err := unsealed.Sessions().List(t.Context(), "acme", "jane"); err == nil {
				t.Errorf("listed: %v", list)
			}
		})
	}
}

// TestKeysThatCannotBeKept has a private key outside of the program.
func TestKeysThatCannotBeKept(t *testing.T) {
	type elsewhere struct{ *rsa.PrivateKey }
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			pair, err := token.GeneratePair(2048)
			if err != nil {
				t.Fatal(err)
			}
			pair.ClientKey, pair.Org = "app", "acme"
			pair.Signer = elsewhere{pair.Signer.(*rsa.PrivateKey)}
			expect(t, "Put", must(h.store(t).Keys())(t).Put(t.Context(), pair), token.ErrBadKey)
		})
	}
}

// TestTablesOfAnotherVersion has a program that is older or newer than its tables.
func TestTablesOfAnotherVersion(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			h.storeIn(t, db)
			for _, version := range []string{"1", "5", "1000"} {
				run(t, db, "UPDATE "+prefixOf(h.prefix)+"schema SET version = "+version)
				s, err := sqlstore.Open(t.Context(), db, h.dialect, h.options())
				if s != nil || err == nil || !strings.Contains(err.Error(), "tables are of version "+version) {
					t.Errorf("Open = %v", err)
				}
			}
		})
	}
}

// TestARestrictionThatIsNotKnown: a credential of a later release admits nobody, and so does one whose
// restrictions could be read in two ways. Without its restriction it would permit more.
func TestARestrictionThatIsNotKnown(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s, db := h.store(t), h.open(t)
			credentials := must(s.Credentials())(t)
			clientKey, _, err := credentials.Create(t.Context(), "acme", signature.Credential{Account: "ann"})
			expect(t, "Create", err, nil)
			const known = `{"account":"ann","accounts":null,"scope":["object.read"],"networks":null}`
			run(t, db, "UPDATE "+h.prefix+"credentials SET restrictions = $1", known)
			must(credentials.Credential(t.Context(), clientKey))(t)
			for what, text := range map[string]string{
				"of a later release":      `{"account":"ann","accounts":null,"scope":["object.read"],"networks":null,"hours":"9-17"}`,
				"twice":                   `{"account":"ann","accounts":null,"scope":["object.read"],"scope":null,"networks":null}`,
				"twice, in another case":  `{"account":"ann","accounts":null,"scope":["object.read"],"SCOPE":null,"networks":null}`,
				"lost":                    `{"account":"ann","accounts":null,"networks":null}`,
				"all lost":                `{}`,
				"none":                    `null`,
				"followed by another one": known + `{"scope":["object.read.note"]}`,
				"no UTF-8":                strings.Replace(known, "ann", `\ud800`, 1),
			} {
				run(t, db, "UPDATE "+h.prefix+"credentials SET restrictions = $1", text)
				if c, err := credentials.Credential(t.Context(), clientKey); c != nil || err == nil || errors.Is(err, auth.ErrNotFound) {
					t.Errorf("%s: got %+v, %v", what, c, err)
				}
			}
			// An account that would come back as another one.
			_, _, err = credentials.Create(t.Context(), "acme", signature.Credential{Account: "ann\xff"})
			if err == nil {
				t.Error("not UTF-8: no error")
			}
		})
	}
}
