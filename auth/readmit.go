package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Readmitter is a Mechanism that can decide again about a credential, for Guard.Readmit. The
// mechanisms of this library are Readmitters.
type Readmitter interface {
	// Readmit is Authenticate for a request that it has admitted, and that is still being
	// answered. It makes all checks again, and records nothing: no nonce, no use. What records
	// nothing in Authenticate can call that: the Guard does not run the principal's OnAdmit.
	Readmit(ctx context.Context, r *http.Request, t *Tenant) (Principal, error)
}

// Readmit decides again about a request that is still being answered, such as a stream of
// events: would it be admitted now, by the need of its route? Call it every few seconds with the
// handler's request, and end the stream after an error. It looks up the org, the credential, the
// account and its roles again, so that it finds what was disabled, revoked, narrowed or has
// expired. It records nothing, and it does not renew a session that is otherwise idle.
//
// It returns the principal as it is now. A signature keeps a request open for an hour. A signed
// request of version 2 must have no body.
//
// The error is an *Error, whose Fault is that of a new request. A failure of a store is one,
// too: then it is not known whether the request is still permitted. If the mechanism is not a
// Readmitter, or the request was not authenticated, it has DetailInternal.
func (g *Guard) Readmit(r *http.Request, n Need) (Principal, error) {
	p, err := g.readmit(r, n)
	if err != nil {
		return Principal{}, toError(err)
	}
	return p, nil
}

func (g *Guard) readmit(r *http.Request, n Need) (Principal, error) {
	rule, err := n.compile(g)
	if err != nil {
		return Principal{}, err
	}
	c := callOf(r.Context(), g)
	if c == nil {
		return Principal{}, errOutside
	}
	c.mu.Lock()
	mechanism, before := c.mechanism, c.principal
	c.mu.Unlock()
	if before.Account == "" || before.onAdmit != nil {
		return Principal{}, errors.New("auth: Readmit of a request that was not admitted")
	}
	m, ok := g.Mechanisms[mechanism].(Readmitter)
	if !ok {
		return Principal{}, fmt.Errorf("auth: the mechanism %T is no Readmitter", g.Mechanisms[mechanism])
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.timeout())
	defer cancel()
	again := &call{Context: r.Context(), mechanism: mechanism}
	if err := again.reenter(ctx, &c.tenant); err != nil {
		return Principal{}, err
	}
	r = r.WithContext(again)
	r.Body = http.NoBody // the handler may have read it
	p, err := m.Readmit(ctx, r, &again.tenant)
	if err == nil {
		err = again.verify(&p)
	}
	// The code of the org may have been given to another one, which may have the same names.
	if err == nil && (p.Org != before.Org || p.Account != before.Account || p.App != before.App) {
		err = &Error{Detail: DetailPrincipal, Err: errors.New("auth: the credential now acts as another account")}
	}
	if err == nil {
		err = rule.check(r, &p, g.now)
	}
	return p.OnAdmit(nil), err
}

// reenter sets the tenant of a call to another one's, with its org looked up again.
func (c *call) reenter(ctx context.Context, to *Tenant) (err error) {
	t := &c.tenant
	t.guard, t.url, t.authority, t.Version, t.Command = to.guard, to.url, to.authority, to.Version, to.Command
	t.Org, err = t.guard.org(ctx, to.Org.Code)
	return err
}
