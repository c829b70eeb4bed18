// Package tenantkit authenticates and authorizes the requests of a multi-tenant
// platform, in independent packages. Import only those that you need.
//
//   - envelope: the JSON shapes of replies: lists, results, faults.
//   - scope: the language of scope chains and its decisions.
//   - signing: request signatures (HMAC, RFC 9421), both ends, and the record of replays.
//   - token: bearer tokens: minting, verifying, spending and revoking them.
//   - paging: the arguments of list calls. Below it are pages from slices and from SQL
//     tables, a check of these tables, and the client that walks a list.
//   - auth: the Guard of an HTTP server.
//   - auth/signature, auth/bearer, auth/apikey and auth/session: the ways to prove who calls.
//   - auth/oauth: tokens for stock OAuth clients, and introspection for gateways.
//   - auth/openapi: the description of a server's routes.
//   - auth/sqlstore and auth/redisstore: the stores that instances share.
//   - auth/authtest and auth/storetest: tests for your server and for your stores.
//
// The packages envelope, scope, signing and paging compile nothing but the standard
// library, and each can be used alone.
//
// "Section 5.3 of the interface" in a comment is that section of INTERFACE.md, at the
// root of the repository. It describes what goes over the wire.
package tenantkit
