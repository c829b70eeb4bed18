package sqlpage

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/paging"
)

// Indexes returns the statements that create the indexes for the pages of a list.
// There is one on _id. There are two for each property of the schema that can be
// sorted by, one for each direction. A sort by several properties needs further
// indexes of the same form.
//
// The tenant is the first column of each index, and the Where of the table follows. Pass in
// within further properties that every query compares with one value.
//
// The statements lock the table against writes while they run. For a large table that is in
// use, write CREATE INDEX CONCURRENTLY instead, outside of a transaction:
//
//	strings.Replace(index, "CREATE INDEX", "CREATE INDEX CONCURRENTLY", 1)
//
// PostgreSQL refuses rows whose texts in one index have more than about 2,700 bytes together,
// after compression: the INSERT of such a row fails, or the CREATE INDEX. So limit the length of
// texts that callers can sort by, and of Where, with a CHECK (octet_length(title) <= 500).
// Check says how long they are where an index is missing.
//
// Indexes returns an error if the table is not valid or lacks a property, or if the
// schema sorts by a column that PostgreSQL cannot index.
func Indexes(schema paging.Schema, table Table, dialect Dialect, within ...string) (statements []string, err error) {
	indexes, err := table.indexes(schema, dialect, within)
	for _, i := range indexes {
		statements = append(statements, i.text)
	}
	return statements, err
}

// index is an index that a list needs.
type index struct {
	path     string // that it sorts by
	name     string
	elements string // as the catalogue has them: the column, or () for an expression, its collation and direction
	text     string // the statement that creates it
}

func (t *Table) indexes(schema paging.Schema, dialect Dialect, within []string) ([]index, error) {
	if err := t.validate(dialect); err != nil {
		return nil, err
	}
	for path, column := range t.Properties {
		if err := column.validate(path); err != nil {
			return nil, err
		}
	}
	sorts := [][]paging.Key{{{Path: "_id"}}}
	for _, p := range schema.Properties {
		if p.Sort && !p.Hidden && p.Type != paging.Any && p.Path != "_id" {
			sorts = append(sorts, byProperty(p.Path, false), byProperty(p.Path, true))
		}
	}
	var leading []paging.Key
	for _, path := range slices.Concat(t.leading(), within) {
		leading = append(leading, paging.Key{Path: path})
	}
	var indexes []index
	for _, sort := range sorts {
		next, err := t.index(sort[0].Path, append(slices.Clip(leading), sort...), dialect)
		if err != nil {
			return nil, err
		}
		indexes = append(indexes, next)
	}
	return indexes, nil
}

func byProperty(path string, desc bool) []paging.Key {
	return paging.Query{Sort: []paging.Key{{Path: path, Desc: desc}}}.Order()
}

func (t *Table) index(path string, sort []paging.Key, d Dialect) (index, error) {
	var elements, catalogued []string
	for _, k := range sort {
		p, err := t.sortProperty(k.Path, "", d)
		if err != nil {
			return index{}, err
		}
		if c, ok := p.(column); ok && c.Storage == Enum && d == PostgreSQL {
			return index{}, fmt.Errorf("sqlpage: PostgreSQL cannot index the order of %q, an enum", k.Path)
		}
		for _, key := range p.keys() {
			by := direction(d, key, k.Desc)
			elements, catalogued = append(elements, key.String()+by), append(catalogued, key.catalogued()+by)
		}
	}
	bare := t.indexName(sort)
	name, table := quote(bare), t.quotedName()
	if schema, of := t.names(); schema != "" && d == SQLite {
		name, table = quote(schema)+"."+name, quote(of) // SQLite wants the schema before the index
	}
	return index{path, bare, strings.Join(catalogued, ", "), "CREATE INDEX IF NOT EXISTS " + name + " ON " + table + " " + row(elements)}, nil
}

// catalogued returns the key of an index as the catalogue has it. BINARY is the collation of SQLite
// that it leaves out.
func (k key) catalogued() string {
	name := "()"
	if k.expression[0] == '"' {
		name = strings.Trim(k.expression, `"`)
	}
	return name + strings.NewReplacer(`"`, "", " COLLATE BINARY", "").Replace(k.bytewise)
}

// indexName returns a name that no other sort of the table has. A name that was cut
// or changed to be valid ends with a checksum of the whole name.
func (t *Table) indexName(sort []paging.Key) string {
	_, name := t.names()
	for _, k := range sort {
		name += "_" + k.Path
		if k.Desc {
			name += "_desc"
		}
	}
	readable := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && ascii.Name.Has(byte(r)) && r != '-' {
			return r
		}
		return '_'
	}, name)
	if readable == name && len(name) <= maxName {
		return name
	}
	sum := fmt.Sprintf("_%08x", crc32.ChecksumIEEE([]byte(name)))
	return readable[:min(len(readable), maxName-len(sum))] + sum
}
