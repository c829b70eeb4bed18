package replaytable

// Homes returns the numbers of both home buckets of a tag, of n buckets, and the
// number of its part.
func (t Tag) Homes(n, parts int) (first, second, part int) {
	return t.home(n), t.otherHome(n), t.part(parts)
}
