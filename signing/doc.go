// Package signing signs HTTP requests and verifies them: both halves of section 5.3 of
// the interface. The caller decides which org a client key belongs to, and what its
// holder may do. There are two versions of signatures.
//
// In version 1, a request carries the client key, a timestamp in Unix milliseconds, a
// nonce of 16 letters and digits, and the signature:
//
//	hex(HMAC-SHA256(clientKey + secret, command + ";" + METHOD + ";" + timestamp))
//
// The command is the escaped path of the resource, without the mount of the service
// and without the query.
//
// Version 2 is a strict profile of HTTP Message Signatures (RFC 9421) with
// Content-Digest (RFC 9530). It covers the method, the host, the whole path, the query,
// the body, the account header, the time and the nonce. It is made with the same
// secrets, or with Ed25519 keys. Stock libraries of other languages make it and check
// it.
//
// # Choosing
//
// A client that uses net/http sets a [Transport] on its http.Client. Any other client
// calls [Sign] and sends the headers itself.
//
// Choose version 2 where you write the clients anew: set Transport.Version to 2, and
// Verifier.BaseURL. A server that has only such clients sets Policy.Version to 2, so
// that nobody can sign less.
//
// A server without tenants wraps its handler in [Verifier.Handler]. A server with
// tenants, or with several ways to authenticate, calls [Verifier.Verify] with the
// command that it routed by. It checks the state of the credential in Verifier.Admit.
// [Command] returns the command of a request.
//
// Every verifier needs a store of accepted requests: [Replays]. All instances of a
// service must share one store. Otherwise each instance accepts a captured request
// once. A service of one process uses [NewMemory]. A service of several processes
// uses a store that they share, as package sqlstore and redisstore have.
//
// # What is not checked
//
// The MAC of version 1 covers the path, the method and the timestamp, and nothing else.
// An attacker may alter a request on its way, or capture one that never arrived. Within
// the window, the attacker can then change:
//
//   - The query. Nothing that matters for security may depend on the query alone.
//   - The body. A signature proves who asked, not what was sent.
//   - The nonce. The store therefore records the signature too. It accepts a
//     signature again only for GET and HEAD, up to eight times within two seconds.
//     Policy.SingleUse ends that; Policy.UnsafeMethodSiblings extends it to the other
//     methods.
//   - The account header. A request with this header is never accepted twice. But an
//     attacker who holds a request may send it under another account of the same
//     credential.
//   - The host, and the org and the version in front of the resource path. Admit must
//     compare the credential's org with the org of the URL.
//
// TLS protects these parts. The signature does not replace TLS.
//
// Version 2 covers these parts, and leaves these open:
//
//   - Other headers, such as Content-Type and Content-Encoding. The digest is that of
//     the body as sent.
//   - Trailers, and the reply.
//   - Who else reads the request.
//
// # Clocks
//
// By default, a timestamp may be up to five minutes old and up to one minute ahead of
// the server's clock. Version 2 counts whole seconds. Every reply carries the server's
// time. [Clock] learns from it, so that a client whose clock is wrong is refused once at
// most. Transports of one host share what they learn.
//
// # Compatibility
//
// Structs may get more fields, so composite literals should name theirs. Interfaces
// do not change. The errors that errors.Is matches do not change. The texts of errors may.
package signing
