// Package issuer lets a Guard accept bearer tokens of others: of identity providers, clusters and older
// services. Mechanism authenticates requests, and its Issuers say whose tokens which org accepts, and
// whom they stand for. Tokens of the server's own apps are those of package bearer.
//
// A token never becomes more than its Identity. A principal of this mechanism mints tokens of at most 15
// minutes, because nobody here learns when its issuer revokes it.
//
// # Compatibility
//
// From v0.1 on, structs only gain fields, so write their literals with field names. Which errors
// wrap which is part of the API. Their texts are not.
package issuer
