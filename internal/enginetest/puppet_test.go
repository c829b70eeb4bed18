package enginetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
	"testing"
)

// puppet is an instance whose statements are rewritten, and stop until a test lets them go on.
type puppet struct {
	rewrite func(text string) string
	stops   func(text string) bool
	free    atomic.Bool // it does not stop
	at      chan string // where it has stopped, or "" at its end
	on      chan bool
}

// newPuppet returns one that is free.
func newPuppet(rewrite func(string) string, stops func(string) bool) *puppet {
	p := &puppet{rewrite: rewrite, stops: stops, at: make(chan string), on: make(chan bool)}
	p.free.Store(true)
	return p
}

// open opens a database by a driver.
func (p *puppet) open(t testing.TB, name, source string) *sql.DB {
	t.Helper()
	plain, err := sql.Open(name, source)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	db := sql.OpenDB(puppetConnector{p, plain.Driver(), source})
	t.Cleanup(func() { db.Close() })
	return db
}

// before is called before each statement, and returns what is run in its place.
func (p *puppet) before(text string) string {
	if !p.free.Load() && p.stops(text) {
		p.at <- text
		<-p.on
	}
	return p.rewrite(text)
}

// start runs f up to its first stop.
func (p *puppet) start(f func()) {
	go func() {
		f()
		p.at <- ""
	}()
	<-p.at
}

type puppetConnector struct {
	*puppet
	driver driver.Driver
	source string
}

func (c puppetConnector) Driver() driver.Driver { return c.driver }

func (c puppetConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.source)
	if err != nil {
		return nil, err
	}
	return puppetConn{conn.(driverConn), c.puppet}, nil
}

type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
}

type puppetConn struct {
	driverConn
	*puppet
}

func (c puppetConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	return c.driverConn.ExecContext(ctx, c.before(text), args)
}

func (c puppetConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	return c.driverConn.QueryContext(ctx, c.before(text), args)
}

// Prepare returns a statement that is rewritten each time.
func (c puppetConn) Prepare(text string) (driver.Stmt, error) { return puppetStmt{nil, c, text}, nil }

// ResetSession has database/sql notice a dead connection before a statement, which would stop twice.
func (c puppetConn) ResetSession(ctx context.Context) error {
	if r, ok := c.driverConn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c puppetConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.driverConn.BeginTx(ctx, o)
	return puppetTx{tx, c.puppet}, err
}

type puppetStmt struct {
	driver.Stmt
	c    puppetConn
	text string
}

func (s puppetStmt) Close() error  { return nil }
func (s puppetStmt) NumInput() int { return -1 }

func (s puppetStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.text, args)
}

func (s puppetStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.text, args)
}

type puppetTx struct {
	driver.Tx
	p *puppet
}

func (t puppetTx) Commit() error {
	t.p.before("COMMIT")
	return t.Tx.Commit()
}

func (t puppetTx) Rollback() error {
	t.p.before("ROLLBACK")
	return t.Tx.Rollback()
}
