package main

import (
	"container/list"
	"context"
	"database/sql"
	"sync"
)

// keptStatements is how many statements a pool keeps. The program writes about
// thirty, and clients any number by their filters. Each is compiled once for
// each connection, and takes some ten KiB there.
const keptStatements = 64

// pool is a database whose statements are kept, as SQLite spends more on compiling
// one than on running it. Of those that are kept the one unused for longest goes
// first. The driver of PostgreSQL keeps statements itself.
type pool struct {
	*sql.DB
	keeps bool

	mu     sync.Mutex
	byText map[string]*list.Element // of a *statement
	latest list.List                // the last one used is in front
}

// statement is one that is kept, or is being used for the last time.
type statement struct {
	*sql.Stmt
	text  string
	users int // the pool is one of them while it keeps the statement
}

func openPool(driver, source string, connections int) (*pool, error) {
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return &pool{DB: db, keeps: driver == "sqlite", byText: make(map[string]*list.Element)}, nil
}

// QueryContext is that of sql.DB. Rows outlive the statement that they are from.
func (p *pool) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s, err := p.use(ctx, text)
	if s == nil || err != nil {
		return p.DB.QueryContext(ctx, text, args...)
	}
	defer p.release(s)
	return s.QueryContext(ctx, args...)
}

// QueryRowContext is that of sql.DB.
func (p *pool) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	s, err := p.use(ctx, text)
	if s == nil || err != nil {
		return p.DB.QueryRowContext(ctx, text, args...)
	}
	defer p.release(s)
	return s.QueryRowContext(ctx, args...)
}

// ExecContext is that of sql.DB.
func (p *pool) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	s, err := p.use(ctx, text)
	if s == nil || err != nil {
		return p.DB.ExecContext(ctx, text, args...)
	}
	defer p.release(s)
	return s.ExecContext(ctx, args...)
}

// use returns the statement of a text, made at its first use, or none where the pool
// keeps none. It is released afterwards. One that cannot be made is run without being
// kept, and that tells why.
func (p *pool) use(ctx context.Context, text string) (*statement, error) {
	if !p.keeps {
		return nil, nil
	}
	if s := p.kept(text); s != nil {
		return s, nil
	}
	made, err := p.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s := &statement{Stmt: made, text: text, users: 2}
	for _, former := range p.keep(s) {
		p.release(former)
	}
	return s, nil
}

func (p *pool) kept(text string) *statement {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.byText[text]
	if !ok {
		return nil
	}
	p.latest.MoveToFront(e)
	s := e.Value.(*statement)
	s.users++
	return s
}

// keep adds a statement, and returns those that have to go: another of the same text
// that was made meanwhile, and the one unused for longest.
func (p *pool) keep(s *statement) (former []*statement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.byText[s.text]; ok {
		former = append(former, p.latest.Remove(e).(*statement))
	}
	p.byText[s.text] = p.latest.PushFront(s)
	if p.latest.Len() > keptStatements {
		oldest := p.latest.Remove(p.latest.Back()).(*statement)
		delete(p.byText, oldest.text)
		former = append(former, oldest)
	}
	return former
}

// release ends a use. The last one closes the statement, which waits for its
// connections: outside of the lock.
func (p *pool) release(s *statement) {
	p.mu.Lock()
	s.users--
	last := s.users == 0
	p.mu.Unlock()
	if last {
		s.Close()
	}
}
