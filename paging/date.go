package paging

import "time"

// DateLayout is the layout of dates, in UTC. All dates have the same length, so the
// order of their texts is the order of time.
const DateLayout = "2006-01-02T15:04:05.000Z"

func formatDate(t time.Time) string { return t.UTC().Format(DateLayout) }

// parseDate reads a date of RFC 3339 in any zone and returns it in DateLayout. It
// refuses a date finer than a millisecond, because cutting it would change what a
// filter matches.
func parseDate(text string) (string, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Nanosecond()%int(time.Millisecond) != 0 {
		return "", false
	}
	date := formatDate(t)
	return date, len(date) == len(DateLayout) // only for the years 0 to 9999
}
