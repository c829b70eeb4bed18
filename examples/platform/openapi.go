package main

import (
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

// describeProperty describes the route of one property. A list property has the
// arguments of a list.
func (s schema) describeProperty() openapi.Route {
	route := openapi.Route{Summary: "Read one property of a " + s.object, Object: s, Reply: envelope.Result[any]{}}
	for _, p := range s.Schema().Properties {
		if p.List != nil {
			route.Description = "A list property is a list with the arguments of its items. Any other property is a result."
			route.List, route.Reply = p.List, openapi.AnyOf{openapi.ListOf(p.List), route.Reply}
		}
	}
	return route
}

func ownList[T any](summary, object string) openapi.Route {
	return openapi.Route{Summary: summary, List: &paging.Schema{Object: object}, Reply: envelope.List[T]{}}
}

// jwk is a key in the document that bearer.Certs serves.
type jwk struct {
	KeyType   string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
}

type jwkItem struct {
	envelope.Item
	jwk
}

type jwkSet struct {
	Object  string    `json:"object"`
	Data    []jwkItem `json:"data"`
	HasMore bool      `json:"hasMore"`
	Keys    []jwk     `json:"keys"`
}
