package enginetest

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/token"
)

// TestOwnIDs runs the suites over stores that hold only uuids as accounts and orgs, like a database
// with such columns.
func TestOwnIDs(t *testing.T) {
	t.Parallel()
	ids := storetest.Features{Account: uuid, Org: uuid}
	t.Run("Sessions", func(t *testing.T) {
		t.Parallel()
		store := sessionsOfUUIDs{new(session.Memory).Sessions()}
		storetest.Sessions(t, func(*testing.T) session.Store { return store }, ids)
	})
	t.Run("Factors", func(t *testing.T) {
		t.Parallel()
		store := factorsOfUUIDs{new(session.Memory).Factors()}
		storetest.Factors(t, func(*testing.T) session.FactorStore { return store }, ids)
	})
	t.Run("Ledger", func(t *testing.T) {
		t.Parallel()
		store := ledgerOfUUIDs{token.NewMemoryLedger(nil)}
		storetest.Ledger(t, func(*testing.T) token.Ledger { return store }, ids)
	})
}

var form = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// mustBeUUIDs fails as a database does. A store asks nothing about the empty text.
func mustBeUUIDs(ids ...string) error {
	for _, id := range ids {
		if id != "" && !form.MatchString(id) {
			return fmt.Errorf("invalid input syntax for type uuid: %q", id)
		}
	}
	return nil
}

type sessionsOfUUIDs struct{ session.Store }

func (s sessionsOfUUIDs) Create(ctx context.Context, record session.Session, limit int) error {
	if err := mustBeUUIDs(string(record.Org), record.Account); err != nil {
		return err
	}
	return s.Store.Create(ctx, record, limit)
}

func (s sessionsOfUUIDs) DeleteID(ctx context.Context, org auth.OrgKey, account, id string) error {
	if err := mustBeUUIDs(string(org), account); err != nil {
		return err
	}
	return s.Store.DeleteID(ctx, org, account, id)
}

func (s sessionsOfUUIDs) DeleteAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error) {
	if err := mustBeUUIDs(string(org), account); err != nil {
		return 0, err
	}
	return s.Store.DeleteAll(ctx, org, account, except)
}

func (s sessionsOfUUIDs) DeleteOrg(ctx context.Context, org auth.OrgKey) (int, error) {
	if err := mustBeUUIDs(string(org)); err != nil {
		return 0, err
	}
	return s.Store.DeleteOrg(ctx, org)
}

func (s sessionsOfUUIDs) List(ctx context.Context, org auth.OrgKey, account string) ([]session.Session, error) {
	if err := mustBeUUIDs(string(org), account); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, org, account)
}

type factorsOfUUIDs struct{ session.FactorStore }

func (s factorsOfUUIDs) Factor(ctx context.Context, org auth.OrgKey, account string) (session.Factor, error) {
	if err := mustBeUUIDs(string(org), account); err != nil {
		return session.Factor{}, err
	}
	return s.FactorStore.Factor(ctx, org, account)
}

func (s factorsOfUUIDs) Save(ctx context.Context, org auth.OrgKey, account string, f session.Factor) error {
	if err := mustBeUUIDs(string(org), account); err != nil {
		return err
	}
	return s.FactorStore.Save(ctx, org, account, f)
}

// ledgerOfUUIDs has subjects and makers that are accounts.
type ledgerOfUUIDs struct{ token.Ledger }

func (s ledgerOfUUIDs) Issue(ctx context.Context, r token.Record, verifying []string, limit int) error {
	if err := mustBeUUIDs(string(r.Org), r.Subject, r.Maker); err != nil {
		return err
	}
	return s.Ledger.Issue(ctx, r, verifying, limit)
}

func (s ledgerOfUUIDs) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	if err := mustBeUUIDs(r.Subject); err != nil {
		return token.Lineage{}, err
	}
	return s.Ledger.Spend(ctx, r)
}

func (s ledgerOfUUIDs) RevokeSubject(ctx context.Context, of token.Holder) (int, error) {
	if err := mustBeUUIDs(string(of.Org), of.Subject); err != nil {
		return 0, err
	}
	return s.Ledger.RevokeSubject(ctx, of)
}

func (s ledgerOfUUIDs) List(ctx context.Context, of token.Holder, after token.Position, limit int) ([]token.Record, token.Position, error) {
	subject := of.Subject
	if subject == token.Any {
		subject = ""
	}
	if err := mustBeUUIDs(string(of.Org), subject); err != nil {
		return nil, token.Position{}, err
	}
	return s.Ledger.List(ctx, of, after, limit)
}
