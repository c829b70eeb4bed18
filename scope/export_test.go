package scope

import "cmp"

// Parse is that of the standard grammar, and reads the empty chain of the wire, too.
func Parse(chain string) (string, error) { return standard.Parse(cmp.Or(chain, "*")) }

// Chain is a canonical chain.
type Chain string

// Covers reports whether c allows all that d allows.
func (c Chain) Covers(d Chain) bool {
	grant := shapeOf(string(c))
	return !grant.matchesNothing() && covers(string(c), string(d))
}

func MustParse(s string) Chain {
	c, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return Chain(c)
}

var ErrLevel = errLevel

func (c Chain) String() string { return string(c) }
