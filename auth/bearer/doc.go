// Package bearer lets a Guard authenticate bearer tokens (section 5.4 of the interface). It adds
// orgs, accounts and roles to package token.
//
//   - Mechanism authenticates requests. Its Mint decides whether a caller may mint a token, and
//     signs it. Its errors are ready for auth.Fail.
//   - Certs serves the public keys of an org's apps, for others that verify tokens.
//   - CheckMakers checks that the issuers of a token in a ledger still exist.
//
// The application chooses where the keys are stored, and the ledger of tokens that have an id.
// Package token stores both in memory, sqlstore stores both in a database, and redisstore stores
// the ledger.
//
// # What is not checked
//
// The application says who is an administrator. A scope only limits: handlers decide whether the
// account may access an object at all.
//
// # Compatibility
//
// From v0.1 on, structs only gain fields, so write their literals with field names. Which errors
// wrap which is part of the API. Their texts are not.
package bearer
