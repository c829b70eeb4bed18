package scope

import "cmp"

// Parse is that of the standard grammar, and reads the empty chain of the wire, too.
func Parse(chain string) (string, error) { return standard.Parse(cmp.Or(chain, "*")) }

// Chain is a canonical chain.
type Chain string

// Covers reports whether c allows all that d allows.
func (c Chain) Covers(d Chain) bool {
	all := &Grammar{Identifier: isToken}
	set, _ := all.Compile("", string(c))
	var need shape
	return all.parse(string(d), &need) == nil && set.covers(&need)
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
