package scope

import (
	"fmt"
	"strings"
)

// SyntaxError says where and why a chain does not parse.
type SyntaxError struct {
	Index    int    // of the chain in the list given; 0 for a single one
	Segment  int    // counted from 0
	Offset   int    // of the segment in the chain, in bytes
	Got      string // the segment, cut after 64 bytes; empty when the chain ends too early
	Expected string // what could have stood there
	Hint     string // what was probably meant, or which control character stands there; often empty
}

func (e *SyntaxError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "scope: chain %d, segment %d at byte %d: got %q, expected %s", e.Index, e.Segment, e.Offset, e.Got, e.Expected)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}
