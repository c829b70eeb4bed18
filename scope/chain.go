package scope

import (
	"errors"
	"strings"
)

// Chain is one scope chain in canonical form: trailing stars are cut and the aliases of
// script chains resolved. Chains of equal effect therefore compare equal. Parse makes a
// Chain. The zero Chain covers nothing.
type Chain struct {
	text string // canonical; "*" is everything, "" the zero Chain
}

// String returns the canonical text. For the empty chain, which covers everything, it
// returns *; for the zero Chain it returns "".
func (c Chain) String() string { return c.text }

// covers reports whether c, as a grant, covers d: whether it is a prefix of d by segments.
func covers(c, d string) bool {
	for more := true; more; {
		var asked, granted string
		var deeper bool
		granted, c, more = cut(c, '.')
		asked, d, deeper = cut(d, '.')
		if !segmentCovers(granted, asked) || more && !deeper {
			return false
		}
	}
	return true
}

// meet returns the chain that covers what both c and d cover. ok is false if that is
// nothing.
func meet(c, d string) (both string, ok bool) {
	if c == "*" {
		return d, true
	}
	if d == "*" {
		return c, true
	}
	// Compare first: most pairs have nothing in common, and of most others one is the result.
	for x, y := c, d; x != "" && y != ""; {
		var a, b string
		a, x, _ = cut(x, '.')
		b, y, _ = cut(y, '.')
		if !segmentCovers(a, b) && !segmentCovers(b, a) {
			return "", false
		}
	}
	switch {
	case covers(c, d):
		return d, true
	case covers(d, c):
		return c, true
	}
	var segments []string
	for c != "" && d != "" {
		var a, b string
		a, c, _ = cut(c, '.')
		b, d, _ = cut(d, '.')
		if segmentCovers(b, a) {
			b = a
		}
		segments = append(segments, b)
	}
	if rest := c + d; rest != "" { // one of them is empty
		segments = append(segments, rest)
	}
	return strings.Join(segments, "."), true
}

// segmentCovers reports whether granted is equal to asked, is *, or is asked without its
// type.
func segmentCovers(granted, asked string) bool {
	if granted == "*" || granted == asked {
		return true
	}
	kind, longer := strings.CutPrefix(asked, granted)
	return longer && kind[0] == '#' && strings.IndexByte(granted, '#') < 0
}

// MarshalText returns the canonical text. The zero Chain has no text, so it returns an
// error.
func (c Chain) MarshalText() ([]byte, error) {
	if c.text == "" {
		return nil, errors.New("scope: the zero Chain has no text")
	}
	return []byte(c.text), nil
}

// UnmarshalText parses a chain of the standard grammar from a flag, a variable or a file.
// An empty text there means that nothing was set, so it is refused: write everything as
// *. The error is a *SyntaxError, and c is then unchanged.
func (c *Chain) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return &SyntaxError{Expected: "a chain", Hint: "everything is *"}
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}
