package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// call is one request inside a Guard, and the context its handler gets. It is
// that context, and holds the request that carries it, so that they are one
// allocation.
type call struct {
	context.Context
	guard  *Guard
	tenant Tenant
	began  time.Duration // since the epoch, only when somebody observes

	url    url.URL      // that of the request below the mount
	below  http.Request // what handlers get
	mute   mute         // what a ServeMux gets
	lookup deadline     // of the tenant's look-up
	store  deadline     // of the authentication

	mu        sync.Mutex
	asked     bool // whether authenticate has run: a credential is spent once
	presence  Presence
	mechanism int32 // index of the one that was asked, or none
	principal Principal
	err       error
	settled   *settlement // nil: settle has not run

	admitted atomic.Pointer[Principal] // what From answers; nil: nobody
}

// settlement is what a mechanism has left to do once the need is met, and the
// context it has for that.
type settlement struct {
	deadline
	err error
}

// epoch is what times of calls are counted from, in half the size of a time.
var epoch = time.Now()

type callKey struct{}

func (c *call) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c
	case principalKey:
		if p := c.admitted.Load(); p != nil {
			return p
		}
		return &nobody
	}
	return c.Context.Value(key)
}

var nobody Principal

// callOf returns the call of a request that came through g's Mount, or nil.
func callOf(ctx context.Context, g *Guard) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok || c.guard != g {
		return nil
	}
	return c
}

// under returns r as a handler below the mount sees it: the URL's path is rest,
// the context is the call.
func (c *call) under(r *http.Request, rest string) *http.Request {
	c.url = *r.URL
	u := &c.url
	u.Path, u.RawPath = rest, ""
	if strings.Contains(rest, "%") || r.URL.RawPath != "" {
		// rest is part of a path that has been unescaped once.
		u.Path, _ = url.PathUnescape(rest)
		u.RawPath = rest
	}
	c.below = *r.WithContext(c)
	c.below.URL = u
	return &c.below
}

// check authenticates the request if the need asks for it, and decides.
func (c *call) check(r *http.Request, n rule) (*Principal, error) {
	if n.kind == needNothing {
		return &nobody, nil
	}
	err := c.meet(r, n)
	switch {
	case err != nil && n.kind == needOptional && c.passesAsAnonymous(err):
		return &nobody, nil
	case err != nil:
		return nil, err
	}
	return &c.principal, nil
}

// meet authenticates the request and holds its principal to the need.
func (c *call) meet(r *http.Request, n rule) error {
	if err := c.authenticate(r); err != nil {
		return err
	}
	if err := n.check(r, &c.principal, c.guard.now); err != nil {
		return err
	}
	return c.settle(r)
}

// settle does what the mechanism has left for a request that met its need, once.
func (c *call) settle(r *http.Request) error {
	if c.principal.onAdmit == nil {
		return nil // as for most requests
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled != nil {
		return c.settled.err
	}
	s := &settlement{err: errUnfinished}
	c.settled = s
	s.Context, s.timeout = r.Context(), c.guard.timeout()
	defer s.stop()
	s.err = c.principal.onAdmit(s, r)
	return s.err
}

// passesAsAnonymous tells whether a failed credential leaves an Optional route
// open. A store that did not answer does not: it is not known who this is.
func (c *call) passesAsAnonymous(err error) bool {
	return c.presence != Header && toError(err).Fault().Status == http.StatusUnauthorized
}

// authenticate runs the mechanism the request presents, once.
func (c *call) authenticate(r *http.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked {
		return c.err
	}
	c.asked = true
	c.err = errUnfinished // stands if a mechanism panics: what follows is never a pass
	c.mechanism, c.presence, c.err = c.guard.present(r)
	switch {
	case c.err != nil:
		return c.err
	case c.mechanism == none:
		c.err = &Error{Detail: DetailNoCredentials}
		return c.err
	}
	c.err = errUnfinished
	p, err := c.ask(r, c.guard.Mechanisms[c.mechanism])
	if err == nil {
		err = c.verify(&p)
	}
	if err == nil {
		c.principal = p // only of a credential that passed, for the observer, too
	}
	c.err = err
	return err
}

var errUnfinished = errors.New("auth: the request's authentication did not finish")

// ask bounds the time that a mechanism's stores have.
func (c *call) ask(r *http.Request, m Mechanism) (Principal, error) {
	c.store.Context, c.store.timeout = r.Context(), c.guard.timeout()
	defer c.store.stop()
	return m.Authenticate(&c.store, r, &c.tenant)
}

// verify asserts what every mechanism must have checked before it recorded
// anything.
func (c *call) verify(p *Principal) error {
	if p.Org != c.tenant.Org.Code {
		return errors.New("auth: a mechanism returned a principal of another org")
	}
	if p.Account == "" || p.Mechanism == "" {
		return errors.New("auth: a mechanism returned a principal without account or mechanism")
	}
	return nil
}

func (c *call) admit(p *Principal) {
	if p != &nobody {
		c.admitted.Store(p)
	}
	c.observe(nil)
}

// refuse writes a refusal and tells the observer.
func (c *call) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := toError(err)
	c.challenge(w.Header(), e)
	c.observe(e)
	deny(w, r, c.guard, e)
}

// challenge sets WWW-Authenticate: one challenge per mechanism on a 401, that
// of the mechanism which authenticated on a missing scope.
func (c *call) challenge(h http.Header, e *Error) {
	unauthorized := e.Fault().Status == http.StatusUnauthorized
	if !unauthorized && e.Detail != DetailScope {
		return
	}
	c.mu.Lock()
	asked := c.mechanism
	c.mu.Unlock()
	for i, m := range c.guard.Mechanisms {
		var cause error
		if int32(i) == asked {
			cause = e
		}
		if !unauthorized && cause == nil {
			continue
		}
		if challenge := m.Challenge(cause); challenge != "" {
			h.Add("WWW-Authenticate", challenge)
		}
	}
}

// dropped is what the request's scope was meant to hold and does not.
func (c *call) dropped(granted scope.Set) error {
	err := c.tenant.dropped.Load().errors()
	for chain, source := range granted.Unknown() {
		err = errors.Join(err, fmt.Errorf("auth: %s: chain %q has an unknown root", source, chain))
	}
	return err
}

func (c *call) observe(e *Error) {
	g := c.guard
	if g.Observe == nil {
		return
	}
	c.mu.Lock()
	event := Event{
		Mechanism: c.principal.Mechanism,
		Org:       c.tenant.Org.Code,
		App:       c.principal.App,
		Account:   c.principal.Account,
		Allowed:   e == nil,
		Took:      time.Since(epoch) - c.began,
	}
	granted := c.principal.Scope
	c.mu.Unlock()
	if e != nil {
		event.Detail, event.Err = e.Fault().Detail, e
	}
	if dropped := c.dropped(granted); dropped != nil {
		event.Err = errors.Join(event.Err, dropped)
	}
	g.Observe(c, event)
}
