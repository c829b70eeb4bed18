package envelope

import "time"

// Time is a time as lists have it: in UTC with milliseconds, 2026-01-02T03:04:05.000Z. Use it
// in the replies of objects whose lists package sqllist answers. encoding/json writes a
// time.Time without its last zeros and in its own zone, so that one property has two
// spellings, and texts that are not in the order of the times.
type Time struct{ time.Time }

// MarshalJSON writes the time. The error is that of time.Time, such as for the year 10000.
func (t Time) MarshalJSON() ([]byte, error) {
	if text, err := t.UTC().MarshalJSON(); err != nil {
		return text, err
	}
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}
