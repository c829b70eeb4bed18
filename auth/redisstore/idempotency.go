package redisstore

import (
	"context"
	"strconv"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/idempotency"
)

type repeats struct{ store *Store }

var (
	beginRepeatScript = newScript(lua("repeat"), "return beginRepeat()")
	endRepeatScript   = newScript(lua("repeat"), "return endRepeat()").failing(auth.ErrConflict)
	endRepeatsScript  = newScript(lua("repeat"), "return endRepeats()")
)

// Idempotency returns the server's entries of repeated requests. idempotency.Commit refuses them: there is
// no transaction with the application's rows. An entry takes about 600 bytes beside its response. If a
// server loses one, as a promoted replica may, a repetition runs the handler again.
func (s *Store) Idempotency() idempotency.Store { return &repeats{s} }

func costOf(e idempotency.Entry) string { return strconv.Itoa(len(e.Sealed) + 1024) }

// Begin implements idempotency.Store.
func (r *repeats) Begin(ctx context.Context, e idempotency.Entry, o idempotency.Options) (idempotency.Entry, error) {
	at := r.store.of(string(e.Org))
	reply, err := of[[]any](at.run(ctx, beginRepeatScript, nil, at.prefix, string(e.ID[:]), string(e.Org), e.Caller, e.Fence,
		decimal(o.Lease.Milliseconds()), decimal(o.Keep.Milliseconds()), costOf(e), string(e.Sealed), decimal(o.MaxBytes)))
	if err != nil || len(reply) == 0 {
		return idempotency.Entry{}, err
	}
	found, err := texts(reply, 2)
	if err != nil {
		return idempotency.Entry{}, err
	}
	e.Fence, e.Sealed = found[0], []byte(found[1])
	return e, nil
}

// End implements idempotency.Store.
func (r *repeats) End(ctx context.Context, e idempotency.Entry) error {
	at := r.store.of(string(e.Org))
	return at.decide(ctx, endRepeatScript, nil, at.prefix, string(e.ID[:]), string(e.Org), e.Caller, e.Fence,
		costOf(e), string(e.Sealed))
}
