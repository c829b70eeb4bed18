package paging

import "time"

// DateLayout is how dates are written, in UTC: all of one length, so that their
// texts are in the order of time.
const DateLayout = "2006-01-02T15:04:05.000Z"

func formatDate(t time.Time) string { return t.UTC().Format(DateLayout) }

// parseDate reads a date of RFC 3339, in any zone, and returns it as it is
// written here. Finer than a millisecond is refused, as cutting it would change
// what a filter matches.
func parseDate(text string) (string, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Nanosecond()%int(time.Millisecond) != 0 {
		return "", false
	}
	date := formatDate(t)
	return date, len(date) == len(DateLayout) // years 0 to 9999
}
