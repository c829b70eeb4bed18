package sqllist

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// Declaration is what a struct does not say of its list.
type Declaration struct {
	Table  string // required: notes or public.notes
	Object string // required: object name of the items

	SharedByAllTenants bool // the struct has no tenant, and every tenant sees every row
	Default, Max       int  // limits of a page, as in paging.Schema

	Lists map[string]Items // list properties, by path
}

// List is a list of the rows of one table. New makes it. It is safe for concurrent use.
type List struct {
	schema  paging.Schema
	table   sqlpage.Table
	columns []column // of table.Select; the first is _id
	lists   []listProperty
	object  []byte // the member object of an item, with the comma before it
	scanner scanners
}

// column is a property in the reply.
type column struct {
	path     string
	member   []byte // its name in JSON, with the comma before it and the colon after it
	index    []int  // of the field
	document bool   // its value may have properties of its own
}

// New declares the list of a table by the tags of the struct T. The package comment says
// what the tags mean. The error says what is wrong with them.
func New[T any](d Declaration) (*List, error) {
	l := &List{
		schema: paging.Schema{Object: d.Object, RefuseUnknown: true, Default: d.Default, Max: d.Max},
		table: sqlpage.Table{
			Name: d.Table, Object: d.Object, SharedByAllTenants: d.SharedByAllTenants, Properties: map[string]sqlpage.Column{},
		},
		object: appendText([]byte(`,"object":`), d.Object),
	}
	if err := l.declare(d, reflect.TypeFor[T]()); err != nil {
		return nil, fmt.Errorf("sqllist: table %s, %v: %w", d.Table, reflect.TypeFor[T](), err)
	}
	l.scanner.New = func() any {
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

// Table returns where the properties are. It must not be changed.
func (l *List) Table() sqlpage.Table { return l.table }

// Indexes returns the statements that create the indexes for the pages of the list.
func (l *List) Indexes(dialect sqlpage.Dialect) ([]string, error) {
	return sqlpage.Indexes(l.schema, l.table, dialect)
}

func (l *List) declare(d Declaration, typ reflect.Type) error {
	if typ.Kind() != reflect.Struct {
		return errors.New("it is no struct")
	}
	if !isName(d.Object) {
		return fmt.Errorf("%q is no object name", d.Object)
	}
	if err := l.fields(typ, nil); err != nil {
		return err
	}
	if len(l.columns) == 0 || l.columns[0].path != "_id" {
		return errors.New("_id is not the first field: embed envelope.Item with a tag")
	}
	if err := l.declareLists(d.Lists); err != nil {
		return err
	}
	_, err := l.Indexes(sqlpage.SQLite) // checks the names and the tenant
	return err
}

var itemType = reflect.TypeFor[envelope.Item]()

// fields declares the fields of a struct. within is the index of the struct in T.
func (l *List) fields(typ reflect.Type, within []int) error {
	for i := range typ.NumField() {
		f := typ.Field(i)
		index := append(slices.Clone(within), i)
		tag, tagged := f.Tag.Lookup("page")
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
	name, options, _ := strings.Cut(tag, ",")
	p, c, tenant, err := parseOptions(f.Type, options)
	if err != nil {
		return err
	}
	p.Path, err = pathOf(f)
	public := p.Path != ""
	p.Path, c.Name = cmp.Or(p.Path, name), name
	_, twice := l.table.Properties[p.Path]
	switch {
	case err != nil:
		return err
	case twice || p.Path == "object":
		return fmt.Errorf("%q is declared twice", p.Path)
	case (p.Filter || p.Sort) && (p.Type == paging.Any || !public):
		return errors.New("callers cannot filter or sort by it")
	case p.Path == "_id" && (f.Type.Kind() != reflect.String || !c.NotNull):
		return errors.New("_id is no string")
	case tenant && l.table.Tenant != "":
		return errors.New("a second tenant")
	case tenant:
		l.table.Tenant = p.Path
	}
	if p.Type != paging.Any {
		l.table.Properties[p.Path] = c
	}
	if !public {
		return nil
	}
	if p.Path != "_id" {
		l.schema.Properties = append(l.schema.Properties, p)
	}
	l.table.Select = append(l.table.Select, name)
	member := append(appendText([]byte{','}, p.Path), ':')
	l.columns = append(l.columns, column{p.Path, member, index, p.Type == paging.Any})
	return nil
}

// pathOf returns the path of a field, which is its name in JSON. It returns "" for a
// field that is not in the JSON.
func pathOf(f reflect.StructField) (string, error) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "-" || f.Name == "_":
		return "", nil
	case !f.IsExported():
		return "", errors.New("it is not exported")
	case options != "":
		return "", fmt.Errorf("a list does not apply %q of its tag json", options)
	}
	name = cmp.Or(name, f.Name)
	if !isName(name) {
		return "", fmt.Errorf("%q is no name of a property", name)
	}
	return name, nil
}

func isName(name string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return name != "" && len(name) <= 40 && strings.Trim(name, allowed) == ""
}

var storages = map[string]sqlpage.Storage{
	"uuid": sqlpage.UUID, "milliseconds": sqlpage.Milliseconds, "day": sqlpage.Day, "enum": sqlpage.Enum,
}

// parseOptions reads what follows the name of the column in a tag.
func parseOptions(typ reflect.Type, options string) (p paging.Property, c sqlpage.Column, tenant bool, err error) {
	if typ.Kind() == reflect.Pointer {
		typ, p.Null = typ.Elem(), true
	}
	p.Type, c.Storage = typeOf(typ)
	for option := range strings.SplitSeq(options, ",") {
		storage, known := storages[option]
		switch {
		case known && c.Storage != 0:
			return p, c, false, fmt.Errorf("option %q beside another storage", option)
		case known:
			c.Storage = storage
		case option == "filter":
			p.Filter = true
		case option == "sort":
			p.Sort = true
		case option == "tenant":
			tenant = true
		case option != "":
			return p, c, false, fmt.Errorf("unknown option %q", option)
		}
	}
	if c.Storage == sqlpage.UUID && p.Type == paging.Any {
		p.Type = paging.String // such as an array of 16 bytes that writes itself as a text
	}
	c.Type, c.NotNull = p.Type, !p.Null
	return p, c, tenant, nil
}

// typeOf returns the type of the JSON of a Go type, and how its column stores it. It is Any
// if the JSON is not that of a plain value.
func typeOf(typ reflect.Type) (paging.Type, sqlpage.Storage) {
	switch typ {
	case reflect.TypeFor[time.Time]():
		return paging.Date, 0
	case reflect.TypeFor[json.Number]():
		return paging.Number, 0
	}
	if pointer := reflect.PointerTo(typ); pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return paging.Any, 0
	}
	switch typ.Kind() {
	case reflect.String:
		return paging.String, 0
	case reflect.Bool:
		return paging.Boolean, 0
	case reflect.Float32, reflect.Float64:
		return paging.Number, sqlpage.Double
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return paging.Integer, 0
	}
	return paging.Any, 0
}
