package history

import (
	"cmp"
	"slices"
	"time"
)

// Kinds are the kinds of objects, by their names. Each Step says what a store must do if calls came one
// after the other. internal/enginetest adds some of its own.
var Kinds = map[string]Kind{
	"claims": {Choices: []Choice{{"Claim", 1, [3]int64{4, 4}}}, Change: changeClaim, Start: claims{}, Step: stepClaim,
		Has: func(s *Stores) bool { return s.Replays != nil }, Call: (*Stores).claim},
	"tokens": {Choices: []Choice{{"Spend", 15, [3]int64{6}}, {"Get", 1, [3]int64{6}}, {"Revoke", 4, [3]int64{6}}, {"RevokeSubject", 2, [3]int64{2}}, {"List", 2, [3]int64{2}}},
		Change: func(g *Group, o *Op) { issueFirst(g, o, family, 1) }, Start: things{},
		Step: func(s any, o *Op) (any, bool) { return stepThing(s.(things), family, tokenLimit, o) }, Listed: listedTokens,
		Has: func(s *Stores) bool { return s.Ledger != nil }, Call: (*Stores).token},
	"keys": {Choices: []Choice{{"Spend", 7, [3]int64{3}}, {"Get", 2, [3]int64{3}}, {"Revoke", 1, [3]int64{3}}},
		Change: func(g *Group, o *Op) { issueFirst(g, o, keyring, 2) }, Start: things{},
		Step: func(s any, o *Op) (any, bool) { return stepThing(s.(things), keyring, keyLimit, o) },
		Has:  func(s *Stores) bool { return s.Keys != nil }, Call: (*Stores).key},
	"sessions": {Choices: []Choice{{"Get", 11, [3]int64{}}, {"Touch", 4, [3]int64{}}, {"Replace", 6, [3]int64{}}, {"Delete", 2, [3]int64{}}, {"DeleteAll", 1, [3]int64{}}, {"List", 2, [3]int64{}}},
		Change: changeSession, Start: sessions{}, Step: stepSession, Listed: func(*Op) []int64 { return []int64{0, 1, 2} },
		Has: func(s *Stores) bool { return s.Sessions != nil }, Call: (*Stores).session},
	"attempts": {Choices: []Choice{{"Load", 1, [3]int64{}}, {"Swap", 2, [3]int64{3, 3}}}, Start: [2]int64{}, Step: stepRegister,
		Has: func(s *Stores) bool { return s.Attempts != nil }, Call: (*Stores).attempt},
	"factors": {Choices: []Choice{{"Load", 1, [3]int64{}}, {"Save", 1, [3]int64{4, 1000}}}, Start: [2]int64{}, Step: stepRegister,
		Has: func(s *Stores) bool { return s.Factors != nil }, Call: (*Stores).factor},
	"idempotency": {Choices: []Choice{{"Begin", 2, [3]int64{}}, {"End", 1, [3]int64{}}, {"Give", 1, [3]int64{}}}, Change: changeRepeat, Start: repeated{}, Step: stepRepeat,
		Has: func(s *Stores) bool { return s.Idempotency != nil }, Call: (*Stores).repeat},
}

// shortKeep is how long some claims must be remembered, so that a store that forgets them early is found.
const shortKeep = 400 * time.Millisecond

// claims are the nonces that were accepted, and how often each signature was.
type claims struct {
	nonces uint16
	uses   [4]int8
}

func changeClaim(_ *Group, o *Op) { // nonce, signature, siblings
	if o.A[2] = 1; o.A[1] >= 2 {
		o.A[2] = 3
	}
}

func stepClaim(state any, o *Op) (any, bool) {
	s := state.(claims)
	fits := s.nonces>>o.A[0]&1 == 0 && (s.uses[o.A[1]] == 0 || int64(s.uses[o.A[1]]) < o.A[2])
	switch o.Result {
	case "ok":
		s.nonces |= 1 << o.A[0]
		s.uses[o.A[1]]++
		return s, fits
	case "replayed":
		return s, !fits
	}
	return s, o.Result == "stale"
}

// besideRefused reports whether a claim was refused while another one of its nonce ran that was not
// accepted either. Replays allows that, and both have changed nothing.
func besideRefused(ops []Op, o *Op) bool {
	return o.Result == "replayed" && slices.ContainsFunc(ops, func(other Op) bool {
		return other.A[0] == o.A[0] && other.Result != "ok" && other.From != o.From && other.From < o.To && (other.To > o.From || other.Result == Unknown)
	})
}

// thing is a token or an API key of a group: its owner, the most uses and the parent.
type thing struct{ subject, uses, parent int64 }

var (
	family  = []thing{{0, 0, -1}, {0, 3, -1}, {1, 2, 0}, {0, 0, 1}, {1, 1, 2}, {0, 2, -1}}
	keyring = []thing{{0, 0, -1}, {0, 3, -1}, {0, 2, -1}}
)

const tokenLimit, keyLimit = 3, 2

// things are not made (0), made (1) or gone (2), and used so often.
type things struct{ is, uses [6]int8 }

func (s *things) spent(of []thing, id int64) bool {
	return of[id].uses > 0 && int64(s.uses[id]) >= of[id].uses
}

func (s *things) live(of []thing, id int64) bool {
	for ; id >= 0; id = of[id].parent {
		if s.is[id] != 1 || s.spent(of, id) {
			return false
		}
	}
	return true
}

func (s *things) count(of []thing, subject int64) (n int) {
	for id, t := range of {
		if t.subject == subject && s.live(of, int64(id)) {
			n++
		}
	}
	return n
}

// issueFirst issues each thing once, every so many calls.
func issueFirst(g *Group, o *Op, things []thing, every int64) {
	if id := g.given / every; g.given%every == 0 && id < int64(len(things)) {
		o.Verb, o.A = "Issue", [4]int64{id}
	}
}

// listedTokens are those of a subject, and those of another one that the list has.
func listedTokens(o *Op) (all []int64) {
	for id := range int64(len(family)) {
		if family[id].subject == o.A[0] || slices.Contains(o.List, id) {
			all = append(all, id)
		}
	}
	return all
}

func stepThing(s things, of []thing, limit int, o *Op) (any, bool) {
	id := o.A[0]
	live, ok := s.live(of, id), o.Result == "ok"
	switch o.Verb {
	case "Issue":
		orphan := of[id].parent >= 0 && !s.live(of, of[id].parent)
		full, fits := s.count(of, of[id].subject) >= limit, s.is[id] == 0 && !orphan
		if ok {
			s.is[id] = 1
			return s, fits && !full
		}
		return s, o.Result == "too many" && full || o.Result == "revoked" && orphan
	case "Spend":
		if ok && of[id].uses > 0 {
			s.uses[id]++
		}
		refused := map[bool]string{true: "not found", false: "revoked"}[o.Kind == "keys"]
		return s, ok && live || o.Result == refused && !live || o.Result == "exhausted" && s.is[id] == 1 && s.spent(of, id)
	case "Has":
		return s, ok == live && (!ok || of[id].subject == o.A[1])
	case "Get": // of an API key that is used up there may be a record
		return s, ok == live && o.Result != "error" || ok && o.Kind == "keys" && s.is[id] == 1
	case "Revoke":
		if ok {
			fits := live || o.Kind == "keys" && s.is[id] == 1
			s.is[id] = 2
			return s, fits
		}
		return s, o.Result == "not found" && !live
	}
	// The number that RevokeSubject returns may differ by those that die meanwhile by an ancestor.
	for other, t := range of {
		if t.subject == id && s.is[other] == 1 {
			s.is[other] = 2
		}
	}
	return s, ok
}

const (
	records      = 3
	sessionLimit = records - 1
)

// sessions are none (0), live (1), ended (2) or evicted (3). Hashes below records are those of Create.
type sessions [records]struct {
	is, hash, previous int8
	seen               int16
}

func (s *sessions) find(hash int64, is int8) int {
	for id, r := range s {
		if r.is == is && int64(r.hash) == hash {
			return id
		}
	}
	return -1
}

func changeSession(g *Group, o *Op) {
	if g.given < records-1 || g.given == 12 {
		id := min(g.given, records-1)
		o.Verb, o.A = "Create", [4]int64{id, id}
		return
	}
	o.A = [4]int64{g.rand.Int64N(records), 100 + g.rand.Int64N(50)}
	if g.fresh > 0 && g.rand.IntN(2) == 0 {
		o.A[0] = 12 + g.rand.Int64N(g.fresh)
	}
	if o.Verb == "Replace" {
		o.A[1], o.A[2] = 12+g.fresh, o.A[1]
		g.fresh++
	}
}

func stepSession(state any, o *Op) (any, bool) {
	s := state.(sessions)
	live, evicted, ok := s.find(o.A[0], 1), s.find(o.A[0], 3), o.Result == "ok"
	switch o.Verb {
	case "Create":
		return s.create(o), ok
	case "Has":
		return s, ok == (s[o.A[0]].is == 1)
	case "Get":
		return s, ok && live >= 0 && int64(s[live].seen) == o.N || o.Result == "evicted" && evicted >= 0 || o.Result == "not found" && live < 0 && evicted < 0
	case "Touch", "Replace":
		if live < 0 || !ok {
			return s, live < 0 && o.Result == "not found"
		}
		if r := &s[live]; o.Verb == "Touch" {
			r.seen = max(r.seen, int16(o.A[1]))
		} else {
			r.hash, r.previous, r.seen = int8(o.A[1]), int8(o.A[0]), int16(o.A[2])
		}
		return s, true
	}
	ended := int64(0)
	for id, r := range s {
		if r.is == 1 && (o.Verb == "DeleteAll" || int64(r.hash) == o.A[0] || int64(r.previous) == o.A[0]) {
			s[id].is = 2
			ended++
		}
	}
	return s, ok && (o.Verb == "Delete" || ended == o.N || o.To == 0)
}

func (s sessions) create(o *Op) sessions {
	id := o.A[0]
	a, b := (id+1)%records, (id+2)%records
	if s[a].is == 1 && s[b].is == 1 { // at the limit; of two that were used at the same time the older one goes
		oldest := slices.MinFunc([]int64{min(a, b), max(a, b)}, func(a, b int64) int { return cmp.Compare(s[a].seen, s[b].seen) })
		s[oldest].is = 3
	}
	s[id].is, s[id].hash, s[id].previous, s[id].seen = 1, int8(o.A[1]), -1, int16(id)
	return s
}

// stepRegister has a record that is replaced if it is the one that was read: of attempts its number, of a second
// factor the version and the step.
func stepRegister(state any, o *Op) (any, bool) {
	s := state.([2]int64)
	fits := s[0] == o.A[0]
	switch {
	case o.Verb == "Load":
		return s, o.Result == "ok" && o.N == s[0]<<32|s[1]
	case o.Result != "ok":
		return s, o.Result == "conflict" && !fits
	case o.Kind == "factors":
		return [2]int64{s[0] + 1, o.A[1]}, fits
	}
	return [2]int64{o.A[1]}, fits
}

// repeated is the entry of a request: who holds it, or that it is complete.
type repeated struct {
	holder int64
	done   bool
}

// shortLease reports whether leases end while the group has calls.
func shortLease(o *Op) bool { return o.Group%2 == 1 }

func changeRepeat(g *Group, o *Op) {
	if o.A[0] = 1 + g.rand.Int64N(g.fresh+1); o.Verb == "Begin" {
		g.fresh++
		o.A[0] = g.fresh
	}
}

func stepRepeat(state any, o *Op) (any, bool) {
	s, fence := state.(repeated), o.A[0]
	if o.Verb != "Begin" {
		held := s.holder == fence
		if o.Result == "ok" && held {
			return repeated{done: o.Verb == "End"}, true
		}
		return s, o.Result == "conflict" && !held
	}
	if o.To == 0 && o.N == 0 { // unknown
		o.N = fence
	}
	switch {
	case o.Result != "ok":
		return s, false
	case s.done:
		return s, o.N == 0
	case s.holder == 0, shortLease(o) && o.N == fence:
		return repeated{holder: fence}, o.N == fence
	}
	return s, o.N == s.holder
}
