package openapi

import (
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/internal/listing"
)

// item describes the items of a list: section 2.1 of the interface. Only _id and object are
// required, because others are sent on demand. Hidden properties are left out.
func (s schemas) item(of listing.Description) object {
	return s.named(of.Key, of.Object, func() object { return s.properties(of, false) })
}

// wholeItem is item for an object that is sent alone: section 2.2 of the interface. A property that
// may not be null is required, too.
type wholeItem struct{ list any }

func (s schemas) wholeItem(of listing.Description) object {
	return s.named(wholeItem{of.Key}, of.Object+"Whole", func() object { return s.properties(of, true) })
}

func (s schemas) properties(of listing.Description, whole bool) object {
	var tree node
	for _, p := range of.Properties {
		n := tree.at(p.Path)
		n.own = s.property(p)
		n.required = whole && p.List == nil && !p.Null && !strings.Contains(p.Path, ".")
	}
	id, name := object{"type": "string"}, object{"type": "string"}
	setText(name, "const", of.Object)
	if of.ExampleID != "" {
		id["examples"] = []string{of.ExampleID}
	}
	*tree.at("_id"), *tree.at("object") = node{own: id, required: true}, node{own: name, required: true}
	return tree.schema()
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

// formSchema describes the body that a form reads. A form refuses all other members.
func formSchema(f body.Form) object {
	tree := node{closed: true}
	for _, field := range f {
		switch {
		case field.Path == "":
			return field.Kind.Schema
		case field.Kind.Read == nil || field.Kind.Schema != nil: // else the Kind has none
			n := tree.at(field.Path)
			n.own, n.null, n.required = field.Kind.Schema, field.Null, field.Required
		}
	}
	return tree.schema()
}

// node is a property with properties below it.
type node struct {
	own    object // nil, if only properties below it are declared
	below  map[string]*node
	array  bool
	closed bool // there are no others below it, nor below these

	required, null bool
}

// at returns the node of a path. A segment may end in [] for an array, and in #type.
func (n *node) at(path string) *node {
	for segment := range strings.SplitSeq(path, ".") {
		name, _, _ := strings.Cut(segment, "#")
		name, array := strings.CutSuffix(name, "[]")
		if n.below == nil {
			n.below = make(map[string]*node)
		}
		if n.below[name] == nil {
			n.below[name] = &node{closed: n.closed}
		}
		n = n.below[name]
		n.array = n.array || array
	}
	return n
}

func (n *node) schema() object {
	schema := n.own
	if n.below != nil || schema == nil {
		properties, required := object{}, []string{}
		for name, child := range n.below {
			properties[name] = child.schema()
			if child.required {
				required = append(required, name)
			}
		}
		slices.Sort(required)
		schema = membersOf(properties, required)
		if n.closed {
			schema["additionalProperties"] = false
		}
	}
	if n.array {
		schema = object{"type": "array", "items": schema}
	}
	if n.null {
		return nullable(schema)
	}
	return schema
}
