package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// Idempotency checks the contract of idempotency.Store. In each subtest open returns a store, which may
// have other entries.
func Idempotency(t *testing.T, open func(t *testing.T) idempotency.Store, f Features) {
	suite.Run(t, suite.Tests[func(*testing.T, *repeats)]{
		{"an entry is begun, completed and found as it was", testRepeat},
		{"many begin at once: one has the fence", testBeginRace},
		{"after its lease an attempt loses its fence, and the entry keeps what was sealed", testLease},
		{"many take over at once: one has the fence", testTakeOverRace},
		{"an entry that is taken over costs what it did, and is kept as long", testTakenOver},
		{"End needs the fence, and ends once", testFence},
		{"many end at once: one does", testEndRace},
		{"End with nothing sealed deletes the entry", testRelease},
		{"an entry is forgotten when it was kept long enough, complete or not", testRepeatKept},
		{"a caller's entries are bounded, and each counts what it costs", testCost},
		{"what was refused, deleted or forgotten makes room", testRoom},
		{"an entry that is begun again after it was forgotten counts once", testAgainCounts},
		{"entries of other orgs and callers do not count", testOthers},
		{"a call whose context has ended changes nothing", testRepeatContext},
	}, func(t *testing.T, test func(*testing.T, *repeats)) {
		s, brief := suite.Features(f), time.Second
		if f.Pass == nil {
			t.Parallel()
			brief = 500 * time.Millisecond
		}
		test(t, &repeats{Store: open(t), f: s, org: s.NewOrg(), caller: s.NewAccount(), brief: brief,
			o: idempotency.Options{Keep: time.Hour, Lease: time.Minute, MaxBytes: 1 << 20}})
	})
}

type repeats struct {
	idempotency.Store
	f      suite.Features
	org    auth.OrgKey
	caller string
	o      idempotency.Options
	brief  time.Duration // a lease that a test waits for
}

// entry returns a new entry of the caller.
func (s *repeats) entry() idempotency.Entry {
	return idempotency.Entry{ID: suite.NewHash(), Org: s.org, Caller: s.caller, Fence: suite.Random(), Sealed: []byte("\x00request\xff" + suite.Random())}
}

// again returns another attempt of e, with other bytes.
func again(e idempotency.Entry) idempotency.Entry {
	return with(e, suite.Random(), []byte("\x00another\xff"+suite.Random()))
}

func with(e idempotency.Entry, fence string, sealed []byte) idempotency.Entry {
	e.Fence, e.Sealed = fence, sealed
	return e
}

// begins fails the test unless Begin of e returns want.
func (s *repeats) begins(t *testing.T, what string, e, want idempotency.Entry) {
	t.Helper()
	got, err := s.Begin(t.Context(), e, s.o)
	suite.Must(t, what, err)
	suite.Same(t, what, got, want)
}

// anew fails the test unless Begin of e stores it, and returns e.
func (s *repeats) anew(t *testing.T, what string, e idempotency.Entry) idempotency.Entry {
	t.Helper()
	s.begins(t, what, e, e)
	return e
}

// begun returns an entry that was begun.
func (s *repeats) begun(t *testing.T) idempotency.Entry {
	t.Helper()
	return s.anew(t, "a new one", s.entry())
}

func (s *repeats) end(t *testing.T, e idempotency.Entry, sealed string) idempotency.Entry {
	t.Helper()
	suite.Expect(t, "End", s.End(t.Context(), with(e, e.Fence, []byte(sealed))), nil)
	return with(e, "", []byte(sealed))
}

func testRepeat(t *testing.T, s *repeats) {
	e := s.begun(t)
	s.begins(t, "while it is executed", again(e), e)
	whole := "\x00\xff" + strings.Repeat("response ", 20_000)
	s.begins(t, "when it is complete", again(e), s.end(t, e, whole))
	empty := s.begun(t)
	s.begins(t, "an empty response", again(empty), s.end(t, empty, "-"))
}

// race begins e many times at once, and returns what all of them found: it has the fence of one.
func (s *repeats) race(t *testing.T, e idempotency.Entry) (found idempotency.Entry) {
	t.Helper()
	var held [suite.Crowd]idempotency.Entry
	won := suite.Wins(t, 1, func(i int) (err error) {
		attempt := again(e)
		if held[i], err = s.Begin(t.Context(), attempt, s.o); err == nil && held[i].Fence != attempt.Fence {
			err = errLost
		}
		return err
	}, errLost)
	for _, other := range held {
		suite.Same(t, "what another one found", other, held[won])
	}
	return held[won]
}

func testBeginRace(t *testing.T, s *repeats) { s.race(t, s.entry()) }

func testLease(t *testing.T, s *repeats) {
	s.o.Lease = s.brief
	first, late, complete := s.begun(t), s.begun(t), s.begun(t)
	done := s.end(t, complete, "done")
	s.f.Wait(s.brief + time.Millisecond)
	s.o.Lease = time.Minute
	s.begins(t, "one that is complete", again(complete), done)
	second := again(first)
	s.begins(t, "after it", second, with(first, second.Fence, first.Sealed))
	s.begins(t, "during the second lease", again(first), with(first, second.Fence, first.Sealed))
	suite.Expect(t, "End of the first", s.End(t.Context(), first), auth.ErrConflict)
	suite.Expect(t, "its deletion", s.End(t.Context(), with(first, first.Fence, nil)), auth.ErrConflict)
	s.begins(t, "after the second", again(first), s.end(t, second, "done"))
	s.begins(t, "a late one that nobody has taken over", again(late), s.end(t, late, "done"))
}

func testTakeOverRace(t *testing.T, s *repeats) {
	s.o.Lease = s.brief
	first := s.begun(t)
	s.f.Wait(2 * s.brief)
	s.o.Lease = time.Minute
	suite.Same(t, "what was sealed", s.race(t, first).Sealed, first.Sealed)
}

func testTakenOver(t *testing.T, s *repeats) {
	s.o.Keep, s.o.Lease = 10*s.brief, s.brief
	first := s.begun(t)
	s.f.Wait(2 * s.brief)
	s.o = idempotency.Options{Keep: time.Hour, Lease: time.Hour, MaxBytes: cost(first) + 1}
	second := with(first, suite.Random(), []byte(strings.Repeat("x", 5000)))
	s.begins(t, "after its lease", second, with(first, second.Fence, first.Sealed))
	s.begun(t) // for which there is room
	s.f.Wait(9 * s.brief)
	s.o.MaxBytes = 1 << 20
	third := with(second, suite.Random(), second.Sealed)
	s.begins(t, "when it was kept long enough", third, third)
	s.o.MaxBytes = cost(third)
	s.full(t, "it costs what is new")
}

func testFence(t *testing.T, s *repeats) {
	e := s.begun(t)
	for name, wrong := range map[string]idempotency.Entry{
		"another fence": again(e), "no fence": with(e, "", e.Sealed), "an unknown entry": s.entry(), "part of the fence": with(e, e.Fence[1:], e.Sealed),
	} {
		suite.Expect(t, name, s.End(t.Context(), wrong), auth.ErrConflict)
		suite.Expect(t, name+", deleting", s.End(t.Context(), with(wrong, wrong.Fence, nil)), auth.ErrConflict)
	}
	s.begins(t, "after all these", again(e), e)
	done := s.end(t, e, "done")
	suite.Expect(t, "again", s.End(t.Context(), with(e, e.Fence, []byte("changed"))), auth.ErrConflict)
	suite.Expect(t, "deleting it", s.End(t.Context(), with(e, e.Fence, nil)), auth.ErrConflict)
	suite.Expect(t, "without a fence", s.End(t.Context(), with(e, "", nil)), auth.ErrConflict)
	s.begins(t, "it is as it was", again(e), done)
}

func testEndRace(t *testing.T, s *repeats) {
	e := s.begun(t)
	i := suite.Wins(t, 1, func(i int) error {
		return s.End(t.Context(), with(e, e.Fence, fmt.Appendf(nil, "done by %d", i)))
	}, auth.ErrConflict)
	s.begins(t, "it has the response of the one", again(e), with(e, "", fmt.Appendf(nil, "done by %d", i)))
}

func testRelease(t *testing.T, s *repeats) {
	e := s.begun(t)
	suite.Expect(t, "End", s.End(t.Context(), with(e, e.Fence, nil)), nil)
	suite.Expect(t, "again", s.End(t.Context(), with(e, e.Fence, nil)), auth.ErrConflict)
	s.anew(t, "a new attempt", again(e))
}

func testRepeatKept(t *testing.T, s *repeats) {
	s.o.Keep = 8 * s.brief
	complete, never := s.begun(t), s.begun(t)
	done := s.end(t, complete, "done")
	s.f.Wait(s.brief)
	s.begins(t, "before the end", again(complete), done)
	s.f.Wait(8 * s.brief)
	for _, e := range []idempotency.Entry{complete, never} {
		next := s.anew(t, "after it", again(e))
		suite.Expect(t, "End of the earlier one", s.End(t.Context(), e), auth.ErrConflict)
		s.begins(t, "of the new one", again(next), s.end(t, next, "new"))
	}
}

func cost(e idempotency.Entry) int64 { return int64(len(e.Sealed)) + 1024 }

// full fails the test unless the caller has no room.
func (s *repeats) full(t *testing.T, what string) {
	t.Helper()
	s.begins(t, what, s.entry(), idempotency.Entry{})
}

func testCost(t *testing.T, s *repeats) {
	s.o.MaxBytes = 10 * cost(s.entry())
	first := s.begun(t)
	for range 9 {
		s.begun(t)
	}
	s.full(t, "the eleventh")
	s.begins(t, "one that is there", again(first), first)
	done := s.end(t, first, string(first.Sealed))
	s.full(t, "one that is complete counts")
	s.begins(t, "and is found", again(first), done)

	s.caller = s.f.NewAccount()
	big := s.begun(t)
	s.end(t, big, strings.Repeat("x", int(s.o.MaxBytes)))
	s.full(t, "a long response counts its bytes")
}

func testRoom(t *testing.T, s *repeats) {
	s.o.MaxBytes, s.o.Keep, s.o.Lease = 2*cost(s.entry()), 10*s.brief, s.brief
	first, second := s.begun(t), s.begun(t)
	for range 5 {
		s.full(t, "a third")
	}
	suite.Expect(t, "End", s.End(t.Context(), with(first, first.Fence, nil)), nil)
	third := s.begun(t)
	s.full(t, "a fourth")
	s.f.Wait(2 * s.brief)
	taken := again(third) // which changes no count
	s.begins(t, "taken over", taken, with(third, taken.Fence, third.Sealed))
	s.end(t, taken, string(third.Sealed))
	s.full(t, "after it was taken over")
	s.f.Wait(9 * s.brief)
	s.begun(t)
	s.anew(t, "a forgotten one, again", again(second))
	s.full(t, "as many as at first")
}

// testAgainCounts begins more entries again than a store forgets at once.
func testAgainCounts(t *testing.T, s *repeats) {
	const n = 120
	s.o.MaxBytes, s.o.Lease = (n+1)*cost(s.entry()), s.brief
	s.begun(t) // which is kept longer
	s.o.Keep = 10 * s.brief
	var all [n]idempotency.Entry
	for i := range all {
		all[i] = s.begun(t)
	}
	s.f.Wait(12 * s.brief)
	s.o.Keep = time.Hour
	for i := range all {
		s.anew(t, "again", with(all[n-1-i], suite.Random(), all[0].Sealed)) // of the same length
	}
	s.full(t, "as many as at first")
}

func testOthers(t *testing.T, s *repeats) {
	s.o.MaxBytes = cost(s.entry())
	mine := s.begun(t)
	org, caller := s.org, s.caller
	s.org = s.f.NewOrg()
	s.begun(t)
	s.org, s.caller = org, s.f.NewAccount()
	s.begun(t)
	if s.f.Account == nil && s.f.Org == nil { // names that a store could split in two ways
		s.org, s.caller = auth.OrgKey(string(org)+caller[:1]), caller[1:]
		s.begun(t)
	}
	s.org, s.caller = org, caller
	s.full(t, "its own")
	s.begins(t, "it is there", again(mine), mine)
}

func testRepeatContext(t *testing.T, s *repeats) {
	ctx, e, fresh := suite.Ended(t), s.begun(t), s.entry()
	_, begin := s.Begin(ctx, fresh, s.o)
	for verb, err := range map[string]error{"Begin": begin, "End": s.End(ctx, e), "End, deleting": s.End(ctx, with(e, e.Fence, nil))} {
		suite.Expect(t, verb, err, auth.ErrUnavailable)
	}
	s.begins(t, "what was not ended", again(e), e)
	s.begins(t, "what was not begun", fresh, fresh)
}
