package prepared_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/internal/prepared"
)

// engine is a fake database that counts open statements. Each statement returns its text in two
// rows, or the error for this text.
type engine struct {
	open, made atomic.Int64
	mu         sync.Mutex
	fails      map[string]error // by text, returned by Prepare
	lost       bool             // whether the open connections have failed
	slow       chan struct{}    // the text "slow" sends to it when it starts, and waits to receive from it
}

func (e *engine) Connect(context.Context) (driver.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost = false
	return &conn{engine: e}, nil
}

func (e *engine) Driver() driver.Driver { return nil }

func (e *engine) failure(text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost {
		return driver.ErrBadConn
	}
	return e.fails[text]
}

func (e *engine) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

type conn struct {
	*engine
	statements int64
}

func (c *conn) Begin() (driver.Tx, error) { return nil, errors.ErrUnsupported }

func (c *conn) Close() error {
	c.open.Add(-c.statements) // they end with the connection
	return nil
}

func (c *conn) Prepare(text string) (driver.Stmt, error) {
	if err := c.failure(text); err != nil {
		return nil, err
	}
	c.statements++
	c.made.Add(1)
	c.open.Add(1)
	return &statement{conn: c, text: text}, nil
}

type statement struct {
	*conn
	text   string
	closed bool
}

func (s *statement) NumInput() int { return -1 }

func (s *statement) Close() error {
	s.closed = true
	s.statements--
	s.open.Add(-1)
	return nil
}

var errClosed = errors.New("a closed statement was run")

func (s *statement) Query([]driver.Value) (driver.Rows, error) {
	if s.closed {
		return nil, errClosed
	}
	if s.text == "slow" {
		s.slow <- struct{}{}
		<-s.slow
	}
	return &rows{statement: s, left: 2}, s.failure("")
}

func (s *statement) Exec([]driver.Value) (driver.Result, error) {
	if s.closed {
		return nil, errClosed
	}
	return driver.RowsAffected(1), s.failure("")
}

type rows struct {
	*statement
	left int
}

func (r *rows) Columns() []string { return []string{"text"} }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(into []driver.Value) error {
	switch {
	case r.closed:
		return errClosed
	case r.left == 0:
		return io.EOF
	}
	r.left--
	into[0] = r.text
	return nil
}

func start(t *testing.T, connections int) (*engine, *sql.DB, *prepared.DB) {
	e := &engine{fails: map[string]error{}, slow: make(chan struct{})}
	db := sql.OpenDB(e)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	t.Cleanup(func() { db.Close() })
	return e, db, prepared.New(db)
}

// ask runs a text and reads both rows.
func ask(d *prepared.DB, text string) error {
	rows, err := d.QueryContext(context.Background(), text)
	if err != nil {
		return err
	}
	return read(rows, text)
}

func read(rows *sql.Rows, text string) error {
	defer rows.Close()
	n := 0
	for rows.Next() {
		var got string
		if err := rows.Scan(&got); err != nil {
			return err
		}
		if n++; got != text {
			return fmt.Errorf("%q is answered with %q", text, got)
		}
	}
	if err := rows.Err(); err != nil || n != 2 {
		return fmt.Errorf("%d rows: %w", n, err)
	}
	return nil
}

func TestATextIsPreparedOnce(t *testing.T) {
	e, _, d := start(t, 1)
	for range 3 {
		_, failed := d.ExecContext(t.Context(), "a")
		if err := errors.Join(failed, ask(d, "a")); err != nil {
			t.Fatal(err)
		}
	}
	if n := e.made.Load(); n != 1 {
		t.Errorf("prepared %d times", n)
	}
}

func TestStatementsAreBounded(t *testing.T) {
	e, _, d := start(t, 1)
	for i := range 10_000 {
		if err := ask(d, fmt.Sprint("text ", i)); err != nil {
			t.Fatal(err)
		}
		if n := e.open.Load(); n > prepared.MaxStatements {
			t.Fatalf("%d statements are open after %d texts", n, i+1)
		}
	}
}

func TestTextsThatAreRunOnceEvictFew(t *testing.T) {
	const kept, flood = prepared.MaxStatements - 1, 64
	e, _, d := start(t, 1)
	run := func(format string, i int) (anew bool) {
		before := e.made.Load()
		if err := ask(d, fmt.Sprintf(format, i)); err != nil {
			t.Fatal(err)
		}
		return e.made.Load() > before
	}
	for i := range kept {
		run("of another %d", i)
	}
	for i := range flood {
		run("once %d", i)
	}
	lost := 0
	for i := range kept {
		if run("of another %d", kept-1-i) {
			lost++
		}
	}
	// An eighth of the flood is expected, and few that they evict themselves.
	if lost > flood/2 {
		t.Errorf("%d of %d statements were lost to %d others", lost, kept, flood)
	}
	for began := time.Now(); run("often %d", 0); {
		if time.Since(began) > time.Minute {
			t.Fatal("a text that is run often is not kept")
		}
	}
}

func TestALongTextIsNotKept(t *testing.T) {
	e, _, d := start(t, 1)
	if err := ask(d, strings.Repeat("x", prepared.MaxText+1)); err != nil {
		t.Fatal(err)
	}
	if n := e.open.Load(); n != 0 {
		t.Errorf("%d statements are open", n)
	}
}

// TestRowsOutliveTheirStatement evicts a statement whose rows are half read.
func TestRowsOutliveTheirStatement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _, d := start(t, 2)
		rows, err := d.QueryContext(t.Context(), "read slowly")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 * prepared.MaxStatements { // one of eight is kept
			if err := ask(d, fmt.Sprint("text ", i)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // for closing goroutines
		}
		if n := e.open.Load(); n != prepared.MaxStatements {
			t.Errorf("%d statements are open with the rows", n)
		}
		if err := read(rows, "read slowly"); err != nil {
			t.Error(err)
		}
		if n := e.open.Load(); n != prepared.MaxStatements-1 { // and room for the next one
			t.Errorf("%d statements are open when the rows are not", n)
		}
	})
}

// TestEvictionWaitsForNobody evicts statements of a busy connection.
func TestEvictionWaitsForNobody(t *testing.T) {
	e, _, d := start(t, 2)
	for i := range prepared.MaxStatements - 2 {
		if err := ask(d, fmt.Sprint("text ", i)); err != nil {
			t.Fatal(err)
		}
	}
	slow := make(chan error)
	go func() { slow <- ask(d, "slow") }()
	<-e.slow
	end := sync.OnceFunc(func() { e.slow <- struct{}{} })
	late := time.AfterFunc(time.Minute, func() {
		t.Error("a call waits for the connection of another")
		end()
	})
	for i := range 1000 {
		if err := ask(d, fmt.Sprint("further ", i)); err != nil {
			t.Fatal(err)
		}
		if n := e.open.Load(); n > prepared.MaxStatements {
			t.Fatalf("%d statements are open", n)
		}
	}
	late.Stop()
	end()
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

// TestEvictionFailsNoCall has concurrent callers run more texts than the DB keeps.
func TestEvictionFailsNoCall(t *testing.T) {
	const connections, texts = 4, prepared.MaxStatements + 8
	e, _, d := start(t, connections)
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := range 1000 {
				if err := ask(d, fmt.Sprint("text ", (i*(caller+1))%texts)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	if n := e.open.Load(); n > connections*prepared.MaxStatements {
		t.Errorf("%d statements are open", n)
	}
}

func TestAFailureIsNotKept(t *testing.T) {
	e, _, d := start(t, 1)
	failure := errors.New("no such table")
	e.set(func() { e.fails["a"] = failure })
	_, failed := d.ExecContext(t.Context(), "a")
	for _, err := range []error{failed, ask(d, "a")} {
		if !errors.Is(err, failure) {
			t.Errorf("error is %v", err)
		}
	}
	e.set(func() { clear(e.fails) })
	if err := ask(d, "a"); err != nil {
		t.Error(err)
	}
}

func TestALostConnectionFailsNoCall(t *testing.T) {
	e, _, d := start(t, 2)
	for range 3 {
		if err := ask(d, "a"); err != nil {
			t.Fatal(err)
		}
		e.set(func() { e.lost = true })
	}
}

func TestAClosedDatabaseIsAnError(t *testing.T) {
	e, db, d := start(t, 1)
	if err := ask(d, "a"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if err := ask(d, "a"); err == nil {
		t.Error("a statement of a closed database is run")
	}
	if err := ask(d, "b"); err == nil {
		t.Error("a statement is prepared in a closed database")
	}
	if n := e.open.Load(); n != 0 {
		t.Errorf("%d statements are open", n)
	}
}
