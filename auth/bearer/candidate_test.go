package bearer_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

// counted counts what is spent, and can fail.
type counted struct {
	token.Ledger
	spent  atomic.Int64
	broken atomic.Bool
}

func (c *counted) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	if c.broken.Load() {
		return token.Lineage{}, errors.New("broken")
	}
	c.spent.Add(1)
	return c.Ledger.Spend(ctx, r)
}

func TestMechanismKeepsTheContract(t *testing.T) {
	w := newWorld(t)
	ledger := &counted{Ledger: w.ledger}
	with := func(raw func() string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+raw()) }
	}
	audience := []any{"aud", "https://api.example.com/acme/v2"}
	valid := w.limited(t, "one", 1000, audience...)
	authtest.CheckMechanism(t, authtest.Candidate{
		Mechanism: &bearer.Mechanism{Keys: &w.keys, Ledger: ledger},
		Directory: w.directory, Org: "acme",
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
