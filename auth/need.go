package auth

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/internal/listing"
)

// Need is what a route requires of a request before its handler runs. Each route has one.
// Registration refuses the zero Need, so that no route lacks a need by accident. Needs are
// values and may be shared.
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
	// Public runs no mechanism: the handler gets the zero Principal, whatever the request
	// presents. The handler may call Guard.Check itself. Below another Require, the principal
	// of that Require stays.
	Public = Need{kind: needNothing}

	// Optional authenticates a request that presents a credential. It admits a request
	// without one as the zero Principal. A cookie that fails counts as no credential, since
	// browsers send cookies by themselves. A header that fails is refused.
	Optional = Need{kind: needOptional}

	// Authenticated admits any principal, however narrow its scope. It is for routes that
	// inform a caller about itself.
	Authenticated = Need{kind: needAuthenticated}
)

// Allow admits a principal whose scope permits the whole of an operation:
//
//	auth.Allow("object.update.c_note.{id}")
//
// The text is a scope.Need with placeholders. {id} stands for the request's path value id,
// and {path...} for the path value path with its slashes read as dots. A path value that
// cannot be part of an operation names a thing that does not exist, and is answered with 404.
func Allow(operation string) Need { return Need{kind: needAllow, operation: operation} }

// Some admits a principal whose scope permits any part of an operation on objects. The text is
// that of Allow. Use Some for lists, for reading one object, and for creating and updating
// objects property by property. Its handler is a PartHandler, which gets the permitted part.
func Some(operation string) Need { return Need{kind: needSome, operation: operation} }

// By restricts a need to principals that one of the named mechanisms authenticated. Others
// get 403. Registration panics if no mechanism of the Guard has the name. By panics without a
// name. It also panics for Public, which runs no mechanism.
func (n Need) By(mechanisms ...string) Need {
	if len(mechanisms) == 0 || n.kind == needNothing {
		panic("auth: Need.By without a mechanism")
	}
	n.mechanisms = slices.Clone(mechanisms)
	return n
}

// Fresh restricts a need to principals that have proved who they are within the last d.
// Others get 403 reauthenticationRequired, and must authenticate again (step-up). A session
// is as fresh as its latest password. A signed request is always fresh. A token never is,
// because it does not prove who sends it.
//
// If mechanisms are named, the restriction applies only to their principals:
//
//	auth.Allow("admin.update").Fresh(10*time.Minute, session.Name)
//
// requires a recent password of sessions, and admits tokens. Registration panics if no
// mechanism of the Guard has the name: with a misspelt one no request would have to be fresh.
// Fresh panics if d is not positive. It also panics for
// Public, which runs no mechanism.
func (n Need) Fresh(d time.Duration, mechanisms ...string) Need {
	if d <= 0 || n.kind == needNothing {
		panic("auth: Need.Fresh without a time")
	}
	n.fresh, n.freshFor = d, slices.Clone(mechanisms)
	return n
}

// rule is a Need with its operation parsed.
type rule struct {
	Need
	operation *template // of Allow and Some
}

// compile returns an error for the zero Need, for an operation that does not parse, and for a
// name of By or Fresh that no mechanism has.
func (n Need) compile(g *Guard) (rule, error) {
	if n.mechanisms != nil || n.freshFor != nil {
		if err := cmp.Or(g.Validate(), g.hasMechanisms("By", n.mechanisms), g.hasMechanisms("Fresh", n.freshFor)); err != nil {
			return rule{}, err
		}
	}
	switch n.kind {
	case 0:
		return rule{}, errors.New("auth: the zero Need: say Public for a route that needs nothing")
	case needAllow, needSome:
		t, err := parseTemplate(g.Scopes, n.operation)
		if err == nil && n.kind == needSome && !t.isObject {
			err = fmt.Errorf("auth: need %q: only operations on objects have parts: use Allow", n.operation)
		}
		return rule{n, t}, err
	}
	return rule{Need: n}, nil
}

func (n Need) mustCompile(g *Guard) rule {
	compiled, err := n.compile(g)
	if err != nil {
		panic(err)
	}
	return compiled
}

func (g *Guard) hasMechanisms(by string, names []string) error {
	known := g.names.mechanisms
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("auth: Need.%s names the mechanism %q, and the Guard has only %q", by, name, known)
		}
	}
	return nil
}

// check decides for an authenticated principal. It checks first what the principal may do,
// and then whether it must prove again who it is.
func (n *rule) check(r *http.Request, p *Principal, now func() time.Time) error {
	if n.mechanisms != nil && !slices.Contains(n.mechanisms, p.Mechanism) {
		return &Error{Detail: DetailForbidden, Reason: "another way of authentication is required"}
	}
	if n.operation != nil {
		switch need := n.operation.fill(r); {
		case !need.Valid():
			return ErrNotFound
		case !p.Scope.Allows(need) && !(n.kind == needSome && p.Scope.Overlaps(need)):
			return &Error{Detail: DetailScope, Reason: need.String()}
		}
	}
	mustBeFresh := n.fresh > 0 && (len(n.freshFor) == 0 || slices.Contains(n.freshFor, p.Mechanism))
	// Check for the zero time: Sub does not return the true difference for it, only a
	// maximum.
	if mustBeFresh && (p.Authenticated.IsZero() || now().Sub(p.Authenticated) > n.fresh) {
		return &Error{Detail: DetailReauthenticate}
	}
	return nil
}

// Describe returns what the need asks for, for documents about routes such as those of auth/openapi.
// Changes of it do not change the need.
func (n Need) Describe() listing.Need {
	return listing.Need{
		Public:     n.kind == needNothing,
		Optional:   n.kind == needOptional,
		Operation:  n.operation,
		Part:       n.kind == needSome,
		Mechanisms: slices.Clone(n.mechanisms),
		Fresh:      n.fresh,
		FreshFor:   slices.Clone(n.freshFor),
	}
}

// Guard returns the Guard that made the Mux.
func (m *Mux) Guard() *Guard { return m.guard }
