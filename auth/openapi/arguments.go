package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// The limits of section 4.1 of the interface.
const (
	maxSkip  = 10_000
	maxPaths = 100
)

// maxNested is how many lists within lists are described. A schema may contain itself.
const maxNested = 2

// arguments describes section 4.1 of the interface: those of a list, or of one object.
func (m *maker) arguments(own Route) []object {
	switch {
	case own.List != nil:
		page := append([]object{pathsArgument(own.List)}, m.pageArguments(own.List, "")...)
		if own.List.Count {
			page = append(page, query("count", "Whether to count the items of all pages. Ask for it on the first page only.", object{"type": "boolean"}))
		}
		return append(page, m.nestedArguments(own.List, "", 1)...)
	case own.Object != nil:
		return append([]object{pathsArgument(own.Object)}, m.nestedArguments(own.Object, "", 1)...)
	}
	return nil
}

// nestedArguments describes those of list properties: connections.limit.
func (m *maker) nestedArguments(s *paging.Schema, prefix string, depth int) (all []object) {
	for _, p := range visible(s) {
		if p.List != nil && depth <= maxNested {
			all = append(all, m.pageArguments(p.List, prefix+p.Path+".")...)
			all = append(all, m.nestedArguments(p.List, prefix+p.Path+".", depth+1)...)
		}
	}
	return all
}

func visible(s *paging.Schema) []paging.Property {
	return slices.DeleteFunc(slices.Clone(s.Properties), func(p paging.Property) bool { return p.Hidden || !s.Visible(p.Path) })
}

func query(name, description string, schema object) object {
	return object{"name": name, "in": "query", "description": description, "schema": schema}
}

func pathsArgument(s *paging.Schema) object {
	return query("paths[]", "Properties to include, beside `_id` and `object`: "+quoted(paths(s, "", 0))+".",
		object{"type": "array", "items": object{"type": "string"}, "maxItems": maxPaths})
}

// paths returns what paths[] may name.
func paths(s *paging.Schema, prefix string, depth int) (all []string) {
	for _, p := range visible(s) {
		all = append(all, prefix+p.Path)
		if p.List != nil && depth < maxNested {
			all = append(all, paths(p.List, prefix+p.Path+".", depth+1)...)
		}
	}
	return all
}

func quoted(paths []string) string {
	if len(paths) == 0 {
		return "none"
	}
	return "`" + strings.Join(paths, "`, `") + "`"
}

func (m *maker) pageArguments(s *paging.Schema, prefix string) []object {
	initial, most := s.Limits()
	limit := object{"type": "integer", "minimum": 1, "default": initial}
	var sortable []string
	for _, p := range visible(s) {
		if p.Sort && p.Type != paging.Any && p.List == nil && !strings.HasSuffix(p.Path, "[]") {
			sortable = append(sortable, p.Path)
		}
	}
	sortable = append(sortable, "_id", "object")
	sort := query(prefix+"sort", "A property, or a JSON object with 1 for ascending and -1 for descending. `_id` is added. "+
		"Sortable are "+quoted(sortable)+".", object{"type": "string"})
	sort["example"] = fmt.Sprintf("{%q:-1}", sortable[0])

	// The value is a text for clients: not every generator knows a parameter with a content, and
	// some take a text with a contentMediaType for a file.
	where := query(prefix+"where", "A JSON object: only items that match. To continue after a page, add "+
		"`{\"_id\":{\"$gt\":<_id of its last item>}}` as the last member of `$and`.",
		object{"type": "string", "contentSchema": m.schemas.where(s)})
	where["example"] = fmt.Sprintf(`{"_id":{"$gt":%q}}`, cmp.Or(s.ExampleID, "5f2b6c1d9e8a7f3042d1c0b9"))
	return []object{
		query(prefix+"limit", fmt.Sprintf("Items on a page; reduced to %d.", most), limit),
		query(prefix+"skip", "Items to leave out at the beginning.",
			object{"type": "integer", "minimum": 0, "maximum": maxSkip, "default": 0}),
		sort, where,
	}
}

// whereOf is the key of the schema of a where.
type whereOf struct{ *paging.Schema }

// where describes the filters of a list.
func (s schemas) where(of *paging.Schema) object {
	return s.named(whereOf{of}, of.Object+"Where", func() object {
		id := condition(paging.Property{Type: paging.String})
		properties := object{"_id": id, "object": id}
		for _, p := range visible(of) {
			if p.Filter && p.Type != paging.Any && p.List == nil {
				properties[p.Path] = condition(p)
			}
		}
		for _, operator := range []string{"$and", "$or", "$nor"} {
			properties[operator] = object{"type": "array", "minItems": 1, "items": s.where(of)}
		}
		return object{"type": "object", "properties": properties, "additionalProperties": false}
	})
}

// condition describes what stands below a property: a value, or operators.
func condition(p paging.Property) object {
	value := typeSchemas[p.Type]
	if p.Type == paging.Integer {
		// An integer can be compared with a fraction. No money is rounded here, and clients that were
		// generated before go on.
		value = object{"type": "number", "format": "double"}
	}
	if p.Values != nil {
		value = enumSchema(p.Values)
	}
	bound := value
	if p.Null {
		value = nullable(value)
	}
	some := object{"type": "array", "items": value}
	operators := object{
		"$eq": value, "$ne": value, "$in": some, "$nin": some,
		"$gt": bound, "$gte": bound, "$lt": bound, "$lte": bound,
		"$exists": object{"type": "boolean"}, "$not": object{"type": "object"},
	}
	if p.Type == paging.String && !strings.Contains(p.Path, "[]") {
		operators["$prefix"] = typeSchemas[paging.String]
	}
	return object{"anyOf": []object{value, {"type": "object", "additionalProperties": false, "minProperties": 1, "properties": operators}}}
}
