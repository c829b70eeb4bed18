package bearer_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// counting counts the claims of a store.
type counting struct {
	signing.Replays
	claims int
}

func (c *counting) Claim(ctx context.Context, u signing.Use) error {
	c.claims++
	return c.Replays.Claim(ctx, u)
}

// Signatures and tokens in one Guard.
func TestTwoMechanisms(t *testing.T) {
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	store := &counting{Replays: signing.NewMemory(0)}
	w := newWorld(t, func(w *world) {
		w.directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
		w.guard.Mechanisms = append(w.guard.Mechanisms, &signature.Mechanism{
			Credentials: signature.Memory{clientKey: {Key: key, Account: "root", Accounts: []string{"ann"}}},
			Replays:     store,
		})
	})
	timestamp := strconv.FormatInt(time.Now().Add(time.Second).UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(clientKey+string(secret)))
	mac.Write([]byte("/me;GET;" + timestamp))
	signed := []string{"Service-Client-Key", clientKey, "Service-Client-Timestamp", timestamp,
		"Service-Client-Nonce", "abcdefgh12345678", "Service-Client-Signature", hex.EncodeToString(mac.Sum(nil))}
	raw := w.limited(t, "s18", 3)
	presented := []string{"Authorization", "Bearer " + raw}

	t.Run("S18 a bearer token and a whole signature", func(t *testing.T) {
		want(t, w.ask(t, "GET", "/acme/v2/me", append(presented, signed...)...), 400, ambiguous)
		if store.claims != 0 || w.uses(t, "ann") != 0 {
			t.Errorf("S18 %d claims, %d uses", store.claims, w.uses(t, "ann"))
		}
	})
	t.Run("S15b an account header beside a token", func(t *testing.T) {
		want(t, w.ask(t, "GET", "/acme/v2/me", append(presented, "Service-Client-Account", "ann")...), 400, ambiguous)
		if w.uses(t, "ann") != 0 {
			t.Error("a use was spent")
		}
	})
	t.Run("each alone", func(t *testing.T) {
		want(t, w.ask(t, "GET", "/acme/v2/me", signed...), 200, "")
		if got := w.last.Load(); got.Mechanism != "signature" || got.Account != "root" {
			t.Errorf("principal %+v", got)
		}
		want(t, w.ask(t, "GET", "/acme/v2/me", presented...), 200, "")
	})
	t.Run("neither: one challenge for each", func(t *testing.T) {
		got := w.ask(t, "GET", "/acme/v2/me")
		want(t, got, 401, missing)
		if c := got.header.Values("WWW-Authenticate"); len(c) != 2 || c[0] != "Bearer" || c[1] != "Signature" {
			t.Errorf("challenges %q", c)
		}
	})
}
