// Package signature lets a Guard authenticate signed requests (section 5.3 of
// the interface): the work of package signing, with orgs, accounts and the
// restrictions of credentials around it.
//
// Where credentials are kept is left to the application: in Memory, in package
// sqlstore, or in a Credentials of its own, which seals the secrets. What has
// been accepted is recorded in a signing.Replays, which all instances of a server
// share.
//
// # Choosing
//
// Memory holds credentials that are fixed. Package sqlstore has Credentials in a
// database, with sealed secrets; it and redisstore have the Replays that several
// processes share. signing.NewMemory is for one process.
//
// A route that gives or changes credentials asks Within first.
//
// # What is not checked
//
// The signature covers the path, the method and the timestamp. The query, the
// body, the org, the version and the account header can be changed by whoever
// holds a request that has not arrived yet, so that transport must be TLS, and
// nothing that matters for security may hang on the query alone.
//
// # Compatibility
//
// From v0.1 on, fields are only added to structs, so that composite literals name
// theirs; which errors wrap which is part of the API, and their texts are not.
package signature
