// Package idempotency executes a request once, however often its client repeats it: a repetition with
// the same Idempotency-Key gets the first response again. Client and server may both lose a response,
// and neither can know whether the request was executed.
//
//	entries, err := store.Idempotency() // of sqlstore
//	keys := idempotency.New(entries, idempotency.Options{})
//	mux.Handle("POST /payments", need, keys.Wrap(pay))
//	mux.Handle("POST /keys", need, keys.Required(createKey, idempotency.Reference))
//
// Wrap comes below Guard.Require, because only the Guard knows who calls. Each repetition is
// authenticated and authorized like any other request, and takes a use of a limited token.
//
//   - Keys wraps handlers. Commit and NoEffect are for the handlers.
//   - Store keeps the entries. NewMemory, sqlstore and redisstore have one.
//
// # Whose response it is
//
// An entry belongs to an org, a caller, an app, a route (Request.Pattern) and a key. Nobody else finds it. Its
// response is sent only for the same method, path, query, content type and body, and only to the same
// authority: account, scope, roles and access. It is sealed, and opens only in its own row.
//
// # How often the handler runs
//
// Each request gets a lease and a fence before its handler runs. A repetition during the lease gets 409
// with Retry-After. After the lease, the process that has it counts as dead, and a repetition runs the
// handler again. Its context therefore ends with the lease, and not when the client goes away.
//
//   - With Commit, the handler's rows and the response are one transaction. The effect happens exactly
//     once, after a crash too: a process that comes back after its lease cannot commit. A handler with no
//     other effect calls NoEffect first, so that no error before Commit is kept.
//   - Without Commit, the effect happens once while processes and store live. If the process ends between
//     the effect and the end of the request, or the store does not take the response, a repetition after
//     the lease repeats the effect: at least once, with one response.
//
// # What is kept
//
// The status, the body and the headers Content-Type, Content-Encoding, Location and ETag: errors of the
// handler too, also those of status 500, unless it called NoEffect. A panic, a response that is flushed or
// longer than Options.MaxReply, and a success of a route with Reference are kept as a reference: a
// repetition gets 409 with the Location, and never the body.
//
// # What is not checked
//
// GET and HEAD ignore the header, and so does a request without a principal, who has no entries. Required
// refuses such a request. No signature covers the header: who can change requests on their way can drop or
// replace it. Responses with a secret need Reference: nothing here recognizes a secret. What a handler
// itself checks, such as an access rule of an object, is not checked again for a repetition. Scopes that are
// too large for scope.Set.Chains equal no other. A wrapped handler cannot hijack its connection.
//
// # Compatibility
//
// From v0.1 on, structs only gain fields, so write their literals with field names. Texts of errors may
// change.
package idempotency
