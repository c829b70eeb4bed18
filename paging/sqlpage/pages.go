package sqlpage

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	return p.rows(ctx, q, table, visible, false, (*statement).page)
}

func (p *Pages) rows(ctx context.Context, q paging.Query, table Table, visible RowScope, each bool, write writer) (*Rows, error) {
	rows, err := p.run(ctx, q, table, visible, write)
	if err != nil {
		return nil, err
	}
	return &Rows{rows: rows, each: each, limit: max(q.Limit, 0), bytes: paging.MaxBytes}, nil
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
	q.Sort = nil // rows are counted in no order
	rows, err := p.run(limited, q, table, visible, (*statement).count)
	counted := 0
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			err = rows.Scan(&counted)
		}
		err = errors.Join(err, rows.Err())
	}
	switch {
	case err == nil:
		return q.Total(counted), nil
	case limited.Err() != nil && ctx.Err() == nil:
		return nil, paging.ErrSlowCount
	}
	return nil, err
}

func (p *Pages) run(ctx context.Context, q paging.Query, table Table, visible RowScope, write writer) (*sql.Rows, error) {
	if p.DB == nil {
		return nil, programError{errors.New("sqlpage: no database")}
	}
	text, args, err := compile(q, &table, visible, p.Dialect, write)
	if err != nil {
		return nil, err
	}
	if p.Dialect == PostgreSQL {
		return p.DB.QueryContext(ctx, text, args...)
	}
	p.once.Do(func() { p.kept = prepared.New(p.DB) })
	return p.kept.QueryContext(ctx, text, args...)
}

// QueryEach runs one statement for a page of each parent: the rows that have its id in
// the property parent, a String with its own column. The limit, skip, cursor and sort of q
// are for each parent alone. A row has the id of its parent and then the columns of
// table.Select. The rows of a parent are together, in the order of ids, and at most
// q.Limit+1: a parent with so many has more than its page. There are up to len(ids) times as
// many in all, so limit both. The ids must differ. One that the property cannot hold has no rows.
//
// The rows end one row after that with which they have paging.MaxBytes. Rows.More says so. The
// last row is then on no page: the page of its parent has more, or is empty if it has no other
// row. Nothing is known of the pages of the parents after that.
//
// Each page reads a range of an index that begins with the tenant and the parent: Indexes
// writes it with the parent in within. The rest is as for Query.
func (p *Pages) QueryEach(ctx context.Context, q paging.Query, table Table, visible RowScope, parent string, ids []string) (*Rows, error) {
	return p.rows(ctx, q, table, visible, true, func(s *statement, q paging.Query, visible string) string {
		return s.each(q, visible, parent, ids)
	})
}

// each returns a SELECT that joins the parents with the first rows of each. No expression
// can mean a column of parents: validName allows no blank.
func (s *statement) each(q paging.Query, visible, parent string, ids []string) string {
	of, ok := s.property(parent).(column)
	id, plain := s.property("_id").(column)
	if !ok || !plain || of.Type != paging.String {
		s.check(fmt.Errorf("sqlpage: table %s: %q holds no parent", s.table.Name, parent))
		return ""
	}
	for _, k := range s.sort {
		if s.table.Properties[k.Path].UnsafeExpression != "" {
			s.check(fmt.Errorf("sqlpage: table %s: rows of parents are not sorted by %q, an expression", s.table.Name, k.Path))
		}
	}
	list, _ := json.Marshal(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { // texts have no error
		_, ok := of.argument(s, id)
		return !ok || !isText(id) // such as a text that is no UUID, for which PostgreSQL has an error
	}))
	in := s.bind(argument{string(list), "json"})
	columns, order := s.columns(), strings.Replace(s.orderBy(nil, 0), " ORDER BY ", ", ", 1)
	if s.dialect == SQLite {
		// SQLite has no LATERAL. A CROSS JOIN keeps its planner from reading the rows first.
		where := and(visible, of.key().String()+` = parents."an id"`)
		return `SELECT parents."an id", ` + columns + ` FROM (SELECT value AS "an id", key AS "a key" FROM json_each(` + in + ")) AS parents CROSS JOIN " +
			s.table.quotedName() + " AS " + rowName + " WHERE " + where + " AND " + id.key().String() +
			" IN (" + s.selecting(s.table.Properties["_id"].Name).page(q, where) + `) ORDER BY parents."a key"` + order
	}
	value := `parents."an id"`
	switch of.Storage {
	case UUID:
		value += "::uuid"
	case BigInt:
		value += "::bigint"
	}
	needed := slices.Clone(s.table.Select) // and those of the order, but no others: the role of the server may not have a right to them
	for _, c := range s.table.Properties {
		if c.Name != "" {
			needed = append(needed, c.Name)
		}
	}
	slices.Sort(needed)
	return `SELECT parents."an id", ` + columns + " FROM json_array_elements_text(" + in + `) WITH ORDINALITY AS parents ("an id", "a key") CROSS JOIN LATERAL (` +
		s.selecting(slices.Compact(needed)...).page(q, and(visible, of.key().String()+" = "+value)) + ") AS " + rowName + ` ORDER BY parents."a key"` + order
}

// selecting makes what s compiles next select other columns.
func (s *statement) selecting(columns ...string) *statement {
	table := *s.table
	table.Select = columns
	s.table = &table
	return s
}
