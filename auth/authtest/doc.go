// Package authtest helps to test handlers and servers behind an auth.Guard.
//
//   - A handler alone needs nothing of this package: auth.With puts a principal into a context.
//   - A server with its needs, without credentials: As is a mechanism that admits every request
//     as one principal.
//   - A server with its real mechanisms: Clients makes clients that sign, send a token, or are
//     signed in. TOTP is the second factor of a person, and a Clock sets the time.
//   - The whole table of routes: CheckRoutes finds a route that is open by accident.
//   - A mechanism of your own: CheckMechanism checks what auth.Mechanism promises.
package authtest
