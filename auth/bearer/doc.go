// Package bearer lets a Guard authenticate bearer tokens (section 5.4 of the
// interface): the work of package token, with orgs, accounts and roles around
// it.
//
//   - Mechanism authenticates requests.
//   - Certs serves the public keys of an org's apps, for others who verify.
//   - Within decides who may mint which token; call it before a token.Minter.
//
// # What is not checked
//
// Who is an administrator is the application's to say. A scope only limits:
// whether the account may reach an object at all is decided by the handlers.
package bearer
