package auth

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/scope"
)

// Event is one decision of a Guard, or one verb: something that was done or refused. It holds ids and
// codes, never a secret. If a request was admitted and its handler then called Identify or Fail, there
// is another decision for each. All are Allowed, and those have Handler set.
// Its JSON is for verbs: it leaves out the Org, and what a decision has beside the code.
type Event struct {
	// Verb is what was done, one of Verbs. It is empty for a decision.
	Verb string `json:"verb"`

	// Reason is a word for why, such as "logout". Count is how many things a verb has ended or a
	// summary stands for; 0: one.
	Reason string `json:"reason,omitempty"`
	Count  int64  `json:"count,omitempty"`

	Route     string `json:"route,omitempty"`  // Request.Pattern, as Mux and http.ServeMux set it; empty if no route matched
	Mechanism string `json:"-"`                // empty if none authenticated the request, and no handler identified its caller
	Detail    string `json:"detail,omitempty"` // of the fault; empty if there is none
	Org       OrgKey `json:"-"`

	// Account is whom a decision is about, or whose the thing is that a verb is about. Actor is who
	// acts for Account (Principal.Actor); of a verb it is who did it, also for itself, and empty if
	// nobody had proven who they are to Org. By is what that proof was: "session", "token" or "app" with a
	// colon and an id.
	Account string `json:"account,omitempty"`
	Actor   string `json:"actor,omitempty"`
	By      string `json:"by,omitempty"`

	// What a verb is about, by its id; of a decision, App is that of the principal.
	App        string `json:"app,omitempty"`        // client key
	Credential string `json:"credential,omitempty"` // API key
	Token      string `json:"token,omitempty"`      // jti
	Session    string `json:"session,omitempty"`    // SessionInfo.ID

	Claimed Claimed       `json:"-"` // whom a rejected credential names; only with a Detail
	Allowed bool          `json:"-"` // the Guard admitted the request
	Handler bool          `json:"-"` // of the handler: it called Fail with Detail, or Identify if there is none
	Took    time.Duration `json:"-"` // from the Guard's start to the decision; with Handler also in the handler
	Err     error         `json:"-"` // the cause of the fault, and chains that were dropped from the scope

	// Where it comes from. Agent is the User-Agent, printable and of at most 256 bytes.
	Address netip.Addr `json:"address,omitzero"`
	Agent   string     `json:"agent,omitempty"`
	Request string     `json:"request,omitempty"` // Guard.RequestID
	Time    time.Time  `json:"time"`

	// Need is the operation that the route needs, and Scope is that of the principal.
	// Scope.Explain(Need) names the chain that decided. Need is not valid if the route needs
	// no operation, if the request names nothing that can exist, and with Handler.
	Need  scope.Need `json:"-"`
	Scope scope.Set  `json:"-"`
}

// Verbs returns the closed vocabulary of Event.Verb.
func Verbs() []string { return verbs.All() }

// Emit sends a verb to the Guard's observer, with what Trace adds. The packages of this library call it for
// their verbs once these are done, and for attempts that were rejected once the credential was checked.
// Applications call it for what they do in their own tables, for what they ask a store to do without such a
// package (a key pair, a request credential), and after the commit for what was done in a transaction of theirs.
// Outside of a request it does nothing. Like all that reads the request, it is for the goroutine that serves it.
func Emit(ctx context.Context, e Event) {
	if c, ok := ctx.Value(callKey{}).(*call); ok && c.tenant.guard.Observe != nil {
		c.tell(c.trace(e))
	}
}

// tell calls the observer. What was decided or done stays so when the observer panics: the request goes on.
func (c *call) tell(e Event) {
	defer func() {
		if cause := recover(); cause != nil {
			c.tenant.guard.counted.Drop()
			slog.Error("auth.Guard.Observe panicked", "cause", cause, "verb", e.Verb, "stack", string(debug.Stack()))
		}
	}()
	c.tenant.guard.Observe(c, e)
}

// Trace returns e with what the request of ctx says and e does not: the org, who acts and by what, the
// route, the address, the agent, the request's id and the time. Stores that keep a log of verbs call it.
// Outside of a request it returns e.
func Trace(ctx context.Context, e Event) Event {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c.trace(e)
	}
	return e
}

// trace must not lock c.mu, which is held while a mechanism runs.
func (c *call) trace(e Event) Event {
	e.Org = cmp.Or(e.Org, c.tenant.Org.Key())
	who := c.admitted.Load()
	if who == nil || who.Account == "" {
		who = c.tenant.notes.Load().identifiedBy()
	}
	// In another org the same id is somebody else, who has not done this.
	if who != nil && e.Actor == "" && e.Org == c.tenant.Org.Key() {
		e.Actor, e.By, e.Mechanism = cmp.Or(who.Caller, who.Account), who.by(), who.Mechanism
	}
	e.Reason, e.Route = line(e.Reason, maxLine), c.below.Pattern
	c.place(&e, &c.below)
	return e
}

// place adds where a request comes from, and when.
func (c *call) place(e *Event, r *http.Request) {
	g := c.tenant.guard
	e.Address, e.Time = c.tenant.ClientAddr(r), g.now()
	if agent := r.Header["User-Agent"]; len(agent) > 0 {
		e.Agent = line(agent[0], maxLine)
	}
	e.Request = g.requestID(r)
}

// by names the credential of a principal.
func (p *Principal) by() string {
	switch {
	case p.SessionID != "":
		return "session:" + p.SessionID
	case p.TokenID != "":
		return "token:" + p.TokenID
	case p.App != "":
		return "app:" + p.App
	}
	return ""
}

const maxLine = 256 // bytes

// line returns a text that is short and printable. An observer may keep it, so it is no part of a
// longer one. Mostly the text is that already, which must cost little: each event has two.
func line(text string, longest int) string {
	if len(text) > longest {
		return printed(text, longest)
	}
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return printed(text, longest)
		}
	}
	return text
}
