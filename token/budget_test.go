package token_test

import (
	"context"
	"crypto"
	"crypto/sha256"
	"errors"
	"hash"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// hashed counts hashes. Each RSA operation begins with one.
var hashed atomic.Int64

func init() {
	crypto.RegisterHash(crypto.SHA256, func() hash.Hash {
		hashed.Add(1)
		return sha256.New()
	})
}

// spending counts the calls that may spend a use.
type spending struct {
	token.Ledger
	calls int
}

func (s *spending) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	s.calls++
	return s.Ledger.Spend(ctx, r)
}

// TestBudgetOfRefusedTokens counts the RSA verifications and ledger calls for each
// reason to refuse a token, and for the same token once more.
func TestBudgetOfRefusedTokens(t *testing.T) {
	w := newWorld(t)
	ledger := &spending{Ledger: w.ledger}
	w.verifier.Ledger = ledger
	refusal := errors.New("the account is gone")
	w.admit = func(_ context.Context, v *token.Verified) error {
		if v.Subject() == account {
			return nil
		}
		return refusal
	}
	good := w.token(t)
	ending := w.token(t, "exp", w.now().Unix()+1)
	accepted(t, w, ending)
	revoked := w.token(t, "jti", "revoked")
	record := token.Record{ID: "revoked", Org: "acme", ClientKey: appA, Subject: account, KeyID: kid(t, 0), Issued: w.now()}
	if err := w.ledger.Issue(t.Context(), record, nil, 10); err != nil {
		t.Fatal(err)
	}
	accepted(t, w, revoked)
	if err := w.ledger.Revoke(t.Context(), heldBy(appA, token.Any), "revoked"); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Second)
	for _, c := range []struct {
		name, raw string
		want      error
		rsa       int64
		calls     int
	}{
		{"malformed", "none", token.ErrInvalid, 0, 0},
		{"longer than 8 KiB", good + strings.Repeat("x", 9<<10), token.ErrInvalid, 0, 0},
		{"another algorithm", forge(t, 0, `{"alg":"RS512","kid":"`+kid(t, 0)+`"}`, payload(t, w.claims())), token.ErrInvalid, 0, 0},
		{"an unknown key", forge(t, 2, header(t, 2), payload(t, w.claims())), token.ErrInvalid, 0, 0},
		{"forged", forge(t, 1, header(t, 0), payload(t, w.claims("jti", "spared"))), token.ErrInvalid, 1, 0},
		{"expired", w.token(t, "jti", "spared", "exp", w.now().Unix()), token.ErrExpired, 1, 0},
		{"expired, seen before", ending, token.ErrExpired, 0, 0},
		{"not active yet", w.token(t, "jti", "spared", "nbf", w.now().Unix()+61), token.ErrNotYet, 1, 0},
		{"for another audience", w.token(t, "jti", "spared", "aud", "https://api.example.com/other/v2"), token.ErrInvalid, 1, 0},
		{"of an account that is gone", w.token(t, "jti", "spared", "sub", "another"), refusal, 1, 0},
		{"in no ledger", w.token(t, "jti", "none"), token.ErrRevoked, 1, 1},
		{"revoked, seen before", revoked, token.ErrRevoked, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 { // a refused token is not cached
				before := hashed.Load()
				ledger.calls = 0
				if _, err := w.verify(t, c.raw); !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if ledger.calls != c.calls {
					t.Errorf("%d ledger calls, want %d", ledger.calls, c.calls)
				}
				if n := hashed.Load() - before; n != c.rsa {
					t.Errorf("%d RSA verifications, want %d", n, c.rsa)
				}
			}
		})
	}
	t.Run("beside another client key", func(t *testing.T) {
		before := hashed.Load()
		ledger.calls = 0
		_, err := w.verifier.Verify(t.Context(), w.token(t, "jti", "other"), token.Expect{Org: "acme", Audience: audience, ClientKey: appB})
		// One more hash made the token.
		if n := hashed.Load() - before; n != 2 || ledger.calls != 0 || !errors.Is(err, token.ErrKeyMismatch) {
			t.Errorf("%d RSA operations, %d ledger calls, %v", n, ledger.calls, err)
		}
	})
}
