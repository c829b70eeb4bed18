package main

import (
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

// schemaReply is a schema as GET /schemas shows it.
type schemaReply struct {
	envelope.Item
	Plural     string          `json:"plural"`
	Properties []propertyReply `json:"properties"`
}

type propertyReply struct {
	Name       string `json:"name"`
	Path       string `json:"fqpp"`
	Type       string `json:"type"`
	Filterable bool   `json:"filterable"`
	Sortable   bool   `json:"sortable"`
	List       string `json:"list,omitempty"` // type of the items
}

// listSchemas answers with the schemas, without hidden properties.
func listSchemas(r *http.Request) (envelope.List[schemaReply], error) {
	return ownPage(r, "schema", each(schemas, schema.reply))
}

func (s schema) reply() schemaReply {
	reply := schemaReply{Item: envelope.Item{ID: s.object, Object: "schema"}, Plural: s.plural}
	for _, p := range s.Schema().Properties {
		if p.Type != paging.Any || p.List != nil { // an object is shown by its properties
			reply.Properties = append(reply.Properties, newPropertyReply(p))
		}
	}
	return reply
}

func newPropertyReply(p paging.Property) propertyReply {
	reply := propertyReply{
		Name:       p.Path[strings.LastIndexByte(p.Path, '.')+1:],
		Path:       p.Path,
		Type:       p.Type.String(),
		Filterable: p.Filter,
		Sortable:   p.Sort,
	}
	if p.List != nil {
		reply.Type, reply.List = "list", p.List.Object
	}
	return reply
}
