package bearer_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

// counted counts what is spent, and can fail.
type counted struct {
	token.Spender
	spent  atomic.Int64
	broken atomic.Bool
}

func (c *counted) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	if c.broken.Load() {
		return token.Lineage{}, errors.New("broken")
	}
	c.spent.Add(1)
	return c.Spender.Spend(ctx, r)
}

func TestMechanismKeepsTheContract(t *testing.T) {
	w := newWorld(t)
	ledger := &counted{Spender: &w.ledger}
	with := func(raw func() string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+raw()) }
	}
	audience := []any{"aud", "https://api.example.com/acme/v2"}
	valid := w.limited(t, "one", 1000, audience...)
	authtest.CheckMechanism(t, authtest.Candidate{
		Mechanism: &bearer.Mechanism{Keys: &w.keys, Ledger: ledger},
		Directory: w.directory, Org: "acme", Other: "globex",
		Present: with(func() string { return valid }),
		Refused: map[string]func(*http.Request){
			"signed by another app": with(func() string { return signWith(t, 1, claims(audience...)) }),
			"no token":              with(func() string { return "x" }),
			"an app of another org": with(func() string { return signWith(t, 2, claims(append(audience, "iss", appG)...)) }),
		},
		Records: func() int { return int(ledger.spent.Load()) },
		Break:   ledger.broken.Store,
		Ends:    true,
	})
}

func TestForeignTokensKeepTheContract(t *testing.T) {
	w := newWorld(t)
	web := new(site)
	web.put(setURL, respond(200, otherSet()))
	var broken atomic.Bool
	issuer := &bearer.Issuer{Org: "acme", URL: otherURL, Audience: otherAud, JWKS: setURL, Base: web}
	issuer.Map = func(ctx context.Context, t *auth.Tenant, f *bearer.Foreign) (bearer.Grant, error) {
		if broken.Load() {
			return bearer.Grant{}, errors.New("broken")
		}
		return subject(ctx, t, f)
	}
	with := func(raw string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+raw) }
	}
	authtest.CheckMechanism(t, authtest.Candidate{
		Mechanism: &bearer.Mechanism{Keys: &w.keys, Issuers: []*bearer.Issuer{issuer}},
		Directory: w.directory, Org: "acme", Other: "globex",
		Present: with(ofOther()),
		Refused: map[string]func(*http.Request){
			"another key":     with(by(keys[2](), header("RS256", "rsa"), foreign())),
			"another issuer":  with(ofOther("iss", "https://other.example.test")),
			"another account": with(ofOther("sub", "nobody")),
		},
		Break: broken.Store,
		Ends:  true,
	})
}
