package scope

// Covers reports whether c allows all that d allows.
func (c Chain) Covers(d Chain) bool {
	if c.text == "" || d.text == "" {
		return false
	}
	grant := shapeOf(c.text)
	return !grant.matchesNothing() && covers(c.text, d.text)
}

func MustParse(s string) Chain {
	c, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return c
}

var ParseLevel = parseLevel
