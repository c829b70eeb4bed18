package sqllist

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// Page answers a list call. rawQuery is url.URL.RawQuery. tenant and may are those of the
// principal that the Guard admitted, its Org and its Scope. Without a tenant Page returns an
// error, and with the zero Set no items.
//
// Items are in the reply if may permits to read any part of them. They have the properties
// that the caller asks for by paths[] and may read on this object. The caller can filter and
// sort by what it may read on every object.
//
// The error is that of paging.Schema.Parse, or an *Error. auth.Fail answers with either.
func (l *List) Page(ctx context.Context, pages *sqlpage.Pages, tenant string, may scope.Set, rawQuery string) (envelope.List[envelope.Verbatim], error) {
	grant := may.On(scope.Read, l.schema.Object)
	q, err := l.schema.Parse(rawQuery, grant.Property)
	if err != nil {
		return envelope.List[envelope.Verbatim]{}, err
	}
	ids, all := grant.IDs()
	v := l.view(q, grant)
	items, more, err := v.items(ctx, pages, sqlpage.Visible{Tenant: tenant, IDs: ids, AllIDs: all})
	return envelope.List[envelope.Verbatim]{Data: items, HasMore: more}, err
}

// Get answers a call for one object. Without paths[] it has all that the caller may read.
// The rest is as for Page. If there is no such object in the tenant, or may permits to read
// no part of it, the error is ErrNotFound.
func (l *List) Get(ctx context.Context, pages *sqlpage.Pages, tenant string, may scope.Set, id, rawQuery string) (envelope.Verbatim, error) {
	grant := may.On(scope.Read, l.schema.Object)
	q, err := l.schema.ParseObject(rawQuery, grant.Of(id))
	if err != nil {
		return nil, err
	}
	if q.Paths == nil {
		q.Paths = l.paths()
	}
	q.Where, q.Limit = paging.Eq("_id", id), 1
	ids, all := grant.IDs()
	v := l.view(q, grant)
	items, _, err := v.items(ctx, pages, sqlpage.Visible{Tenant: tenant, IDs: ids, AllIDs: all})
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, ErrNotFound
	}
	return items[0], nil
}

func (l *List) paths() (paths []string) {
	for _, c := range l.columns {
		paths = append(paths, c.path)
	}
	return paths
}

// view is what one request shows of the items.
type view struct {
	list   *List
	query  paging.Query
	grant  scope.Grant
	always []bool // whether a column is shown on every object
	asked  []bool // whether a column is asked for
	narrow bool   // a column that is asked for is not shown on every object
}

func (l *List) view(q paging.Query, grant scope.Grant) view {
	v := view{list: l, query: q, grant: grant, always: make([]bool, len(l.columns)), asked: make([]bool, len(l.columns))}
	for i, c := range l.columns[1:] {
		whole := !c.document || slices.Contains(q.Paths, c.path)
		v.asked[i+1] = q.Wants(c.path)
		v.always[i+1] = whole && grant.Property(c.path)
		v.narrow = v.narrow || v.asked[i+1] && !v.always[i+1]
	}
	return v
}

// items reads the items of the page and encodes them.
func (v *view) items(ctx context.Context, pages *sqlpage.Pages, visible sqlpage.Visible) (items []envelope.Verbatim, more bool, err error) {
	s := v.list.scanner.get()
	defer v.list.scanner.put(s)
	table, into := v.read(s)
	rows, err := pages.Query(ctx, v.query, table, visible)
	if err != nil {
		return nil, false, v.list.failed(err)
	}
	defer rows.Close()
	var text []byte
	var ends []int
	for rows.Next() {
		if len(ends) == v.query.Limit {
			more = true
			break
		}
		s.reset() // a document is decoded into what is there
		if err := rows.Scan(into...); err != nil {
			return nil, false, v.list.failed(err)
		}
		if len(ends) == 1 {
			text = slices.Grow(text, len(text)*min(v.query.Limit, 100))
		}
		if text, err = v.append(text, s); err != nil {
			return nil, false, err
		}
		ends = append(ends, len(text))
	}
	if err := rows.Err(); err != nil {
		return nil, false, v.list.failed(err)
	}
	items = make([]envelope.Verbatim, len(ends))
	start := 0
	for i, end := range ends {
		items[i], start = text[start:end:end], end
	}
	return items, more, nil
}

// read returns the table with the columns that the reply needs, and the fields for them.
func (v *view) read(s *scanner) (table sqlpage.Table, into []any) {
	table = v.list.table
	table.Select = nil
	for i, asked := range v.asked {
		if asked || i == 0 {
			table.Select, into = append(table.Select, v.list.table.Select[i]), append(into, s.into[i])
		}
	}
	return table, into
}

func (l *List) failed(err error) error { return &Error{l.table.Name, err} }

// append appends the JSON of the row that s has read.
func (v *view) append(text []byte, s *scanner) ([]byte, error) {
	reads := func(string) bool { return true }
	if v.narrow {
		reads = v.grant.Of(*s.id)
	}
	text = appendText(append(text, `{"_id":`...), *s.id)
	text = append(text, v.list.object...)
	var err error
	for i := range v.asked {
		c := &v.list.columns[i]
		switch {
		case !v.asked[i]:
		case v.always[i] || !c.document && reads(c.path):
			text, err = s.write[i](append(text, c.member...))
		case c.document:
			text, err = v.appendDocument(text, c, s.write[i], reads)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

// appendDocument appends the part of a document that is asked for and may be read.
func (v *view) appendDocument(text []byte, c *column, write writer, reads func(path string) bool) ([]byte, error) {
	whole, err := write(append([]byte{'{'}, c.member[1:]...))
	if err != nil {
		return nil, err
	}
	part, err := envelope.Select(json.RawMessage(append(whole, '}')), func(path string) bool { return v.query.Wants(path) && reads(path) })
	if err != nil {
		return nil, err
	}
	if part = part[1 : len(part)-1]; len(part) > 0 {
		text = append(append(text, ','), part...)
	}
	return text, nil
}
