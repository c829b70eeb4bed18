package oauth

import (
	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/openapi"
)

// Describe returns what a Document says of the routes of Register. Copy it into Document.Routes. It
// panics if the Guard lacks one of the two mechanisms.
func (s *Server) Describe(g *auth.Guard) map[string]openapi.Route {
	found := mustFind(g)
	const signs = "The client authenticates by `private_key_jwt`, with `client_assertion`"
	route := func(summary string, open, signed, reply any) openapi.Route {
		r := openapi.Route{
			Summary:     summary,
			Description: signs + ".",
			RequestType: "application/x-www-form-urlencoded",
			Request:     signed,
			Reply:       reply,
			Refusal:     refusalBody{},
		}
		if found.takesSecrets() {
			r.Request = open
			r.Description = signs + ", by `client_secret_basic`, with client key and client secret, each encoded like a parameter of a form, " +
				"or by `client_secret_post`, with `client_id` and `client_secret`."
			r.Credentials = []openapi.Scheme{{Name: "client_secret_basic", Authorization: "basic",
				Description: "Client key and client secret (RFC 6749, section 2.3.1)."}}
		}
		r.Description += " See the metadata of RFC 8414."
		return r
	}
	return map[string]openapi.Route{
		"POST " + tokenPath:      route("Get a token by client credentials, or by one to be renewed", tokenRequest{}, signedTokenRequest{}, grant{}),
		"POST " + introspectPath: route("Ask whether a token is active", aboutToken{}, signedAboutToken{}, introspection{}),
		"POST " + revokePath:     route("Revoke a token of the asking client", aboutToken{}, signedAboutToken{}, struct{}{}),
	}
}

// signed is how a client with a public key authenticates (RFC 7523, section 2.2).
type signed struct {
	Type      assertionKind `json:"client_assertion_type,omitempty"`
	Assertion string        `json:"client_assertion,omitempty"`
	ClientID  string        `json:"client_id,omitempty"`
}

type assertionKind string

func (assertionKind) Values() []string { return []string{assertionType} }

type grantType string

func (grantType) Values() []string { return []string{grantCredentials, grantRefresh} }

// secret is how a client with a secret may authenticate: client_secret_post.
type secret struct {
	Secret string `json:"client_secret,omitempty"`
}

type tokenRequest struct {
	signedTokenRequest
	secret
}

// signedTokenRequest is that to a server which takes no secrets.
type signedTokenRequest struct {
	GrantType grantType `json:"grant_type"`
	Scope     string    `json:"scope,omitempty"`
	Resource  string    `json:"resource,omitempty"`
	Refresh   string    `json:"refresh_token,omitempty"`
	signed
}

type aboutToken struct {
	signedAboutToken
	secret
}

type signedAboutToken struct {
	Token string `json:"token"`
	Hint  string `json:"token_type_hint,omitempty"`
	signed
}

// refusalBody is RFC 6749, section 5.2.
type refusalBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitempty"`
}
