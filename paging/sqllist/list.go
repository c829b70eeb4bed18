package sqllist

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/faults"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// Page answers a list call. rawQuery is url.URL.RawQuery. tenant and may are those of the
// principal that the Guard admitted, its Org and its Scope. Without a tenant Page returns an
// error, and with the zero Set no items. If the Declaration has a Where, call List.Where first.
//
// Items are in the reply if may permits to read any part of them. They have the properties
// that the caller asks for by paths[] and may read on this object. The caller can filter and
// sort by what it may read on every object.
//
// auth.Fail answers with each error: a *paging.Error with 400, a failure of the database that may
// pass with 503. Any other is 500, because to repeat the request does not help: a Declaration that
// is not as the table is, no tenant, or a value that has no JSON, such as NaN.
func (l *List) Page(ctx context.Context, pages *sqlpage.Pages, tenant string, may scope.Set, rawQuery string) (envelope.List[envelope.Verbatim], error) {
	grant := may.On(scope.Read, l.schema.Object)
	q, err := l.schema.Parse(rawQuery, func(path string) bool {
		if l.hasList(path) { // its arguments compare nothing themselves
			return may.Overlaps(scope.Object(scope.Read, l.schema.Object, "", path))
		}
		return grant.Property(path)
	})
	if err != nil {
		return envelope.List[envelope.Verbatim]{}, err
	}
	return l.answer(ctx, pages, tenant, q, grant)
}

// Get answers a call for one object. Without paths[] it has all that the caller may read,
// except list properties. The rest is as for Page. If there is no such object in the tenant,
// or may permits to read no part of it, the error is ErrNotFound.
func (l *List) Get(ctx context.Context, pages *sqlpage.Pages, tenant string, may scope.Set, id, rawQuery string) (envelope.Verbatim, error) {
	q, err := l.schema.ParseObject(rawQuery, may.On(scope.Read, l.schema.Object).Of(id))
	if err != nil {
		return nil, err
	}
	return l.Read(ctx, pages, tenant, may, id, q)
}

// Read is Get with a query of Schema().ParseObject, for a program that reads the arguments before
// it writes the object.
func (l *List) Read(ctx context.Context, pages *sqlpage.Pages, tenant string, may scope.Set, id string, q paging.Query) (envelope.Verbatim, error) {
	if !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return nil, ErrNotFound // no database has such a text
	}
	if q.Paths == nil {
		for _, p := range l.schema.Properties {
			if _, asked := q.Lists[p.Path]; p.List == nil || asked {
				q.Paths = append(q.Paths, p.Path)
			}
		}
	}
	q.Where, q.Limit = paging.Eq("_id", id), 1
	page, err := l.answer(ctx, pages, tenant, q, may.On(scope.Read, l.schema.Object))
	if err != nil {
		return nil, err
	}
	if len(page.Data) == 0 {
		return nil, ErrNotFound
	}
	return page.Data[0], nil
}

// Where returns the list of the rows whose property has the value, of a list with this property in
// its Declaration.Where:
//
//	page, err := own.Where("technician", p.Account).Page(ctx, pages, string(p.Org), p.Scope, raw)
//
// No argument of the caller reaches another row. A list with a Where that gets no value, or an
// empty one, answers nothing but an error.
func (l *List) Where(property, value string) *List {
	where := map[string]string{}
	maps.Copy(where, l.where)
	where[property] = value
	return &List{l.declared, where}
}

// answer reads the page of a list that is no property.
func (l *List) answer(ctx context.Context, pages *sqlpage.Pages, tenant string, q paging.Query, grant scope.Part) (page envelope.List[envelope.Verbatim], err error) {
	v := l.view(q, grant, "", paging.MaxBytes/statements(q))
	ids, all := v.grant.IDs()
	visible := sqlpage.RowScope{Tenant: tenant, IDs: ids, AllIDs: all, Where: l.where}
	items, more, err := v.items(nil, func(table sqlpage.Table) (*sqlpage.Rows, error) {
		return pages.Query(ctx, v.query, table, visible)
	})
	if err != nil {
		return page, err
	}
	complete, err := v.addLists(ctx, pages, tenant, items)
	if err != nil {
		return page, err
	}
	total, err := pages.Count(ctx, v.query, v.list.table, visible)
	if err != nil {
		return page, v.list.failed(err)
	}
	page = listOf(complete, more || len(complete) < len(items))
	page.Total = total
	return page, nil
}

// statements returns how many statements read the items of q. Each has the same part of the bytes
// of the reply, so that a list of long items leaves room for the lists in it.
func statements(q paging.Query) (n int) {
	for _, sub := range q.Lists {
		n += statements(sub)
	}
	return n + 1
}

// view is what one request shows of the items of a list.
type view struct {
	list   *List
	query  paging.Query
	grant  scope.Part
	prefix string // path of the list property with a dot, or empty
	shown  []shown
	narrow bool // something is not shown on every object
	bytes  int  // how many its items may have, of the bytes of the reply
}

// shown is a column that the reply may have.
type shown struct {
	*column
	at     int    // in List.columns
	path   string // with the prefix
	always bool   // on every object
}

func (l *List) view(q paging.Query, grant scope.Part, prefix string, bytes int) *view {
	v := &view{list: l, query: q, grant: grant, prefix: prefix, bytes: bytes, shown: make([]shown, 0, len(l.columns))}
	for i := range l.columns {
		c := &l.columns[i]
		if i == 0 || !q.Wants(c.path) {
			continue
		}
		s := shown{column: c, at: i, path: prefix + c.path}
		s.always = (!c.document || slices.Contains(q.Paths, c.path)) && grant.Property(s.path)
		v.narrow = v.narrow || !s.always
		v.shown = append(v.shown, s)
	}
	return v
}

// item is a row as JSON.
type item struct {
	text   envelope.Verbatim
	id     string
	parent string // the object that has it in a list property
	root   string // the object of whose scope it is part: itself, or that of its parent
}

func listOf(items []item, more bool) envelope.List[envelope.Verbatim] {
	texts := make([]envelope.Verbatim, len(items))
	for i := range items {
		texts[i] = items[i].text
	}
	return envelope.List[envelope.Verbatim]{Data: texts, HasMore: more}
}

// items reads the rows of a query. roots has the root of each parent. Without roots the rows
// have no parent. more is that of the rows.
func (v *view) items(roots map[string]string, query func(sqlpage.Table) (*sqlpage.Rows, error)) (items []item, more bool, err error) {
	s := v.list.scanners.Get().(*scanner)
	defer v.list.scanners.Put(s)
	defer s.reset() // first, so that it keeps no value
	var parent string
	table, into := v.list.table, []any{&parent, s.id}
	table.Select = append(make([]string, 0, len(v.shown)+1), table.Select[0])
	for _, c := range v.shown {
		table.Select, into = append(table.Select, v.list.table.Select[c.at]), append(into, s.into[c.at])
	}
	if roots == nil {
		into = into[1:]
	}
	rows, err := query(table)
	if err != nil {
		return nil, false, v.list.failed(err)
	}
	defer rows.Close()
	rows.Use(paging.MaxBytes - v.bytes)
	var text []byte
	for rows.Next() {
		s.reset() // a document is decoded into what is there
		if err := rows.Scan(into...); err != nil {
			if rows.Err() == nil { // a value that the field of its column cannot hold
				return nil, false, v.list.named(err)
			}
			return nil, false, v.list.failed(err)
		}
		root, start := *s.id, len(text)
		if roots != nil {
			root = roots[parent]
		}
		if text, err = v.append(text, s, root); err != nil {
			return nil, false, err
		}
		rows.Use(len(text) - start)
		// When text grows, the older items stay as they are in an older array.
		items = append(items, item{text[start:len(text):len(text)], *s.id, parent, root})
		if len(items) == 1 {
			most := min(v.query.Limit, 100)
			text, items = slices.Grow(text, min(len(text)*most, 64<<10)), slices.Grow(items, most)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, false, v.list.failed(err)
	}
	return items, rows.More(), nil
}

// append appends the JSON of the row that s has read.
func (v *view) append(text []byte, s *scanner, root string) (_ []byte, err error) {
	reads := func(string) bool { return true }
	if v.narrow {
		reads = v.grant.Of(root)
	}
	text = appendText(append(text, `{"_id":`...), *s.id)
	text = append(text, v.list.object...)
	for _, c := range v.shown {
		switch {
		case c.always || !c.document && reads(c.path):
			start := len(text)
			text, err = s.write[c.at](append(text, c.member...))
			if c.omit && string(text[start+len(c.member):]) == "null" {
				text = text[:start]
			}
		case c.document:
			text, err = v.appendDocument(text, c, s.write[c.at], reads)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

// appendDocument appends the part of a document that is asked for and may be read. The whole has an
// array of its own, because the items keep that of text.
func (v *view) appendDocument(text []byte, c shown, write writer, reads func(path string) bool) ([]byte, error) {
	whole, err := write(append([]byte{'{'}, c.member[1:]...))
	if err != nil || c.omit && string(whole[len(c.member):]) == "null" {
		return text, err
	}
	part, err := envelope.Select(envelope.Verbatim(append(whole, '}')), func(path string) bool {
		return v.query.Wants(path) && reads(v.prefix+path)
	})
	if err != nil {
		return nil, err
	}
	if part = part[1 : len(part)-1]; len(part) > 0 {
		text = append(append(text, ','), part...)
	}
	return text, nil
}

// failed returns the error for what went wrong with a statement.
func (l *List) failed(err error) error {
	switch {
	case errors.As(err, new(*paging.Error)):
		return err // 400, because of the filter or the scope
	case errors.Is(err, sqlpage.ErrProgram) || isPermanent(err):
		return l.named(err)
	}
	return faults.Wrap(l.named(err), "error.storeUnavailable")
}

// named adds the name of the table to an error.
func (l *List) named(err error) error { return fmt.Errorf("sqllist: table %s: %w", l.table.Name, err) }

// isPermanent reports whether the database refuses the statement itself: classes 22 and 42 of
// SQLSTATE, such as a column that it does not have, or SQLITE_ERROR.
func isPermanent(err error) bool {
	if postgres, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return strings.HasPrefix(postgres.SQLState(), "22") || strings.HasPrefix(postgres.SQLState(), "42")
	}
	sqlite, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	return ok && sqlite.Code()&0xff == 1
}

// ErrNotFound reports that there is no such object, or none that the caller may read.
// auth.Fail answers 404 notFound.unspecified.
var ErrNotFound = faults.Wrap(errors.New("sqllist: not found"), "notFound.unspecified")
