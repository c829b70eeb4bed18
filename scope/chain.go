package scope

import "strings"

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
