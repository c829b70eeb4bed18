package sqlpage

import (
	"database/sql"
	"reflect"
	"slices"

	"github.com/tenantkit/tenantkit/paging"
)

// Rows are the rows of one page. They end where the page ends: after the limit of the query, or
// after the row with which they have paging.MaxBytes. More then says whether rows follow.
//
//	for rows.Next() {
//		…
//		err := rows.Scan(&n.ID, &n.Title)
//	}
//	err, more := rows.Err(), rows.More()
//
// Rows are for one goroutine.
type Rows struct {
	rows  *sql.Rows
	each  bool // of QueryEach
	limit int  // rows that the page still has room for
	bytes int  // and bytes
	more  bool

	into  []any     // the arguments of Scan, if there are Scanners among them,
	sized []counter // and these
}

// Next prepares the next row of the page for Scan. It returns false after the last one, or after
// a failure, which Err returns.
func (r *Rows) Next() bool {
	if r.more || !r.rows.Next() {
		r.rows.Close() // the error of a row that nobody reads is none
		return false
	}
	r.limit--
	r.more = r.limit == -1 && !r.each || r.bytes <= 0
	if r.more && !r.each {
		r.rows.Close()
		return false
	}
	return true
}

// More reports whether rows follow those that Next has returned. It is right once Next has
// returned false. For QueryEach it reports that the last row is on no page.
func (r *Rows) More() bool { return r.more }

// Use takes bytes from those of the page, besides those of the values that Scan reads: such as what
// the program sends with each item.
func (r *Rows) Use(bytes int) { r.bytes -= bytes }

// Scan is sql.Rows.Scan. It counts the bytes of texts.
func (r *Rows) Scan(dest ...any) error {
	into := dest
	r.sized = r.sized[:0]
	for i, d := range dest {
		if s, ok := d.(sql.Scanner); ok {
			if len(r.sized) == 0 {
				r.into = append(r.into[:0], dest...)
				into = r.into
				r.sized = slices.Grow(r.sized, len(dest)) // at once, because pointers lead into it
			}
			r.sized = append(r.sized, counter{s, r})
			r.into[i] = &r.sized[len(r.sized)-1]
		}
	}
	err := r.rows.Scan(into...)
	for _, d := range into {
		r.bytes -= length(d)
	}
	return err
}

// Err returns the error, if any, that ended the rows early.
func (r *Rows) Err() error { return r.rows.Err() }

// Close closes the rows. Once Next has returned false, they are closed. PostgreSQL sends
// the rows that are left, and the driver skips them, until the context ends.
func (r *Rows) Close() error { return r.rows.Close() }

// counter counts what a Scanner gets, because nothing else says how much it keeps.
type counter struct {
	sql.Scanner
	rows *Rows
}

// Scan implements sql.Scanner.
func (c *counter) Scan(value any) error {
	c.rows.bytes -= length(value)
	return c.Scanner.Scan(value)
}

// length returns the bytes of a text, also behind pointers.
func length(value any) int {
	switch value := value.(type) {
	case *string:
		return len(*value)
	case *counter:
		return 0 // it has counted
	}
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() == reflect.String || v.Kind() == reflect.Slice {
		return v.Len()
	}
	return 0
}

func pageOf(rows *sql.Rows, limit int, each bool) *Rows {
	return &Rows{rows: rows, each: each, limit: max(limit, 0), bytes: paging.MaxBytes}
}
