// Package explain says in words why a scope allows a need or denies it.
package explain

import (
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/scope"
)

// Decision is a decision as JSON. Segments are counted from 1, as in the faults of a server.
type Decision struct {
	Allowed bool   `json:"allowed"`
	Need    string `json:"need"`              // in canonical form, like the chain
	Chain   string `json:"chain,omitempty"`   // that allows, or is the nearest
	Segment int    `json:"segment,omitempty"` // at which the nearest chain fails
	Why     string `json:"why"`
}

// Of returns the decision of a set about a need.
func Of(r scope.Reason, need scope.Need) Decision {
	d := Decision{Allowed: r.Allowed, Need: need.String(), Chain: r.Chain, Why: "The chain covers the whole need."}
	switch {
	case r.Allowed:
	case d.Chain == "":
		d.Why = "No chain could match anything."
	default:
		d.Segment, d.Why = r.Segment+1, whyNot(d.Chain, d.Need, r.Segment)
	}
	return d
}

// whyNot says how a need differs from the nearest chain, at the first segment that fails.
func whyNot(chain, need string, at int) string {
	granted, asked := strings.Split(chain, ".")[at], strings.Split(need, ".")
	switch {
	case at >= len(asked):
		return fmt.Sprintf("The need ends before %q: it asks for more than this part.", granted)
	case asked[at] == "*":
		return fmt.Sprintf("The need asks for all there are, and not for %q alone.", granted)
	case strings.HasPrefix(granted, asked[at]+"#"):
		return fmt.Sprintf("The need asks for %q of any type, and not for %q alone.", asked[at], granted)
	}
	return fmt.Sprintf("The chain has %q where the need has %q.", granted, asked[at])
}
