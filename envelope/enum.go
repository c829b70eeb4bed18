package envelope

// Enum is a type of texts with few values. Values returns them, whatever the receiver. Read
// refuses other texts, and documents of auth/openapi name them.
//
//	type state string
//
//	func (state) Values() []string { return []string{"open", "closed"} }
type Enum interface{ Values() []string }
