package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// recheck decides again about a request that was admitted and is still being answered.
// It is a Guard of its own with the directory, the keys and the sessions of the first
// one, and it records nothing. So no request from the network may reach it: it would
// accept a replay.
type recheck struct{ mux *auth.Mux }

// signatureLife is how long a signature keeps a request open. After that the client must
// sign another one.
const signatureLife = time.Hour

// newRecheck needs p.guard.
func (p *platform) newRecheck(o options) (recheck, error) {
	signed := o.policy
	signed.Tolerance = signatureLife
	guard := &auth.Guard{
		Roles:     auth.RolesDoNotLimit,
		BaseURL:   p.guard.BaseURL,
		Ceiling:   p.guard.Ceiling,
		Directory: p.guard.Directory,
		Mechanisms: o.beside(
			&signature.Mechanism{
				Credentials: p.stores.credentials,
				Replays:     unclaimed{},
				Policy:      signed,
			},
			&bearer.Mechanism{Keys: p.keys.cached, Ledger: unspent{p.tokens.ledger}},
			untouched{p.sessions},
		),
		Proxies: p.guard.Proxies,
		Brand:   p.guard.Brand,
		Timeout: p.guard.Timeout,
	}
	if err := guard.Validate(); err != nil {
		return recheck{}, err
	}
	mux := guard.Mux()
	mux.HandleFunc(eventsRoute, eventsNeed, reply(administrators(stillAdmitted)))
	return recheck{mux}, nil
}

// again reports whether the request would be admitted again. If not, it returns the
// fault. If a store does not answer, the request is refused, too.
func (c recheck) again(r *http.Request) (fault []byte, ok bool) {
	address, err := url.ParseRequestURI(auth.TenantFrom(r.Context()).Path())
	if err != nil {
		return nil, false // never: the Guard refuses such a path
	}
	address.RawQuery = r.URL.RawQuery
	request := r.Clone(r.Context())
	request.URL, request.Pattern, request.Body = address, "", http.NoBody
	reply := recorded{header: make(http.Header)}
	c.mux.ServeHTTP(&reply, request)
	return bytes.TrimSpace(reply.body.Bytes()), reply.status == http.StatusOK
}

// stillAdmitted is the handler of the recheck.
func stillAdmitted(*http.Request) (envelope.Result[bool], error) { return done(nil) }

// recorded is the reply of a recheck.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorded) Header() http.Header { return w.header }

func (w *recorded) WriteHeader(status int) { w.status = status }

func (w *recorded) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.body.Write(b)
}

// unclaimed accepts the signature again.
type unclaimed struct{}

func (unclaimed) Claim(context.Context, signing.Use) error { return nil }

// unspent looks for a token without spending a use.
type unspent struct{ token.Ledger }

func (l unspent) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	known, err := l.Get(ctx, r.Holder(), r.ID)
	if errors.Is(err, token.ErrNotFound) || err == nil && known.KeyID != r.KeyID {
		return token.Lineage{}, token.ErrRevoked
	}
	return known.Lineage, err
}

// untouched leaves out what a mechanism records when it admits a request. So a request
// that stays open does not keep its session from becoming idle.
type untouched struct{ auth.Mechanism }

func (m untouched) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	p, err := m.Mechanism.Authenticate(ctx, r, t)
	return p.OnAdmit(nil), err
}
