// Package authtest helps to test handlers and servers that stand behind an
// auth.Guard.
//
//   - A handler alone: Request carries a principal in its context.
//   - A server with its needs, without credentials: As is a mechanism that
//     takes every request for one principal's.
//   - A server with its real mechanisms: Client signs its requests, and a Clock
//     moves time where the test wants it.
//   - The whole table of routes: CheckRoutes lets no route be open by accident.
package authtest
