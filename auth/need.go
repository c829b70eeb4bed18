package auth

import (
	"slices"
)

// Need is what a route asks of a request before its handler runs. Each route
// has one; the zero Need is refused at registration, so that none is forgotten.
// Needs are values and may be shared.
type Need struct {
	kind       needKind
	mechanisms []string
}

type needKind uint8

const (
	needNothing needKind = iota + 1
	needOptional
	needAuthenticated
)

var (
	// Public runs no mechanism: the handler gets the zero Principal, whatever
	// the request presents. It may call Guard.Check itself.
	Public = Need{kind: needNothing}

	// Optional authenticates what is presented and admits what presents
	// nothing as the zero Principal. A cookie that fails counts as nothing,
	// since browsers send it unasked; a header that fails is refused.
	Optional = Need{kind: needOptional}

	// Authenticated admits any principal, however narrow its scope: for
	// routes that tell a caller about itself.
	Authenticated = Need{kind: needAuthenticated}
)

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

// Open reports whether an anonymous caller may get in: Public and Optional.
func (n Need) Open() bool {
	return n.kind == needNothing || n.kind == needOptional
}

func (n Need) isZero() bool { return n.kind == 0 }

// check decides for a principal that has been authenticated.
func (n Need) check(p *Principal) error {
	if n.mechanisms != nil && !slices.Contains(n.mechanisms, p.Mechanism) {
		return &Error{Detail: DetailForbidden, Reason: "another way of authentication is required"}
	}
	return nil
}
