package token

import "time"

const (
	// leeway is how far the issuer's clock may be ahead, in seconds: of iat and
	// nbf. The end of a token has none.
	leeway = 60

	maxTime = 253402300799 // the last second of the year 9999
)

// current is the time of a clock, nil being the system's.
func current(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}

// wholeSeconds cuts t to what a claim can hold. The zero time stays zero.
func wholeSeconds(t time.Time) time.Time { return time.Unix(t.Unix(), 0).UTC() }
