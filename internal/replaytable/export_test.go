package replaytable

// Homes returns the numbers of both buckets of a tag, of n, and the number of its
// part, of parts.
func (t Tag) Homes(n, parts int) (first, second, part int) {
	return t.home(n), t.otherHome(n), t.part(parts)
}
