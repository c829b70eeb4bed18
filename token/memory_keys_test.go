package token_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

func TestMemoryKeysRegeneration(t *testing.T) {
	now, _ := clockAt(someTime)
	ledger := token.NewMemoryLedger(now)
	keys := &token.MemoryKeys{}
	ctx := t.Context()
	if err := keys.Put(ctx, pairOf(t, 0, appA)); err != nil {
		t.Fatal(err)
	}
	cached := token.Cached(keys, 0)
	here := &token.Verifier{Keys: keys, Ledger: ledger, Cache: &token.Cache{}, Now: now}
	near := &token.Verifier{Keys: cached, Ledger: ledger, Cache: &token.Cache{}, Now: now}
	minter := token.Minter{Signers: keys, Ledger: ledger, Now: now}
	want := token.Expect{Org: "acme", Audience: audience}

	mint := func() []string {
		t.Helper()
		ephemeral, _, err := minter.Ephemeral(ctx, wanted(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		permanent, _, err := minter.Permanent(ctx, wanted())
		if err != nil {
			t.Fatal(err)
		}
		return []string{string(ephemeral), string(permanent)}
	}
	verify := func(v *token.Verifier, tokens []string, good bool) {
		t.Helper()
		for i, raw := range tokens {
			if _, err := v.Verify(ctx, raw, want); (err == nil) != good || !good && !errors.Is(err, token.ErrInvalid) {
				t.Errorf("token %d: %v, want accepted: %v", i, err, good)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"T22 regenerate", func() error { return keys.Put(ctx, pairOf(t, 2, appA)) }},
		{"T22 delete the app", func() error { return keys.Delete(ctx, "acme", appA) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			tokens := mint()
			verify(here, tokens, true)
			verify(near, tokens, true)
			if err := c.change(); err != nil {
				t.Fatal(err)
			}
			verify(here, tokens, false)
			cached.Invalidate(appA)
			verify(near, tokens, false)
		})
	}
	if _, _, err := minter.Ephemeral(ctx, wanted(), 0); !errors.Is(err, token.ErrNoKeyPair) {
		t.Errorf("minting for a deleted app: %v, want ErrNoKeyPair", err)
	}
}

func TestMemoryKeys(t *testing.T) {
	keys := &token.MemoryKeys{}
	ctx := t.Context()
	put := func(pair *token.KeyPair, exposed bool) {
		t.Helper()
		pair.Exposed = exposed
		if err := keys.Put(ctx, pair); err != nil {
			t.Fatal(err)
		}
	}
	exposed := func(org string) (apps []string) {
		t.Helper()
		list, err := keys.Exposed(ctx, token.OrgKey(org))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list {
			apps = append(apps, k.ClientKey+" "+k.KeyID)
		}
		return apps
	}

	t.Run("what is absent", func(t *testing.T) {
		if _, err := keys.Public(ctx, kid(t, 0)); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Public = %v, want ErrNotFound", err)
		}
		if _, err := keys.Signer(ctx, appA); !errors.Is(err, token.ErrNoKeyPair) {
			t.Errorf("Signer = %v, want ErrNoKeyPair", err)
		}
		if err := keys.Delete(ctx, "acme", appA); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Delete = %v, want ErrNotFound", err)
		}
		if err := keys.Expose(ctx, "acme", appA, true); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Expose = %v, want ErrNotFound", err)
		}
		if list, err := keys.Exposed(ctx, "acme"); list == nil || len(list) != 0 || err != nil {
			t.Errorf("Exposed = %v, %v, want an empty list", list, err)
		}
	})
	put(pairOf(t, 0, appA), false)
	put(pairOf(t, 1, appB), true)

	t.Run("what is there", func(t *testing.T) {
		want := pairOf(t, 0, appA)
		got, err := keys.Public(ctx, want.KeyID)
		if err != nil || got.ClientKey != appA || got.Org != "acme" || got.Exposed || !got.Key.Equal(want.Key) {
			t.Errorf("Public = %+v, %v", got, err)
		}
		pair, err := keys.Signer(ctx, appA)
		if err != nil || pair.KeyID != want.KeyID || pair.Validate() != nil {
			t.Errorf("Signer = %v, %v", pair, err)
		}
	})
	t.Run("a pair has one owner", func(t *testing.T) {
		if err := keys.Put(ctx, pairOf(t, 0, appB)); !errors.Is(err, token.ErrBadKey) {
			t.Errorf("Put = %v, want ErrBadKey", err)
		}
		if got, err := keys.Public(ctx, kid(t, 0)); err != nil || got.ClientKey != appA {
			t.Errorf("Public = %+v, %v", got, err)
		}
		if _, err := keys.Public(ctx, kid(t, 1)); err != nil {
			t.Errorf("the pair it had: %v", err)
		}
	})
	t.Run("a pair that is not fit is not kept", func(t *testing.T) {
		bad := pairOf(t, 2, "a\nb")
		if err := keys.Put(ctx, bad); !errors.Is(err, token.ErrBadKey) {
			t.Errorf("Put = %v, want ErrBadKey", err)
		}
	})
	t.Run("K01 apps that do not expose their key are absent", func(t *testing.T) {
		if diff := cmp.Diff([]string{appB + " " + kid(t, 1)}, exposed("acme")); diff != "" {
			t.Error(diff)
		}
		if err := keys.Expose(ctx, "acme", appA, true); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{appA + " " + kid(t, 0), appB + " " + kid(t, 1)}, exposed("acme")); diff != "" {
			t.Error(diff)
		}
		if got := exposed("other"); got != nil {
			t.Errorf("another org sees %v", got)
		}
		if err := keys.Expose(ctx, "acme", appB, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{appA + " " + kid(t, 0)}, exposed("acme")); diff != "" {
			t.Error(diff)
		}
		if _, err := keys.Public(ctx, kid(t, 1)); err != nil {
			t.Errorf("a key that is not exposed does not verify: %v", err)
		}
	})
	t.Run("K02 regenerating while the set is read", func(t *testing.T) {
		put(pairOf(t, 1, appB), true)
		done := make(chan error, 1)
		stop := make(chan struct{})
		go func() {
			for i := 0; ; i++ {
				pair := pairOf(t, []int{0, 2}[i%2], appA)
				pair.Exposed = true
				err := keys.Put(ctx, pair)
				select {
				case <-stop:
					done <- err
					return
				default:
				}
				if err != nil {
					done <- err
					return
				}
			}
		}()
		old := []string{appA + " " + kid(t, 0), appB + " " + kid(t, 1)}
		new := []string{appA + " " + kid(t, 2), appB + " " + kid(t, 1)}
		for range 1000 {
			if got := exposed("acme"); !slices.Equal(got, old) && !slices.Equal(got, new) {
				t.Fatalf("the set is neither old nor new: %v", got)
			}
		}
		close(stop)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a replaced pair is gone", func(t *testing.T) {
		put(pairOf(t, 0, appA), false)
		put(pairOf(t, 2, appA), false)
		if _, err := keys.Public(ctx, kid(t, 0)); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Public = %v, want ErrNotFound", err)
		}
		if pair, err := keys.Signer(ctx, appA); err != nil || pair.KeyID != kid(t, 2) {
			t.Errorf("Signer = %v, %v", pair, err)
		}
	})
	t.Run("a deleted pair is gone, and may come back", func(t *testing.T) {
		if err := keys.Delete(ctx, "acme", appA); err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Public(ctx, kid(t, 2)); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Public = %v, want ErrNotFound", err)
		}
		put(pairOf(t, 2, appA), false)
		if _, err := keys.Public(ctx, kid(t, 2)); err != nil {
			t.Errorf("Public = %v", err)
		}
	})
}

func TestMemoryKeysGenerate(t *testing.T) {
	var keys token.MemoryKeys
	ctx := t.Context()
	first, err := keys.Generate(ctx, "acme", appA)
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Expose(ctx, "acme", appA, true); err != nil {
		t.Fatal(err)
	}
	second, err := keys.Generate(ctx, "acme", appA)
	if err != nil {
		t.Fatal(err)
	}
	if first.KeyID == second.KeyID || !second.Exposed || second.Key.N.BitLen() != 2048 {
		t.Errorf("second key is %+v", second)
	}
	if first.Exposed {
		t.Error("a key that was handed out has changed")
	}
	if err := keys.Expose(ctx, "acme", appA, false); err != nil {
		t.Fatal(err)
	}
	if third, err := keys.Generate(ctx, "acme", appA); err != nil || third.Exposed {
		t.Errorf("third key is %+v, %v", third, err)
	}
	if _, err := keys.Public(ctx, first.KeyID); !errors.Is(err, token.ErrNotFound) {
		t.Errorf("the replaced key: %v, want ErrNotFound", err)
	}
	if _, err := keys.Generate(ctx, "acme", "a b"); !errors.Is(err, token.ErrBadKey) {
		t.Errorf("error %v, want ErrBadKey", err)
	}
}

// Anyone may ask for the certificates of an org. The apps of other orgs must not make the reply dear.
func TestExposedOfManyOrgs(t *testing.T) {
	var keys token.MemoryKeys
	keys.Fake("acme", "app")
	ask := func() {
		if list, err := keys.Exposed(t.Context(), "acme"); len(list) != 1 || err != nil {
			t.Fatal(list, err)
		}
	}
	few := testing.AllocsPerRun(100, ask)
	for i := range 1000 {
		keys.Fake("globex", fmt.Sprint("app", i))
	}
	if many := testing.AllocsPerRun(100, ask); many > few {
		t.Errorf("%.0f allocations, and %.0f without the apps of others", many, few)
	}
}
