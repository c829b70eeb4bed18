package main

import (
	"context"
	"database/sql"
	"sync"
)

// keptStatements limits how many statements a pool keeps. The program has about
// thirty. Statements that clients can vary are those of pages, and store.pages
// keeps a number of those.
const keptStatements = 64

// pool is a database that keeps the program's statements prepared. SQLite takes
// longer to compile a statement than to run it. The driver of PostgreSQL keeps
// statements itself.
type pool struct {
	*sql.DB
	keeps bool

	mu   sync.Mutex
	kept map[string]*sql.Stmt // by text; closed with the DB
}

func openPool(driver, source string, connections int) (*pool, error) {
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return &pool{DB: db, keeps: driver == "sqlite", kept: make(map[string]*sql.Stmt)}, nil
}

// QueryContext is sql.DB.QueryContext with a prepared statement.
func (p *pool) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if s := p.statement(ctx, text); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return p.DB.QueryContext(ctx, text, args...)
}

// QueryRowContext is sql.DB.QueryRowContext with a prepared statement.
func (p *pool) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	if s := p.statement(ctx, text); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return p.DB.QueryRowContext(ctx, text, args...)
}

// ExecContext is sql.DB.ExecContext with a prepared statement.
func (p *pool) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if s := p.statement(ctx, text); s != nil {
		return s.ExecContext(ctx, args...)
	}
	return p.DB.ExecContext(ctx, text, args...)
}

// statement returns the prepared statement of a text, or nil if it is not kept. A
// text that cannot be prepared fails when the caller runs it.
func (p *pool) statement(ctx context.Context, text string) *sql.Stmt {
	p.mu.Lock()
	s, full := p.kept[text], len(p.kept) >= keptStatements
	p.mu.Unlock()
	if s != nil || full || !p.keeps {
		return s
	}
	made, err := p.PrepareContext(ctx, text)
	if err != nil {
		return nil
	}
	return p.keep(text, made)
}

// keep returns the statement that is kept. Another caller may have prepared it
// first.
func (p *pool) keep(text string, made *sql.Stmt) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.kept[text]; s != nil || len(p.kept) >= keptStatements {
		made.Close()
		return s
	}
	p.kept[text] = made
	return made
}
