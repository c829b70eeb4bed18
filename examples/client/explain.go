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
		e := explain(reason, need.String())
		if q.json {
			err = c.printJSONOf(e, true)
		} else {
			_, err = fmt.Fprint(c.out, verdictWord(e.Allowed), "\n", e.text())
		}
		return deniedUnless(e.Allowed, err)
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

func explain(r scope.Reason, need string) explanation {
	e := explanation{Allowed: r.Allowed, Need: need, Chain: r.Chain.String(), Why: "The chain covers the whole need."}
	switch {
	case r.Allowed:
	case e.Chain == "":
		e.Why = "No chain could match anything."
	default:
		e.Segment, e.Why = r.Segment+1, whyNot(e.Chain, need, r.Segment)
	}
	return e
}

// text is the explanation for people. It marks the segment that the need does not satisfy.
func (e explanation) text() string {
	switch {
	case e.Allowed:
		return fmt.Sprintf("This chain covers %s:\n    %s\n", e.Need, e.Chain)
	case e.Chain == "":
		return e.Why + "\n"
	}
	granted := strings.Split(e.Chain, ".")
	at := e.Segment - 1
	offset := len(strings.Join(append(granted[:at:at], ""), "."))
	return fmt.Sprintf("The nearest chain fails at segment %d:\n%s%s\n", e.Segment, marked(e.Chain, offset, len(granted[at])), e.Why)
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
