package scope

import (
	"fmt"
	"iter"
	"slices"
)

// Set is a compiled list of chains, or the union of several such lists. It is immutable,
// cheap to copy and safe for concurrent use. The zero Set permits nothing.
type Set struct {
	parts []*index
}

// Unscoped returns the Set of a caller that no scope limits, such as a session or a
// signed request. Its one chain has the source "unscoped".
func Unscoped() Set { return unscoped }

var unscoped, _ = Compile("unscoped", "*")

// Union returns a Set that permits what s or t permits. It compiles nothing again.
func (s Set) Union(t Set) Set {
	if len(s.parts) == 0 {
		return t
	}
	if len(t.parts) == 0 {
		return s
	}
	parts := make([]*index, len(s.parts), len(s.parts)+len(t.parts))
	copy(parts, s.parts)
	for _, part := range t.parts {
		if !slices.Contains(s.parts, part) {
			parts = append(parts, part)
		}
	}
	return Set{parts}
}

// Is reports whether s and t hold the same compiled lists, in the same order. It compares
// no chains, so two Sets that permit the same may differ.
func (s Set) Is(t Set) bool { return slices.Equal(s.parts, t.parts) }

const (
	maxMeets = 4 * maxChains // chains of an intersection
	maxPairs = 1 << 15       // pairs of chains to compare
)

var (
	errMeets = fmt.Errorf("scope: an intersection of more than %d chains", maxMeets)
	errPairs = fmt.Errorf("scope: an intersection of more than %d pairs of chains", maxPairs)
)

// Intersect returns a Set that permits what both s and t permit. Its chains are the common
// parts of a chain of s and a chain of t. It compiles them, so keep the result. Its Unknown
// yields what those of s and t yield. If it has more than 4096 chains, or if there are more
// than 32,768 pairs of a chain of s and a chain of t, Intersect returns an error and the
// zero Set.
func (s Set) Intersect(t Set) (Set, error) {
	if s.count()*t.count() > maxPairs {
		return Set{}, errPairs
	}
	var both Set
	seen := map[string]bool{}
	for _, a := range s.parts {
		for _, b := range t.parts {
			for text := range a.meets(b) {
				if seen[text] {
					continue
				}
				if len(seen) == maxMeets {
					return Set{}, errMeets
				}
				seen[text] = true
				both.add(a.source+" and "+b.source, text)
			}
		}
	}
	for _, part := range slices.Concat(s.parts, t.parts) {
		if len(part.unknown) > 0 {
			x := newIndex(part.source, 0)
			x.unknown = part.unknown
			both.parts = append(both.parts, x)
		}
	}
	return both, nil
}

// Size returns about how many bytes of memory s keeps alive. It counts for each list that s
// holds its chains, their segments and the index. Caches of Sets limit their memory by it.
func (s Set) Size() (bytes int) {
	for _, part := range s.parts {
		bytes += 256 + 32*cap(part.chains) + 32*len(part.unknown) + 56*cap(part.nodes) + 2*len(part.slots)
		for _, c := range part.chains {
			bytes += len(c.text)
		}
		for _, text := range part.unknown {
			bytes += len(text)
		}
	}
	return bytes
}

func (s Set) count() (n int) {
	for _, part := range s.parts {
		n += len(part.chains)
	}
	return n
}

// meets yields the common part of each chain of x and each of y.
func (x *index) meets(y *index) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, c := range x.chains {
			for _, d := range y.chains {
				if text, ok := meet(c.text, d.text); ok && !yield(text) {
					return
				}
			}
		}
	}
}

// add adds a chain to the last part, or to a new one. No other Set may share the parts yet.
func (s *Set) add(source, text string) {
	last := len(s.parts) - 1
	if last < 0 || s.parts[last].source != source || len(s.parts[last].chains) == maxChains {
		s.parts = append(s.parts, newIndex(source, 0))
		last++
	}
	grant := shapeOf(text)
	s.parts[last].add(&grant, text)
}

// Allows reports whether one chain permits the whole of n. It does not allocate.
func (s Set) Allows(n Need) bool { return s.covers(&n.shape) }

func (s Set) covers(n *shape) bool {
	for _, part := range s.parts {
		if part.allowing(n) != 0 {
			return true
		}
	}
	return false
}

// Overlaps reports whether any part of n is permitted, such as one instance of many or
// one property of an object. It is true whenever Allows is.
func (s Set) Overlaps(n Need) bool {
	for _, part := range s.parts {
		if part.overlapping(&n.shape) {
			return true
		}
	}
	return false
}

// Missing returns the chains of t that no chain of s covers, each once. A minter whose
// scope is s may not give them to a token. Chains that can match nothing permit nothing
// and are never missing.
func (s Set) Missing(t Set) []Chain {
	var missing []Chain
	seen := map[Chain]bool{}
	for c := range t.Chains() {
		grant := shapeOf(c.text)
		if grant.matchesNothing() || s.covers(&grant) || seen[c] {
			continue
		}
		seen[c] = true
		missing = append(missing, c)
	}
	return missing
}

// Chains yields each chain with its source, in the order given.
func (s Set) Chains() iter.Seq2[Chain, string] {
	return sourced(s.parts, func(x *index) []Chain { return x.chains })
}

// Unknown yields each chain that was dropped because the grammar does not know its root,
// with its source. The chain is as it was given.
func (s Set) Unknown() iter.Seq2[string, string] {
	return sourced(s.parts, func(x *index) []string { return x.unknown })
}

// sourced yields the elements that list returns for each part, with the source of the
// part.
func sourced[T any](parts []*index, list func(*index) []T) iter.Seq2[T, string] {
	return func(yield func(T, string) bool) {
		for _, part := range parts {
			for _, each := range list(part) {
				if !yield(each, part.source) {
					return
				}
			}
		}
	}
}
