package bearer_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// noon is the initial time of a minting's clock.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// minting is a world with a clock that stands still until it is moved.
type minting struct {
	*world
	clock  *authtest.Clock
	tenant *auth.Tenant
	now    func() time.Time // of the Guard
}

func newMinting(t testing.TB, alter ...func(*world)) *minting {
	t.Helper()
	clock := authtest.NewClock(noon)
	m := &minting{clock: clock, now: clock.Now}
	m.world = newWorld(t, append([]func(*world){func(w *world) {
		w.keys.Now, w.guard.Now, w.ledger = clock.Now, func() time.Time { return m.now() }, token.NewMemoryLedger(clock.Now)
		w.mechanism.Ledger = w.ledger
	}}, alter...)...)
	m.tenant = m.world.tenant(t)
	return m
}

// session returns the principal of an account that has logged in, without any limit.
func session(account string) auth.Principal {
	return auth.Principal{Org: "acme", Account: account, Caller: account, Mechanism: "session",
		Scope: scope.Unscoped(), Granted: scope.Unscoped(), Authenticated: noon}
}

// signed returns the principal of a request that an app signed for an account.
func signed(account, app string) auth.Principal {
	p := session(account)
	p.Mechanism, p.App = "signature", app
	return p
}

func changed[T any](v T, alter ...func(*T)) T {
	for _, f := range alter {
		f(&v)
	}
	return v
}

// wish returns a wish for a token of app A with everything, changed by alter.
func wish(subject string, alter ...func(*bearer.Wish)) bearer.Wish {
	return changed(bearer.Wish{Claims: token.Claims{Issuer: appA, Subject: subject, Scope: []string{""}}}, alter...)
}

func permanent(w *bearer.Wish) { w.Permanent = true }

func uses(n int64) func(*bearer.Wish) { return func(w *bearer.Wish) { w.MaxUses = n } }

func roles(names ...string) func(*bearer.Wish) { return func(w *bearer.Wish) { w.Roles = names } }

func chains(list ...string) func(*bearer.Wish) { return func(w *bearer.Wish) { w.Scope = list } }

func until(at time.Time) func(*bearer.Wish) { return func(w *bearer.Wish) { w.Expires = at } }

func of(app string) func(*bearer.Wish) { return func(w *bearer.Wish) { w.Issuer = app } }

// try mints. The accounts root, ada and bob count as administrators.
func (m *minting) try(t testing.TB, by auth.Principal, w bearer.Wish) (string, token.Claims, error) {
	t.Helper()
	admin := strings.Contains("root ada bob", by.Account)
	signed, claims, err := m.mechanism.Mint(t.Context(), by.AsAdministrator(admin), m.tenant, w)
	return string(signed), claims, err
}

func (m *minting) mint(t testing.TB, by auth.Principal, w bearer.Wish) string {
	t.Helper()
	raw, _, err := m.try(t, by, w)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// holder returns the principal of a request with a token, which must pass.
func (m *minting) holder(t testing.TB, raw string) auth.Principal {
	t.Helper()
	if got := m.me(t, raw); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	return *m.last.Load()
}

// records returns the ledger's records of all apps and subjects of acme.
func (m *minting) records(t testing.TB) (all []token.Record) {
	t.Helper()
	for _, app := range []string{appA, appB} {
		for _, subject := range []string{"ann", "root", "ada", "bob"} {
			list, _, err := m.ledger.List(t.Context(), heldBy(app, subject), token.Position{}, token.MaxPage)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, list...)
		}
	}
	return all
}

// without is a directory that does not answer for one account or app.
type without struct {
	auth.Directory
	id string
}

func (d without) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	if id == d.id {
		return nil, context.DeadlineExceeded
	}
	return d.Directory.Account(ctx, org, id)
}

func (d without) App(ctx context.Context, clientKey string) (*auth.App, error) {
	if clientKey == d.id {
		return nil, context.DeadlineExceeded
	}
	return d.Directory.App(ctx, clientKey)
}

func nets(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}
