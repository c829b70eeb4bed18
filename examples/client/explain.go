package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/examples/internal/explain"
)

// scopeExplain prints which chain decides about a need, and why.
func (c cli) scopeExplain() *cobra.Command {
	q := newScopeQuestion("scope explain")
	return c.command(q.flags, 1, func(_ context.Context, args []string) error {
		reason, need, err := q.decide(args)
		if err != nil {
			return err
		}
		e := explain.Of(reason, need)
		if q.json {
			err = c.printJSONOf(e, true)
		} else {
			_, err = fmt.Fprint(c.out, verdictWord(e.Allowed), "\n", textOf(e))
		}
		return deniedUnless(e.Allowed, err)
	})
}

// textOf returns a decision for people. It marks the segment that the need does not satisfy.
func textOf(e explain.Decision) string {
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
