package scope

import "fmt"

// SyntaxError says where and why a chain does not parse.
type SyntaxError struct {
	Index    int    // of the chain in the list given; 0 for a single one
	Segment  int    // counted from 0
	Offset   int    // of the segment in the chain, in bytes
	Got      string // the segment, cut after 64 bytes; empty when the chain ends too early
	Expected string // what could have stood there
	Hint     string // what was probably meant, or which control character stands there; often empty
}

// Reason says what is wrong in the chain, its segments counted from 1: the part of
// Error that whoever wrote the chain needs, and may be shown.
func (e *SyntaxError) Reason() string {
	reason := fmt.Sprintf("segment %d: got %q, expected %s", e.Segment+1, e.Got, e.Expected)
	if e.Hint != "" {
		reason += "; " + e.Hint
	}
	return reason
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("scope: chain %d, %s", e.Index, e.Reason())
}
