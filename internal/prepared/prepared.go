// Package prepared keeps a bounded number of a sql.DB's statements prepared. It is for SQLite,
// which takes longer to compile most statements than to run them.
//
// PostgreSQL's drivers keep prepared statements for each connection themselves, and only they know
// whether a pooler allows that.
package prepared

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// MaxStatements is the maximum number of statements that a DB keeps. Each may be prepared on
	// every connection that has run it. A statement that is not closed yet counts.
	MaxStatements = 128

	// MaxText is the maximum length in bytes of the text of a kept statement. A client that writes
	// filters must not fill the memory with a few long statements.
	MaxText = 8 << 10

	// admission is how many new texts come to one that is kept, on average, once there are
	// MaxStatements. A statement is of no org. So a client that writes a new filter with each
	// request evicts few statements of others, and a text that is run often is soon kept.
	admission = 8
)

// DB runs statements in a sql.DB and keeps the latest ones prepared. It is safe for concurrent use.
// It needs no Close: the statements end with the sql.DB.
type DB struct {
	db *sql.DB

	open atomic.Int64 // statements that are not closed or are being prepared

	mu     sync.Mutex
	byText map[string]*statement
	runs   uint64 // of kept statements
}

// New returns a DB that keeps no statement yet.
func New(db *sql.DB) *DB { return &DB{db: db, byText: map[string]*statement{}} }

// statement stays open until it is evicted and its last user is done.
type statement struct {
	*sql.Stmt
	text   string
	latest uint64 // the number of its latest run
	users  sync.WaitGroup
}

// QueryContext is sql.DB.QueryContext with a kept statement.
func (d *DB) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s := d.acquire(ctx, text)
	if s == nil {
		return d.db.QueryContext(ctx, text, args...)
	}
	defer s.users.Done() // unread rows keep the statement open
	return s.QueryContext(ctx, args...)
}

// ExecContext is sql.DB.ExecContext with a kept statement.
func (d *DB) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	s := d.acquire(ctx, text)
	if s == nil {
		return d.db.ExecContext(ctx, text, args...)
	}
	defer s.users.Done()
	return s.ExecContext(ctx, args...)
}

// acquire returns the statement of a text; the caller is one of its users. It returns nil if
// the statement is not kept or cannot be prepared. The caller then runs the text itself and gets
// any error.
func (d *DB) acquire(ctx context.Context, text string) *statement {
	if len(text) > MaxText {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.use(text)
	if s != nil || d.open.Load() >= MaxStatements || len(d.byText) == MaxStatements-1 && rand.Uint32()%admission != 0 {
		return s
	}
	d.open.Add(1) // before it is prepared, so that concurrent callers leave it its room
	made, err := d.prepare(ctx, text)
	if err != nil {
		d.open.Add(-1)
		return nil
	}
	if s = d.use(text); s != nil { // a concurrent caller has added the same text
		go d.close(&statement{Stmt: made})
		return s
	}
	d.byText[text] = &statement{Stmt: made, text: text}
	s = d.use(text)
	if d.open.Load() >= MaxStatements { // evict now, so that the next text finds room
		oldest := slices.MinFunc(slices.Collect(maps.Values(d.byText)), func(a, b *statement) int { return cmp.Compare(a.latest, b.latest) })
		delete(d.byText, oldest.text)
		go d.close(oldest)
	}
	return s
}

// prepare releases the lock while it waits for the database.
func (d *DB) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	d.mu.Unlock()
	defer d.mu.Lock()
	return d.db.PrepareContext(ctx, text)
}

// use returns the kept statement of a text with one user more, or nil. The caller holds the lock.
func (d *DB) use(text string) *statement {
	s := d.byText[text]
	if s != nil {
		d.runs++
		s.latest = d.runs
		s.users.Add(1)
	}
	return s
}

// close closes a statement that gets no further users. It waits for these, and for each connection
// that has run the statement until that connection is idle, so it has its own goroutine. Meanwhile
// the statement takes up room, and new texts may run unprepared. An error means that a connection has failed. The next
// user of that connection gets it, so close drops it.
func (d *DB) close(s *statement) {
	s.users.Wait()
	s.Close()
	d.open.Add(-1)
}
