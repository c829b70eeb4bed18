// Package signature lets a Guard authenticate signed requests (section 5.3 of
// the interface): the work of package signing, with orgs, accounts and the
// restrictions of credentials around it.
//
// Where credentials are kept is left to the application: it implements
// Credentials, and keeps the secrets encrypted. What has been accepted is
// recorded in a signing.Replays, which all instances of a server share.
//
// # What is not checked
//
// The signature covers the path, the method and the timestamp. The query, the
// body, the org, the version and the account header can be changed by whoever
// holds a request that has not arrived yet, so that transport must be TLS, and
// nothing that matters for security may hang on the query alone.
package signature
