// Package auth is the front door of a multi-tenant HTTP server: who is calling,
// for which org, and whether this route may be called that way.
//
// A Guard takes requests to /{org}/{version}/… and lets one Mechanism
// authenticate them: signatures (auth/signature), bearer tokens (auth/bearer),
// sessions (auth/session), and whatever else an application implements. Each
// route says what it needs; the handler finds the Principal in its context. Which
// objects an account may see or alter is left to the application.
//
// # Choosing
//
// Guard.Mux is an http.ServeMux whose routes cannot lack a Need. With another
// router, put Guard.Mount outside it and Guard.Require on each route, and let
// authtest.CheckRoutes find the route that was forgotten. Guard.Check decides
// without writing, for handlers that only want to know.
//
// A route that makes something which acts later, a secret or an account say, asks
// Principal.MayMake first: nobody passes on more than they hold.
//
// Public routes need nothing, Optional ones take a credential if there is one,
// Authenticated ones admit any principal, and Allow and Some ask its scope. Which
// properties a body may write Principal.MayWrite decides.
//
// # What is refused, and how
//
// Everything the Guard refuses is a fault: one JSON body, whose codes stand in
// one table (the Detail constants). Handlers answer with the same by Fail, and with
// what they have by Reply. The cause of a refusal stays on the server, with
// Guard.Observe.
//
// Refusals have an order: path, method, version, org, route, credential, need.
// A credential that is refused has recorded nothing; one that is admitted is
// spent, whatever the need decides.
//
// # What is not checked
//
// A scope only limits: access to objects is decided in handlers, and Access is
// handed to them unread. The query and the body are not looked at. The Guard does
// not catch panics, and does not bound bodies, rates or the time of handlers.
//
// # Compatibility
//
// Structs only gain fields, so write their literals with keys. Interfaces that
// others implement (Directory, Mechanism) gain no methods. The sentinels, the
// Detail constants and what each answers are part of the API; the texts of
// errors are not.
package auth
