// Package face holds what lists show of a credential: its name, and when and from where it was last
// used.
package face

import (
	"hash/maphash"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxName is the greatest length of a name in bytes.
const MaxName = 128

// IsName reports whether a credential may have a name. It must not change what stands beside it in a list.
func IsName(name string) bool {
	return len(name) <= MaxName && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Admits reports whether an address is in one of the networks. The zero address, of what could not be parsed, is in none.
func Admits(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// Pages returns all that a list has, one page after the other. An error is the last element. list gets where the
// page before has ended, and the zero P first. isEnd reports whether no other page follows.
func Pages[R, P any](list func(after P) (page []R, next P, err error), isEnd func(P) bool) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		var after P
		for {
			page, next, err := list(after)
			if err != nil {
				yield(none, err)
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			if after = next; isEnd(next) {
				return
			}
		}
	}
}

// Every is how often a use is recorded at most.
const Every = time.Hour

// Use is a use of a credential.
type Use struct {
	Seen time.Time    // whole milliseconds; zero: none yet. The last use may be up to two hours later
	From netip.Prefix // where it came from: the /24 of an IPv4 address, the /48 of an IPv6 address
}

// At returns a use at a time, from an address.
func At(at time.Time, from netip.Addr) Use {
	bits := 48
	if from.Is4() {
		bits = 24
	}
	prefix, _ := from.Prefix(bits) // the zero Prefix if there is no address
	return Use{at.UTC().Truncate(time.Millisecond), prefix}
}

// Due reports whether a use is to be recorded in place of the last one.
func Due(last, use Use) bool { return !use.Seen.IsZero() && use.Seen.Sub(last.Seen) >= Every }

// IsDaily reports whether a use is on another day than the one before, in UTC.
func IsDaily(before, use time.Time) bool { return before.Unix()/day != use.Unix()/day }

const day = 24 * 60 * 60 // seconds

// Memory remembers which uses are recorded lately. It has room for some thousand credentials. Where it
// forgets one, a store is asked once more than it needs to be. The zero Memory is ready.
type Memory struct {
	slots [4096]atomic.Uint64 // a part of a hash, and Unix seconds
}

var seed = maphash.MakeSeed()

// Due reports whether the use of a credential at a time is to be recorded, as far as Memory knows, and
// then remembers it. daily is set about once a day.
func (m *Memory) Due(id string, now time.Time) (due, daily bool) {
	hash, at := maphash.String(seed, id), now.Unix()
	slot := &m.slots[hash%uint64(len(m.slots))]
	was := slot.Load()
	before := int64(was & (1<<32 - 1))
	known := was>>32 == hash>>32
	if known && at-before < int64(Every/time.Second) || !slot.CompareAndSwap(was, hash>>32<<32|uint64(uint32(at))) {
		return false, false // not yet, or another request has just recorded one
	}
	return true, !known || before/day != at/day
}
