// Package bearer lets a Guard authenticate bearer tokens (section 5.4 of the
// interface): the work of package token, with orgs, accounts and roles around
// it.
//
//   - Mechanism authenticates requests.
//   - Certs serves the public keys of an org's apps, for others who verify.
//   - Mint decides whether a caller may mint a token, and signs it. Its errors are
//     ready for auth.Fail. Within only decides.
//   - Made tells of a token that a ledger lists whether its makers are still there.
//
// Keys and the ledger of tokens that have an id are left to the application:
// package token has them in memory, sqlstore in a database, redisstore the ledger.
//
// # What is not checked
//
// Who is an administrator is the application's to say. A scope only limits:
// whether the account may reach an object at all is decided by the handlers.
//
// # Compatibility
//
// From v0.1 on, fields are only added to structs, so that composite literals name
// theirs; which errors wrap which is part of the API, and their texts are not.
package bearer
