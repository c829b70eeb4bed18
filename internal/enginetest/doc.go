// Package enginetest tests against databases that run: PostgreSQL and Redis,
// which it starts itself, and SQLite. It is a module of its own, so that their drivers
// are nobody else's dependency.
package enginetest
