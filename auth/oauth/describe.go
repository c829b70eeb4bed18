package oauth

import (
	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/openapi"
)

// Describe returns what a Document says of the routes of Register. Copy it into Document.Routes.
func Describe() map[string]openapi.Route {
	route := func(summary string, request, reply any) openapi.Route {
		return openapi.Route{
			Summary: summary,
			Description: "The client authenticates by `client_secret_basic`, with client key and client secret, each encoded like a parameter of a form, " +
				"by `client_secret_post`, with `client_id` and `client_secret`, or by `private_key_jwt`, with `client_assertion`. The metadata of " +
				"RFC 8414 has those that the server accepts.",
			RequestType: "application/x-www-form-urlencoded",
			Request:     request,
			Reply:       reply,
			Refusal:     refusalBody{},
			Credentials: []auth.Scheme{{Mechanism: "client_secret_basic", Authorization: "basic",
				Description: "Client key and client secret (RFC 6749, section 2.3.1)."}},
		}
	}
	return map[string]openapi.Route{
		"POST " + tokenPath:      route("Get a token by client credentials", tokenRequest{}, grant{}),
		"POST " + introspectPath: route("Ask whether a token is active", aboutToken{}, introspection{}),
		"POST " + revokePath:     route("Revoke a token of the asking client", aboutToken{}, struct{}{}),
	}
}

// client is how a client authenticates in the form, by a secret (RFC 6749, section 2.3.1) or by a
// signed assertion (RFC 7523, section 2.2).
type client struct {
	ClientID  string        `json:"client_id,omitempty"`
	Secret    string        `json:"client_secret,omitempty"`
	Type      assertionKind `json:"client_assertion_type,omitempty"`
	Assertion string        `json:"client_assertion,omitempty"`
}

type assertionKind string

func (assertionKind) Values() []string { return []string{assertionType} }

type grantType string

func (grantType) Values() []string { return []string{"client_credentials"} }

type tokenRequest struct {
	GrantType grantType `json:"grant_type"`
	Scope     string    `json:"scope,omitempty"`
	Resource  string    `json:"resource,omitempty"`
	client
}

type aboutToken struct {
	Token string `json:"token"`
	Hint  string `json:"token_type_hint,omitempty"`
	client
}

// refusalBody is RFC 6749, section 5.2.
type refusalBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitempty"`
}
