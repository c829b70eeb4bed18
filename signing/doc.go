// Package signing signs HTTP requests with HMAC-SHA256 and verifies them: both
// halves of section 5.3 of the interface. Which org a client key belongs to, and
// what its holder may do, is left to the caller.
//
// A signed request carries the client key, a timestamp in Unix milliseconds, a
// nonce of 16 letters and digits, and the signature:
//
//	hex(HMAC-SHA256(clientKey + secret, command + ";" + METHOD + ";" + timestamp))
//
// where the command is the escaped path of the resource, without the mount of
// the service and without the query.
//
// # Choosing
//
// A client that uses net/http sets a [Transport] on its http.Client; any other
// client calls [Sign] and sends the headers itself.
//
// A server without tenants wraps its handler in [Verifier.Handler]. One with
// tenants, or with several ways to authenticate, calls [Verifier.Verify] with
// the command it has routed by, and judges the state of the credential in
// Verifier.Admit. [Command] cuts the command out of a request.
//
// Every verifier needs a record of what was accepted: [Replays]. All instances
// of a service must share one, or a captured request is good once for each. A
// service of one process uses [NewMemory]; one of several puts [SetOnce] over a
// store that they share.
//
// # What is not checked
//
// The protocol puts the path, the method and the timestamp under the MAC, and
// nothing else. Whoever can alter a request on its way, or has captured one
// that never arrived, can therefore change, within the window:
//
//   - the query: no route may let anything that matters for security hang on
//     the query alone;
//   - the body: a signature proves who asked, not what was sent;
//   - the nonce: this is why the signature is recorded beside it, and accepted
//     again for GET and HEAD only, up to eight times within two seconds
//     (Policy.SingleUse ends that, Policy.UnsafeMethodSiblings extends it);
//   - the account header: a request that carries one is never accepted twice,
//     but who holds a request may send it under another account of the same
//     credential;
//   - the host, the org and the version in front of the resource path:
//     Admit must compare the credential's org with that of the URL.
//
// TLS is what protects these; the signature does not replace it.
//
// # Clocks
//
// A request is accepted from five minutes after it was signed to one minute
// before. Every reply carries the server's time; [Clock] learns from it, so that
// a client whose clock is wrong is refused once at most. Transports of one client
// key and host share what they learn.
//
// # Compatibility
//
// Structs may get more fields, so composite literals should name theirs; the
// interfaces stay as they are. Which error is returned, as errors.Is sees it,
// is kept, and so is the format of SetOnce's keys and values. The texts of
// errors may change.
package signing
