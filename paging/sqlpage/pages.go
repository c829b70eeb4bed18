package sqlpage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
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

	CountTime time.Duration // how long a Count may take; 0: 1 second

	once sync.Once
	kept *prepared.DB // for SQLite
}

// Query runs the Statement for the page of q among the visible rows. The rows end where the page
// ends. It returns the error of Statement or of the driver. The caller must close the rows.
func (p *Pages) Query(ctx context.Context, q paging.Query, table Table, visible RowScope) (*Rows, error) {
	rows, err := p.run(ctx, q, table, visible, Statement)
	if err != nil {
		return nil, err
	}
	return pageOf(rows, q.Limit, false), nil
}

// Count returns the total that a caller asked for, or nil. It is how many of the visible
// rows match the filter of q, whatever its Skip and Limit. It reads at most q.CountTo+1 of
// them, in one statement.
//
// After CountTime the error is paging.ErrSlowCount, so ctx should have more time than that.
// The context of the statement has then ended, and the driver must make the database stop,
// as pgx and modernc.org/sqlite do.
// Other errors are those of Statement or of the driver.
func (p *Pages) Count(ctx context.Context, q paging.Query, table Table, visible RowScope) (*envelope.Total, error) {
	if q.CountTo < 1 {
		return nil, nil
	}
	limited, stop := context.WithTimeout(ctx, cmp.Or(p.CountTime, time.Second))
	defer stop()
	counted, err := p.count(limited, q, table, visible)
	switch {
	case err == nil:
		return q.Total(counted), nil
	case limited.Err() != nil && ctx.Err() == nil:
		return nil, paging.ErrSlowCount
	}
	return nil, err
}

func (p *Pages) count(ctx context.Context, q paging.Query, table Table, visible RowScope) (counted int, err error) {
	rows, err := p.run(ctx, q, table, visible, countStatement)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		err = rows.Scan(&counted)
	}
	return counted, errors.Join(err, rows.Err())
}

type compiler func(paging.Query, Table, RowScope, Dialect) (text string, args []any, err error)

func (p *Pages) run(ctx context.Context, q paging.Query, table Table, visible RowScope, compile compiler) (*sql.Rows, error) {
	if p.DB == nil {
		return nil, programError{errors.New("sqlpage: no database")}
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
