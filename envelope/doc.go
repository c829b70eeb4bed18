// Package envelope holds the JSON shapes of the service interface: lists,
// single results and faults, how to write them and how to read them back.
//
// A list is {"object":"list","data":[…],"hasMore":false} and a refusal is
// {"object":"fault",…}, whatever the HTTP status says, so that a client looks
// at the body's object first. Decode does that, with a bound.
//
// Select narrows an object to the properties a caller asked for and may read.
//
// What a fault's codes are, and which headers go with them, is left to the
// server that writes it; this package knows only the shape.
package envelope
