// Package tenantkit is the front door of a multi-tenant platform, in
// independent packages: import the one that is needed.
//
//   - envelope: the JSON shapes of replies: lists, results, faults.
//   - scope: the language of scope chains and its decisions.
//   - signing: HMAC request signatures, both ends, and the record of replays.
//   - token: bearer tokens: minting, verifying, spending and revoking them.
//   - paging: the arguments of list calls, pages, and the client that walks them.
//   - auth: the Guard of an HTTP server, with one package below it for each
//     way to prove who is calling: auth/signature, auth/bearer and auth/session;
//     auth/sqlstore and auth/redisstore keep what instances share.
//
// The packages envelope, scope, signing and paging compile nothing but the standard
// library, and each can be used alone.
//
// Where a comment says "section 5.3 of the interface", it means the description
// of what goes over the wire, INTERFACE.md at the root of the repository.
package tenantkit
