// Package oauth lets stock OAuth clients get tokens of a Guard's tenants, and lets gateways check
// and revoke them (section 5.7 of the interface). It has
//
//   - the token endpoint, for client credentials (RFC 6749, section 4.4), and for permanent and
//     limited-use tokens of the client, which it renews (section 6): see bearer.Mechanism.Renew;
//   - introspection (RFC 7662), which spends no use of a token;
//   - revocation (RFC 7009);
//   - the metadata of the tenant as an authorization server (RFC 8414) and as a resource
//     (RFC 9728).
//
// The clients are the apps: the client id is the client key, and the credential that signs
// requests also authenticates the client. It must have an account of its own. A token is one that
// the app could mint for itself. It can do no more than the credential.
//
// The Guard's observer learns by auth.Identify which client has asked, and by auth.Claimed which one
// a wrong credential names.
//
// # What is not here
//
// This is no identity provider. There is no consent page, no authorization code
// and no registration. A token that renews itself is access token and refresh token in one: no client
// gets it here, but from a route of the application. The iss of a token is the client key, so tokens are not those of RFC 9068.
//
// # What is not checked
//
// Failed authentications are not counted. A generated secret has 320 bits, and each try costs the
// server what a request with a wrong signature costs. A count would let strangers lock out a
// client. If a server has shorter secrets by signing.UnsafeKey, it must limit tries by address.
//
// Server.Permit can limit how often a client gets a token.
package oauth
