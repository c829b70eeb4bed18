// Package body reads the JSON bodies of requests, and makes handlers of functions that take and
// return values. It is strict: no unknown member, no name twice, no second encoding.
//
// # Choosing
//
// Handle makes the handler of a route from a function of a struct. It is enough for most routes.
// None does the same for a route without a JSON body. A handler that needs another limit, or must
// tell null from absent, reads into a struct with Read. A server that learns the members while it
// runs uses a Form.
//
// # Errors
//
// Each error is an *auth.Error for auth.Fail, with one of these details:
//
//   - auth.DetailUnsupportedMediaType, if the body is not JSON in UTF-8;
//   - auth.DetailTooLarge;
//   - auth.DetailBody, with a child for each thing that is wrong, or with a Reason if the body as
//     a whole is wrong.
package body
