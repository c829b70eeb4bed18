package openapi

import (
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// item describes the items of a list: section 2.1 of the interface. Only _id and object are
// required, because others are sent on demand. Hidden properties are left out.
func (s schemas) item(of *paging.Schema) object {
	return s.named(of, of.Object, func() object {
		tree := node{}
		for _, p := range visible(of) {
			tree.add(strings.Split(p.Path, "."), s.property(p))
		}
		name := object{"type": "string"}
		setText(name, "const", of.Object)
		schema := tree.schema()
		properties := schema["properties"].(object)
		properties["_id"], properties["object"] = object{"type": "string"}, name
		schema["required"] = []string{"_id", "object"}
		return schema
	})
}

func (s schemas) property(p paging.Property) object {
	if p.List != nil {
		return listSchema(s.item(p.List), false)
	}
	if p.Null {
		return nullable(typeSchemas[p.Type])
	}
	return typeSchemas[p.Type]
}

var typeSchemas = map[paging.Type]object{
	paging.Any:     {},
	paging.String:  {"type": "string"},
	paging.Integer: {"type": "integer", "format": "int64"},
	paging.Number:  {"type": "number", "format": "double"},
	paging.Boolean: {"type": "boolean"},
	paging.Date:    {"type": "string", "format": "date-time"},
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
