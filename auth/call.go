package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// call is one request inside a Guard. It is also the context of the handler's request, and
// holds that request, so that both are one allocation.
type call struct {
	context.Context
	tenant Tenant
	began  time.Duration // since the epoch, only when somebody observes

	url       url.URL      // of the request below the mount
	below     http.Request // what handlers get
	discarder discarder    // what a ServeMux gets
	lookup    deadline     // context of the tenant's look-up
	store     deadline     // context of the authentication

	mu        sync.Mutex
	presence  Presence
	mechanism int32 // index of the mechanism that ran, or none
	principal Principal
	err       error // of the mechanism, or of the principal's OnAdmit

	admitted atomic.Pointer[Principal] // what From answers; nil: no Require has admitted the request
}

// epoch is the zero of the times in call. A Duration takes less memory than a Time.
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
		return &anonymous
	}
	return c.Context.Value(key)
}

var anonymous Principal

// callOf returns the call of a request that came through g's Mount, or nil.
func callOf(ctx context.Context, g *Guard) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok || c.tenant.guard != g {
		return nil
	}
	return c
}

// under returns r as a handler below the mount gets it: the URL's path is rest, and the
// context is the call.
func (c *call) under(r *http.Request, rest string) *http.Request {
	c.url = *r.URL
	u := &c.url
	u.Path, u.RawPath = rest, ""
	if strings.Contains(rest, "%") || r.URL.RawPath != "" {
		// rest is escaped: set both forms, as net/http does.
		u.Path, _ = url.PathUnescape(rest)
		u.RawPath = rest
	}
	c.below = *r.WithContext(c)
	c.below.URL = u
	return &c.below
}

// check authenticates the request if the need requires it, and decides.
func (c *call) check(r *http.Request, n rule) (*Principal, error) {
	if n.kind == needNothing {
		return &anonymous, nil
	}
	err := c.meet(r, n)
	switch {
	case err == nil:
		return &c.principal, nil
	// Not if a store failed: the caller is then unknown, not anonymous.
	case n.kind == needOptional && c.presence != InHeader && toError(err).Fault().Status == http.StatusUnauthorized:
		return &anonymous, nil
	}
	return nil, err
}

// meet authenticates the request, checks that its principal meets the need, and then runs the principal's
// OnAdmit function. It runs that and the mechanism once: a credential is spent once.
func (c *call) meet(r *http.Request, n rule) error {
	c.mu.Lock() // once for all steps, which are short if the request was authenticated before
	defer c.mu.Unlock()
	if c.err == nil && c.principal.Account == "" { // otherwise the mechanism has run
		c.err = errUnfinished // stands if it panics: a later check must not pass
		c.err = c.runMechanism(r)
	}
	if c.err != nil {
		return c.err
	}
	if err := n.check(r, &c.principal, c.tenant.guard.now); err != nil || c.principal.onAdmit == nil {
		return err
	}
	c.err = errUnfinished // stands if it panics
	ctx, cancel := c.tenant.Bound(r.Context())
	defer cancel()
	if c.err = c.principal.onAdmit(ctx, r); c.err == nil {
		c.principal.onAdmit = nil
	}
	return c.err
}

var errUnfinished = errors.New("auth: the request's authentication did not finish")

// runMechanism chooses the mechanism, and limits the time of its store calls.
func (c *call) runMechanism(r *http.Request) (err error) {
	g := c.tenant.guard
	if c.mechanism, c.presence, err = g.chooseMechanism(r); err != nil {
		return err
	}
	if c.mechanism == none {
		return &Error{Detail: DetailNoCredentials}
	}
	c.store.Context, c.store.timeout = r.Context(), g.timeout()
	defer c.store.stop()
	p, err := g.Mechanisms[c.mechanism].Authenticate(&c.store, r, &c.tenant)
	if err == nil {
		err = c.verify(&p)
	}
	if err == nil {
		c.principal = p // set only after the credential passed, because observers read it, too
	}
	return err
}

// verify checks what every mechanism must have checked before it recorded anything.
func (c *call) verify(p *Principal) error {
	if p.Org != c.tenant.Org.Key() {
		return errors.New("auth: a mechanism returned a principal of another org")
	}
	if p.Account == "" {
		return errors.New("auth: a mechanism returned a principal without account")
	}
	// By and Fresh compare this name: under another one, Fresh would ask for nothing.
	if p.Mechanism != c.tenant.guard.names.mechanisms[c.mechanism] {
		return errors.New("auth: a mechanism returned a principal that does not have its name")
	}
	return nil
}

func (c *call) admit(r *http.Request, p *Principal, n rule) {
	// An anonymous inner Require keeps the principal of the outer one.
	if p != &anonymous || !c.isAdmitted() {
		c.admitted.Store(p)
	}
	c.observe(r, nil, decision{need: n.operation})
}

func (c *call) isAdmitted() bool { return c.admitted.Load() != nil }

// decision is what an observer learns of a decision beside its result.
type decision struct {
	need    *template // nil: no operation
	handler bool      // the fault is that of the handler of an admitted request
}

// answer writes a fault and informs the observer.
func (c *call) answer(w http.ResponseWriter, r *http.Request, err error, d decision) {
	e := toError(err)
	c.challenge(w.Header(), e)
	c.observe(r, e, d)
	deny(w, r, c.tenant.guard, e)
}

// challenge sets WWW-Authenticate. A 401 gets one challenge from each mechanism. A missing
// scope gets the challenge of the mechanism that authenticated the request.
func (c *call) challenge(h http.Header, e *Error) {
	unauthorized := e.Fault().Status == http.StatusUnauthorized
	if !unauthorized && e.Detail != DetailScope {
		return
	}
	add := func(challenge string) {
		scheme, _, _ := strings.Cut(challenge, " ")
		sameScheme := func(other string) bool { return other == scheme || strings.HasPrefix(other, scheme+" ") }
		if challenge != "" && !slices.ContainsFunc(h["Www-Authenticate"], sameScheme) {
			h.Add("WWW-Authenticate", challenge)
		}
	}
	c.mu.Lock()
	asked := c.mechanism
	c.mu.Unlock()
	mechanisms := c.tenant.guard.Mechanisms
	if asked != none {
		add(mechanisms[asked].Challenge(&c.tenant, e))
	}
	for i, m := range mechanisms {
		if unauthorized && int32(i) != asked {
			add(m.Challenge(&c.tenant, nil))
		}
	}
}

// observe counts a decision, and informs the observer.
func (c *call) observe(r *http.Request, e *Error, d decision) {
	g := c.tenant.guard
	if g.Observe == nil && !g.counted.Asked() {
		return
	}
	detail := ""
	if e != nil {
		detail = e.Fault().Detail
	}
	c.mu.Lock()
	who, chosen := c.principal, c.mechanism
	if e == nil && c.err != nil {
		who = anonymous // admitted without the credential, which has ended
	}
	c.mu.Unlock()
	if !d.handler {
		g.counted.Add(chosen, detail)
	}
	if g.Observe == nil {
		return
	}
	notes := c.tenant.notes.Load()
	if identified := notes.identifiedBy(); who.Account == "" && identified != nil {
		who = *identified
	}
	event := Event{
		Route:     r.Pattern,
		Mechanism: who.Mechanism,
		Org:       c.tenant.Org.Key(),
		App:       who.App,
		Account:   who.Account,
		Actor:     who.Actor(),
		By:        who.by(),
		Allowed:   e == nil || d.handler,
		Handler:   d.handler,
		Took:      time.Since(epoch) - c.began,
		Scope:     who.Scope,
	}
	c.place(&event, r)
	if d.need != nil {
		event.Need = d.need.fill(r)
	}
	if e != nil {
		event.Detail, event.Err = detail, e
		event.Claimed = notes.claim()
		if event.Claimed.Mechanism == "" && event.Mechanism == "" && chosen != none {
			event.Claimed.Mechanism = g.Mechanisms[chosen].Name()
		}
	}
	if dropped := droppedFrom(event.Scope, notes); dropped != nil {
		event.Err = errors.Join(event.Err, dropped)
	}
	c.tell(event)
}
