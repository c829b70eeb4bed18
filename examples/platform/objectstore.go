package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// objectTable says where the properties of objects are: all but a few in one
// JSON document. The org is no property of any schema, so that clients cannot
// name it.
func objectTable(s *paging.Schema) sqlpage.Table {
	column := func(name string) sqlpage.Column {
		return sqlpage.Column{Name: name, Type: paging.String, NotNull: true}
	}
	t := sqlpage.Table{
		Name:   "platform_objects",
		Select: []string{"id", "owner", "doc"},
		Properties: map[string]sqlpage.Column{
			"_id": column("id"), "object": column("type"), "org": column("org"),
		},
	}
	for _, p := range s.Properties {
		t.Properties[p.Path] = sqlpage.Column{Name: "doc"}
	}
	return t
}

// indexes returns the statements that make what pages of the objects need.
func (s *store) indexes() (statements []string, err error) {
	for _, of := range schemas {
		more, err := sqlpage.Indexes(*of.Schema, objectTable(of.Schema), s.dialect, "org", "object")
		if err != nil {
			return nil, err
		}
		statements = append(statements, more...)
	}
	slices.Sort(statements)
	return slices.Compact(statements), nil
}

// page returns the objects of an org and a type that a query asks for.
func (s *store) page(ctx context.Context, org string, of *paging.Schema, q paging.Query) (page []*object, more bool, err error) {
	// Last, and with And: what the client has written can only narrow it.
	q = q.And(paging.And(paging.Eq("org", org), paging.Eq("object", of.Object)))
	leave, err := s.queries.enter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	rows, err := s.pages.Query(ctx, q, objectTable(of))
	if err != nil {
		return nil, false, storeFailed(err)
	}
	defer rows.Close()
	for rows.Next() {
		o := &object{Org: org, Type: of.Object}
		if err := o.scan(rows); err != nil {
			return nil, false, err
		}
		page = append(page, o)
	}
	if err := rows.Err(); err != nil {
		return nil, false, storeFailed(err)
	}
	page, more = paging.Trim(page, q.Limit)
	return page, more, nil
}

// object returns one object of a type with its values, as whoever writes it needs them,
// or auth.ErrNotFound.
func (s *store) object(ctx context.Context, org string, of *paging.Schema, id string) (*object, error) {
	o, err := s.read(ctx, org, of, id)
	if err != nil {
		return nil, err
	}
	o.Values, err = o.doc.values(of)
	return o, err
}

// read returns one object of a type as it is kept, or auth.ErrNotFound.
func (s *store) read(ctx context.Context, org string, of *paging.Schema, id string) (*object, error) {
	row := s.objects.QueryRowContext(ctx,
		"SELECT id, owner, doc, version FROM platform_objects WHERE org = $1 AND type = $2 AND id = $3", org, of.Object, id)
	o := &object{Org: org, Type: of.Object}
	return o, o.scan(row, &o.version)
}

// scan reads id, owner and document of a row, and what else there is.
func (o *object) scan(row interface{ Scan(...any) error }, rest ...any) error {
	var doc []byte
	err := row.Scan(append([]any{&o.ID, &o.Owner, &doc}, rest...)...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return auth.ErrNotFound
	case err != nil:
		return storeFailed(err)
	}
	o.doc, err = cutDocument(doc)
	return err
}

const insertObject = `INSERT INTO platform_objects (org, type, id, owner, version, doc)
	VALUES ($1, $2, $3, $4, 1, $5) ON CONFLICT DO NOTHING`

// create adds an object, whose id must be new.
func (s *store) create(ctx context.Context, o *object) error {
	return execIn(ctx, s.objects, fmt.Errorf("object %s exists", o.ID),
		insertObject, o.Org, o.Type, o.ID, o.Owner, encodeValues(o.Values, schemaOf(o.Type)))
}

// createAll adds many objects at once, but for those that are there.
func (s *store) createAll(ctx context.Context, all []*object) error {
	tx, err := s.objects.BeginTx(ctx, nil)
	if err != nil {
		return storeFailed(err)
	}
	defer tx.Rollback()
	insert, err := tx.PrepareContext(ctx, insertObject)
	if err != nil {
		return storeFailed(err)
	}
	defer insert.Close()
	for _, o := range all {
		if _, err := insert.ExecContext(ctx, o.Org, o.Type, o.ID, o.Owner, encodeValues(o.Values, schemaOf(o.Type))); err != nil {
			return storeFailed(err)
		}
	}
	return storeFailed(tx.Commit())
}

// errMoved means that an object was changed between its reading and writing.
var errMoved = errors.New("changed meanwhile")

// access is whether somebody may write an object, as it is.
type access func(*object) error

// update sets some properties of an object, or takes those away that are nil, and
// returns it as it is then.
func (s *store) update(ctx context.Context, org string, of *paging.Schema, id string, changes map[string]any, allowed access) (*object, error) {
	var changed *object
	err := s.write(ctx, org, of, id, allowed, func(now *object) error {
		maps.Copy(now.Values, changes)
		maps.DeleteFunc(now.Values, func(path string, _ any) bool {
			value, named := changes[path]
			return named && value == nil
		})
		changed = now
		return execIn(ctx, s.objects, errMoved,
			"UPDATE platform_objects SET doc = $5, version = version + 1 WHERE org = $1 AND type = $2 AND id = $3 AND version = $4",
			org, of.Object, id, now.version, encodeValues(now.Values, of))
	})
	return changed, err
}

// delete removes an object.
func (s *store) delete(ctx context.Context, org string, of *paging.Schema, id string, allowed access) error {
	return s.write(ctx, org, of, id, allowed, func(now *object) error {
		return execIn(ctx, s.objects, errMoved,
			"DELETE FROM platform_objects WHERE org = $1 AND type = $2 AND id = $3 AND version = $4",
			org, of.Object, id, now.version)
	})
}

// How often the writing of an object that others change is tried, and how long a
// writer rests in between at most: for a part of that, at random.
const (
	maxWrites    = 12
	shortestRest = time.Millisecond
	longestRest  = 32 * time.Millisecond
)

// write changes an object as it is now, and tries again where somebody else was
// first. Whether it is allowed is asked of what is written over: who may depends
// on the author, who may be another one by now. It gives up as a store that is too
// busy does.
func (s *store) write(ctx context.Context, org string, of *paging.Schema, id string, allowed access, change func(*object) error) error {
	rest := shortestRest
	for range maxWrites {
		if err := s.writeOnce(ctx, org, of, id, allowed, change); !errors.Is(err, errMoved) {
			return err
		}
		select {
		case <-time.After(rand.N(rest)):
		case <-ctx.Done():
			return storeFailed(ctx.Err())
		}
		rest = min(2*rest, longestRest)
	}
	return storeFailed(errMoved)
}

func (s *store) writeOnce(ctx context.Context, org string, of *paging.Schema, id string, allowed access, change func(*object) error) error {
	now, err := s.object(ctx, org, of, id)
	if err != nil {
		return err
	}
	if err := allowed(now); err != nil {
		return err
	}
	return change(now)
}

// encodeValues writes a document, in the order of the schema.
func encodeValues(values map[string]any, of *paging.Schema) string {
	doc := objectReply{}
	for _, p := range of.Properties {
		if value, ok := values[p.Path]; ok {
			doc = doc.with(p.Path, value)
		}
	}
	return record(doc)
}

// values decodes a document.
func (d document) values(of *paging.Schema) (map[string]any, error) {
	values := make(map[string]any)
	for _, p := range of.Properties {
		text, ok := d.at(p.Path)
		if !ok {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber() // integers of 64 bits stay what they are
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		values[p.Path] = fromJSON(value)
	}
	return values, nil
}

// fromJSON gives a value the type that it has in this program.
func fromJSON(value any) any {
	switch v := value.(type) {
	case json.Number:
		n, err := v.Int64()
		if err == nil {
			return n
		}
	case []any:
		ids := make([]string, len(v))
		for i := range v {
			ids[i], _ = v[i].(string)
		}
		return ids
	}
	return value
}
