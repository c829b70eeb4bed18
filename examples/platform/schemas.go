package main

import (
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
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
	Type       kind   `json:"type"`
	Filterable bool   `json:"filterable"`
	Sortable   bool   `json:"sortable"`
	List       string `json:"list,omitempty"` // type of the items
}

// listSchemas answers with the schemas, without what is hidden.
func listSchemas(r *http.Request) (envelope.List[schemaReply], error) {
	q, err := parseQuery(r.URL.RawQuery, new(schema))
	if err != nil {
		return envelope.List[schemaReply]{}, err
	}
	var replies []schemaReply
	for _, s := range schemas {
		replies = append(replies, s.reply())
	}
	return page(replies, q), nil
}

func (s *schema) reply() schemaReply {
	reply := schemaReply{Item: envelope.Item{ID: s.Object, Object: "schema"}, Plural: s.Plural}
	for _, p := range s.Properties {
		if !p.Hidden {
			reply.Properties = append(reply.Properties, p.reply())
		}
	}
	return reply
}

func (p property) reply() propertyReply {
	reply := propertyReply{
		Name:       p.Path[strings.LastIndexByte(p.Path, '.')+1:],
		Path:       p.Path,
		Type:       p.Type,
		Filterable: p.Filter,
		Sortable:   p.Sort,
	}
	if p.List != nil {
		reply.List = p.List.Object
	}
	return reply
}
