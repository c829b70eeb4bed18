package sqllist

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// Check returns an error if the database or the Guard does not fit the declaration of the list or
// of the lists in it. Call it when the program starts. It is sqlpage.Check for each of these
// lists. grammar is that of the Guard: guard.Scopes. It must have chains that name an _id of
// the list, or routes with {id} answer 404 for each object.
//
// A failure of the database is an error, too. So ctx should have a deadline.
func (l *List) Check(ctx context.Context, db *sql.DB, dialect sqlpage.Dialect, grammar *scope.Grammar) error {
	return errors.Join(l.checkGrammar(grammar), l.check(ctx, db, dialect))
}

func (l *List) check(ctx context.Context, db *sql.DB, dialect sqlpage.Dialect, within ...string) error {
	err := sqlpage.Check(ctx, db, dialect, l.schema, l.table, within...)
	for _, p := range l.lists {
		err = errors.Join(err, p.List.check(ctx, db, dialect, p.Parent))
	}
	return err
}

func (l *List) checkGrammar(grammar *scope.Grammar) error {
	if l.schema.ExampleID == "" {
		return nil
	}
	if _, err := grammar.Parse("object.read." + l.schema.Object + "." + l.schema.ExampleID); err != nil {
		return fmt.Errorf("sqllist: table %s: the grammar of the Guard refuses an _id such as %s: set Guard.Scopes to a scope.Grammar with an Identifier for it, such as sqlpage.Digits: %w",
			l.table.Name, l.schema.ExampleID, err)
	}
	return nil
}

// exampleOf returns an _id of a column, or "" if it may be any text.
func exampleOf(c sqlpage.Column) string {
	switch c.Storage {
	case sqlpage.UUID:
		return "5b000000-0000-4000-8000-000000000001"
	case sqlpage.BigInt:
		return "42"
	}
	return ""
}
