package bearer_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
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

func TestValidateNamesWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		mechanism *bearer.Mechanism
		ok        bool
	}{
		"nothing": {&bearer.Mechanism{}, false},
		"no keys": {&bearer.Mechanism{Signers: new(token.MemoryKeys)}, false},
		"keys":    {&bearer.Mechanism{Keys: new(token.MemoryKeys)}, true},
	} {
		if err := c.mechanism.Bind(new(auth.Settings)); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One mechanism reads the claims of one brand. The claims of another brand would be unknown, and
// limit nothing.
func TestOneMechanismServesOneBrand(t *testing.T) {
	w := newWorld(t)
	want(t, w.me(t, honest(t)), 200, "")
	for _, brand := range []auth.Brand{{Claims: "other/"}, {Header: "Other-"}} {
		other := &auth.Guard{BaseURL: w.guard.BaseURL, Directory: w.directory, Roles: auth.RolesDoNotLimit, Mechanisms: w.guard.Mechanisms, Brand: brand}
		if err := other.Validate(); err == nil {
			t.Errorf("%+v: the Guard is valid", brand)
		}
		other = &auth.Guard{Roles: auth.RolesDoNotLimit, BaseURL: w.guard.BaseURL, Directory: w.directory, Brand: brand,
			Mechanisms: []auth.Mechanism{wrapped{w.mechanism}}} // Validate cannot bind it
		mux := other.Mux()
		mux.HandleFunc("GET /me", auth.Authenticated, w.answer)
		r := httptest.NewRequest("GET", "/acme/v2/me", nil)
		r.Header.Set("Authorization", "Bearer "+honest(t, "other/scp", []string{}))
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, r)
		if rec.Code != 500 {
			t.Errorf("%+v: got %d", brand, rec.Code)
		}
	}
}

// wrapped hides the Bind of a mechanism.
type wrapped struct{ auth.Mechanism }

func (wrapped) Bind(*auth.Settings) error { return nil }

func TestMinterHasTheGuardsSettings(t *testing.T) {
	grammar := &scope.Grammar{Identifier: func(s string) bool { return s == "7" }}
	at := time.Unix(1_790_000_000, 0)
	w := newWorld(t, func(w *world) {
		w.guard.Scopes, w.guard.Brand.Claims, w.guard.Now = grammar, "acme/", func() time.Time { return at }
	})
	m := w.mechanism.Minter(w.guard)
	c := token.Claims{Issuer: appA, Subject: "ann", Audience: "https://api.example.test/acme/v2", Scope: []string{"object.read.c_bill.7", "object.read.c_note"}}
	raw, claims, err := m.Ephemeral(t.Context(), c, 0)
	if err != nil || !claims.IssuedAt.Equal(at) {
		t.Fatal(claims.IssuedAt, err)
	}
	want(t, w.ask(t, "GET", "/acme/v2/notes", "Authorization", "Bearer "+string(raw)), 200, "")
}

func TestMintRefusesAMinterOfAnotherGuard(t *testing.T) {
	for name, alter := range map[string]func(*auth.Guard){
		"namespace": func(g *auth.Guard) { g.Brand.Claims = "other/" },
		"grammar":   func(g *auth.Guard) { g.Scopes = new(scope.Grammar) },
	} {
		m := newMinting(t)
		other := newMinting(t, func(w *world) { alter(w.guard) })
		m.mechanism = other.mechanism
		if _, _, err := m.try(t, session("ann"), wish("ann", permanent)); err == nil || !strings.Contains(err.Error(), "Guard") {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(m.records(t)) + len(other.records(t)); n != 0 {
			t.Errorf("%s: %d records", name, n)
		}
	}
}

// A token is valid at the versions and codes that the Guard and the org name, and only with the
// key of its org.
func TestK20TokensOfOtherVersionsAndFormerCodes(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.guard.OrgIDs = true
		w.guard.Versions, w.guard.Audiences = []string{"v2", "v3"}, []string{"v1"}
		w.directory.PutOrg(auth.Org{Code: "apex", ID: "acme", FormerCodes: []string{"acme"}})
		w.directory.PutOrg(auth.Org{Code: "acme", ID: "globex", FormerCodes: []string{"globex", "apex"}})
	})
	for _, c := range []struct {
		name, audience, path string
		status               int
	}{
		{"of this version", "apex/v2", "/apex/v2/me", 200},
		{"of the version that stays valid", "apex/v1", "/apex/v2/me", 200},
		{"of the version that stays valid, at another one", "apex/v1", "/apex/v3/me", 200},
		{"of another version", "apex/v3", "/apex/v2/me", 401},
		{"of a former code", "acme/v2", "/apex/v2/me", 200},
		{"of a former code and the version that stays valid", "acme/v1", "/apex/v2/me", 200},
		{"of a former code, at the org that has it now", "acme/v2", "/acme/v2/me", 401},
		{"of the code, at the org that had it", "apex/v2", "/acme/v2/me", 401},
		{"of a code that the org never had", "globex/v2", "/apex/v2/me", 401},
	} {
		t.Run("K20 "+c.name, func(t *testing.T) {
			raw := honest(t, "aud", "https://api.example.test/"+c.audience)
			fault := ""
			if c.status == 401 {
				fault = invalid
			}
			want(t, w.ask(t, "GET", c.path, "Authorization", "Bearer "+raw), c.status, fault)
		})
	}
}

func TestTheClientKeyHeaderIsTheBrands(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Brand = auth.Brand{Header: "x-acme-"} })
	want(t, w.ask(t, "GET", "/acme/v2/me", "Authorization", "Bearer "+honest(t), "X-Acme-Client-Key", appB), 401, "accessDenied.invalidJwtApp")
	want(t, w.ask(t, "GET", "/acme/v2/me", "Authorization", "Bearer "+honest(t), "Service-Client-Key", appB), 200, "")
}

// A store's failure is a 503, whatever error the store returns.
func TestStoresThatFailOddly(t *testing.T) {
	for name, err := range map[string]error{
		"not found": auth.ErrNotFound, "forbidden": auth.ErrForbidden, "an error of auth": &auth.Error{Detail: auth.DetailForbidden},
		"unavailable and revoked": errors.Join(auth.ErrUnavailable, token.ErrRevoked),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.mechanism.Ledger = failingWith{err: err} })
			want(t, w.me(t, w.limited(t, "odd", 3)), 503, "error.storeUnavailable")
		})
	}
}

// A failure of the keys is a 503. This holds even if its error wraps the error for an unknown
// key, which is a 401.
func TestKeysThatFailOddly(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		detail string
	}{
		"not found":                 {token.ErrNotFound, 401, invalid},
		"unavailable and not found": {errors.Join(auth.ErrUnavailable, token.ErrNotFound), 503, "error.storeUnavailable"},
		"not found and unavailable": {fmt.Errorf("%w: %w", token.ErrNotFound, auth.ErrUnavailable), 503, "error.storeUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.mechanism.Keys = keysFailingWith{c.err} })
			want(t, w.me(t, honest(t)), c.status, c.detail)
		})
	}
}

// keysFailingWith finds no key.
type keysFailingWith struct{ err error }

func (f keysFailingWith) Public(context.Context, string) (*token.PublicKey, error) {
	return nil, fmt.Errorf("sql: %w", f.err)
}

// failingWith is a ledger that returns an error which a ledger must not use.
type failingWith struct {
	token.Ledger
	err error
}

func (f failingWith) Spend(context.Context, token.Record) (token.Lineage, error) {
	return token.Lineage{}, fmt.Errorf("sql: %w", f.err)
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
		if c := got.header.Values("WWW-Authenticate"); len(c) != 2 || c[0] != "Bearer" || c[1] != `Signature versions="1 2"` {
			t.Errorf("challenges %q", c)
		}
	})
}
