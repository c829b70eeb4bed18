package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/signing"
)

func testSiblings(t *testing.T, r *suite.Replays) {
	u := r.Fresh()
	for i := range 8 {
		r.Claims(t, fmt.Sprint("sibling ", i+1), r.Sibling(u), nil)
	}
	for range 3 {
		r.Claims(t, "ninth", r.Sibling(u), signing.ErrReplayed)
	}
	fewer := r.Fresh()
	for range 2 {
		r.Claims(t, "one of eight", r.Sibling(fewer), nil)
	}
	third := r.Sibling(fewer)
	third.Siblings = 2
	r.Claims(t, "third, where two are allowed", third, signing.ErrReplayed)
	r.Claims(t, "third of eight", r.Sibling(fewer), nil)
}

func testSiblingRace(t *testing.T, r *suite.Replays) {
	r.Races(t, 8, func(one signing.Use, _ int) signing.Use { return r.Sibling(one) })
}

func testSiblingWindow(t *testing.T, r *suite.Replays) {
	u := r.Fresh()
	in := func(window time.Duration) signing.Use {
		s := r.Sibling(u)
		s.Window = window
		return s
	}
	r.Claims(t, "first", in(time.Second), nil)
	r.Claims(t, "second", in(time.Minute), nil)
	r.Wait(1100 * time.Millisecond)
	r.Claims(t, "after the window", in(time.Second), signing.ErrReplayed)
}

func testSingleUse(t *testing.T, r *suite.Replays) {
	single := map[string]func(*signing.Use){
		"no siblings":                    func(u *signing.Use) { u.Siblings = 0 },
		"one in all":                     func(u *signing.Use) { u.Siblings = 1 },
		"no window":                      func(u *signing.Use) { u.Window = 0 },
		"a window below one millisecond": func(u *signing.Use) { u.Window = time.Millisecond - 1 },
	}
	for name, alter := range single {
		u := r.Fresh()
		first := r.Sibling(u)
		alter(&first)
		r.Claims(t, name+": first", first, nil)
		r.Claims(t, name+": then as a sibling", r.Sibling(u), signing.ErrReplayed)

		v := r.Fresh()
		r.Claims(t, "as a sibling", r.Sibling(v), nil)
		then := r.Sibling(v)
		alter(&then)
		r.Claims(t, "then with "+name, then, signing.ErrReplayed)
	}
}

func testSiblingReplay(t *testing.T, r *suite.Replays) {
	u := r.Fresh()
	for i := range 8 {
		s := r.Sibling(u)
		r.Claims(t, fmt.Sprint("sibling ", i+1), s, nil)
		for range 4 {
			r.Claims(t, "its replay", s, signing.ErrReplayed)
		}
	}
}
