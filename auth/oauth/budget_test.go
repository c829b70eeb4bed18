package oauth_test

import (
	"context"
	"crypto/ed25519"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/token"
)

// countedSigners counts the key pairs that somebody has wanted to sign with.
type countedSigners struct {
	token.Signers
	asked int
}

func (c *countedSigners) Signer(ctx context.Context, clientKey string) (*token.KeyPair, error) {
	c.asked++
	return c.Signers.Signer(ctx, clientKey)
}

// countedLedger counts all calls.
type countedLedger struct {
	token.Ledger
	calls int
}

func (c *countedLedger) Issue(ctx context.Context, r token.Record, verifying []string, limit int) error {
	c.calls++
	return c.Ledger.Issue(ctx, r, verifying, limit)
}

func (c *countedLedger) Revoke(ctx context.Context, of token.Holder, id string) error {
	c.calls++
	return c.Ledger.Revoke(ctx, of, id)
}

func (c *countedLedger) Get(ctx context.Context, of token.Holder, id string) (token.Record, error) {
	c.calls++
	return c.Ledger.Get(ctx, of, id)
}

func (c *countedLedger) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	c.calls++
	return c.Ledger.Spend(ctx, r)
}

func TestBudgetOfRefusedClients(t *testing.T) {
	signers, ledger := new(countedSigners), new(countedLedger)
	w := newWorld(t, func(w *world) {
		signers.Signers, ledger.Ledger = &w.keys, w.ledger
		w.bearer.Signers, w.bearer.Ledger = signers, ledger
	})
	permanent := w.record(t, otherKey, "acme", "ann", 0)
	claims := &counted{Replays: w.signature.Replays}
	w.signature.Replays = claims
	w.change(acmeKey, func(c *signature.Credential) { c.Scope = []string{"object.read.c_note"} })
	forged := assertedBy(t, jwt.SigningMethodEdDSA, ed25519.NewKeyFromSeed([]byte("a seed that nobody has been told")), payload())
	const grant = "client_credentials"
	for name, q := range map[string]question{
		"a wrong secret":           ask("/base/acme/v2/oauth/token", acmeKey, otherSecret, "grant_type", grant),
		"an unknown client":        ask("/base/acme/v2/oauth/token", nobodyKey, otherSecret, "grant_type", grant),
		"a forged assertion":       askBy(forged),
		"introspection":            ask("/base/acme/v2/oauth/introspect", acmeKey, otherSecret, "token", permanent),
		"revocation":               ask("/base/acme/v2/oauth/revoke", otherKey, acmeSecret, "token", permanent),
		"revocation of another's":  ask("/base/acme/v2/oauth/revoke", acmeKey, acmeSecret, "token", permanent),
		"a scope beyond":           askToken("scope", "admin.read"),
		"a scope that is no chain": askToken("scope", "openid"),
		"another grant":            ask("/base/acme/v2/oauth/token", acmeKey, acmeSecret, "grant_type", "password"),
		"another resource":         askToken("resource", "https://api.example.test"),
	} {
		w.send(t, q)
		if signers.asked+ledger.calls+claims.claims > 0 {
			t.Errorf("%s: %d signatures, %d calls of the ledger, %d claims", name, signers.asked, ledger.calls, claims.claims)
		}
		signers.asked, ledger.calls, claims.claims = 0, 0, 0
	}
	w.givePublic(t, signer)
	nextSecond()
	want(t, w.send(t, askBy(asserted(t, payload()), "scope", "admin.read")), 400, "invalid_scope")
	if claims.claims != 1 || signers.asked > 0 {
		t.Errorf("an assertion: %d claims, %d signatures", claims.claims, signers.asked)
	}
}
