// Package token issues and verifies the bearer tokens of a multi-tenant platform.
// They are JSON Web Tokens, signed with RS256 by an app of the platform. A token is
// for one account and limited by scope chains. The package knows no HTTP server, no
// accounts and no roles: package auth/bearer connects them.
//
// A Minter signs Claims. A Verifier checks a token and returns a Verified. Both look
// things up in Keys, Signers and a Ledger. MemoryKeys and NewMemoryLedger implement
// these for one process. Cached and Cache spare a Verifier look-ups and RSA. JWKSet
// and PEM write the public keys for other readers. Transport presents a token as a
// client.
//
// # Choosing
//
// An ephemeral token has no id and needs no ledger. It lasts 15 minutes by default
// and 24 hours at most, because it cannot be revoked by itself. Replacing the app's key
// invalidates it earlier, and so does what package auth/bearer checks: a disabled account,
// app or org, and Account.TokensFrom.
//
// The key of an app is changed by Rotate of its store, which lets the former key verify
// for a stated time, or by Generate, which invalidates all tokens at once. Generate is
// right after a leak.
//
// A permanent token has an id, lasts until it is revoked, and costs one call of the
// ledger for each request. A limited-use token also counts its uses.
//
// Permanent and limited-use tokens may be recorded with their Lineage. A token that
// another token created is rejected once that one is invalid.
//
// # What is accepted
//
// The Verifier accepts a narrow form of section 5.4 of the interface and RFC 7519:
//
//   - The algorithm is RS256 and no other.
//   - The header has exactly alg, kid and, optionally, typ.
//   - The token has at most 8 KiB, in canonical base64url.
//   - The JSON has no duplicate names at any level.
//   - aud is one string, and times are whole seconds.
//
// exp is exact; iat and nbf may be a minute ahead. The app that iss names must own
// the key, and must belong to the expected org. Nothing in a token makes the Verifier
// ask anything but Keys and the ledger.
//
// The form of a token is checked before anything is looked up. The signature is
// verified before any claim is read. Everything else must pass before anything is
// recorded. Claims that section 2.3 of the interface does not list are kept and never
// interpreted.
//
// # What is not checked
//
// The Verifier does not check that org, app and account exist and are enabled: that is
// for Expect.Admit. It does not apply the scope: each route asks Verified.Scope. The
// Minter does not check who may mint what: its caller decides that before.
//
// # Compatibility
//
// Structs may get more fields, so composite literals should name theirs. Keys,
// Signers, Exposed, Spender, Ledger and Source never get more methods. The errors
// that errors.Is matches do not change; their texts may change.
package token
