// Package apikey lets a Guard authenticate API keys: opaque secrets that a platform hands to its
// partners. A key has a prefix that people and secret scanners recognize, a public id, and a
// checksum. The server keeps only a hash.
//
//   - Format says what the keys of a deployment look like, also for secret scanners.
//   - Mechanism authenticates requests, from Authorization: Bearer, beside tokens and other issuers.
//   - Keys makes keys, replaces, restricts and revokes them. Make itself asks Principal.MayMake.
//   - Store keeps the records. Memory, sqlstore and redisstore have one.
//
// # Choosing
//
// A key is for a partner who wants one line of setup. Whoever intercepts it has it, so a signature
// (package signature) is safer, because its secret is never sent. A token (package bearer) needs no
// look-up of its scope, and can be minted by the partner.
//
// # What is not checked
//
// The application says who is an administrator, and who may list, restrict or revoke which key. A
// scope only limits: handlers decide whether the account may access an object at all. A key in the
// query is ignored.
//
// # Compatibility
//
// From v0.1 on, structs only gain fields, so write their literals with field names. Which errors
// wrap which is part of the API. Their texts are not.
package apikey
