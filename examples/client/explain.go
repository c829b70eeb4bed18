package main

import (
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/scope"
)

// scopeExplain prints which chain decides about a need, and why.
func (c cli) scopeExplain(args []string) error {
	var grants chains
	flags := c.flagSet("scope explain")
	flags.Var(&grants, "grant", "a `chain` that is granted; may be repeated")
	if err := c.parseFlags(flags, args); err != nil {
		return err
	}
	reason, need, err := c.decide(flags, grants)
	if err != nil {
		return err
	}
	decision := c.decision(reason)
	if _, err := fmt.Fprint(c.out, explained(reason, need)); err != nil {
		return err
	}
	return decision
}

func explained(r scope.Reason, n scope.Need) string {
	chain := r.Chain.String()
	switch {
	case r.Allowed:
		return fmt.Sprintf("This chain covers %s:\n    %s\n", n, chain)
	case chain == "":
		return "There is no chain that could match anything.\n"
	}
	return "The nearest chain fails here:\n" + failing(chain, n.String(), r.Segment)
}

// failing marks the segment of a chain that the need does not satisfy. It then says
// how the two differ there.
func failing(chain, need string, at int) string {
	granted, asked := strings.Split(chain, "."), strings.Split(need, ".")
	offset := len(strings.Join(append(granted[:at:at], ""), "."))
	return marked(chain, offset, len(granted[at])) + whyNot(granted[at], asked, at)
}

func whyNot(granted string, asked []string, at int) string {
	switch {
	case at >= len(asked):
		return fmt.Sprintf("The need, %s, ends before: it asks for more than this part.\n", strings.Join(asked, "."))
	case asked[at] == "*":
		return fmt.Sprintf("The need asks for all there are, and not for %q alone.\n", granted)
	case strings.HasPrefix(granted, asked[at]+"#"):
		return fmt.Sprintf("The need asks for %q of any type, and not for %q alone.\n", asked[at], granted)
	}
	return fmt.Sprintf("The need has %q there, and not %q.\n", asked[at], granted)
}
