package enginetest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// hsm holds private keys by reference. It gives them to nobody.
type hsm struct {
	sync.Mutex
	keys       map[string]crypto.Signer
	away, weak bool // it finds no key; it signs nothing
}

func newHSM(t testing.TB, references ...string) *hsm {
	t.Helper()
	h := &hsm{keys: map[string]crypto.Signer{}}
	for _, reference := range references {
		h.keys[reference] = must(rsa.GenerateKey(rand.Reader, 2048))(t)
	}
	return h
}

// inside is a key of an HSM: it has no method but those of crypto.Signer.
type inside struct {
	hsm       *hsm
	reference string
}

func (i inside) Public() crypto.PublicKey { return i.hsm.keys[i.reference].Public() }

func (i inside) Sign(random io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	i.hsm.Lock()
	defer i.hsm.Unlock()
	if i.hsm.weak {
		return nil, errAway
	}
	return i.hsm.keys[i.reference].Sign(random, digest, o)
}

func (h *hsm) signer(ctx context.Context, reference string) (crypto.Signer, error) {
	h.Lock()
	defer h.Unlock()
	switch {
	case h.away:
		return nil, errAway
	case h.keys[reference] == nil:
		return nil, nil
	}
	return inside{h, reference}, ctx.Err()
}

func (h *hsm) fail(away, weak bool) {
	h.Lock()
	defer h.Unlock()
	h.away, h.weak = away, weak
}

// keysOf opens the home as an instance that has an HSM.
func (h home) keysOf(t *testing.T, module *hsm) *sqlstore.Keys {
	t.Helper()
	o := h.options()
	if module != nil {
		o.Signer = module.signer
	}
	return must(must(sqlstore.Open(t.Context(), h.open(t), h.dialect, o))(t).Keys())(t)
}

func mintWith(t *testing.T, keys token.Signers, app string) (token.Token, error) {
	t.Helper()
	minter := token.Minter{Signers: keys}
	minted, _, err := minter.Ephemeral(t.Context(), token.Claims{Issuer: app, Subject: "ann", Audience: "https://api.example.com/acme/v2"}, time.Minute)
	return minted, err
}

// TestK53SignerInAnHSM: the store has a public key and a reference. What the HSM signs is what the stock
// library signs and verifies.
func TestK53SignerInAnHSM(t *testing.T) {
	const one, two = "pkcs11:token=a;object=acme-1", "projects/p/cryptoKeyVersions/2"
	for _, h := range homes(t) {
		t.Run("K53 "+h.name, func(t *testing.T) {
			module, app := newHSM(t, one, two), newClientKey()
			keys := h.keysOf(t, module)
			_, err := keys.RotateToReference(t.Context(), "acme", app, one, time.Hour)
			expect(t, "RotateToReference without a pair", err, token.ErrNotFound)
			public := must(keys.PutReference(t.Context(), "acme", app, one))(t)

			private := module.keys[one].(*rsa.PrivateKey)
			all := content(t, h.open(t), h.prefix)
			for _, secret := range [][]byte{private.D.Bytes(), private.Primes[0].Bytes(), private.Primes[1].Bytes(), []byte(one)} {
				if bytes.Contains(all, secret) {
					t.Error("the tables have the private key, or the reference unsealed")
				}
			}

			minted := must(mintWith(t, h.keysOf(t, module), app))(t)
			text, signature := string(minted)[:strings.LastIndexByte(string(minted), '.')], ""
			if raw, err := jwt.SigningMethodRS256.Sign(text, private); err == nil {
				signature = (&jwt.Token{}).EncodeSegment(raw)
			}
			if string(minted) != text+"."+signature {
				t.Errorf("signed %s, and the stock library %s", minted, signature)
			}
			verify := func(minted token.Token, public *token.PublicKey) error {
				_, err := jwt.Parse(string(minted), func(*jwt.Token) (any, error) { return public.Key, nil }, jwt.WithValidMethods([]string{"RS256"}))
				return err
			}
			expect(t, "the stock library", verify(minted, public), nil)

			expect(t, "Expose", keys.Expose(t.Context(), "acme", app, true), nil)
			next := must(keys.RotateToReference(t.Context(), "acme", app, two, time.Hour))(t)
			later := must(mintWith(t, keys, app))(t)
			expect(t, "the stock library, of the next key", verify(later, next), nil)
			if exposed := must(keys.Exposed(t.Context(), "acme"))(t); len(exposed) != 2 || exposed[0].KeyID != next.KeyID || exposed[1].KeyID != public.KeyID {
				t.Errorf("exposed %+v", exposed)
			}
			if again := must(keys.Ensure(t.Context(), "acme", app))(t); again.KeyID != next.KeyID {
				t.Error("Ensure has replaced the key")
			}
		})
	}
}

// TestK53TheSignerIsNotThere: such an app signs nothing, and nothing else signs for it.
func TestK53TheSignerIsNotThere(t *testing.T) {
	const reference = "acme-1"
	for _, h := range homes(t) {
		t.Run("K53 "+h.name, func(t *testing.T) {
			module, app := newHSM(t, reference), newClientKey()
			keys := h.keysOf(t, module)
			public := must(keys.PutReference(t.Context(), "acme", app, reference))(t)

			unavailable := func(what string, keys *sqlstore.Keys, cause error) {
				t.Helper()
				_, errMint := mintWith(t, keys, app)
				_, errPut := keys.PutReference(t.Context(), "acme", app, reference)
				_, errRotate := keys.RotateToReference(t.Context(), "acme", app, reference, time.Hour)
				for verb, err := range map[string]error{"Mint": errMint, "PutReference": errPut, "RotateToReference": errRotate} {
					if !errors.Is(err, auth.ErrUnavailable) || cause != nil && !errors.Is(err, cause) || !strings.Contains(err.Error(), `signer "acme-1"`) {
						t.Errorf("%s, %s: %v", what, verb, err)
					}
				}
				if found, err := keys.Public(t.Context(), public.KeyID); err != nil || found.KeyID != public.KeyID {
					t.Errorf("%s: the public key: %v", what, err)
				}
			}
			unavailable("without Options.Signer", h.keysOf(t, nil), nil)
			unavailable("an unknown reference", h.keysOf(t, newHSM(t)), nil)
			module.fail(true, false)
			unavailable("no HSM", keys, errAway)
			module.fail(false, true)
			unavailable("an HSM that does not sign", keys, errAway)
			module.fail(false, false)
			if _, err := mintWith(t, h.keysOf(t, newHSM(t, reference)), app); err == nil || !strings.Contains(err.Error(), app) {
				t.Errorf("another key by the same reference: %v", err)
			}
			must(mintWith(t, keys, app))(t)
		})
	}
}

// TestK53NoWayBack: a key does not leave the HSM by a verb that makes one in memory.
func TestK53NoWayBack(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run("K53 "+h.name, func(t *testing.T) {
			module, app := newHSM(t, "acme-1", "globex-1"), newClientKey()
			module.keys["curve"] = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
			keys := h.keysOf(t, module)
			must(keys.Generate(t.Context(), "acme", app))(t)
			public := must(keys.PutReference(t.Context(), "acme", app, "acme-1"))(t)

			_, errGenerate := keys.Generate(t.Context(), "acme", app)
			_, errRotate := keys.Rotate(t.Context(), "acme", app, time.Hour)
			pair := must(token.GeneratePair(2048))(t)
			pair.Org, pair.ClientKey = "acme", app
			errPut := keys.Put(t.Context(), pair)
			_, errOrg := keys.PutReference(t.Context(), "globex", app, "globex-1")
			_, errOther := keys.PutReference(t.Context(), "acme", newClientKey(), "acme-1")
			_, errCurve := keys.PutReference(t.Context(), "acme", app, "curve")
			refused := map[string]error{"Generate": errGenerate, "Rotate": errRotate, "Put": errPut,
				"of another org": errOrg, "of another app": errOther, "of another kind": errCurve}
			for _, bad := range []string{"", "a b", "a\n", "é", "pkcs11:object=a?pin-value=1234", strings.Repeat("a", 513)} {
				_, refused["the reference "+bad] = keys.PutReference(t.Context(), "acme", app, bad)
			}
			for what, err := range refused {
				if !errors.Is(err, token.ErrBadKey) || strings.Contains(err.Error(), "1234") {
					t.Errorf("%s: %v, want ErrBadKey", what, err)
				}
			}
			if now := must(keys.Ensure(t.Context(), "acme", app))(t); now.KeyID != public.KeyID {
				t.Error("the key was replaced")
			}

			// In a transaction, and rolled back.
			db := h.open(t)
			o := h.options()
			o.Signer = module.signer
			store := must(sqlstore.Open(t.Context(), db, h.dialect, o))(t)
			tx := must(db.Begin())(t)
			in := must(must(store.In(t.Context(), tx))(t).Keys())(t)
			must(in.RotateToReference(t.Context(), "acme", app, "globex-1", time.Hour))(t)
			expect(t, "Rollback", tx.Rollback(), nil)
			if now := must(keys.Ensure(t.Context(), "acme", app))(t); now.KeyID != public.KeyID {
				t.Error("a rollback has left the key")
			}

			// The reference is sealed for its row, and sealed anew with the others.
			other := newClientKey()
			must(keys.PutReference(t.Context(), "acme", other, "globex-1"))(t)
			run(t, db, "UPDATE "+h.prefix+"keys SET sealed = (SELECT sealed FROM "+h.prefix+"keys WHERE client_key = $1) WHERE client_key = $2", app, other)
			_, err := keys.Signer(t.Context(), other)
			expect(t, "the reference of another row", err, sqlstore.ErrSealed)
			expect(t, "Delete", keys.Delete(t.Context(), "acme", other), nil)
			next := sealer(t)
			expect(t, "Reseal", h.with(next.WithOld(h.sealer)).store(t).Reseal(t.Context()), nil)
			keys = h.with(next).keysOf(t, module)
			must(mintWith(t, keys, app))(t)

			expect(t, "Delete", keys.Delete(t.Context(), "acme", app), nil)
			must(keys.Generate(t.Context(), "acme", app))(t)
		})
	}
}
