package signing

import (
	"cmp"
	"net/http"
	"time"
)

// Policy is what a Verifier demands of timestamps and repetition. The zero
// Policy is the recommended one.
type Policy struct {
	// Header is the prefix of the header names; "" means DefaultPrefix.
	Header string

	// Tolerance is how long after its timestamp a request is accepted, 5 minutes
	// if 0; FutureTolerance is how far ahead of the clock a timestamp may be,
	// 1 minute if 0. Both ends belong to the window.
	Tolerance       time.Duration
	FutureTolerance time.Duration

	// SiblingMax is how many GET or HEAD requests may share one signature, each
	// with a nonce of its own: honest clients send two alike in one millisecond.
	// 8 if 0. SiblingWindow is within which time of the first, 2 seconds if 0.
	// Requests with an account header have no siblings.
	SiblingWindow time.Duration
	SiblingMax    int

	// SingleUse accepts every signature once only.
	SingleUse bool

	// UnsafeMethodSiblings lets the other methods have siblings too, for clients
	// that send the same POST twice in one millisecond and cannot be changed. It
	// also lets whoever captures a POST repeat it within SiblingWindow.
	UnsafeMethodSiblings bool

	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

const (
	defaultTolerance       = 5 * time.Minute
	defaultFutureTolerance = time.Minute
	defaultSiblingWindow   = 2 * time.Second
	defaultSiblingMax      = 8

	// retentionMargin is for how long replays are remembered past the window: as
	// much as the clocks of instances with a shared store may differ.
	retentionMargin = 30 * time.Second
)

func (p *Policy) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// covers reports whether a timestamp is inside the window. Like all times on the
// wire it is in Unix milliseconds.
func (p *Policy) covers(signed int64, now time.Time) bool {
	ahead := cmp.Or(p.FutureTolerance, defaultFutureTolerance).Milliseconds()
	age := now.UnixMilli() - signed
	return -ahead <= age && age <= p.past()
}

// keep returns until when a request must be remembered. It counts from the signed
// time: counted from arrival, a request signed ahead of the clock would be
// forgotten while it is still inside the window.
func (p *Policy) keep(signed int64) time.Time {
	return time.UnixMilli(signed + p.past() + retentionMargin.Milliseconds())
}

// past returns Tolerance in milliseconds.
func (p *Policy) past() int64 { return cmp.Or(p.Tolerance, defaultTolerance).Milliseconds() }

// siblings returns how often one signature of this kind may be accepted in all.
func (p *Policy) siblings(method string, account bool) int {
	// The account is not under the MAC: repeated, a request could change it.
	if p.SingleUse || account || !isSafe(method) && !p.UnsafeMethodSiblings {
		return 1
	}
	return cmp.Or(p.SiblingMax, defaultSiblingMax)
}

// isSafe reports whether repeating a request changes nothing (RFC 9110, section
// 9.2.1). OPTIONS and TRACE are too, but nobody needs siblings of them.
func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }
