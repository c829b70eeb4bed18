package enginetest

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
)

// publicKey returns a new one.
func publicKey(t *testing.T) ed25519.PublicKey {
	t.Helper()
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestSQLRestrictReplacesAKey gives a client key with secrets a public key.
func TestSQLRestrictReplacesAKey(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			h := homeLike(t, h)
			here, there, ctx := must(h.store(t).Credentials())(t), must(h.store(t).Credentials())(t), t.Context()
			clientKey, _, err := here.Create(ctx, "acme", signature.Credential{Account: "ann"})
			expect(t, "Create", err, nil)
			_, err = here.Rotate(ctx, "acme", clientKey, time.Hour)
			expect(t, "Rotate", err, nil)
			to := func(key *signing.Key, err error) func(*signature.Credential) error {
				expect(t, "a key", err, nil)
				return func(c *signature.Credential) error { c.Key = key; return nil }
			}
			other, secret := signing.Generate()
			for name, alter := range map[string]func(*signature.Credential) error{
				"a secret":                           to(signing.NewKey(clientKey, secret)),
				"a public key of another client key": to(signing.NewPublicKey(other, publicKey(t))),
			} {
				if here.Restrict(ctx, "acme", clientKey, alter) == nil {
					t.Errorf("%s was taken", name)
				}
			}
			public := publicKey(t)
			replace := to(signing.NewPublicKey(clientKey, public))
			calls := 0
			expect(t, "Restrict", here.Restrict(ctx, "acme", clientKey, func(c *signature.Credential) error {
				if calls++; calls == 1 { // meanwhile, another instance narrows the credential
					expect(t, "narrowing", there.Restrict(ctx, "acme", clientKey, func(c *signature.Credential) error {
						c.Scope = []string{}
						return nil
					}), nil)
				}
				return replace(c)
			}), nil)
			got := must(there.Credential(ctx, clientKey))(t)
			if keys := got.Key.PublicKeys(); calls != 2 || len(keys) != 1 || !keys[0].Equal(public) || len(got.Key.Secrets()) != 0 {
				t.Errorf("after %d calls: %d keys, %d secrets", calls, len(keys), len(got.Key.Secrets()))
			}
			if got.Scope == nil || got.Account != "ann" {
				t.Errorf("the restrictions are lost: %+v", got)
			}
		})
	}
}

func TestSQLPublicKeys(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			h := homeLike(t, h)
			credentials, ctx := must(h.store(t).Credentials())(t), t.Context()
			clientKey, _ := signing.Generate()
			first, second := publicKey(t), publicKey(t)
			expect(t, "PutPublicKey", credentials.PutPublicKey(ctx, "acme", clientKey, signature.Credential{Account: "ann"}, first), nil)
			expect(t, "of another org", credentials.PutPublicKey(ctx, "globex", clientKey, signature.Credential{}, second), auth.ErrConflict)
			if _, err := credentials.Rotate(ctx, "acme", clientKey, time.Hour); err == nil {
				t.Error("rotated as a secret")
			}
			narrow := func(c *signature.Credential) error { c.MinVersion = 2; return nil }
			expect(t, "Restrict", credentials.Restrict(ctx, "acme", clientKey, narrow), nil)
			found := must(credentials.Credential(ctx, clientKey))(t)
			if keys := found.Key.PublicKeys(); len(keys) != 1 || !keys[0].Equal(first) || found.MinVersion != 2 || found.Account != "ann" {
				t.Errorf("%d keys, %+v", len(keys), found)
			}
			expect(t, "a rotation", credentials.PutPublicKey(ctx, "acme", clientKey, *found, first, second), nil)
			if keys := must(credentials.Credential(ctx, clientKey))(t).Key.PublicKeys(); len(keys) != 2 || !keys[1].Equal(second) {
				t.Errorf("%d keys", len(keys))
			}
			expect(t, "a secret instead", credentials.Put(ctx, "acme", clientKey, signing.Secret(secretOf64), *found), nil)
			if key := must(credentials.Credential(ctx, clientKey))(t).Key; key.PublicKeys() != nil || len(key.Secrets()) != 1 {
				t.Error("the public keys still verify")
			}
			for name, err := range map[string]error{
				"no key":                  credentials.PutPublicKey(ctx, "acme", clientKey, signature.Credential{}),
				"a key of small order":    credentials.PutPublicKey(ctx, "acme", clientKey, signature.Credential{}, make([]byte, 32)),
				"a short client key":      credentials.PutPublicKey(ctx, "acme", "short", signature.Credential{}, first),
				"an org with a zero byte": credentials.PutPublicKey(ctx, "a\x00", clientKey, signature.Credential{}, first),
			} {
				if err == nil {
					t.Errorf("%s was taken", name)
				}
			}
		})
	}
}

const secretOf64 = "acmeSecret000000000000000000000000000000000000000000000000000001"

// TestK24PublicKeysOfAWriter gives a client key the public key of another, as one can who writes to
// the database alone.
func TestK24PublicKeysOfAWriter(t *testing.T) {
	for _, h := range homes(t) {
		if h.unsealed {
			continue
		}
		t.Run("K24 "+h.name, func(t *testing.T) {
			h := homeLike(t, h)
			db := h.open(t)
			credentials, ctx := must(h.storeIn(t, db).Credentials())(t), t.Context()
			victim, _ := signing.Generate()
			attacker, _ := signing.Generate()
			for _, clientKey := range []string{victim, attacker} {
				expect(t, "PutPublicKey", credentials.PutPublicKey(ctx, "acme", clientKey, signature.Credential{}, publicKey(t)), nil)
			}
			run(t, db, "UPDATE "+h.prefix+"credentials SET version = 'x', sealed = (SELECT sealed FROM "+h.prefix+
				"credentials WHERE client_key = $1) WHERE client_key = $2", attacker, victim)
			if _, err := credentials.Credential(ctx, victim); !errors.Is(err, sqlstore.ErrSealed) {
				t.Errorf("K24 the attacker's public key: %v", err)
			}
		})
	}
}

// TestPublicKeysAsFormerSecret copies the text of public keys, which everybody knows, to a former
// secret of the same client key.
func TestPublicKeysAsFormerSecret(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			h := homeLike(t, h)
			db := h.open(t)
			credentials, ctx := must(h.storeIn(t, db).Credentials())(t), t.Context()
			public, _ := signing.Generate()
			expect(t, "PutPublicKey", credentials.PutPublicKey(ctx, "acme", public, signature.Credential{}, publicKey(t)), nil)
			run(t, db, "INSERT INTO "+h.prefix+"formers (client_key, id, org, ends, sealed) SELECT client_key, 'x', org, 9999999999999, sealed FROM "+
				h.prefix+"credentials WHERE client_key = $1", public)
			if _, err := credentials.Credential(ctx, public); err == nil {
				t.Error("public keys became a former secret")
			}
		})
	}
}
