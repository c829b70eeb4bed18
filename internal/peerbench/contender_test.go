package main

import (
	"flag"
	"slices"
	"testing"
)

// contender is a peer that can run.
type contender struct {
	name string
	good func() error

	// bad are the inputs that must be refused, by what is wrong with them. A floor has
	// none.
	bad map[string]func() error
}

// check compares contenders with their row. All must exist, and each must accept the
// good input. Each must refuse every bad input except those that the row says it
// accepts.
func check(t *testing.T, name string, contenders []contender) {
	t.Helper()
	r, ok := find(name)
	if !ok {
		t.Fatalf("no row %s", name)
	}
	if len(contenders) != len(r.peers) {
		t.Errorf("%d contenders for %d peers", len(contenders), len(r.peers))
	}
	cases := casesOf(contenders)
	for _, c := range contenders {
		p, ok := r.peer(c.name)
		if !ok {
			t.Errorf("%s is not in the row", c.name)
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.check(t, p, cases) })
	}
}

func casesOf(contenders []contender) (cases []string) {
	for _, c := range contenders {
		for name := range c.bad {
			if !slices.Contains(cases, name) {
				cases = append(cases, name)
			}
		}
	}
	slices.Sort(cases)
	return cases
}

func (c contender) check(t *testing.T, p peer, cases []string) {
	for range 3 {
		if err := c.good(); err != nil {
			t.Fatalf("the good input is refused: %v", err)
		}
	}
	if p.floor {
		return
	}
	for _, name := range cases {
		bad, ok := c.bad[name]
		if !ok {
			t.Errorf("%s: not tried", name)
			continue
		}
		refused, accepts := bad() != nil, slices.Contains(p.accepts, name)
		if refused == accepts {
			t.Errorf("%s: refused is %v, and the report says %v", name, refused, !accepts)
		}
	}
	for _, name := range p.accepts {
		if !slices.Contains(cases, name) {
			t.Errorf("%s: no such case", name)
		}
	}
}

// race times contenders, each on the good input.
func race(b *testing.B, contenders []contender) {
	b.Helper()
	for _, c := range thereAndBack(contenders) {
		b.Run(c.name, func(b *testing.B) {
			if err := c.good(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.good(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var rounds = flag.Int("rounds", 1, "how often a benchmark times all peers, there and back")

// thereAndBack returns all in order and then in reverse order, for each round. Over both
// turns, a machine that slows down or speeds up affects all peers alike.
func thereAndBack[T any](all []T) []T {
	back := slices.Clone(all)
	slices.Reverse(back)
	return slices.Repeat(slices.Concat(all, back), *rounds)
}
