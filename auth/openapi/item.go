package openapi

import (
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/internal/listing"
)

// item describes the items of a list: section 2.1 of the interface. Only _id and object are
// required, because others are sent on demand. Hidden properties are left out.
func (s schemas) item(of listing.Description) object {
	return s.named(of.Key, of.Object, func() object { return s.properties(of, []string{"_id", "object"}) })
}

// wholeItem is item for an object that is sent alone: section 2.2 of the interface. A property that
// may not be null is required, too.
type wholeItem struct{ list any }

func (s schemas) wholeItem(of listing.Description) object {
	return s.named(wholeItem{of.Key}, of.Object+"Whole", func() object {
		required := []string{"_id", "object"}
		for _, p := range of.Properties {
			if name, below, deep := strings.Cut(p.Path, "."); p.List == nil && !p.Null && !deep && below == "" && name != "_id" && name != "object" {
				required = append(required, strings.TrimSuffix(name, "[]"))
			}
		}
		slices.Sort(required)
		return s.properties(of, slices.Compact(required))
	})
}

func (s schemas) properties(of listing.Description, required []string) object {
	tree := node{}
	for _, p := range of.Properties {
		tree.add(strings.Split(p.Path, "."), s.property(p))
	}
	name, id := object{"type": "string"}, object{"type": "string"}
	setText(name, "const", of.Object)
	if of.ExampleID != "" {
		id["examples"] = []string{of.ExampleID}
	}
	schema := tree.schema()
	properties := schema["properties"].(object)
	properties["_id"], properties["object"] = id, name
	schema["required"] = required
	return schema
}

func (s schemas) property(p listing.Property) object {
	if p.List != nil {
		return listSchema(s.item(p.List.Describe()), false)
	}
	schema := typeSchemas[p.Type]
	if p.Values != nil {
		schema = enumSchema(p.Values)
	}
	if p.Null {
		return nullable(schema)
	}
	return schema
}

// decimal is an exact number. Of "double" generators make a type that rounds money; without a
// format most make a decimal, and oapi-codegen what it is told.
var decimal = object{"type": "number", "x-go-type": "json.Number"}

var typeSchemas = map[string]object{
	"any":     {},
	"string":  {"type": "string"},
	"integer": {"type": "integer", "format": "int64"},
	"number":  decimal,
	"boolean": {"type": "boolean"},
	"date":    {"type": "string", "format": "date-time"},
}

// node is a property with properties below it.
type node struct {
	own   object // nil, if only properties below it are declared
	below map[string]*node
	array bool
}

// add adds a property. A segment may end in [] for an array, and in #type.
func (n *node) add(path []string, schema object) {
	if len(path) == 0 {
		n.own = schema
		return
	}
	name, _, _ := strings.Cut(path[0], "#")
	name, array := strings.CutSuffix(name, "[]")
	if n.below == nil {
		n.below = make(map[string]*node)
	}
	if n.below[name] == nil {
		n.below[name] = new(node)
	}
	n.below[name].array = n.below[name].array || array
	n.below[name].add(path[1:], schema)
}

func (n *node) schema() object {
	schema := n.own
	if n.below != nil || schema == nil {
		properties := object{}
		for name, child := range n.below {
			properties[name] = child.schema()
		}
		schema = object{"type": "object", "properties": properties}
	}
	if n.array {
		return object{"type": "array", "items": schema}
	}
	return schema
}
