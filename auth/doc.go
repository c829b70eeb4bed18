// Package auth is the access layer of a multi-tenant HTTP server. It decides who is calling,
// for which org, and whether the caller may use this route.
//
// A Guard takes requests to /{org}/{version}/… and lets one Mechanism authenticate them:
// signatures (auth/signature), bearer tokens (auth/bearer), API keys (auth/apikey), sessions
// (auth/session), or a mechanism of the application. Each route states its Need. The handler finds the Principal
// in its context. The application decides which objects an account may read or change.
//
// # Choosing
//
// Guard.Mux is an http.ServeMux whose routes cannot lack a Need. With another router, put
// Guard.Mount outside it and Guard.Require on each route. authtest.CheckRoutes then finds a
// route without Require. Guard.Check decides without writing a reply, for handlers that
// need only the decision.
//
// Some routes make a thing that can act later, such as a secret or an account. Such a route
// must call Principal.MayMake first, so that nobody grants more than they have.
//
// Public routes need nothing. Optional routes use a credential if there is one.
// Authenticated routes admit any principal. Allow and Some check the principal's scope.
// Principal.MayWrite decides which properties a body may write.
//
// # What is refused, and how
//
// The Guard answers every refusal with a fault: one JSON body whose codes are in one table
// (the Detail constants). Handlers answer errors with Fail and results with Reply. The
// cause of a refusal stays on the server, and Guard.Observe receives it.
//
// Refusals have an order: path, method, version, org, route, credential, need. A refused
// credential has recorded nothing. An accepted credential is spent, whether or not it meets
// the need.
//
// # Events
//
// Guard.Observe receives an Event for each decision, and one for each verb: what was done, by whom, by which
// credential, and from where. Verbs lists the vocabulary. The packages of this library emit theirs. An application
// calls Emit for its own tables, for a store that it asks by itself, and after the commit of its own transaction.
//
// # What is not checked
//
// A scope only limits: handlers decide about access to objects, and get Access as the
// credential has it. The Guard does not read the query or the body. It does not catch
// panics. It does not limit bodies, request rates or the time of handlers.
//
// # Compatibility
//
// Structs only gain fields, so write their literals with keys. Interfaces that others
// implement (Directory, Mechanism) gain no methods. The sentinel errors, the Detail
// constants and the fault of each constant are part of the API. The texts of errors are
// not.
package auth
