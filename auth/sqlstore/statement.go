package sqlstore

import (
	"context"
	"database/sql"
)

// asker is a querier, or a statement, which is asked nothing but its own text.
type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type statement struct{ *sql.Stmt }

func (s statement) QueryContext(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
	return s.Stmt.QueryContext(ctx, args...)
}

// kept returns what to ask a long text of each request. SQLite takes five times
// as long to read it as to run it, so the statement is prepared once, and ends
// with the database. PostgreSQL's drivers do that themselves, unless they are
// told that a pooler does not allow it.
func (s *Store) kept(ctx context.Context, text string) (asker, error) {
	if s.dialect == PostgreSQL {
		return s.db, nil
	}
	if found, ok := s.statements.Load(text); ok {
		return found.(statement), nil
	}
	prepared, err := s.db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	found, before := s.statements.LoadOrStore(text, statement{prepared})
	if before {
		prepared.Close()
	}
	return found.(statement), nil
}
