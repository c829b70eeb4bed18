// Package tenantkit is the front door of a multi-tenant platform, in
// independent packages: import the one that is needed.
//
//   - envelope: the JSON shapes of replies: lists, results, faults.
//   - scope: the language of scope chains and its decisions.
//   - signing: HMAC request signatures, both ends, and the record of replays.
//   - token: bearer tokens: minting, verifying, spending and revoking them.
//   - auth: the Guard of an HTTP server, with one package below it for each
//     way to prove who is calling: auth/signature and auth/bearer.
//
// The packages envelope, scope and signing compile nothing but the standard
// library, and each can be used alone.
package tenantkit
