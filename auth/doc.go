// Package auth is the front door of a multi-tenant HTTP server: who is calling,
// for which org, and whether this route may be called that way.
//
// A Guard takes requests to /{org}/{version}/… and lets one Mechanism
// authenticate them: signed requests (auth/signature), and whatever else an
// application implements. Each route says what it needs; the handler finds the
// Principal in its context.
//
// # Choosing
//
// Guard.Mux is an http.ServeMux whose routes cannot lack a Need. With another
// router, put Guard.Mount outside it and Guard.Require on each route, and let
// authtest.CheckRoutes find the route that was forgotten. Guard.Check decides
// without writing, for handlers that only want to know.
//
// Public routes need nothing, Optional ones take a credential if there is one,
// Authenticated ones admit any principal, and Allow and Some ask its scope.
//
// # What is refused, and how
//
// Everything the Guard refuses is a fault: one JSON body, whose codes stand in
// one table (the Detail constants). Handlers answer with the same by Fail. The
// cause of a refusal stays on the server, with Guard.Observe.
//
// Refusals have an order: path, method, version, org, route, credential, need.
// A credential that is refused has recorded nothing; one that is admitted is
// spent, whatever the need decides.
//
// # What is not checked
//
// A scope only limits. Whether an account may see or alter an object at all is
// the application's to decide, in its handlers. So are the query and the body.
// The Guard does not catch panics and does not bound bodies.
package auth
