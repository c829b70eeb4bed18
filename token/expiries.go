package token

// expiries is a heap of the records that expire, for container/heap. The first
// one expires before all others.
type expiries []*kept

func (e expiries) Len() int           { return len(e) }
func (e expiries) Less(i, j int) bool { return e[i].Expires.Before(e[j].Expires) }

func (e expiries) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].expiry, e[j].expiry = i, j
}

func (e *expiries) Push(r any) {
	r.(*kept).expiry = len(*e)
	*e = append(*e, r.(*kept))
}

func (e *expiries) Pop() any {
	last := len(*e) - 1
	r := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	return r
}
