package sqlpage

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/tenantkit/tenantkit/internal/prepared"
	"github.com/tenantkit/tenantkit/paging"
)

// Pages runs the statements of pages in one database. In SQLite it keeps the
// statements prepared that were run last. The package comment says more. Pages is
// safe for concurrent use, and must not be copied or changed once used. It has
// nothing to close, because its statements end with the DB. So make one Pages for
// each DB, not for each page.
type Pages struct {
	DB      *sql.DB // required
	Dialect Dialect // required

	once sync.Once
	kept *prepared.DB // for SQLite
}

// Query runs the Statement for the page of q among the visible rows. It returns the error of Statement or of
// the driver. The caller must close the rows.
func (p *Pages) Query(ctx context.Context, q paging.Query, table Table, visible Visible) (*sql.Rows, error) {
	return p.run(ctx, q, table, visible, Statement)
}

type compiler func(paging.Query, Table, Visible, Dialect) (text string, args []any, err error)

func (p *Pages) run(ctx context.Context, q paging.Query, table Table, visible Visible, compile compiler) (*sql.Rows, error) {
	if p.DB == nil {
		return nil, errors.New("sqlpage: no database")
	}
	text, args, err := compile(q, table, visible, p.Dialect)
	if err != nil {
		return nil, err
	}
	if p.Dialect == PostgreSQL {
		return p.DB.QueryContext(ctx, text, args...)
	}
	p.once.Do(func() { p.kept = prepared.New(p.DB) })
	return p.kept.QueryContext(ctx, text, args...)
}
