package token_test

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

func (w *world) minter() *token.Minter {
	return &token.Minter{Signers: &w.keys, Ledger: w.ledger, Now: w.now}
}

// wanted are claims that can be minted.
func wanted() token.Claims {
	return token.Claims{Issuer: appA, Subject: account, Audience: audience, Scope: []string{"object.read"}}
}

// limited are the claims of a token for so many uses.
func limited(uses int64) token.Claims {
	c := wanted()
	c.MaxUses = uses
	return c
}

func TestMintedForm(t *testing.T) {
	w := newWorld(t)
	c := wanted()
	c.Roles, c.Grant, c.SkipACL, c.SkipCreateACL = []string{"editor"}, scope.LevelRead, true, true
	c.NotBefore = w.now().Add(1500 * time.Millisecond)
	c.Extra = map[string]json.RawMessage{"colour": raw(` { "a" : "é<&>" } `)}
	minted, _, err := w.minter().Ephemeral(t.Context(), c, 0)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := token.Split(string(minted))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"alg":"RS256","kid":"`+kid(t, 0)+`","typ":"JWT"}`, parts.Header); diff != "" {
		t.Error(diff)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(parts.Payload), &got); err != nil {
		t.Fatal(err)
	}
	iat := float64(w.now().Unix())
	want := map[string]any{
		"iss": appA, "sub": account, "aud": audience, "iat": iat, "nbf": iat + 1, "exp": iat + 900,
		"service/scp": []any{"object.read"}, "service/rls": []any{"editor"}, "service/gnt": 4.0,
		"service/skp": true, "service/skc": true, "colour": map[string]any{"a": "é<&>"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := accepted(t, w, string(minted)); got.Subject() != account {
		t.Errorf("Subject = %q", got.Subject())
	}
}

func TestMintedTokensPassElsewhere(t *testing.T) {
	w := newWorld(t)
	minted, _, err := w.minter().Ephemeral(t.Context(), wanted(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	public, err := w.keys.Public(t.Context(), kid(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("golang-jwt", func(t *testing.T) {
		parsed, err := jwt.Parse(string(minted), func(*jwt.Token) (any, error) { return public.Key, nil },
			jwt.WithValidMethods([]string{"RS256"}), jwt.WithAudience(audience), jwt.WithIssuer(appA),
			jwt.WithSubject(account), jwt.WithExpirationRequired(), jwt.WithTimeFunc(w.now))
		if err != nil || !parsed.Valid {
			t.Errorf("Parse: %v", err)
		}
	})
	t.Run("go-jose", func(t *testing.T) {
		parsed, err := jose.ParseSignedCompact(string(minted), []jose.SignatureAlgorithm{jose.RS256})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsed.Verify(public.Key); err != nil {
			t.Errorf("Verify: %v", err)
		}
	})
}

func TestEphemeralLife(t *testing.T) {
	w := newWorld(t)
	for ttl, want := range map[time.Duration]time.Duration{
		0: 15 * time.Minute, time.Second: time.Second, 24 * time.Hour: 24 * time.Hour, 1999 * time.Millisecond: time.Second,
	} {
		minted, _, err := w.minter().Ephemeral(t.Context(), wanted(), ttl)
		if err != nil {
			t.Fatalf("ttl %v: %v", ttl, err)
		}
		got := accepted(t, w, string(minted))
		if got.ID() != "" || !got.IssuedAt().Equal(w.now()) || got.Expires().Sub(got.IssuedAt()) != want {
			t.Errorf("ttl %v: jti %q from %v to %v", ttl, got.ID(), got.IssuedAt(), got.Expires())
		}
	}
	for _, ttl := range []time.Duration{-1, 1, 999 * time.Millisecond, 24*time.Hour + 1, 1 << 62} {
		if _, _, err := w.minter().Ephemeral(t.Context(), wanted(), ttl); !errors.Is(err, token.ErrClaims) {
			t.Errorf("ttl %v: error %v, want ErrClaims", ttl, err)
		}
	}
}

func TestLedgerKinds(t *testing.T) {
	w := newWorld(t)
	permanent, pc, err := w.minter().Permanent(t.Context(), wanted())
	if err != nil {
		t.Fatal(err)
	}
	limited, lc, err := w.minter().Limited(t.Context(), limited(2))
	if err != nil {
		t.Fatal(err)
	}
	if len(pc.ID) != 22 || len(lc.ID) != 22 || pc.ID == lc.ID {
		t.Errorf("ids %q and %q", pc.ID, lc.ID)
	}
	for raw, c := range map[token.Token]token.Claims{permanent: pc, limited: lc} {
		if diff := cmp.Diff(c, accepted(t, w, string(raw)).Claims()); diff != "" {
			t.Error(diff)
		}
	}
	list, _, err := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]token.Record{
		pc.ID: {ID: pc.ID, Org: "acme", ClientKey: appA, Subject: account, KeyID: kid(t, 0), Uses: 1, Issued: w.now()},
		lc.ID: {ID: lc.ID, Org: "acme", ClientKey: appA, Subject: account, KeyID: kid(t, 0), Uses: 1, MaxUses: 2, Issued: w.now()},
	}
	got := map[string]token.Record{}
	for _, r := range list {
		got[r.ID] = r
	}
	if diff := cmp.Diff(want, got, samePrefix); diff != "" {
		t.Error(diff)
	}

	accepted(t, w, string(limited))
	refused(t, w, string(limited), token.ErrExhausted)
	w.advance(50 * 365 * 24 * time.Hour)
	accepted(t, w, string(permanent))
	if err := w.ledger.Revoke(t.Context(), heldBy(appA, token.Any), pc.ID); err != nil {
		t.Fatal(err)
	}
	refused(t, w, string(permanent), token.ErrRevoked)
}

func TestMintedTimesAreWholeSeconds(t *testing.T) {
	w := newWorld(t)
	w.advance(700 * time.Millisecond)
	c := wanted()
	c.NotBefore, c.Expires = w.now().Add(time.Second), w.now().Add(time.Hour)
	_, got, err := w.minter().Permanent(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	// Cut to whole seconds, the token would expire within the next second.
	if _, _, err := w.minter().Ephemeral(t.Context(), wanted(), 500*time.Millisecond); !errors.Is(err, token.ErrClaims) {
		t.Errorf("half a second: error %v, want ErrClaims", err)
	}
	list, _, err := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	whole := w.now().Truncate(time.Second)
	want := [5]time.Time{whole, whole.Add(time.Second), whole.Add(time.Hour), whole, whole.Add(time.Hour)}
	if diff := cmp.Diff(want, [5]time.Time{got.IssuedAt, got.NotBefore, got.Expires, list[0].Issued, list[0].Expires}); diff != "" {
		t.Error(diff)
	}
}

func TestTheEarliestIssuedAt(t *testing.T) {
	w := newWorld(t)
	w.advance(700 * time.Millisecond)
	whole := w.now().Truncate(time.Second)
	for name, c := range map[string]struct{ earliest, want time.Time }{
		"none":                           {time.Time{}, whole},
		"long ago":                       {time.Unix(-1, 1), whole},
		"before this second":             {whole.Add(-time.Nanosecond), whole},
		"at the begin of this second":    {whole, whole},
		"within this second, before now": {whole.Add(time.Nanosecond), whole.Add(time.Second)},
		"the next second":                {whole.Add(time.Second), whole.Add(time.Second)},
		"within a second to come":        {whole.Add(4500 * time.Millisecond), whole.Add(5 * time.Second)},
		"a minute ahead":                 {w.now().Add(time.Minute), whole.Add(61 * time.Second)},
		"of another zone":                {whole.Add(3 * time.Second).In(time.FixedZone("", 3600)), whole.Add(3 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			claims := wanted()
			claims.IssuedAt = c.earliest
			_, got, err := w.minter().Permanent(t.Context(), claims)
			if err != nil {
				t.Fatal(err)
			}
			list, _, err := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage)
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			if diff := cmp.Diff([2]time.Time{c.want, c.want}, [2]time.Time{got.IssuedAt, list[0].Issued}); diff != "" {
				t.Error(diff)
			}
			if err := w.ledger.Revoke(t.Context(), heldBy(appA, token.Any), got.ID); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("an ephemeral token ends by now", func(t *testing.T) {
		claims := wanted()
		claims.IssuedAt = w.now().Add(2 * time.Second)
		minted, _, err := w.minter().Ephemeral(t.Context(), claims, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		got := accepted(t, w, string(minted))
		if !got.IssuedAt().Equal(whole.Add(3*time.Second)) || !got.Expires().Equal(whole.Add(10*time.Second)) {
			t.Errorf("from %v to %v", got.IssuedAt(), got.Expires())
		}
		if _, _, err := w.minter().Ephemeral(t.Context(), claims, 2*time.Second); !errors.Is(err, token.ErrClaims) {
			t.Errorf("over when it is issued: error %v, want ErrClaims", err)
		}
	})
}

func TestTheMostUses(t *testing.T) {
	w := newWorld(t)
	minted, _, err := w.minter().Limited(t.Context(), limited(1<<53-1))
	if err != nil {
		t.Fatal(err)
	}
	if got := accepted(t, w, string(minted)).MaxUses(); got != 1<<53-1 {
		t.Errorf("MaxUses = %d", got)
	}
}

func TestUnmintableClaims(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*token.Claims){
		"no issuer":                    func(c *token.Claims) { c.Issuer = "" },
		"issuer that is no client key": func(c *token.Claims) { c.Issuer = "a b" },
		"no subject":                   func(c *token.Claims) { c.Subject = "" },
		"subject with a line break":    func(c *token.Claims) { c.Subject = "a\nb" },
		"subject that is not UTF-8":    func(c *token.Claims) { c.Subject = "\xff" },
		"subject too long":             func(c *token.Claims) { c.Subject = strings.Repeat("x", 513) },
		"audience that is not UTF-8":   func(c *token.Claims) { c.Audience = "\xff" },
		"no audience":                  func(c *token.Claims) { c.Audience = "" },
		"iat too far ahead":            func(c *token.Claims) { c.IssuedAt = w.now().Add(time.Minute + 1) },
		"iat in the last year":         func(c *token.Claims) { c.IssuedAt = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
		"jti":                          func(c *token.Claims) { c.ID = "mine" },
		"exp and ttl":                  func(c *token.Claims) { c.Expires = w.now().Add(time.Minute) },
		"use count":                    func(c *token.Claims) { c.MaxUses = 1 },
		"nbf at exp":                   func(c *token.Claims) { c.NotBefore = w.now().Add(time.Hour) },
		"nbf before 1970":              func(c *token.Claims) { c.NotBefore = time.Unix(-1, 0) },
		"level that is none":           func(c *token.Claims) { c.Grant = 9 },
		"empty role":                   func(c *token.Claims) { c.Roles = []string{""} },
		"role that is not UTF-8":       func(c *token.Claims) { c.Roles = []string{"\xff"} },
		"65 roles":                     func(c *token.Claims) { c.Roles = strings.Split(strings.Repeat("a,", 64)+"a", ",") },
		"extra sub":                    extraClaim("sub", `"x"`),
		"extra SUB":                    extraClaim("SUB", `"x"`),
		"extra ſub":                    extraClaim("ſub", `"x"`),
		"extra jti":                    extraClaim("jti", `"x"`),
		"extra namespace claim":        extraClaim("service/cnt", `1`),
		"extra NAMESPACE claim":        extraClaim("SERVICE/skp", `true`),
		"extra that is not JSON":       extraClaim("x", `{`),
		"extra with two values":        extraClaim("x", `1,"sub":"x"`),
		"extra with duplicate names":   extraClaim("x", `{"a":1,"a":2}`),
		"extra with a lone surrogate":  extraClaim("x", `"\ud800"`),
		"extra that is not UTF-8":      extraClaim("x", "\"\xff\""),
		"extra nested too deep":        extraClaim("x", strings.Repeat("[", 16)+strings.Repeat("]", 16)),
		"extra too large":              extraClaim("x", `"`+strings.Repeat("x", 8<<10)+`"`),
		"extra too many": func(c *token.Claims) {
			c.Extra = map[string]json.RawMessage{}
			for i := range 64 {
				c.Extra[fmt.Sprint(i)] = raw("1")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := wanted()
			change(&c)
			minted, _, err := w.minter().Ephemeral(t.Context(), c, time.Hour)
			if minted != "" || !errors.Is(err, token.ErrClaims) {
				t.Errorf("Ephemeral = %q, %v, want ErrClaims", string(minted), err)
			}
		})
	}
	for name, mint := range map[string]func(token.Claims) (token.Token, token.Claims, error){
		"no uses": func(c token.Claims) (token.Token, token.Claims, error) {
			return w.minter().Limited(t.Context(), c)
		},
		"permanent, with a use count": func(c token.Claims) (token.Token, token.Claims, error) {
			return w.minter().Permanent(t.Context(), limited(1))
		},
		"less than no uses": func(c token.Claims) (token.Token, token.Claims, error) {
			return w.minter().Limited(t.Context(), limited(-1))
		},
		"2⁵³ uses": func(c token.Claims) (token.Token, token.Claims, error) {
			return w.minter().Limited(t.Context(), limited(1<<53))
		},
		"permanent, expired": func(c token.Claims) (token.Token, token.Claims, error) {
			c.Expires = w.now()
			return w.minter().Permanent(t.Context(), c)
		},
		"permanent, over when it is issued": func(c token.Claims) (token.Token, token.Claims, error) {
			c.IssuedAt, c.Expires = w.now().Add(30*time.Second), w.now().Add(30*time.Second)
			return w.minter().Permanent(t.Context(), c)
		},
		"permanent, over within the second in which it is issued": func(c token.Claims) (token.Token, token.Claims, error) {
			c.IssuedAt, c.Expires = w.now().Add(29*time.Second+1), w.now().Add(30*time.Second)
			return w.minter().Permanent(t.Context(), c)
		},
		"permanent, after the year 9999": func(c token.Claims) (token.Token, token.Claims, error) {
			c.Expires = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
			return w.minter().Permanent(t.Context(), c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			minted, c, err := mint(wanted())
			if minted != "" || c.ID != "" || !errors.Is(err, token.ErrClaims) {
				t.Errorf("= %q, %v, want ErrClaims", string(minted), err)
			}
		})
	}
	if list, _, _ := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage); len(list) != 0 {
		t.Errorf("%d records of tokens that were not minted", len(list))
	}
}

func extraClaim(name, value string) func(*token.Claims) {
	return func(c *token.Claims) { c.Extra = map[string]json.RawMessage{name: raw(value)} }
}

func TestMintedScope(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct{ scope, want []string }{
		"no claim":                      {nil, nil},
		"an empty claim":                {[]string{}, []string{}},
		"everything is the empty chain": {[]string{"*"}, []string{""}},
		"everything stays":              {[]string{""}, []string{""}},
		"trailing stars fold":           {[]string{"object.read.*", "admin.*"}, []string{"object.read", "admin"}},
		"aliases":                       {[]string{"script.execute.runner", "script.execute"}, []string{"script.runner", "script"}},
		"each once, in the order given": {[]string{"view", "admin", "view.*", "view"}, []string{"view", "admin"}},
	} {
		t.Run(name, func(t *testing.T) {
			claims := wanted()
			claims.Scope = c.scope
			minted, _, err := w.minter().Ephemeral(t.Context(), claims, 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, accepted(t, w, string(minted)).Claims().Scope); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, chain := range map[string]string{
		"C02 property without an identifier": "object.read.account.name",
		"C02 deployment.create":              "deployment.create",
		"C02b create of one instance":        "object.create.c_a.65f0a1b2c3d4e5f601234567",
		"C02b delete of a property":          "object.delete.c_a.65f0a1b2c3d4e5f601234567.x",
		"C03 another case":                   "Object.read",
		"unknown root":                       "billing.read",
	} {
		t.Run(name, func(t *testing.T) {
			claims := wanted()
			claims.Scope = []string{"admin", chain}
			_, _, err := w.minter().Ephemeral(t.Context(), claims, 0)
			var syntax *scope.SyntaxError
			if !errors.Is(err, token.ErrScope) || !errors.As(err, &syntax) || syntax.Index != 1 {
				t.Errorf("error %v, want ErrScope for chain 1", err)
			}
		})
	}
	t.Run("a grammar of the embedder's", func(t *testing.T) {
		grammar := &scope.Grammar{Identifier: func(s string) bool { return s == "7" }}
		minter, claims := w.minter(), wanted()
		minter.Scopes, claims.Scope = grammar, []string{"object.read.bill.7"}
		minted, _, err := minter.Ephemeral(t.Context(), claims, 0)
		if err != nil {
			t.Fatal(err)
		}
		need, err := grammar.ParseNeed("object.read.bill.7")
		if err != nil {
			t.Fatal(err)
		}
		w.verifier.Scopes = grammar
		if set, _ := accepted(t, w, string(minted)).Scope(); !set.Allows(need) {
			t.Error("the chain does not permit what it says")
		}
	})
}

func TestNamespace(t *testing.T) {
	w := newWorld(t)
	minter := w.minter()
	minter.Namespace = "https://brand.example/"
	c := wanted()
	c.SkipACL, c.Extra = true, map[string]json.RawMessage{"service/skc": raw("true")}
	minted, _, err := minter.Ephemeral(t.Context(), c, 0)
	if err != nil {
		t.Fatal(err)
	}
	if accepted(t, w, string(minted)).SkipACL() {
		t.Error("a claim of another namespace was read")
	}
	branded := token.Verifier{Keys: &w.keys, Namespace: minter.Namespace, Now: w.now}
	got, err := branded.Verify(t.Context(), string(minted), token.Expect{Org: "acme", Audience: audience})
	if err != nil || !got.SkipACL() || got.SkipCreateACL() {
		t.Errorf("Verify = %+v, %v", got, err)
	}
	c.Extra = map[string]json.RawMessage{minter.Namespace + "skc": raw("true")}
	if _, _, err := minter.Ephemeral(t.Context(), c, 0); !errors.Is(err, token.ErrClaims) {
		t.Errorf("error %v, want ErrClaims", err)
	}
}

func TestSigners(t *testing.T) {
	w := newWorld(t)
	c := wanted()

	t.Run("an app without a key pair", func(t *testing.T) {
		c := c
		c.Issuer = "2aAbBcCdDeEfFgGhHiIjJk"
		if _, _, err := w.minter().Ephemeral(t.Context(), c, 0); !errors.Is(err, token.ErrNoKeyPair) {
			t.Errorf("error %v, want ErrNoKeyPair", err)
		}
	})
	t.Run("a key that stays in a KMS", func(t *testing.T) {
		pair, err := token.NewPair(kms{rsaKeys[0]()})
		if err != nil {
			t.Fatal(err)
		}
		pair.ClientKey = appA
		minter := token.Minter{Signers: fixed{pair}, Now: w.now}
		minted, _, err := minter.Ephemeral(t.Context(), c, 0)
		if err != nil {
			t.Fatal(err)
		}
		accepted(t, w, string(minted))
	})
	t.Run("a store that returns the pair of another app", func(t *testing.T) {
		minter := token.Minter{Signers: fixed{pairOf(t, 1, appB)}, Now: w.now}
		if minted, _, err := minter.Ephemeral(t.Context(), c, 0); err == nil {
			t.Errorf("minted %d bytes", len(minted))
		}
	})
	t.Run("a store that returns nothing", func(t *testing.T) {
		minter := token.Minter{Signers: fixed{}, Now: w.now}
		if minted, _, err := minter.Ephemeral(t.Context(), c, 0); err == nil {
			t.Errorf("minted %d bytes", len(minted))
		}
	})
	t.Run("a pair whose signer is another key's", func(t *testing.T) {
		pair := pairOf(t, 0, appA)
		pair.Signer = rsaKeys[1]()
		minter := token.Minter{Signers: fixed{pair}, Now: w.now}
		if _, _, err := minter.Ephemeral(t.Context(), c, 0); !errors.Is(err, token.ErrBadKey) {
			t.Errorf("error %v, want ErrBadKey", err)
		}
	})
	t.Run("a signer that fails leaves no record", func(t *testing.T) {
		pair := pairOf(t, 0, appA)
		pair.Signer = broken{rsaKeys[0]()}
		minter := token.Minter{Signers: fixed{pair}, Ledger: w.ledger, Now: w.now}
		if _, _, err := minter.Permanent(t.Context(), c); !errors.Is(err, errBroken) {
			t.Errorf("error %v, want the signer's", err)
		}
		if n, _ := token.LedgerLen(w.ledger); n != 0 {
			t.Error("a record was issued")
		}
	})
	t.Run("what is required and missing", func(t *testing.T) {
		if _, _, err := (&token.Minter{}).Ephemeral(t.Context(), c, 0); err == nil {
			t.Error("minted without Signers")
		}
		if _, _, err := (&token.Minter{Signers: &w.keys}).Permanent(t.Context(), c); err == nil {
			t.Error("issued without a Ledger")
		}
	})
}

// kms is a signer that gives out only its public key.
type kms struct{ crypto.Signer }

type broken struct{ crypto.Signer }

var errBroken = errors.New("no connection")

func (broken) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { return nil, errBroken }

// fixed is a Signers that always returns the same pair.
type fixed struct{ pair *token.KeyPair }

func (f fixed) Signer(context.Context, string) (*token.KeyPair, error) { return f.pair, nil }

// A minted token is accepted, and has the requested claims.
func TestMintedClaimsComeBack(t *testing.T) {
	w := newWorld(t)
	minter := w.minter()
	minter.PerSubject = 1000
	random := rand.New(rand.NewPCG(1, 2))
	chains := []string{"", "admin", "view", "object.read.c_note", "object.*.*.65f0a1b2c3d4e5f601234567", "script.route.x"}
	texts := []string{"a", "é", `"\/`, "<&>", "\u2028", "😀", "x y"}
	pick := func(from []string) []string {
		var some []string
		for _, s := range from {
			if random.IntN(2) == 0 {
				some = append(some, s)
			}
		}
		return some
	}
	for range 100 {
		want := token.Claims{
			Issuer: appA, Subject: texts[random.IntN(len(texts))], Audience: audience,
			Scope: pick(chains), Roles: pick(texts), Grant: scope.Level(random.IntN(9)),
			SkipACL: random.IntN(2) == 0, SkipCreateACL: random.IntN(2) == 0,
		}
		for _, name := range pick(texts) {
			if want.Extra == nil {
				want.Extra = map[string]json.RawMessage{}
			}
			want.Extra[name] = raw(fmt.Sprintf(`{"n":%d}`, random.IntN(1000)))
		}
		want.MaxUses = 1 + random.Int64N(1<<53-1)
		minted, got, err := minter.Limited(t.Context(), want)
		if err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		if diff := cmp.Diff(got, accepted(t, w, string(minted)).Claims()); diff != "" {
			t.Fatal(diff)
		}
		want.ID, want.IssuedAt, want.MaxUses = got.ID, w.now(), got.MaxUses
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}
