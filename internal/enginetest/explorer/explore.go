// Package explorer visits every state of a model, and has the model of the rule that accepts no request
// twice. The tests of internal/enginetest compare it with the stores.
package explorer

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// Node is the first move to a state.
type Node[M fmt.Stringer] struct {
	By     M
	Before int32 // the index of the node before, or -1
	Depth  int8
}

// World is what can happen.
type World[S comparable, M fmt.Stringer] interface {
	Start() S
	Moves(S) []M
	Do(S, M) (after S, wrong string) // wrong says which promise is broken
	Like(S) S                        // one of the states that differ by names alone
}

// Explore visits all states that moves reach within a depth, breadth first. It stops at the first one that is
// wrong: the last node is then the end of a shortest way to it. It knows the states that it has seen by 64 bits:
// of ten million, one is missed with a chance of 1 to 100,000.
func Explore[S comparable, M fmt.Stringer](w World[S, M], depth int) (all []Node[M], wrong string) {
	start, seed := w.Start(), maphash.MakeSeed()
	seen := map[uint64]bool{maphash.Comparable(seed, w.Like(start)): true}
	all, states := []Node[M]{{Before: -1}}, []S{start} // of the nodes from first on
	for at, first := 0, 0; at < len(all) && int(all[at].Depth) < depth; at++ {
		if at-first > 1<<16 {
			states, first = slices.Clone(states[at-first:]), at
		}
		for _, m := range w.Moves(states[at-first]) {
			after, wrong := w.Do(states[at-first], m)
			known := maphash.Comparable(seed, w.Like(after))
			if wrong == "" && seen[known] {
				continue
			}
			seen[known] = true
			all = append(all, Node[M]{m, int32(at), all[at].Depth + 1})
			if wrong != "" {
				return all, wrong
			}
			if int(all[at].Depth)+1 < depth { // the others have no moves
				states = append(states, after)
			}
		}
	}
	return all, ""
}

// Way returns the moves to a node.
func Way[M fmt.Stringer](all []Node[M], at int) (way []M) {
	for ; all[at].Before >= 0; at = int(all[at].Before) {
		way = append(way, all[at].By)
	}
	slices.Reverse(way)
	return way
}

// List returns moves, one a line.
func List[M fmt.Stringer](way []M) string {
	var b strings.Builder
	for i, m := range way {
		fmt.Fprintf(&b, "\n\t%d. %v", i+1, m)
	}
	return b.String()
}
