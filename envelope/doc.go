// Package envelope holds the JSON shapes of the service interface: lists, single
// results and faults. It writes them and reads them back, and it reads the bodies of
// requests. The application decides the codes of its own faults, and the headers of responses.
//
// A list is {"object":"list","data":[…],"hasMore":false}. A refusal is
// {"object":"fault",…}, whatever the HTTP status. So a client looks at the object of
// the body first.
//
// # Choosing
//
// A server reads the body of a request into a struct with Read, or with a Form if it
// has no struct for it. It writes a List, a Result or an object of its own with Write,
// and a Fault with Encode. A client reads any of them with Decode, which limits what
// it reads and returns a fault as the error. Select reduces an object, or the items of
// a list, to the properties that a caller asks for and may read.
//
// # What is not checked
//
// Decode ignores members that the struct does not name. Of two members with one name
// the last counts, as in encoding/json. That is enough for the replies of a trusted
// server, but not for requests: Read refuses both.
//
// # Compatibility
//
// Structs may gain fields: write their literals with field names. Which error is
// wrapped does not change. The texts of errors, and that of Fault.Error, may change.
package envelope
