// Package openapi describes the routes of an auth.Mux in a document of OpenAPI 3.1, from which
// other tools make clients and reference pages. It describes only what the Mux has. It serves no
// pages itself, and it does not compare requests or replies with the document.
//
// A Document without Routes is already correct: each route with its path parameters, the
// credentials that it accepts, the scope chain that it needs, and its faults. Document.Routes
// adds what a Mux cannot know: the arguments of lists, and the types of bodies.
//
// # What the document says
//
//   - Each mechanism of the Guard is a security scheme, or several that are needed together. A
//     mechanism of your own must be a Describer.
//   - An operation's security names the mechanisms that its need accepts. x-need has the scope
//     chain, with placeholders for path parameters, and how fresh the credential must be. Scope
//     chains are no OAuth scopes: a client cannot ask an authorization server for them.
//   - Each fault of the table in package auth is an example of the response of its status. A
//     handler may answer other codes of its own, so errCode is no enum.
//
// # Types
//
// Bodies are described by Go types as encoding/json writes them, by a body.Form, or by a List,
// such as a *paging.Schema. Recursive types are references. A reply's field is required unless its tag has
// omitempty or omitzero. A pointer, slice or map may be null unless it has one of them, because
// encoding/json writes nil as null. A request's field is required and null as in body.Read. A
// type with a MarshalJSON of its own may be anything, except for time.Time and the types of
// package envelope. An envelope.Enum and Property.Values have their values. json.Number and
// paging.Number are numbers without a format, because of "double" generators make a type that
// rounds money.
//
// The properties of a Route.Object that may not be null are required, unless the need is of Some. A
// request with paths[] gets those that it names alone.
//
// Package auth/oauth has the description of its routes: oauth.Server.Describe.
//
// # What is not checked
//
// The document is public wherever its route is. It holds no secret and no hidden property of a
// paging.Schema. It does hold every route, and every field of the types that it is given.
// Restrict its route if strangers must not know them.
package openapi
