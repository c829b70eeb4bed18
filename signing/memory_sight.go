package signing

import "time"

// sight is what is remembered of a signature: how often it has been accepted,
// in the low 8 bits, and when first, in milliseconds modulo 1<<24. It has four
// bytes, as a store has millions of it.
type sight uint32

const (
	// closed is the count of what is not accepted again: of each nonce, and of
	// a signature that has no more siblings.
	closed = 1<<8 - 1

	// siblingTime bounds windows, and for how long a signature that may have
	// siblings is remembered. Twice as much is less than the 1<<24 ms after
	// which a first sight looks young again.
	siblingTime = 2 * time.Hour
)

// newSight is the first sight of u, which is to be remembered for keep.
func newSight(u *Use, now, keep time.Duration) sight {
	s := sight(now.Milliseconds()) << 8
	if u.single() {
		return s | closed
	}
	return s.again(keep)
}

// admits reports whether u may be accepted as a sibling.
func (s sight) admits(u *Use, now time.Duration) bool {
	age := (sight(now.Milliseconds()) - s>>8) & (1<<24 - 1)
	return !u.single() &&
		int(s&closed) < min(u.Siblings, closed) &&
		time.Duration(age)*time.Millisecond < min(u.window(), siblingTime)
}

// again counts an acceptance that is to be remembered for keep.
func (s sight) again(keep time.Duration) sight {
	if keep >= siblingTime {
		return s | closed
	}
	return s + 1
}

// single reports whether the signature of u may be accepted only once.
func (u *Use) single() bool { return u.Siblings <= 1 || u.window() <= 0 }

// window is in whole milliseconds, as ages of signatures are.
func (u *Use) window() time.Duration { return u.Window.Truncate(time.Millisecond) }
