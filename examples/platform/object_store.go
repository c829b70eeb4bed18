package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// object is one object of an org, for those who write it. Callers who read it get what
// the list of its type shows.
type object struct {
	ID     string // 24 hexadecimal digits
	Org    auth.OrgKey
	Type   schema
	Owner  string         // id of the account that created it
	Values map[string]any // by property path; a property without a value is missing

	version int64 // version of its row
}

func (o *object) isBy(account string) bool {
	return account != "" && (account == o.Owner || account == o.Values[authorPath])
}

func (o *object) size() int { return len(asJSON(o.Values)) }

// newID returns the id of a new object. It starts with the time in seconds, so that
// ids are roughly in the order of creation.
func newID() string {
	var id [12]byte
	rand.Read(id[4:])
	binary.BigEndian.PutUint32(id[:], uint32(time.Now().Unix()))
	return hex.EncodeToString(id[:])
}

func (s schema) create() string {
	return "CREATE TABLE IF NOT EXISTS " + s.Table().Name + " (org TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, version {integer} NOT NULL, " +
		s.columns + ", PRIMARY KEY (org, id)) {strict}"
}

func (s *store) indexes() (statements []string, err error) {
	statements, err = sqlpage.Indexes(*messages.Schema(), messages.Table(), s.dialect, parentPath)
	for _, of := range schemas {
		more, failed := of.Indexes(s.dialect)
		statements, err = append(statements, more...), errors.Join(err, failed)
	}
	return statements, err
}

// document is the value of a column that has properties of its own.
type document map[string]any

// Value implements driver.Valuer.
func (d document) Value() (driver.Value, error) { return asJSON(d), nil }

// row returns the values of the columns that have values at some paths.
func (s schema) row(values map[string]any) map[string]any {
	row, columns := make(map[string]any), s.Table().Properties
	for path, value := range values {
		c := columns[path]
		if c.Base == "" {
			row[c.Name] = value
			continue
		}
		if row[c.Name] == nil {
			row[c.Name] = document{}
		}
		row[c.Name].(document)[strings.TrimPrefix(path, c.Base+".")] = value
	}
	return row
}

// insert adds an object. If it exists, insert returns otherwise.
func (o *object) insert(ctx context.Context, tx *sql.Tx, otherwise error) error {
	row := o.Type.row(o.Values)
	row["org"], row["id"], row["owner"], row["version"] = o.Org, o.ID, o.Owner, 1
	columns, arguments := slices.Sorted(maps.Keys(row)), []any(nil)
	values := oneOf(each(columns, func(name string) any { return row[name] }), &arguments)
	return execIn(ctx, tx, otherwise, "INSERT INTO "+o.Type.Table().Name+" ("+strings.Join(columns, ", ")+") VALUES "+values+
		" ON CONFLICT DO NOTHING", arguments...)
}

// object returns one object of a type.
func (s *store) object(ctx context.Context, org auth.OrgKey, of schema, id string) (*object, error) {
	o := &object{ID: id, Org: org, Type: of}
	err := s.objects.QueryRowContext(ctx, "SELECT owner, version FROM "+of.Table().Name+" WHERE org = $1 AND id = $2", org, id).
		Scan(&o.Owner, &o.version)
	if err != nil {
		return nil, storeFailed(err)
	}
	// After the version: whoever changes the object in between makes the write fail.
	text, err := of.Get(ctx, s.pages, string(org), scope.Unscoped(), id, "")
	if err != nil {
		return nil, err
	}
	if o.Values, err = valuesOf(text); err != nil {
		return nil, err
	}
	maps.DeleteFunc(o.Values, func(path string, _ any) bool { return path == "_id" || path == "object" })
	return o, nil
}

// valuesOf decodes an item of a list: its values by path.
func valuesOf(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber() // exact
	var item map[string]any
	if err := decoder.Decode(&item); err != nil {
		return nil, err
	}
	values := make(map[string]any)
	flatten(values, "", item)
	return values, nil
}

func flatten(values map[string]any, prefix string, members map[string]any) {
	for name, value := range members {
		if inner, ok := value.(map[string]any); ok {
			flatten(values, prefix+name+".", inner)
		} else {
			values[prefix+name] = value
		}
	}
}

func (s *store) create(ctx context.Context, o *object) error {
	return s.storing(ctx, o, o.size(), func(tx *sql.Tx) error {
		return o.insert(ctx, tx, fmt.Errorf("object %s exists", o.ID))
	})
}

// maxStored is how many bytes the values of the objects of one account may have, in an org.
// Anybody may register and create objects.
const maxStored = 64 << 20

// storing runs a change of an object in a transaction that counts by how many bytes the
// objects of its owner become longer. Objects of the demo are not counted, and deleting
// them frees nothing below zero.
func (s *store) storing(ctx context.Context, o *object, longer int, change func(*sql.Tx) error) error {
	leave, err := s.changes.enter(ctx) // who waits for a lock holds a connection
	if err != nil {
		return err
	}
	defer leave()
	return inTx(ctx, s.objects, func(tx *sql.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		// Last, because changes of one account's objects wait here for each other.
		full := &auth.Error{Detail: auth.DetailConflict, Reason: "the account's objects take up all of its room: delete some"}
		return execIn(ctx, tx, full, `INSERT INTO platform_usage (org, owner, bytes) VALUES ($1, $2, $3)
			ON CONFLICT (org, owner) DO UPDATE SET bytes =
				CASE WHEN platform_usage.bytes + CAST($4 AS BIGINT) < 0 THEN 0 ELSE platform_usage.bytes + CAST($4 AS BIGINT) END
			WHERE CAST($4 AS BIGINT) <= 0 OR platform_usage.bytes + CAST($4 AS BIGINT) <= $5`,
			o.Org, o.Owner, max(longer, 0), longer, s.room)
	})
}

// createAll skips existing objects, and counts no bytes.
func (s *store) createAll(ctx context.Context, all []*object) error {
	return inTx(ctx, s.objects, func(tx *sql.Tx) error {
		for _, o := range all {
			if err := o.insert(ctx, tx, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// errChanged means that a record has changed between reading and writing it.
var errChanged = errors.New("changed meanwhile")

// access returns an error if the caller may not write an object in its present state.
type access func(*object) error

// update sets some properties of an object, and removes those whose new value is nil.
func (s *store) update(ctx context.Context, org auth.OrgKey, of schema, id string, changes map[string]any, allowed access) error {
	return s.write(ctx, org, of, id, allowed, func(now *object) error {
		before := now.size()
		for path, value := range changes {
			if now.Values[path] = value; value == nil {
				delete(now.Values, path)
			}
		}
		row, set, arguments := of.row(now.Values), "", []any{org, id, now.version}
		for _, name := range slices.Sorted(maps.Keys(of.row(changes))) {
			arguments = append(arguments, row[name])
			set += fmt.Sprintf(", %s = $%d", name, len(arguments))
		}
		return s.storing(ctx, now, now.size()-before, func(tx *sql.Tx) error {
			return execIn(ctx, tx, errChanged, "UPDATE "+of.Table().Name+" SET version = version + 1"+set+
				" WHERE org = $1 AND id = $2 AND version = $3", arguments...)
		})
	})
}

func (s *store) delete(ctx context.Context, org auth.OrgKey, of schema, id string, allowed access) error {
	return s.write(ctx, org, of, id, allowed, func(now *object) error {
		return s.storing(ctx, now, -now.size(), func(tx *sql.Tx) error {
			return execIn(ctx, tx, errChanged, "DELETE FROM "+of.Table().Name+" WHERE org = $1 AND id = $2 AND version = $3", org, id, now.version)
		})
	})
}

// How often the server tries to write an object that others change, and how long it waits between
// tries. Each wait is a random part of a time that doubles from shortestRest to longestRest.
const (
	maxWrites    = 12
	shortestRest = time.Millisecond
	longestRest  = 32 * time.Millisecond
)

// write changes an object in its present state, and tries again if somebody else
// was first. Each try checks access again, because the author may have changed.
// After maxWrites tries, it fails like a store that is too busy.
func (s *store) write(ctx context.Context, org auth.OrgKey, of schema, id string, allowed access, change func(*object) error) error {
	rest := shortestRest
	for range maxWrites {
		now, err := s.object(ctx, org, of, id)
		if err == nil {
			err = allowed(now)
		}
		if err == nil {
			err = change(now)
		}
		if !errors.Is(err, errChanged) {
			return err
		}
		select {
		case <-time.After(mathrand.N(rest)):
		case <-ctx.Done():
			return storeFailed(ctx.Err())
		}
		rest = min(2*rest, longestRest)
	}
	return storeFailed(errChanged)
}
