package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/internal/listing"
)

// The limits of section 4.1 of the interface.
const (
	maxSkip  = 10_000
	maxPaths = 100
)

// maxNested is how many lists within lists are described. A schema may contain itself.
const maxNested = 2

// arguments describes section 4.1 of the interface: those of a list, or of one object.
func (m *maker) arguments(own Route) (all []object) {
	if own.List == nil && own.Object == nil {
		return nil
	}
	var paths []string
	eachList(cmp.Or(own.List, own.Object).Describe(), "", maxNested, func(prefix string, of listing.Description) {
		for _, p := range of.Properties {
			paths = append(paths, prefix+p.Path)
		}
		if prefix != "" || own.List != nil {
			all = append(all, m.pageArguments(of, prefix)...)
		}
		if prefix == "" && own.List != nil && of.Count {
			all = append(all, query("count", "Whether to count the items of all pages. Ask for it on the first page only.", object{"type": "boolean"}))
		}
	})
	return slices.Insert(all, 0, query("paths[]", "Properties to include, beside `_id` and `object`: "+quoted(paths)+".",
		object{"type": "array", "items": object{"type": "string"}, "maxItems": maxPaths}))
}

// eachList calls each for a list and the lists in it, with the prefix of their arguments: connections.
func eachList(of listing.Description, prefix string, nested int, each func(prefix string, of listing.Description)) {
	each(prefix, of)
	for _, p := range of.Properties {
		if p.List != nil && nested > 0 {
			eachList(p.List.Describe(), prefix+p.Path+".", nested-1, each)
		}
	}
}

func query(name, description string, schema object) object {
	return object{"name": name, "in": "query", "description": description, "schema": schema}
}

func quoted(paths []string) string {
	if len(paths) == 0 {
		return "none"
	}
	return "`" + strings.Join(paths, "`, `") + "`"
}

func (m *maker) pageArguments(s listing.Description, prefix string) []object {
	var sortable []string
	for _, p := range s.Properties {
		if p.Sort && p.Type != "any" && p.List == nil && !strings.HasSuffix(p.Path, "[]") {
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
		query(prefix+"limit", fmt.Sprintf("Items on a page; reduced to %d.", s.Max),
			object{"type": "integer", "minimum": 1, "default": s.Default}),
		query(prefix+"skip", "Items to leave out at the beginning.",
			object{"type": "integer", "minimum": 0, "maximum": maxSkip, "default": 0}),
		sort, where,
	}
}

// whereOf is the key of the schema of a where.
type whereOf struct{ list any }

// where describes the filters of a list.
func (s schemas) where(of listing.Description) object {
	return s.named(whereOf{of.Key}, of.Object+"Where", func() object {
		id := condition(listing.Property{Type: "string"})
		properties := object{"_id": id, "object": id}
		for _, p := range of.Properties {
			if p.Filter && p.Type != "any" && p.List == nil {
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
func condition(p listing.Property) object {
	value := typeSchemas[p.Type]
	if p.Type == "integer" {
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
	if p.Type == "string" && !strings.Contains(p.Path, "[]") {
		operators["$prefix"] = typeSchemas["string"]
	}
	return object{"anyOf": []object{value, {"type": "object", "additionalProperties": false, "minProperties": 1, "properties": operators}}}
}
