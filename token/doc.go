// Package token issues and verifies the bearer tokens of a multi-tenant
// platform: JSON Web Tokens signed with RS256 by one of its apps, limited by
// scope chains, for one account. It knows no HTTP server, no accounts and no
// roles: package auth/bearer joins them.
//
// A Minter signs Claims. A Verifier checks a token and returns a Verified. Keys,
// Signers and a Ledger are where both look things up; MemoryKeys and
// MemoryLedger are those of one process. Cached and Cache save a Verifier
// look-ups and RSA. JWKSet and PEM write the public keys for other readers, and
// Transport presents a token as a client.
//
// # Choosing
//
// An ephemeral token has no id and needs no ledger. It lasts 15 minutes unless
// said otherwise and 24 hours at most, since nothing but replacing the app's
// key invalidates it earlier. A permanent token has an id, lasts until it is
// revoked, and costs one call of the ledger for each request. A limited-use
// token is one that also counts its uses. Both may be recorded with their
// Lineage: a token that another one made is refused once that one is.
//
// # What is accepted
//
// Section 5.4 of the interface and RFC 7519, narrowly: RS256 and no other
// algorithm; a header of exactly alg, kid and, optionally, typ; at most 8 KiB;
// canonical base64url; JSON without duplicate names at any level; aud as one
// string; times as whole seconds. exp is exact; iat and nbf may be a minute
// ahead. The app that iss names must own the key, and belong to the org that is
// expected. Nothing in a token makes the Verifier ask anybody but Keys and the
// ledger.
//
// Nothing is looked up for a token before its form has been checked, nothing in
// its claims is read before its signature has been verified, and nothing is
// recorded before everything else has passed. Claims that are not those of
// section 2.3 of the interface are kept and never interpreted.
//
// # What is not checked
//
// Whether org, app and account exist and are enabled is for Verifier.Admit.
// What the scope permits is asked of Verified.Scope, route by route. Who may
// mint what is decided before the Minter is called.
//
// # Compatibility
//
// Structs may gain fields: write them with field names. Keys, Signers, Exposed,
// Spender, Ledger and Source never gain methods. Which errors match stays; their
// texts may change.
package token
