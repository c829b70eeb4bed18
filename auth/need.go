package auth

import (
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// Need is what a route asks of a request before its handler runs. Each route
// has one; the zero Need is refused at registration, so that none is forgotten.
// Needs are values and may be shared.
type Need struct {
	kind       needKind
	operation  string // of Allow and Some
	mechanisms []string
	fresh      time.Duration
	freshFor   []string // mechanisms that fresh is asked of; nil: all
}

type needKind uint8

const (
	needNothing needKind = iota + 1
	needOptional
	needAuthenticated
	needAllow
	needSome
)

var (
	// Public runs no mechanism: the handler gets the zero Principal, whatever
	// the request presents. It may call Guard.Check itself. Below another
	// Require, the principal of that one stays.
	Public = Need{kind: needNothing}

	// Optional authenticates what is presented and admits what presents
	// nothing as the zero Principal. A cookie that fails counts as nothing,
	// since browsers send it unasked; a header that fails is refused.
	Optional = Need{kind: needOptional}

	// Authenticated admits any principal, however narrow its scope: for
	// routes that tell a caller about itself.
	Authenticated = Need{kind: needAuthenticated}
)

// Allow admits a principal whose scope permits the whole of an operation:
//
//	auth.Allow("object.update.c_note.{id}")
//
// The text is a scope.Need in which {id} stands for the request's path value of
// that name, and {path...} for one with its slashes read as dots. A value that
// cannot stand there names a thing that does not exist, and answers 404.
func Allow(operation string) Need { return Need{kind: needAllow, operation: operation} }

// Some admits a principal whose scope permits any part of an operation. The text
// is that of Allow. It is for lists and for reading one object, whose handlers
// then narrow what they return with scope.Set.On; and for creating and updating
// objects property by property, whose handlers must hold what they write to
// Principal.MayWrite. A handler that does neither wants Allow.
func Some(operation string) Need { return Need{kind: needSome, operation: operation} }

// By restricts a need to principals authenticated by one of the named
// mechanisms; others get 403. It panics without a name, and for Public, which
// runs no mechanism.
func (n Need) By(mechanisms ...string) Need {
	if len(mechanisms) == 0 || n.kind == needNothing {
		panic("auth: Need.By without a mechanism")
	}
	n.mechanisms = slices.Clone(mechanisms)
	return n
}

// Fresh restricts a need to principals that have proven themselves within the
// last d; others get 403 reauthenticationRequired, and authenticate again to
// continue (step-up). A session is as fresh as its latest password, a signed
// request always is, and a token never: it tells nothing of who sends it.
//
// Only principals of the named mechanisms are asked, if any are named:
//
//	auth.Allow("admin.update").Fresh(10*time.Minute, session.Name)
//
// asks for a recent password of sessions, and lets tokens pass. Fresh panics
// unless d is positive, and for Public, which runs no mechanism.
func (n Need) Fresh(d time.Duration, mechanisms ...string) Need {
	if d <= 0 || n.kind == needNothing {
		panic("auth: Need.Fresh without a time")
	}
	n.fresh, n.freshFor = d, slices.Clone(mechanisms)
	return n
}

// Open reports whether an anonymous caller may get in: Public and Optional.
func (n Need) Open() bool {
	return n.kind == needNothing || n.kind == needOptional
}

// rule is a Need made ready for requests.
type rule struct {
	Need
	operation *template // of Allow and Some
}

// compile refuses the zero Need and an operation that does not parse.
func (n Need) compile(g *scope.Grammar) (rule, error) {
	switch n.kind {
	case 0:
		return rule{}, errZeroNeed
	case needAllow, needSome:
		t, err := parseTemplate(g, n.operation)
		return rule{n, t}, err
	}
	return rule{Need: n}, nil
}

// check decides for a principal that has been authenticated: first what it may
// do, then whether it has to prove itself again for that.
func (n *rule) check(r *http.Request, p *Principal, now func() time.Time) error {
	if err := n.permits(r, p); err != nil {
		return err
	}
	// The zero time is asked for by itself: what Sub answers for it is a limit.
	if n.asksFresh(p.Mechanism) && (p.Authenticated.IsZero() || now().Sub(p.Authenticated) > n.fresh) {
		return &Error{Detail: DetailReauthenticate}
	}
	return nil
}

func (n *rule) asksFresh(mechanism string) bool {
	return n.fresh > 0 && (len(n.freshFor) == 0 || slices.Contains(n.freshFor, mechanism))
}

func (n *rule) permits(r *http.Request, p *Principal) error {
	if n.mechanisms != nil && !slices.Contains(n.mechanisms, p.Mechanism) {
		return &Error{Detail: DetailForbidden, Reason: "another way of authentication is required"}
	}
	if n.operation == nil {
		return nil
	}
	need := n.operation.fill(r)
	if !need.Valid() {
		return ErrNotFound
	}
	if p.Scope.Allows(need) || n.kind == needSome && p.Scope.Overlaps(need) {
		return nil
	}
	return &Error{Detail: DetailScope, Reason: need.String()}
}
