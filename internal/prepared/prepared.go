// Package prepared keeps statements of a sql.DB prepared, a bounded number of
// them. SQLite takes longer to compile most statements than to run them.
//
// It is for SQLite. PostgreSQL's drivers keep statements for each connection by
// themselves, and only they know whether a pooler allows it.
package prepared

import (
	"container/list"
	"context"
	"database/sql"
	"sync"
)

const (
	// MaxStatements bounds how many statements a DB keeps, of each on every
	// connection that has run it. One that is not closed yet counts.
	MaxStatements = 128

	// MaxText bounds the text of a statement that is kept, in bytes. A client that
	// writes filters must not fill the memory with a few long ones.
	MaxText = 8 << 10
)

// DB runs statements in a sql.DB and keeps those prepared that were run last. It is
// safe for concurrent use. It has nothing to close: the statements end with the
// sql.DB.
type DB struct {
	db *sql.DB

	mu     sync.Mutex
	byText map[string]*list.Element // of latest
	latest *list.List               // of *statement, the one that was run last first
	open   int                      // statements that are not closed, and those being prepared
}

// New returns a DB that keeps no statement yet.
func New(db *sql.DB) *DB {
	return &DB{db: db, byText: map[string]*list.Element{}, latest: list.New()}
}

// statement is open until its last user is done. The DB is one of them while it
// keeps the statement.
type statement struct {
	*sql.Stmt
	text  string
	users int
}

// QueryContext is that of sql.DB.
func (d *DB) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s := d.acquire(ctx, text)
	if s == nil {
		return d.db.QueryContext(ctx, text, args...)
	}
	defer d.release(s) // rows that are still read keep it open
	return s.QueryContext(ctx, args...)
}

// QueryRowContext is that of sql.DB.
func (d *DB) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	s := d.acquire(ctx, text)
	if s == nil {
		return d.db.QueryRowContext(ctx, text, args...)
	}
	defer d.release(s)
	return s.QueryRowContext(ctx, args...)
}

// ExecContext is that of sql.DB.
func (d *DB) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	s := d.acquire(ctx, text)
	if s == nil {
		return d.db.ExecContext(ctx, text, args...)
	}
	defer d.release(s)
	return s.ExecContext(ctx, args...)
}

// acquire returns a statement to release after use. It returns nil for one that is
// not kept or cannot be prepared: whoever runs the text without gets the error.
func (d *DB) acquire(ctx context.Context, text string) *statement {
	if len(text) > MaxText {
		return nil
	}
	s, room := d.find(text)
	if s != nil || !room {
		return s
	}
	made, err := d.db.PrepareContext(ctx, text)
	if err != nil {
		d.closed()
		return nil
	}
	return d.keep(text, made)
}

// find returns the statement of a text. If there is none it takes room for one, and
// reports whether there was any.
func (d *DB) find(text string) (s *statement, room bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s = d.use(text); s != nil || d.open >= MaxStatements {
		return s, false
	}
	d.open++
	return nil, true
}

// use returns nil for a text that is not kept. The caller holds the lock.
func (d *DB) use(text string) *statement {
	at, ok := d.byText[text]
	if !ok {
		return nil
	}
	d.latest.MoveToFront(at)
	s := at.Value.(*statement)
	s.users++
	return s
}

// keep keeps a statement, unless another caller has prepared the same meanwhile.
func (d *DB) keep(text string, made *sql.Stmt) *statement {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.use(text); s != nil {
		go d.close(made)
		return s
	}
	s := &statement{Stmt: made, text: text, users: 2} // the DB and the caller
	d.byText[text] = d.latest.PushFront(s)
	if d.open >= MaxStatements {
		d.evict() // now, so that the next one finds room
	}
	return s
}

// evict drops the statement that was run longest ago.
func (d *DB) evict() {
	s := d.latest.Remove(d.latest.Back()).(*statement)
	delete(d.byText, s.text)
	d.leave(s)
}

func (d *DB) release(s *statement) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leave(s)
}

// leave takes one user off a statement. The caller holds the lock.
func (d *DB) leave(s *statement) {
	s.users--
	if s.users == 0 {
		go d.close(s.Stmt)
	}
}

// close closes a statement that nobody uses. It waits for each connection that has
// run the statement, as long as that runs another one: no caller may wait for it.
// Meanwhile there is no room, and the texts that are new run without. An error says
// that a connection has failed, and then the next user of that connection gets it.
func (d *DB) close(s *sql.Stmt) {
	s.Close()
	d.closed()
}

func (d *DB) closed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
}
