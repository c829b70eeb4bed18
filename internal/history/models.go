package history

import (
	"errors"
	"slices"
	"time"
)

// Each choose gives a random call of a group, and each step says what a store must do if calls came one
// after the other.

// shortKeep is how long some claims must be remembered, so that a store that forgets them early is found.
const shortKeep = 400 * time.Millisecond

// claims are the nonces that were accepted, and how often each signature was.
type claims struct {
	nonces uint16
	uses   [4]int8
}

func chooseClaim(g *Group, o *Op) {
	o.Verb = "Claim"
	o.A = [4]int64{g.rand.Int64N(4), g.rand.Int64N(4), 1} // nonce, signature, siblings
	if o.A[1] >= 2 {
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

// family says of each token of a group the subject, the most uses and the parent.
var family = []struct{ subject, uses, parent int64 }{{0, 0, -1}, {0, 3, -1}, {1, 2, 0}, {0, 0, 1}, {1, 1, 2}, {0, 2, -1}}

const tokenLimit = 3

// tokens are not issued (0), issued (1) or gone (2), and used so often.
type tokens struct{ is, uses [6]int8 }

func (s *tokens) live(id int64) bool {
	for ; id >= 0; id = family[id].parent {
		if s.is[id] != 1 || family[id].uses > 0 && int64(s.uses[id]) >= family[id].uses {
			return false
		}
	}
	return true
}

func (s *tokens) count(subject int64) (n int64) {
	for id, of := range family {
		if of.subject == subject && s.live(int64(id)) {
			n++
		}
	}
	return n
}

func chooseToken(g *Group, o *Op) {
	if id := int64(g.given); id < int64(len(family)) && g.once(id) {
		o.Verb, o.A[0] = "Issue", id
		return
	}
	switch n := g.rand.IntN(24); {
	case n < 15:
		o.Verb, o.A[0] = "Spend", g.rand.Int64N(int64(len(family)))
	case n < 16:
		o.Verb, o.A[0] = "Get", g.rand.Int64N(int64(len(family)))
	case n < 20:
		o.Verb, o.A[0] = "Revoke", g.rand.Int64N(int64(len(family)))
	case n < 22:
		o.Verb, o.A[0] = "RevokeSubject", g.rand.Int64N(2)
	default:
		o.Verb, o.A[0] = "List", g.rand.Int64N(2)
	}
}

func stepToken(state any, o *Op) (any, bool) {
	s, id := state.(tokens), o.A[0]
	switch o.Verb {
	case "Issue":
		full, orphan := s.count(family[id].subject) >= tokenLimit, family[id].parent >= 0 && !s.live(family[id].parent)
		switch o.Result {
		case "ok":
			fits := s.is[id] == 0 && !full && !orphan
			s.is[id] = 1
			return s, fits
		case "too many":
			return s, full
		}
		return s, o.Result == "revoked" && orphan
	case "Spend":
		live := s.live(id)
		switch o.Result {
		case "ok":
			if family[id].uses > 0 {
				s.uses[id]++
			}
			return s, live
		case "exhausted":
			return s, s.is[id] == 1 && family[id].uses > 0 && int64(s.uses[id]) >= family[id].uses
		}
		return s, o.Result == "revoked" && !live
	case "Get":
		return s, (o.Result == "ok") == s.live(id) && o.Result != "error"
	case "Revoke":
		live := s.live(id)
		if o.Result == "ok" {
			s.is[id] = 2
			return s, live
		}
		return s, o.Result == "not found" && !live
	}
	// The number that RevokeSubject returns may differ by those that die meanwhile by an ancestor.
	for other, of := range family {
		if of.subject == id && s.is[other] == 1 {
			s.is[other] = 2
		}
	}
	return s, o.Result == "ok"
}

// listedTokens checks that a List has what lived throughout, and nothing that was dead throughout.
func listedTokens(ops []Op, list *Op) error {
	for id, of := range family {
		listed := slices.Contains(list.List, int64(id))
		if of.subject != list.A[0] {
			if listed {
				return errors.New("history: a List has another subject's token")
			}
			continue
		}
		if listed && dead(ops, list, int64(id)) {
			return errors.New("history: a List has a token that was dead before")
		}
		if !listed && lives(ops, list, int64(id)) {
			return errors.New("history: a List lacks a token that is live throughout")
		}
	}
	return nil
}

// ends reports whether a call may have ended a token by itself.
func ends(o *Op, id int64) bool {
	return o.Verb == "Revoke" && o.A[0] == id || o.Verb == "RevokeSubject" && o.A[0] == family[id].subject || o.Verb == "Spend" && o.A[0] == id && family[id].uses > 0
}

func lives(ops []Op, list *Op, id int64) bool {
	for ; id >= 0; id = family[id].parent {
		issued := false
		for i := range ops {
			o := &ops[i]
			issued = issued || o.Verb == "Issue" && o.A[0] == id && o.Result == "ok" && o.To < list.From
			if ends(o, id) && o.From < list.To {
				return false
			}
		}
		if !issued {
			return false
		}
	}
	return true
}

func dead(ops []Op, list *Op, id int64) bool {
	for ; id >= 0; id = family[id].parent {
		issued := false
		for i := range ops {
			o := &ops[i]
			before := o.Result == "ok" && o.To < list.From
			switch {
			case o.Verb == "Issue" && o.A[0] == id:
				issued = o.From < list.To && (o.Result == "ok" || o.Result == Unknown)
			case before && o.Verb == "Revoke" && o.A[0] == id:
				return true
			case before && o.Verb == "RevokeSubject" && o.A[0] == family[id].subject && issuedBefore(ops, o, id):
				return true
			}
		}
		if !issued {
			return true
		}
	}
	return false
}

// issuedBefore reports whether a token was issued before a call began.
func issuedBefore(ops []Op, o *Op, id int64) bool {
	return slices.ContainsFunc(ops, func(i Op) bool { return i.Verb == "Issue" && i.A[0] == id && i.Result == "ok" && i.To < o.From })
}

const (
	records      = 3
	sessionLimit = 2
)

// sessions are none (0), live (1), ended (2) or evicted (3). Hashes below records are those of Create.
type sessions struct {
	is             [records]int8
	hash, previous [records]int8
	seen           [records]int16
}

func (s *sessions) find(hash int64, is int8) int {
	for id := range s.is {
		if s.is[id] == is && int64(s.hash[id]) == hash {
			return id
		}
	}
	return -1
}

func chooseSession(g *Group, o *Op) {
	if id := int64(g.given); id < records-1 && g.once(id) || g.given >= 12 && g.once(records-1) {
		id = min(id, records-1)
		o.Verb, o.A = "Create", [4]int64{id, id}
		return
	}
	hash := g.rand.Int64N(records)
	if n := int64(len(g.made)) - records; n > 0 && g.rand.IntN(2) == 0 {
		hash = 12 + g.rand.Int64N(n+1)
	}
	switch n := g.rand.IntN(26); {
	case n < 11:
		o.Verb, o.A[0] = "Get", hash
	case n < 15:
		o.Verb, o.A = "Touch", [4]int64{hash, 100 + g.rand.Int64N(50)}
	case n < 21:
		next := 10 + int64(len(g.made))
		g.once(next)
		o.Verb, o.A = "Replace", [4]int64{hash, next, 100 + g.rand.Int64N(50)}
	case n < 23:
		o.Verb, o.A[0] = "Delete", hash
	case n < 24:
		o.Verb = "DeleteAll"
	default:
		o.Verb = "List"
	}
}

func stepSession(state any, o *Op) (any, bool) {
	s := state.(sessions)
	live := s.find(o.A[0], 1)
	switch o.Verb {
	case "Create":
		return s.create(o)
	case "Get":
		switch o.Result {
		case "ok":
			return s, live >= 0 && int64(s.seen[live]) == o.N
		case "evicted":
			return s, s.find(o.A[0], 3) >= 0
		}
		return s, o.Result == "not found" && live < 0 && s.find(o.A[0], 3) < 0
	case "Touch", "Replace":
		if live < 0 || o.Result != "ok" {
			return s, live < 0 && o.Result == "not found"
		}
		if o.Verb == "Touch" {
			s.seen[live] = max(s.seen[live], int16(o.A[1]))
		} else {
			s.hash[live], s.previous[live], s.seen[live] = int8(o.A[1]), int8(o.A[0]), int16(o.A[2])
		}
		return s, true
	case "Delete":
		for id := range s.is {
			if s.is[id] == 1 && (int64(s.hash[id]) == o.A[0] || int64(s.previous[id]) == o.A[0]) {
				s.is[id] = 2
			}
		}
		return s, o.Result == "ok"
	}
	ended := int64(0)
	for id := range s.is {
		if s.is[id] == 1 {
			s.is[id] = 2
			ended++
		}
	}
	return s, o.Result == "ok" && (ended == o.N || o.To == 0)
}

func (s sessions) create(o *Op) (any, bool) {
	id := o.A[0]
	for {
		others, oldest := 0, -1
		for i := range s.is {
			if s.is[i] != 1 || int64(i) == id {
				continue
			}
			others++
			if oldest < 0 || s.seen[i] < s.seen[oldest] {
				oldest = i
			}
		}
		if others < sessionLimit {
			break
		}
		s.is[oldest] = 3
	}
	s.is[id], s.hash[id], s.previous[id], s.seen[id] = 1, int8(o.A[1]), -1, int16(id)
	return s, o.Result == "ok"
}

// listedSessions checks what no call can have ended.
func listedSessions(ops []Op, list *Op) error {
	for id := range int64(records) {
		began, lives, over := false, false, false
		for i := range ops {
			o := &ops[i]
			switch {
			case o.Verb == "Create" && o.A[0] == id:
				began = o.From < list.To && (o.Result == "ok" || o.Result == Unknown)
				lives = o.Result == "ok" && o.To < list.From
			case o.Verb == "DeleteAll" && o.Result == "ok" && o.To < list.From:
				over = over || slices.ContainsFunc(ops, func(c Op) bool { return c.Verb == "Create" && c.A[0] == id && c.Result == "ok" && c.To < o.From })
			}
		}
		for i := range ops {
			o := &ops[i]
			if (o.Verb == "Delete" || o.Verb == "DeleteAll" || o.Verb == "Create" && o.A[0] != id) && o.From < list.To {
				lives = false
			}
		}
		listed := slices.Contains(list.List, id)
		if listed && (!began || over) {
			return errors.New("history: a List has a session that was over before")
		}
		if !listed && lives {
			return errors.New("history: a List lacks a session that is live throughout")
		}
	}
	return nil
}

func chooseAttempt(g *Group, o *Op) {
	o.Verb = "Load"
	if g.rand.IntN(3) > 0 {
		o.Verb, o.A = "Swap", [4]int64{g.rand.Int64N(3), g.rand.Int64N(3)}
	}
}

func stepAttempt(state any, o *Op) (any, bool) {
	now := state.(int64)
	if o.Verb == "Load" {
		return now, o.Result == "ok" && o.N == now
	}
	if o.Result == "ok" {
		return o.A[1], o.A[0] == now
	}
	return now, o.Result == "conflict" && o.A[0] != now
}

func chooseFactor(g *Group, o *Op) {
	o.Verb = "Load"
	if g.rand.IntN(2) == 0 {
		o.Verb, o.A = "Save", [4]int64{g.rand.Int64N(4), 1 + g.rand.Int64N(1000)}
	}
}

// stepFactor has the version and the step of a second factor.
func stepFactor(state any, o *Op) (any, bool) {
	s := state.([2]int64)
	if o.Verb == "Load" {
		return s, o.Result == "ok" && o.N == s[0]<<32|s[1]
	}
	if o.Result == "ok" {
		return [2]int64{s[0] + 1, o.A[1]}, s[0] == o.A[0]
	}
	return s, o.Result == "conflict" && s[0] != o.A[0]
}

// keyUses are the most uses of the API keys of a group.
var keyUses = [3]int64{0, 3, 2}

const keyLimit = 2

type apiKeys struct{ is, uses [3]int8 }

func (s *apiKeys) usable(id int64) bool {
	return s.is[id] == 1 && (keyUses[id] == 0 || int64(s.uses[id]) < keyUses[id])
}

func chooseKey(g *Group, o *Op) {
	if id := int64(g.given) / 2; g.given%2 == 0 && id < int64(len(keyUses)) && g.once(id) {
		o.Verb, o.A[0] = "Add", id
		return
	}
	o.A[0] = g.rand.Int64N(int64(len(keyUses)))
	o.Verb = []string{"Use", "Use", "Use", "Use", "Use", "Use", "Use", "Get", "Get", "Revoke"}[g.rand.IntN(10)]
}

func stepKey(state any, o *Op) (any, bool) {
	s, id := state.(apiKeys), o.A[0]
	usable := s.usable(id)
	switch o.Verb {
	case "Add":
		full := 0
		for other := range s.is {
			if s.usable(int64(other)) {
				full++
			}
		}
		if o.Result == "ok" {
			fits := s.is[id] == 0 && full < keyLimit
			s.is[id] = 1
			return s, fits
		}
		return s, o.Result == "too many" && full >= keyLimit
	case "Use":
		if o.Result == "ok" {
			if keyUses[id] > 0 {
				s.uses[id]++
			}
			return s, usable
		}
		return s, o.Result == "not found" && !usable
	case "Get": // of a key that is used up there may be a record
		return s, o.Result == "ok" && s.is[id] == 1 || o.Result == "not found" && !usable
	}
	if o.Result == "ok" {
		was := s.is[id] == 1
		s.is[id] = 2
		return s, was
	}
	return s, o.Result == "not found" && !usable
}

// repeated is the entry of a request: who holds it, or that it is complete.
type repeated struct {
	holder int64
	done   bool
}

// shortLease reports whether leases end while the group has calls.
func shortLease(o *Op) bool { return o.Group%2 == 1 }

func chooseRepeat(g *Group, o *Op) {
	last := int64(len(g.made))
	switch g.rand.IntN(4) {
	case 0, 1:
		g.once(last + 1)
		o.Verb, o.A[0] = "Begin", last+1
	case 2:
		o.Verb, o.A[0] = "End", 1+g.rand.Int64N(last+1)
	default:
		o.Verb, o.A[0] = "Give", 1+g.rand.Int64N(last+1)
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

// committed says whether the transaction of a group has been committed.
type committed struct{ done bool }

func chooseCommit(g *Group, o *Op) {
	switch n := g.rand.IntN(8); {
	case n < 2 && g.given > 3 && g.once(0):
		o.Verb = "Commit"
	case n < 3:
		o.Verb = "Undo"
	case n < 6:
		o.Verb = "Spend"
	default:
		o.Verb = "Get"
	}
}

func stepCommit(state any, o *Op) (any, bool) {
	s := state.(committed)
	switch o.Verb {
	case "Commit":
		return committed{true}, o.Result == "ok" && !s.done
	case "Undo":
		return s, o.Result == "ok" || s.done
	case "Spend":
		return s, (o.Result == "ok") == s.done && (s.done || o.Result == "revoked")
	}
	return s, (o.Result == "ok") == s.done && (s.done || o.Result == "not found")
}

// rotated is the present key pair; fresh is one that nobody has seen.
type rotated struct {
	kid   int64
	fresh bool
}

func chooseRotation(g *Group, o *Op) {
	o.Verb = "Get"
	if g.given%10 == 0 {
		o.Verb = "Rotate"
	}
}

func stepRotation(state any, o *Op) (any, bool) {
	s := state.(rotated)
	switch {
	case o.Verb == "Rotate":
		return rotated{o.N, o.To == 0}, o.Result == "ok"
	case o.Result == "ok" && s.fresh:
		return rotated{o.N, false}, true
	}
	return s, o.Result == "ok" && o.N == s.kid || o.Result == "not found" && s == rotated{}
}
