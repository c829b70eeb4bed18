package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/scope"
)

// scopeExplain prints which chain decides about a need, and why.
func (c cli) scopeExplain() *cobra.Command {
	q := newScopeQuestion("scope explain")
	return c.command(q.flags, 1, func(_ context.Context, args []string) error {
		reason, need, err := q.decide(args)
		if err != nil {
			return err
		}
		if q.json {
			return c.explainJSON(reason, need)
		}
		decision := c.decision(reason)
		if _, err := fmt.Fprint(c.out, explained(reason, need)); err != nil {
			return err
		}
		return decision
	})
}

// explanation is a decision as JSON. Segments are counted from 1, as in the faults of a
// server.
type explanation struct {
	Allowed bool   `json:"allowed"`
	Need    string `json:"need"`
	Chain   string `json:"chain,omitempty"`   // that allows, or is the nearest
	Segment int    `json:"segment,omitempty"` // at which the nearest chain fails
	Why     string `json:"why"`
}

func (c cli) explainJSON(r scope.Reason, n scope.Need) error {
	e := explanation{Allowed: r.Allowed, Need: n.String(), Chain: r.Chain.String(), Why: "The chain covers the whole need."}
	switch {
	case r.Allowed:
	case e.Chain == "":
		e.Why = "No chain could match anything."
	default:
		e.Segment, e.Why = r.Segment+1, whyNot(e.Chain, e.Need, r.Segment)
	}
	if err := c.printJSONOf(e, true); err != nil || r.Allowed {
		return err
	}
	return errDenied
}

func explained(r scope.Reason, n scope.Need) string {
	chain := r.Chain.String()
	switch {
	case r.Allowed:
		return fmt.Sprintf("This chain covers %s:\n    %s\n", n, chain)
	case chain == "":
		return "No chain could match anything.\n"
	}
	return fmt.Sprintf("The nearest chain fails at segment %d:\n", r.Segment+1) + failing(chain, n.String(), r.Segment)
}

// failing marks the segment of a chain that the need does not satisfy. It then says
// how the two differ there.
func failing(chain, need string, at int) string {
	granted := strings.Split(chain, ".")
	offset := len(strings.Join(append(granted[:at:at], ""), "."))
	return marked(chain, offset, len(granted[at])) + whyNot(chain, need, at) + "\n"
}

// whyNot says how a need differs from the nearest chain at the first segment that fails,
// in the words of the reference server.
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
