package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

func testSiblings(t *testing.T, r *replays) {
	u := r.use()
	for i := range 8 {
		r.claim(t, fmt.Sprint("sibling ", i+1), r.sibling(u), nil)
	}
	for range 3 {
		r.claim(t, "ninth", r.sibling(u), signing.ErrReplayed)
	}
	fewer := r.use()
	for range 2 {
		r.claim(t, "one of eight", r.sibling(fewer), nil)
	}
	third := r.sibling(fewer)
	third.Siblings = 2
	r.claim(t, "third, where two are allowed", third, signing.ErrReplayed)
	r.claim(t, "third of eight", r.sibling(fewer), nil)
}

func testSiblingRace(t *testing.T, r *replays) {
	r.races(t, 8, func(one signing.Use, _ int) signing.Use { return r.sibling(one) })
}

func testSiblingWindow(t *testing.T, r *replays) {
	u := r.use()
	in := func(window time.Duration) signing.Use {
		s := r.sibling(u)
		s.Window = window
		return s
	}
	r.claim(t, "first", in(time.Second), nil)
	r.claim(t, "second", in(time.Minute), nil)
	r.f.Wait(1100 * time.Millisecond)
	r.claim(t, "after the window", in(time.Second), signing.ErrReplayed)
}

func testSingleUse(t *testing.T, r *replays) {
	single := map[string]func(*signing.Use){
		"no siblings":                    func(u *signing.Use) { u.Siblings = 0 },
		"one in all":                     func(u *signing.Use) { u.Siblings = 1 },
		"no window":                      func(u *signing.Use) { u.Window = 0 },
		"a window below one millisecond": func(u *signing.Use) { u.Window = time.Millisecond - 1 },
	}
	for name, alter := range single {
		u := r.use()
		first := r.sibling(u)
		alter(&first)
		r.claim(t, name+": first", first, nil)
		r.claim(t, name+": then as a sibling", r.sibling(u), signing.ErrReplayed)

		v := r.use()
		r.claim(t, "as a sibling", r.sibling(v), nil)
		then := r.sibling(v)
		alter(&then)
		r.claim(t, "then with "+name, then, signing.ErrReplayed)
	}
}

func testSiblingReplay(t *testing.T, r *replays) {
	u := r.use()
	for i := range 8 {
		s := r.sibling(u)
		r.claim(t, fmt.Sprint("sibling ", i+1), s, nil)
		for range 4 {
			r.claim(t, "its replay", s, signing.ErrReplayed)
		}
	}
}
