package partners

import "github.com/tenantkit/tenantkit/token"

// Verifier is for a partner's own service, which gets tokens that apps of one org have issued. It
// knows only the URL of that org, like https://api.example.com/acme/v2. It refuses tokens with a jti:
// only the server knows whether they were revoked, so ask its introspection endpoint about them.
func Verifier(url string) (*token.Verifier, token.Expect) {
	keys := &token.PublishedKeys{URL: url + "/auth/certs/pem"}
	return &token.Verifier{Keys: keys, Cache: new(token.Cache)}, token.Expect{Audience: url}
}
