package signing

import (
	"cmp"
	"errors"
	"net/http"
	"time"
)

// Policy says which versions, timestamps and repetitions a Verifier accepts. The zero Policy is
// the recommended one.
type Policy struct {
	// Tolerance is how long after its timestamp a request is accepted; 5 minutes if 0.
	// FutureTolerance is how far ahead of the clock a timestamp may be; 1 minute if 0.
	// Both bounds are inside the window.
	Tolerance       time.Duration
	FutureTolerance time.Duration // see Tolerance; 1 minute if 0

	// SingleUse accepts every signature only once. Without it, up to 8 GET or HEAD requests
	// may share one signature, each with a nonce of its own, within 2 seconds after the
	// first: honest clients may send equal requests in one millisecond. Requests with an
	// account header have no siblings, and neither have those of version 2.
	SingleUse bool

	// UnsafeMethodSiblings lets the other methods have siblings too. It is for
	// clients that send the same POST twice in one millisecond and cannot be changed.
	// With it, an attacker who captures a POST can repeat it within 2 seconds.
	UnsafeMethodSiblings bool

	// Version is the only version of signatures that is accepted. 0 accepts both, but
	// version 2 only from a Verifier that has a BaseURL.
	Version int

	// MaxBody is how many bytes of a body are read to compare them with the signed
	// digest of version 2; 1 MiB if 0. The body is held in memory. A longer one is
	// refused.
	MaxBody int64
}

const (
	defaultTolerance       = 5 * time.Minute
	defaultFutureTolerance = time.Minute
	siblingWindow          = 2 * time.Second
	siblingMax             = 8
	defaultMaxBody         = 1 << 20

	// retentionMargin is how long requests are remembered beyond the window. It is
	// how far the clocks of instances with a shared store may differ.
	retentionMargin = 30 * time.Second
)

// Validate reports a negative limit, and a version that does not exist. Verify fails with
// the same error for every request.
func (p *Policy) Validate() error {
	switch {
	case p.Version < 0 || p.Version > 2:
		return errors.New("signing: Policy.Version must be 1 or 2, or 0 for both")
	case min(p.Tolerance, p.FutureTolerance, time.Duration(p.MaxBody)) < 0:
		return errors.New("signing: Policy.Tolerance, FutureTolerance and MaxBody must not be negative")
	}
	return nil
}

// covers reports whether a timestamp is inside the window. Like all times on the
// wire, it is in Unix milliseconds.
func (p *Policy) covers(signed int64, now time.Time) bool {
	ahead := cmp.Or(p.FutureTolerance, defaultFutureTolerance).Milliseconds()
	age := now.UnixMilli() - signed
	return -ahead <= age && age <= p.past()
}

// keep returns until when a request must be remembered. This counts from the signed
// time. Counted from arrival, a request signed ahead of the clock would be forgotten
// while it is still inside the window.
func (p *Policy) keep(signed int64) time.Time {
	return time.UnixMilli(signed + p.past() + retentionMargin.Milliseconds())
}

func (p *Policy) maxBody() int64 { return cmp.Or(p.MaxBody, defaultMaxBody) }

// past returns Tolerance in milliseconds.
func (p *Policy) past() int64 { return cmp.Or(p.Tolerance, defaultTolerance).Milliseconds() }

// siblings returns how often one signature of such a request may be accepted in all.
func (p *Policy) siblings(method string, account bool) int {
	// The MAC does not cover the account: a repeated request could have another.
	if p.SingleUse || account || !isSafe(method) && !p.UnsafeMethodSiblings {
		return 1
	}
	return siblingMax
}

// isSafe reports whether repeating a request changes nothing (RFC 9110, section
// 9.2.1). OPTIONS and TRACE are safe too, but nobody needs siblings of them.
func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }
