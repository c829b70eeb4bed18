package scope

// Sharing counts the pairs of nodes whose search begins at the same slot. It also returns
// the numbers of nodes and slots.
func (s Set) Sharing() (pairs, nodes, slots int) {
	x := s.parts[0]
	at := map[uint64]int{}
	for _, n := range x.nodes[indexed:] {
		home := n.hash & uint64(len(x.slots)-1)
		pairs += at[home]
		at[home]++
	}
	return pairs, len(x.nodes) - int(indexed), len(x.slots)
}
