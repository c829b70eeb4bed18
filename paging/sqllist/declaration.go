package sqllist

import (
	"cmp"
	"context"
	"database/sql"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/listing"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// Declaration is what a struct does not say of its list.
type Declaration struct {
	Table  string // required: notes or public.notes
	Object string // required: object name of the items

	SharedByAllTenants bool // the struct has no tenant, and every tenant sees every row
	IgnoreUnknown      bool // arguments of other names are the program's own, and not refused
	Default, Max       int  // limits of a page, as in paging.Schema
	Count              bool // callers may ask for the total, as in paging.Schema

	Lists map[string]Items // list properties, by path

	// Where are the paths of properties that each call compares with one value, by List.Where:
	// for a list of which a caller sees its own rows. They are texts with their own column,
	// shown or not. Indexes begin with them after the tenant. Several declarations may have
	// one struct.
	Where []string
}

// List is a list of the rows of one table. New makes it. It is safe for concurrent use.
type List struct {
	*declared
	where map[string]string // the values of table.Where
}

// declared is what New has read of a struct.
type declared struct {
	schema   paging.Schema
	table    sqlpage.Table
	columns  []column // of table.Select; the first is _id
	lists    []listProperty
	object   []byte    // the member object of an item, with the comma before it
	scanners sync.Pool // of *scanner
}

// column is a property in the reply.
type column struct {
	path     string
	member   []byte // its name in JSON, with the comma before it and the colon after it
	index    []int  // of the field
	document bool   // its value may have properties of its own
	array    bool
	omit     bool // NULL is left out
}

// New declares the list of a table by the tags of the struct T. The package comment says
// what the tags mean. The error says what is wrong with them.
func New[T any](d Declaration) (*List, error) {
	l := &List{declared: &declared{
		schema: paging.Schema{Object: d.Object, RefuseUnknown: !d.IgnoreUnknown, Default: d.Default, Max: d.Max, Count: d.Count},
		table: sqlpage.Table{
			Name: d.Table, Object: d.Object, SharedByAllTenants: d.SharedByAllTenants, Properties: map[string]sqlpage.Column{},
			Where: slices.Clone(d.Where),
		},
		object: appendText([]byte(`,"object":`), d.Object),
	}}
	if err := l.declare(reflect.TypeFor[T](), d.Lists); err != nil {
		return nil, fmt.Errorf("sqllist: table %s, %v: %w", d.Table, reflect.TypeFor[T](), err)
	}
	l.scanners.New = func() any {
		row := new(T)
		return newScanner(l, reflect.ValueOf(row).Elem(), func() { *row = *new(T) })
	}
	return l, nil
}

// Must is New for a package variable. It panics instead of returning an error.
func Must[T any](d Declaration) *List {
	l, err := New[T](d)
	if err != nil {
		panic(err)
	}
	return l
}

// Schema returns what callers may ask for. It must not be changed.
func (l *List) Schema() *paging.Schema { return &l.schema }

// Describe returns what a document of auth/openapi says of the list.
func (l *List) Describe() listing.Description { return l.schema.Describe() }

// Table returns where the properties are. It must not be changed.
func (l *List) Table() sqlpage.Table { return l.table }

// Indexes returns the statements that create the indexes for the pages of the list.
func (l *List) Indexes(dialect sqlpage.Dialect) ([]string, error) {
	return sqlpage.Indexes(l.schema, l.table, dialect)
}

func (l *List) declare(typ reflect.Type, lists map[string]Items) error {
	if typ.Kind() != reflect.Struct || !ascii.IsName(l.table.Object) {
		return errors.New("no struct, or no object name")
	}
	if err := l.fields(typ, nil); err != nil {
		return err
	}
	if len(l.columns) == 0 || l.columns[0].path != "_id" {
		return errors.New("_id is not the first field: embed envelope.Item with a tag")
	}
	if err := l.declareLists(lists); err != nil {
		return err
	}
	_, err := l.Indexes(sqlpage.SQLite) // checks the columns and the tenant
	return err
}

var itemType = reflect.TypeFor[envelope.Item]()

// fields declares the fields of a struct. within is the index of the struct in T.
func (l *List) fields(typ reflect.Type, within []int) error {
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag, tagged := f.Tag.Lookup("page")
		index := append(slices.Clone(within), i)
		var err error
		switch {
		case f.Anonymous && f.Type == itemType:
			id, _ := itemType.FieldByName("ID")
			err = l.field(id, tag, append(index, id.Index...))
		case f.Anonymous && f.Type.Kind() == reflect.Struct && !tagged:
			err = l.fields(f.Type, index)
		case tag == "-" || !tagged && !f.IsExported():
		case !tagged:
			err = errors.New(`it has no tag page; "-" leaves it out`)
		default:
			err = l.field(f, tag, index)
		}
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

func (l *List) field(f reflect.StructField, tag string, index []int) error {
	p, c, tenant, tagErr := parseTag(f.Type, tag)
	member, omit, memberErr := memberOf(f)
	p.Path = cmp.Or(member, c.Name)
	array, document := c.Storage == sqlpage.Array, p.Type == paging.Any
	if array {
		p.Path += "[]"
	}
	_, twice := l.table.Properties[p.Path]
	switch err := cmp.Or(tagErr, memberErr); {
	case err != nil:
		return err
	case twice || p.Path != "_id" && l.schema.Visible(p.Path):
		return fmt.Errorf("%q is declared twice", p.Path)
	case (p.Filter || p.Sort) && (document || member == ""):
		return errors.New("callers cannot filter or sort by it")
	case p.Path == "_id" && f.Type != reflect.TypeFor[string]():
		return errors.New("_id is no string")
	case tenant && l.table.Tenant != "":
		return errors.New("a second tenant")
	case tenant:
		l.table.Tenant = p.Path
	}
	if p.Path == "_id" {
		l.schema.ExampleID = examples[c.Storage]
	}
	if !document {
		l.table.Properties[p.Path] = c
	}
	if member == "" {
		return nil
	}
	if p.Path != "_id" {
		l.schema.Properties = append(l.schema.Properties, p)
	}
	l.table.Select = append(l.table.Select, c.Name)
	l.columns = append(l.columns, column{p.Path, memberText(member), index, document, array, omit})
	return l.inDocument(f.Type, sqlpage.Column{Name: c.Name, Base: member}, member)
}

// inDocument declares the properties below path by which callers can filter or sort.
func (l *List) inDocument(typ reflect.Type, c sqlpage.Column, path string) error {
	if typ.Kind() == reflect.Pointer && path == c.Base {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || writesItself(typ) {
		return nil
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag, tagged := f.Tag.Lookup("page")
		p, of, tenant, err := parseTag(f.Type, tag)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p.Path = path + "." + cmp.Or(name, f.Name)
		switch {
		case !tagged && !f.Anonymous:
			err = l.inDocument(f.Type, c, p.Path)
		case tagged && (err != nil || tenant || of.Name != "" || of.Storage > sqlpage.Double || p.Type == paging.Any || p.Type == paging.Date ||
			!f.IsExported() || f.Anonymous || name == "-" || strings.Contains(options, "string")):
			err = errors.New("in a document only filter and sort are options, for texts, numbers and booleans")
		case tagged:
			l.schema.Properties, l.table.Properties[p.Path] = append(l.schema.Properties, p), c
		}
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

// memberOf returns the name of a field in the JSON, or "" if it is not there, and whether NULL is
// left out.
func memberOf(f reflect.StructField) (name string, omit bool, err error) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	omit = options == "omitempty" && f.Type.Kind() == reflect.Pointer
	switch {
	case name == "-" || f.Name == "_":
		return "", false, nil
	case !f.IsExported():
		return "", false, errors.New("it is not exported")
	case options != "" && !omit:
		return "", false, fmt.Errorf("a list does not apply %q of its tag json", options)
	}
	name = cmp.Or(name, f.Name)
	if !ascii.IsName(name) {
		return "", false, fmt.Errorf("%q is no name of a property", name)
	}
	return name, omit, nil
}

func memberText(name string) []byte { return append(appendText([]byte{','}, name), ':') }

var storages = map[string]sqlpage.Storage{
	"uuid": sqlpage.UUID, "milliseconds": sqlpage.Milliseconds, "day": sqlpage.Day, "enum": sqlpage.Enum, "array": sqlpage.Array,
	"bigint": sqlpage.BigInt,
}

// examples are _ids of the storages that do not take every text.
var examples = map[sqlpage.Storage]string{sqlpage.UUID: "5b000000-0000-4000-8000-000000000001", sqlpage.BigInt: "42"}

// parseTag reads a tag: the name of the column and options.
func parseTag(typ reflect.Type, tag string) (p paging.Property, c sqlpage.Column, tenant bool, err error) {
	if typ.Kind() == reflect.Pointer {
		typ, p.Null = typ.Elem(), true
	}
	if p.Type = typeOf(typ); p.Type == paging.Number && typ.Kind() != reflect.String {
		c.Storage = sqlpage.Double
	}
	name, options, _ := strings.Cut(tag, ",")
	for option := range strings.SplitSeq(options, ",") {
		storage, known := storages[option]
		switch {
		case known && c.Storage == 0:
			c.Storage = storage
		case option == "filter":
			p.Filter = true
		case option == "sort":
			p.Sort = true
		case option == "tenant":
			tenant = true
		case option != "":
			return p, c, false, fmt.Errorf("unknown option %q, or a second storage", option)
		}
	}
	switch texts := typ == reflect.TypeFor[[]string]() || typ == reflect.TypeFor[[]*string](); {
	case c.Storage == sqlpage.Array && texts, c.Storage == sqlpage.UUID && p.Type == paging.Any:
		p.Type = paging.String // such as an array of 16 bytes that writes itself as a text
	case c.Storage == sqlpage.Array, c.Storage != 0 && p.Type == paging.Any:
		err = errors.New("it has a storage that its type has not")
	}
	if enum, ok := reflect.Zero(typ).Interface().(envelope.Enum); ok && p.Type == paging.String {
		p.Values = enum.Values()
	}
	c.Name, c.Type, c.NotNull = name, p.Type, !p.Null
	return p, c, tenant, err
}

var kinds = map[reflect.Kind]paging.Type{
	reflect.String: paging.String, reflect.Bool: paging.Boolean, reflect.Float32: paging.Number, reflect.Float64: paging.Number,
	reflect.Int: paging.Integer, reflect.Int8: paging.Integer, reflect.Int16: paging.Integer, reflect.Int32: paging.Integer,
	reflect.Int64: paging.Integer, reflect.Uint8: paging.Integer, reflect.Uint16: paging.Integer, reflect.Uint32: paging.Integer,
}

// typeOf returns the type of the JSON of a Go type. It is Any if that is no plain value.
func typeOf(typ reflect.Type) paging.Type {
	switch {
	case typ == reflect.TypeFor[time.Time](), typ == reflect.TypeFor[envelope.Time]():
		return paging.Date
	case typ == reflect.TypeFor[json.Number]():
		return paging.Number
	case writesItself(typ):
		return paging.Any
	}
	return kinds[typ.Kind()]
}

func writesItself(typ reflect.Type) bool {
	pointer := reflect.PointerTo(typ)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// Check returns an error if the database or the Guard does not fit the declaration of the list or
// of the lists in it. Call it when the program starts. It is sqlpage.Check for each of these
// lists. grammar is that of the Guard: guard.Scopes. It must have chains that name an _id of
// the list, or routes with {id} answer 404 for each object.
//
// A failure of the database is an error, too. So ctx should have a deadline.
func (l *List) Check(ctx context.Context, db *sql.DB, dialect sqlpage.Dialect, grammar *scope.Grammar) error {
	err := l.Describe().CheckID(grammar)
	if err != nil {
		err = l.named(err)
	}
	return errors.Join(err, l.check(ctx, db, dialect))
}

func (l *List) check(ctx context.Context, db *sql.DB, dialect sqlpage.Dialect, within ...string) error {
	err := sqlpage.Check(ctx, db, dialect, l.schema, l.table, within...)
	for _, p := range l.lists {
		err = errors.Join(err, p.List.check(ctx, db, dialect, p.Parent))
	}
	return err
}
