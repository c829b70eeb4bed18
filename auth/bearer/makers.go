package bearer

import (
	"context"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// maxMakers bounds the memory of a long list whose tokens all have other makers.
const maxMakers = 10_000

// Makers is Made for many tokens, as a Ledger lists them: it looks up each maker once, up to 10,000 of
// them. It is for one request, because it does not see later changes, and for one goroutine.
type Makers struct {
	Tenant *auth.Tenant // required

	apps     map[string]answer[*auth.App]
	accounts map[string]answer[*auth.Account]
}

type answer[T any] struct {
	value T
	err   error
}

// Made is the function Made. An error that wraps auth.ErrUnavailable is not remembered.
func (m *Makers) Made(ctx context.Context, r token.Record) error {
	if m.apps == nil {
		m.apps, m.accounts = map[string]answer[*auth.App]{}, map[string]answer[*auth.Account]{}
	}
	return made(ctx, remembered{m}, r)
}

// remembered are the look-ups of a Tenant, each made once.
type remembered struct{ *Makers }

func (m remembered) App(ctx context.Context, clientKey string) (*auth.App, error) {
	return once(ctx, m.apps, clientKey, m.Tenant.App)
}

func (m remembered) Account(ctx context.Context, id string) (*auth.Account, error) {
	return once(ctx, m.accounts, id, m.Tenant.Account)
}

func once[T any](ctx context.Context, known map[string]answer[T], name string, find func(context.Context, string) (T, error)) (T, error) {
	if a, ok := known[name]; ok {
		return a.value, a.err
	}
	value, err := find(ctx, name)
	if err == nil || auth.IsNotFound(err) {
		if len(known) == maxMakers {
			clear(known)
		}
		known[name] = answer[T]{value, err}
	}
	return value, err
}
