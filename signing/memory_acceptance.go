package signing

import "time"

// acceptance is what the store remembers of a signature. The low 8 bits count how
// often it was accepted. The other bits are the time of the first acceptance, in
// milliseconds modulo 1<<24. It has only four bytes, because a store holds millions
// of them.
type acceptance uint32

const (
	// closed is the count of an entry that is not accepted again: of each nonce, and
	// of a signature that may have no more siblings.
	closed = 1<<8 - 1

	// siblingTime bounds the sibling window, and the time for which a signature that
	// may have siblings is remembered. A first acceptance looks young again after
	// 1<<24 ms, which is more than twice this time.
	siblingTime = 2 * time.Hour
)

// newAcceptance is the first acceptance of u, which is to be remembered for keep.
func newAcceptance(u *Use, now, keep time.Duration) acceptance {
	a := acceptance(now.Milliseconds()) << 8
	if u.single() {
		return a | closed
	}
	return a.again(keep)
}

// admits reports whether u may be accepted as a sibling.
func (a acceptance) admits(u *Use, now time.Duration) bool {
	age := (acceptance(now.Milliseconds()) - a>>8) & (1<<24 - 1)
	return !u.single() &&
		int(a&closed) < min(u.Siblings, closed) &&
		time.Duration(age)*time.Millisecond < min(u.window(), siblingTime)
}

// again counts one more acceptance, which is to be remembered for keep.
func (a acceptance) again(keep time.Duration) acceptance {
	if keep >= siblingTime {
		return a | closed
	}
	return a + 1
}

// single reports whether the signature of u may be accepted only once.
func (u *Use) single() bool { return u.Siblings <= 1 || u.window() <= 0 }

// window returns Window in whole milliseconds, because the ages of signatures are in
// milliseconds.
func (u *Use) window() time.Duration { return u.Window.Truncate(time.Millisecond) }
