// Package authtest helps to test handlers and servers behind an auth.Guard.
//
//   - A handler alone: Request puts a principal into the request's context.
//   - A server with its needs, without credentials: As is a mechanism that admits every request
//     as one principal.
//   - A server with its real mechanisms: Client signs its requests, and a Clock sets the time.
//   - The whole table of routes: CheckRoutes finds a route that is open by accident.
package authtest
