package session_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// credentials are those of an app of acme that signs and mints.
type credentials struct {
	clientKey string
	secret    signing.Secret
	ledger    token.Ledger
	claims    counted
	raw       string // a token with ten uses
	nonces    int
}

// counted counts the claims of a replay store.
type counted struct {
	signing.Replays
	claims int
}

func (c *counted) Claim(ctx context.Context, u signing.Use) error {
	c.claims++
	return c.Replays.Claim(ctx, u)
}

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })

// allThree gives the world's Guard three mechanisms. It uses the real clock, as the replay
// stores of signatures do.
func allThree(c *credentials) func(*world) {
	return func(w *world) {
		realTime(w)
		var keys token.MemoryKeys
		c.clientKey, c.secret = signing.Generate()
		c.claims.Replays, c.ledger = signing.NewMemory(0), token.NewMemoryLedger(nil)
		w.directory.PutApp(auth.App{ClientKey: c.clientKey, Org: "acme"})
		pair := must(token.NewPair(rsaKey()))
		pair.ClientKey, pair.Org = c.clientKey, "acme"
		if err := keys.Put(w.t.Context(), pair); err != nil {
			w.t.Fatal(err)
		}
		w.guard.Mechanisms = append(w.guard.Mechanisms,
			&signature.Mechanism{Replays: &c.claims, Credentials: signature.Memory{
				c.clientKey: {Key: must(signing.NewKey(c.clientKey, c.secret)), Account: "bob"}}},
			&bearer.Mechanism{Keys: &keys, Ledger: c.ledger})
		minter := &token.Minter{Signers: &keys, Ledger: c.ledger}
		minted, _, err := minter.Limited(w.t.Context(), token.Claims{Issuer: c.clientKey, Subject: "bob",
			Audience: "https://api.example.test/acme/v2", Scope: []string{""}, MaxUses: 10})
		if err != nil {
			w.t.Fatal(err)
		}
		c.raw = string(minted)
	}
}

// bearing returns the header of a bearer token.
func bearing(raw string) []string { return []string{"Authorization", "Bearer " + raw} }

// signed returns the headers of a signed GET of /me.
func (c *credentials) signed() []string {
	c.nonces++
	timestamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
	return []string{"Service-Client-Key", c.clientKey, "Service-Client-Timestamp", timestamp,
		"Service-Client-Nonce", fmt.Sprintf("nonce%011d", c.nonces),
		"Service-Client-Signature", signing.Sign(c.clientKey, c.secret, "/me", "GET", timestamp)}
}

// uses counts the spent uses of the app's tokens.
func (c *credentials) uses(t testing.TB) (n int64) {
	t.Helper()
	for r, err := range token.Records(t.Context(), c.ledger, token.Holder{Org: "acme", ClientKey: c.clientKey, Subject: "bob"}) {
		if err != nil {
			t.Fatal(err)
		}
		n += r.Uses
	}
	return n
}

func TestThreeMechanisms(t *testing.T) {
	var c credentials
	w := newWorld(t, allThree(&c))
	b := w.browser()
	if got := b.login("ann", annPassword); got.status != 200 {
		t.Fatal(got.body)
	}
	// check fails unless the reply has this status and this fault or acting account.
	check := func(t *testing.T, got reply, status int, what any) {
		t.Helper()
		is := any(got.fault)
		if status == 200 {
			is = got.data
		}
		if got.status != status || is != what {
			t.Errorf("got %d %v, want %d %v", got.status, is, status, what)
		}
	}
	forged := bearing(c.raw[:len(c.raw)-4] + "AAAA")

	t.Run("each alone", func(t *testing.T) {
		check(t, b.get("/me"), 200, "ann")
		check(t, w.browser().get("/me", bearing(c.raw)...), 200, "bob")
		check(t, w.browser().get("/me", c.signed()...), 200, "bob")
	})
	t.Run("a header beside a cookie decides", func(t *testing.T) {
		check(t, b.get("/me", bearing(c.raw)...), 200, "bob")
		check(t, b.get("/me", c.signed()...), 200, "bob")
	})
	t.Run("the cookie beside a header is not looked at", func(t *testing.T) {
		gets := w.stores.count("Get")
		for _, value := range []string{"", "x", strings.Repeat("A", 43)} {
			bad := w.browser()
			bad.jar[cookieName] = value
			got := bad.get("/me", bearing(c.raw)...)
			check(t, got, 200, "bob")
			check(t, bad.get("/me", append(c.signed(), "Cookie", cookieName+"=y")...), 200, "bob")
			if len(got.cookies) > 0 {
				t.Errorf("cookies %q", sets(got))
			}
		}
		if w.stores.count("Get") != gets {
			t.Error("a store was asked for it")
		}
	})
	t.Run("a header that fails does not fall back to the cookie", func(t *testing.T) {
		check(t, b.get("/me", forged...), 401, auth.DetailInvalidToken)
		check(t, b.get("/maybe", forged...), 401, auth.DetailInvalidToken)
		unsigned := c.signed()
		unsigned[7] = strings.Repeat("0", 64)
		check(t, b.get("/me", unsigned...), 401, auth.DetailInvalidSignature)
	})
	t.Run("two headers are ambiguous, cookie or not", func(t *testing.T) {
		claims, uses, touches := c.claims.claims, c.uses(t), w.stores.count("Touch")
		for _, b := range []*browser{b, w.browser()} {
			check(t, b.get("/me", append(c.signed(), bearing(c.raw)...)...), 400, auth.DetailAmbiguous)
			check(t, b.get("/maybe", append(c.signed(), bearing(c.raw)...)...), 400, auth.DetailAmbiguous)
		}
		if c.claims.claims != claims || c.uses(t) != uses || w.stores.count("Touch") != touches {
			t.Error("something was recorded")
		}
	})
	t.Run("an account header beside a cookie", func(t *testing.T) {
		check(t, b.get("/me", "Service-Client-Account", "bob"), 400, auth.DetailAmbiguous)
		check(t, b.get("/me", "Service-Client-Key", c.clientKey), 200, "ann")
	})
	t.Run("the verbs of a session, asked for with a header", func(t *testing.T) {
		check(t, b.do("POST", "/reauthenticate", form("login", "bob", "password", "bob's password"), bearing(c.raw)...), 403, auth.DetailForbidden)
		check(t, b.do("POST", "/remove", "", bearing(c.raw)...), 403, auth.DetailReauthenticate)
	})
	t.Run("a header needs no origin", func(t *testing.T) {
		check(t, b.do("POST", "/me", "", append(bearing(c.raw), "Origin", "https://evil.example")...), 200, "bob")
	})
	t.Run("none: a challenge of each", func(t *testing.T) {
		got := w.browser().get("/me")
		check(t, got, 401, auth.DetailNoCredentials)
		if all := got.header.Values("WWW-Authenticate"); strings.Join(all, ", ") != `Session, Signature versions="1 2", Bearer` {
			t.Errorf("challenges %q", all)
		}
	})

	secret, _ := b.enrol()
	pending := w.browser()
	if got := pending.login("ann", annPassword); got.status != 403 {
		t.Fatal(got.body)
	}
	code := w.manager.Code(secret, time.Now().Unix()/30+1)
	t.Run("T26 a session's token or a ticket as bearer token", func(t *testing.T) {
		for _, value := range []string{b.cookie(cookieName), pending.cookie(ticketName)} {
			check(t, w.browser().get("/me", bearing(value)...), 401, auth.DetailInvalidToken)
			check(t, w.browser().get("/me", "Service-Client-Key", value), 401, auth.DetailNoCredentials)
		}
	})
	t.Run("T26 a bearer token as session cookie or ticket", func(t *testing.T) {
		thief := w.browser()
		thief.jar[cookieName], thief.jar[ticketName] = c.raw, c.raw
		uses := c.uses(t)
		check(t, thief.clone().get("/me"), 401, expired)
		check(t, thief.post("/verify", "code", code), 401, invalidCode)
		if c.uses(t) != uses {
			t.Error("a use was spent")
		}
	})
	t.Run("T26 a ticket as session cookie and the reverse", func(t *testing.T) {
		thief := w.browser()
		thief.jar[cookieName], thief.jar[ticketName] = pending.cookie(ticketName), b.cookie(cookieName)
		check(t, thief.clone().get("/me"), 401, expired)
		check(t, thief.post("/verify", "code", code), 401, invalidCode)
		check(t, b.get("/me"), 200, "ann")
		check(t, pending.post("/verify", "code", code), 200, "ann")
	})
}
