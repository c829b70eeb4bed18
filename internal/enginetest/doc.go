// Package enginetest tests against running databases: PostgreSQL and Redis, which it starts itself,
// and SQLite. It is its own module, so that no other module depends on their drivers.
package enginetest
