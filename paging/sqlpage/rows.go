package sqlpage

import (
	"database/sql"

	"github.com/tenantkit/tenantkit/internal/sizeof"
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
	into  []any // the arguments of Scan, with counters
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
	r.into = append(r.into[:0], dest...)
	for i, d := range dest {
		if s, ok := d.(sql.Scanner); ok {
			r.into[i] = counter{s, r}
		}
	}
	err := r.rows.Scan(r.into...)
	for _, d := range r.into {
		switch d := d.(type) {
		case counter: // it has counted
		case *string:
			r.bytes -= len(*d)
		default:
			sizeof.Use(&r.bytes, d)
		}
	}
	return err
}

// counter counts what a Scanner gets, because nothing else says how much it keeps.
type counter struct {
	sql.Scanner
	rows *Rows
}

// Scan implements sql.Scanner.
func (c counter) Scan(value any) error {
	sizeof.Use(&c.rows.bytes, value)
	return c.Scanner.Scan(value)
}

// Err returns the error, if any, that ended the rows early.
func (r *Rows) Err() error { return r.rows.Err() }

// Close closes the rows. Once Next has returned false, they are closed. PostgreSQL sends
// the rows that are left, and the driver skips them, until the context ends.
func (r *Rows) Close() error { return r.rows.Close() }
