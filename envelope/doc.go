// Package envelope holds the JSON shapes of the service interface: lists,
// single results and faults, how to write them and how to read them back. It also
// reads the bodies of requests. What the codes of other faults are, and which
// headers go with them, is left to the server that writes them.
//
// A list is {"object":"list","data":[…],"hasMore":false} and a refusal is
// {"object":"fault",…}, whatever the HTTP status says, so that a client looks
// at the body's object first.
//
// # Choosing
//
// A server reads the body of a request into a struct with Read, or by a Form where
// it has no struct for it. It writes a List, a Result or an object of its own with
// Write, and a Fault with Encode. A client reads any of them with Decode, which bounds what
// it reads and returns a fault as the error. Select narrows an object, or the
// items of a list, to the properties a caller asked for and may read.
//
// # What is not checked
//
// In what Decode reads, fields that a struct does not name are ignored, and of two
// members of one name the last counts, as encoding/json has it. That is enough for
// the replies of a server one trusts, and not for requests: Read refuses both.
//
// # Compatibility
//
// Structs may gain fields: write them with field names. Which error is wrapped
// stays; its text, and that of Fault.Error, may change.
package envelope
