package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// objectTable maps the properties of objects to columns. All except a few are in
// one JSON document. No schema has the org as a property, so clients cannot name
// it.
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
		Tenant: "org",
	}
	for _, p := range s.Properties {
		t.Properties[p.Path] = sqlpage.Column{Name: "doc"}
	}
	return t
}

// indexes returns the statements that create the indexes for pages of objects.
func (s *store) indexes() (statements []string, err error) {
	for _, of := range schemas {
		more, err := sqlpage.Indexes(*of.Schema, objectTable(of.Schema), s.dialect, "object")
		if err != nil {
			return nil, err
		}
		statements = append(statements, more...)
	}
	slices.Sort(statements)
	return slices.Compact(statements), nil
}

// page returns the visible objects of a type that match a query.
func (s *store) page(ctx context.Context, visible sqlpage.RowScope, of *paging.Schema, q paging.Query) (page []*object, more bool, err error) {
	// Last, and with And: the client's own filter can only narrow the page.
	q = q.And(paging.Eq("object", of.Object))
	rows, err := s.pages.Query(ctx, q, objectTable(of), visible)
	if err != nil {
		return nil, false, storeFailed(err)
	}
	defer rows.Close()
	for rows.Next() {
		o := &object{Org: auth.OrgKey(visible.Tenant), Type: of.Object}
		if err := o.scan(rows); err != nil {
			return nil, false, err
		}
		page = append(page, o)
	}
	if err := rows.Err(); err != nil {
		return nil, false, storeFailed(err)
	}
	return page, rows.More(), nil
}

// total returns the total that a client asked for, or nil.
func (s *store) total(ctx context.Context, visible sqlpage.RowScope, of *paging.Schema, q paging.Query) (*envelope.Total, error) {
	if q.CountTo == 0 {
		return nil, nil
	}
	total, err := s.pages.Count(ctx, q.And(paging.Eq("object", of.Object)), objectTable(of), visible)
	if errors.Is(err, paging.ErrSlowCount) {
		return nil, err // the client's to mend
	}
	return total, storeFailed(err)
}

// object returns one object of a type with decoded values, for a caller that writes
// it, or auth.ErrNotFound.
func (s *store) object(ctx context.Context, org auth.OrgKey, of *paging.Schema, id string) (*object, error) {
	o, err := s.read(ctx, org, of, id)
	if err != nil {
		return nil, err
	}
	o.Values, err = o.doc.values(of)
	return o, err
}

// read returns one object of a type with its document as stored, or
// auth.ErrNotFound.
func (s *store) read(ctx context.Context, org auth.OrgKey, of *paging.Schema, id string) (*object, error) {
	row := s.objects.QueryRowContext(ctx,
		"SELECT id, owner, doc, version FROM platform_objects WHERE org = $1 AND type = $2 AND id = $3", org, of.Object, id)
	o := &object{Org: org, Type: of.Object}
	return o, o.scan(row, &o.version)
}

// scan reads id, owner and document of a row, and rest after them.
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
	doc := encodeValues(o.Values, schemaOf(o.Type))
	return s.storing(ctx, o, len(doc), func(tx *sql.Tx) error {
		return execIn(ctx, tx, fmt.Errorf("object %s exists", o.ID), insertObject, o.Org, o.Type, o.ID, o.Owner, doc)
	})
}

// maxStored is how many bytes of documents the objects of one account may have, in an org.
// Anybody may register and create objects.
const maxStored = 64 << 20

// storing runs a change of an object in a transaction that counts by how many bytes the
// documents of its owner become longer. Objects of earlier releases and of the demo are
// not counted, and deleting them frees nothing below zero.
func (s *store) storing(ctx context.Context, o *object, longer int, change func(*sql.Tx) error) error {
	leave, err := s.changes.enter(ctx) // who waits for a lock holds a connection
	if err != nil {
		return err
	}
	defer leave()
	tx, err := begin(ctx, s.objects.DB)
	if err != nil {
		return storeFailed(err)
	}
	defer tx.Rollback()
	if err := change(tx); err != nil {
		return err
	}
	// Last, because changes of one account's objects wait here for each other.
	full := &auth.Error{Detail: auth.DetailConflict, Reason: "the account's objects take up all of its room: delete some"}
	err = execIn(ctx, tx, full, `INSERT INTO platform_usage (org, owner, bytes) VALUES ($1, $2, $3)
		ON CONFLICT (org, owner) DO UPDATE SET bytes =
			CASE WHEN platform_usage.bytes + CAST($4 AS BIGINT) < 0 THEN 0 ELSE platform_usage.bytes + CAST($4 AS BIGINT) END
		WHERE CAST($4 AS BIGINT) <= 0 OR platform_usage.bytes + CAST($4 AS BIGINT) <= $5`,
		o.Org, o.Owner, max(longer, 0), longer, s.room)
	if err != nil {
		return err
	}
	return storeFailed(tx.Commit())
}

// createAll adds many objects in one transaction, and skips existing ones. It counts none.
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

// errChanged means that a record has changed between reading and writing it.
var errChanged = errors.New("changed meanwhile")

// access returns an error if the caller may not write an object in its present
// state.
type access func(*object) error

// update sets some properties of an object, and removes those whose new value is
// nil. It returns the new state.
func (s *store) update(ctx context.Context, org auth.OrgKey, of *paging.Schema, id string, changes map[string]any, allowed access) (*object, error) {
	var changed *object
	err := s.write(ctx, org, of, id, allowed, func(now *object) error {
		before := encodeValues(now.Values, of)
		maps.Copy(now.Values, changes)
		maps.DeleteFunc(now.Values, func(path string, _ any) bool {
			value, named := changes[path]
			return named && value == nil
		})
		changed = now
		doc := encodeValues(now.Values, of)
		return s.storing(ctx, now, len(doc)-len(before), func(tx *sql.Tx) error {
			return execIn(ctx, tx, errChanged,
				"UPDATE platform_objects SET doc = $5, version = version + 1 WHERE org = $1 AND type = $2 AND id = $3 AND version = $4",
				org, of.Object, id, now.version, doc)
		})
	})
	return changed, err
}

// delete removes an object.
func (s *store) delete(ctx context.Context, org auth.OrgKey, of *paging.Schema, id string, allowed access) error {
	return s.write(ctx, org, of, id, allowed, func(now *object) error {
		return s.storing(ctx, now, -len(encodeValues(now.Values, of)), func(tx *sql.Tx) error {
			return execIn(ctx, tx, errChanged,
				"DELETE FROM platform_objects WHERE org = $1 AND type = $2 AND id = $3 AND version = $4",
				org, of.Object, id, now.version)
		})
	})
}

// How often the server tries to write an object that others change, and how long it
// waits between tries. Each wait is a random part of a time that doubles from
// shortestRest to longestRest.
const (
	maxWrites    = 12
	shortestRest = time.Millisecond
	longestRest  = 32 * time.Millisecond
)

// write changes an object in its present state, and tries again if somebody else
// was first. Each try checks access again, because the author may have changed.
// After maxWrites tries, it fails like a store that is too busy.
func (s *store) write(ctx context.Context, org auth.OrgKey, of *paging.Schema, id string, allowed access, change func(*object) error) error {
	rest := shortestRest
	for range maxWrites {
		if err := s.writeOnce(ctx, org, of, id, allowed, change); !errors.Is(err, errChanged) {
			return err
		}
		select {
		case <-time.After(rand.N(rest)):
		case <-ctx.Done():
			return storeFailed(ctx.Err())
		}
		rest = min(2*rest, longestRest)
	}
	return storeFailed(errChanged)
}

func (s *store) writeOnce(ctx context.Context, org auth.OrgKey, of *paging.Schema, id string, allowed access, change func(*object) error) error {
	now, err := s.object(ctx, org, of, id)
	if err != nil {
		return err
	}
	if err := allowed(now); err != nil {
		return err
	}
	return change(now)
}

// encodeValues returns the document of values, in the order of the schema.
func encodeValues(values map[string]any, of *paging.Schema) string {
	doc := objectReply{}
	for _, p := range of.Properties {
		if value, ok := values[p.Path]; ok {
			doc = doc.with(p.Path, value)
		}
	}
	return asJSON(doc)
}

// values decodes a document.
func (d document) values(of *paging.Schema) (map[string]any, error) {
	values := make(map[string]any)
	for _, p := range of.Properties {
		if text, ok := d.at(p.Path); ok {
			value, refused := valueOf(p, string(text))
			if refused != "" {
				return nil, fmt.Errorf("%s in a document %s", p.Path, refused)
			}
			values[p.Path] = value
		}
	}
	return values, nil
}

// valueOf decodes a value as readValues does. A list property is stored as its ids.
func valueOf(p paging.Property, text string) (value any, refused string) {
	switch {
	case text == "null":
		return nil, ""
	case p.List != nil:
		return body.Strings.Read(text)
	}
	return kinds[p.Type].Read(text)
}
