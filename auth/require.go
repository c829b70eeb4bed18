package auth

import (
	"errors"
	"net/http"
)

// chooseMechanism returns the index of the mechanism whose credential the request presents.
// If two have the same presence, it refuses the request before either records anything.
func (g *Guard) chooseMechanism(r *http.Request) (chosen int32, found Presence, err error) {
	chosen = none
	tie := false
	for i, m := range g.Mechanisms {
		switch presence := m.Presented(r); {
		case presence == Absent || presence < found:
		case presence == found:
			tie = true
		default:
			chosen, found, tie = int32(i), presence, false
		}
	}
	if tie {
		return none, found, &Error{Detail: DetailAmbiguous}
	}
	return chosen, found, nil
}

// Require lets a request through to a handler if it meets the need. It must be below Mount;
// otherwise it refuses every request. It panics on the zero Need, on a need whose operation
// does not parse, and on a name of By or Fresh that no mechanism has. The handler of Some must
// be a PartHandler.
func (g *Guard) Require(n Need) func(http.Handler) http.Handler {
	rule := n.mustCompile(g)
	return func(next http.Handler) http.Handler { return g.require(rule, next) }
}

func (g *Guard) require(need rule, next http.Handler) http.Handler {
	serve := need.bind(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context(), g)
		if c == nil {
			g.Fail(w, r, errOutside)
			return
		}
		p, err := c.check(r, need)
		if err != nil {
			c.answer(w, r, err, decision{need: need.operation})
			return
		}
		c.admit(r, p, need)
		serve(w, r, p)
	})
}

// Check decides whether a request meets a need, and returns its principal. It writes
// nothing. It is for handlers of Public routes that need only the decision. A request is
// authenticated once, however often it is checked. Check does not change what From returns. It
// returns an error for Some, whose part only a PartHandler gets.
func (g *Guard) Check(r *http.Request, n Need) (Principal, error) {
	rule, err := n.compile(g)
	if err != nil {
		return Principal{}, err
	}
	c := callOf(r.Context(), g)
	switch {
	case c == nil:
		return Principal{}, errOutside
	case n.kind == needSome:
		return Principal{}, errors.New("auth: Check with Some would lose the part that is permitted")
	}
	p, err := c.check(r, rule)
	if err != nil {
		return Principal{}, err
	}
	return *p, nil
}

var errOutside = errors.New("auth: the request did not come through this Guard's Mount")
