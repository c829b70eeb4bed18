// Package signature lets a Guard authenticate signed requests (section 5.3 of the interface). It
// adds orgs, accounts and the restrictions of credentials to package signing.
//
// The application chooses where credentials are stored: in Memory, in package sqlstore, or in its
// own implementation of Credentials, which must seal the secrets. Accepted requests are recorded
// in a signing.Replays. All instances of a server must share it.
//
// # Choosing
//
// Memory holds a fixed set of credentials. Package sqlstore stores Credentials in a database,
// with sealed secrets. Both sqlstore and redisstore have a Replays that several processes share.
// signing.NewMemory is for one process.
//
// A route that creates or changes credentials must call Within first.
//
// # What is not checked
//
// A signature of version 1 covers the path, the method and the timestamp. It does not cover the
// query, the body, the org, the version and the account header. Whoever intercepts a request before
// it arrives can change those. So transport must be TLS, and security must not depend on the query
// alone. Version 2 covers all of these. Credential.MinVersion and Mechanism.Policy.Version refuse
// version 1.
//
// Version 2 covers the host too. It must be that of the Guard's BaseURL, or the Authority of
// Guard.Resolve.
//
// # Compatibility
//
// From v0.1 on, structs only gain fields, so write their literals with field names. Which errors
// wrap which is part of the API. Their texts are not.
package signature
