package bearer

import (
	"context"
	"fmt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// maxMakers bounds the memory of a long list whose tokens all have other makers.
const maxMakers = 10_000

// Makers checks the makers and the accounts of tokens that a Ledger lists. The Mechanism checks those
// of the token of a request itself. Makers looks up each one once, or again after 10,000 others. So
// it is for the lists of one request: it does not see later changes. It is for one goroutine.
type Makers struct {
	Tenant *auth.Tenant // required

	apps     map[string]answer[*auth.App]
	accounts map[string]answer[*auth.Account]
}

// Made checks that a record which a Ledger lists as live is not dead by the directory, which the
// Ledger does not ask. Its makers must still exist: the app whose signature made it, and the
// account that made it for another account. Its own account must not have ended it by TokensFrom. A
// record of an account that is disabled passes, because its token is accepted again later.
//
// The error wraps auth.ErrNotFound if the token is dead: a maker is gone or disabled, or has since
// ended its tokens, or its account has. It wraps auth.ErrUnavailable if the directory does not
// answer.
func (m *Makers) Made(ctx context.Context, r token.Record) error {
	if m.apps == nil {
		m.apps, m.accounts = map[string]answer[*auth.App]{}, map[string]answer[*auth.Account]{}
	}
	if err := made(ctx, remembered{m}, r); err != nil {
		return err
	}
	// Authenticate has asked for the account before.
	subject, err := remembered{m}.Account(ctx, r.Subject)
	switch {
	case auth.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case r.Issued.Before(subject.TokensFrom):
		return fmt.Errorf("bearer: issued before its account's tokens begin: %w", auth.ErrNotFound)
	}
	return nil
}

// directory is an auth.Tenant, or one whose answers are remembered.
type directory interface {
	App(ctx context.Context, clientKey string) (*auth.App, error)
	Account(ctx context.Context, id string) (*auth.Account, error)
}

func made(ctx context.Context, d directory, r token.Record) error {
	if r.MakerApp != "" && r.MakerApp != r.ClientKey {
		if _, err := d.App(ctx, r.MakerApp); err != nil {
			return err
		}
	}
	if r.Maker == "" || r.Maker == r.Subject {
		return nil
	}
	maker, err := d.Account(ctx, r.Maker)
	if err != nil {
		return err
	}
	// TokensFrom also ends what an account made for others. The token that made this one may have
	// ended, and only the iat of this one shows it.
	if r.Issued.Before(maker.TokensFrom) {
		return fmt.Errorf("bearer: made before its maker's tokens begin: %w", auth.ErrNotFound)
	}
	return nil
}

type remembered struct{ *Makers }

type answer[T any] struct {
	value T
	err   error
}

func (m remembered) App(ctx context.Context, clientKey string) (*auth.App, error) {
	return once(ctx, m.apps, clientKey, m.Tenant.App)
}

func (m remembered) Account(ctx context.Context, id string) (*auth.Account, error) {
	return once(ctx, m.accounts, id, m.Tenant.Account)
}

// once returns the answer that is known, or finds and remembers one. A failure of the
// directory is no answer.
func once[T any](ctx context.Context, known map[string]answer[T], name string, find func(context.Context, string) (T, error)) (T, error) {
	if a, ok := known[name]; ok {
		return a.value, a.err
	}
	value, err := find(ctx, name)
	if err == nil || auth.IsNotFound(err) {
		if len(known) >= maxMakers {
			clear(known)
		}
		known[name] = answer[T]{value, err}
	}
	return value, err
}
