package sqlpage

import (
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// Indexes returns the statements that create what the pages of a list need: an
// index on _id, and for each property of the schema that can be sorted by one
// for either direction. To sort by several properties at once needs more of
// them, of which these are the pattern.
//
// Name as within the properties that the server compares with one value in
// every query, such as the org: they lead each index.
//
// The error is about the table, or a property that it does not have.
func Indexes(schema paging.Schema, table Table, dialect Dialect, within ...string) ([]string, error) {
	if !dialect.valid() {
		return nil, fmt.Errorf("sqlpage: %d is no dialect", dialect)
	}
	if err := table.validate(); err != nil {
		return nil, err
	}
	sorts := [][]paging.Key{{{Path: "_id"}}}
	for _, p := range schema.Properties {
		if p.Sort && !p.Hidden && p.Type != paging.Any && p.Path != "_id" {
			sorts = append(sorts, byProperty(p.Path, false), byProperty(p.Path, true))
		}
	}
	var leading []paging.Key
	for _, path := range within {
		leading = append(leading, paging.Key{Path: path})
	}
	var indexes []string
	for _, sort := range sorts {
		text, err := table.index(append(leading[:len(leading):len(leading)], sort...), dialect)
		if err != nil {
			return nil, err
		}
		indexes = append(indexes, text)
	}
	return indexes, nil
}

func byProperty(path string, desc bool) []paging.Key {
	return paging.Query{Sort: []paging.Key{{Path: path, Desc: desc}}}.Order()
}

func (t *Table) index(sort []paging.Key, d Dialect) (string, error) {
	var elements []string
	for _, k := range sort {
		p, err := t.property(k.Path, "", d)
		if err != nil {
			return "", err
		}
		for _, key := range p.keys() {
			elements = append(elements, key.String()+d.direction(key, k.Desc))
		}
	}
	name, table := quote(t.indexName(sort)), t.quotedName()
	if schema, bare, ok := strings.Cut(t.Name, "."); ok && d == SQLite {
		name, table = quote(schema)+"."+name, quote(bare) // where it wants the schema
	}
	return "CREATE INDEX IF NOT EXISTS " + name + " ON " + table + " " + row(elements), nil
}

// indexName returns a name that no other sort of the table has: readable, and
// with a checksum of all that it was cut from.
func (t *Table) indexName(sort []paging.Key) string {
	name := t.Name[strings.LastIndexByte(t.Name, '.')+1:]
	for _, k := range sort {
		name += "_" + k.Path
		if k.Desc {
			name += "_desc"
		}
	}
	readable := strings.Map(func(r rune) rune {
		if strings.ContainsRune(nameCharacters, r) && r != '-' {
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
