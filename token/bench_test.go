package token_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// A cached token is verified without allocations.
func TestHitsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := newWorld(t)
	raw := w.token(t, "service/rls", []string{"editor"})
	admitted := func(context.Context, *token.Verified) error { return nil }
	ctx, want := t.Context(), token.Expect{Org: "acme", Audience: audience, ClientKey: appA, Admit: admitted}
	for name, v := range map[string]*token.Verifier{
		"keys in memory": {Keys: &w.keys, Cache: &token.Cache{}, Now: w.now},
		"keys cached":    {Keys: token.Cached(&w.keys, time.Hour), Cache: &token.Cache{}, Now: w.now},
		"keys anew":      {Keys: afresh{&w.keys}, Cache: &token.Cache{}, Now: w.now},
	} {
		t.Run(name, func(t *testing.T) {
			least := 0.0
			if name == "keys anew" {
				least = 1 // the key itself
			}
			verify := func() {
				if _, err := v.Verify(ctx, raw, want); err != nil {
					t.Fatal(err)
				}
			}
			verify()
			if n := testing.AllocsPerRun(1000, verify); n > least {
				t.Errorf("%v allocations, want %v", n, least)
			}
		})
	}
}

// afresh is a Keys that makes a new value for each call, as a database does.
type afresh struct{ token.Keys }

func (a afresh) Public(ctx context.Context, kid string) (*token.PublicKey, error) {
	k, err := a.Keys.Public(ctx, kid)
	if err != nil {
		return nil, err
	}
	again := *k
	return &again, nil
}

// Refusing an exhausted token must not cost more than accepting it.
func TestRefusalsAllocateLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := newWorld(t)
	expired := w.token(t, "exp", w.now().Unix()+1)
	accepted(t, w, expired)
	w.advance(time.Second)
	for name, raw := range map[string]string{
		"expired, seen before": expired, "too large": strings.Repeat("x", 9<<10), "no token": "x",
	} {
		n := testing.AllocsPerRun(100, func() {
			if _, err := w.verify(t, raw); err == nil {
				t.Fatal("accepted")
			}
		})
		if n > 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

// RSA is crypto/rsa alone, the floor of the others.
func BenchmarkVerify(b *testing.B) {
	w := newWorld(b)
	raw := w.token(b, "service/rls", []string{"editor"}, "service/scp", []string{"object.read.c_note", "view"})
	parts, err := token.Split(raw)
	if err != nil {
		b.Fatal(err)
	}
	public := &rsaKeys[0]().PublicKey
	ctx, want := b.Context(), token.Expect{Org: "acme", Audience: audience}
	verify := func(v *token.Verifier, raw string) {
		if _, err := v.Verify(ctx, raw, want); err != nil {
			b.Fatal(err)
		}
	}

	b.Run("RSA", func(b *testing.B) {
		b.ReportAllocs()
		digest := sha256.Sum256([]byte(parts.Signed))
		for b.Loop() {
			if err := rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], parts.Signature); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("miss", func(b *testing.B) {
		b.ReportAllocs()
		other := w.token(b)
		v := &token.Verifier{Keys: &w.keys, Cache: &token.Cache{Bytes: 1}, Now: w.now}
		for i := 0; b.Loop(); i++ {
			verify(v, [2]string{raw, other}[i%2])
		}
	})
	for name, keys := range map[string]token.Keys{"hit": &w.keys, "hit, keys cached": token.Cached(&w.keys, time.Hour)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			v := &token.Verifier{Keys: keys, Cache: &token.Cache{}}
			raw := w.token(b, "iat", time.Now().Unix(), "exp", time.Now().Add(time.Hour).Unix())
			for b.Loop() {
				verify(v, raw)
			}
		})
	}
	b.Run("hit, parallel", func(b *testing.B) {
		b.ReportAllocs()
		v := &token.Verifier{Keys: &w.keys, Cache: &token.Cache{}, Now: w.now}
		verify(v, raw)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				verify(v, raw)
			}
		})
	})
	b.Run("hit, ledger", func(b *testing.B) {
		b.ReportAllocs()
		ledger := token.NewMemoryLedger(nil)
		record := token.Record{ID: "an-id", Org: "acme", ClientKey: appA, Subject: account, KeyID: kid(b, 0)}
		if err := ledger.Issue(ctx, record, nil, 10); err != nil {
			b.Fatal(err)
		}
		raw := w.token(b, "jti", "an-id")
		v := &token.Verifier{Keys: &w.keys, Ledger: ledger, Cache: &token.Cache{}, Now: w.now}
		for b.Loop() {
			verify(v, raw)
		}
	})
	b.Run("refused, unknown kid", func(b *testing.B) {
		b.ReportAllocs()
		raw := forge(b, 2, header(b, 2), payload(b, w.claims()))
		for b.Loop() {
			if _, err := w.verifier.Verify(ctx, raw, want); err == nil {
				b.Fatal("accepted")
			}
		}
	})
}

// RSA is crypto/rsa alone, the floor of the others.
func BenchmarkMint(b *testing.B) {
	w := newWorld(b)
	minter := w.minter()
	minter.PerSubject = 1 << 30
	b.Run("RSA", func(b *testing.B) {
		b.ReportAllocs()
		digest := sha256.Sum256([]byte("signed"))
		for b.Loop() {
			if _, err := rsa.SignPKCS1v15(rand.Reader, rsaKeys[0](), crypto.SHA256, digest[:]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ephemeral", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := minter.Ephemeral(b.Context(), wanted(), 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("permanent", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%1000 == 0 {
				w.ledger.RevokeSubject(b.Context(), heldBy(appA, account))
			}
			if _, _, err := minter.Permanent(b.Context(), wanted()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
