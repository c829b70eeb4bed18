package main

import (
	"context"
	"database/sql"
	"sync"
)

// keptStatements bounds how many statements a pool keeps. The program writes about
// thirty. What clients write is in pages, of which store.pages keeps a number.
const keptStatements = 64

// pool is a database that keeps the program's statements prepared: SQLite spends more
// on compiling one than on running it. The driver of PostgreSQL keeps them itself.
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

// QueryContext is that of sql.DB.
func (p *pool) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if s := p.statement(ctx, text); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return p.DB.QueryContext(ctx, text, args...)
}

// QueryRowContext is that of sql.DB.
func (p *pool) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	if s := p.statement(ctx, text); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return p.DB.QueryRowContext(ctx, text, args...)
}

// ExecContext is that of sql.DB.
func (p *pool) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if s := p.statement(ctx, text); s != nil {
		return s.ExecContext(ctx, args...)
	}
	return p.DB.ExecContext(ctx, text, args...)
}

// statement returns the statement of a text, or nil for one that is not kept. Who runs
// a text that cannot be prepared gets the error.
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

// keep returns the statement that is kept: another caller may have made it meanwhile.
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
