package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/scope"
)

// errDenied gives a command whose answer is no the exit status 1.
var errDenied = errors.New("denied")

// scope decides about chains without a server.
func (c cli) scope(ctx context.Context, args []string) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "check":
		return c.scopeCheck(ctx, args[1:])
	case "explain":
		return c.scopeExplain(args[1:])
	case "-h", "-help", "--help":
		if err := c.scopeCheck(ctx, args[:1]); !errors.Is(err, flag.ErrHelp) {
			return err
		}
		fmt.Fprintln(c.out)
		return c.scopeExplain(args[:1])
	}
	return usageError("scope check or scope explain; client -help says what they do")
}

func (c cli) scopeCheck(ctx context.Context, args []string) error {
	var grants chains
	flags := c.flagSet("scope check")
	flags.Var(&grants, "grant", "a `chain` that is granted; may be repeated")
	batch := flags.Bool("batch", false, `answer each line {"grants":["…"],"need":"…"} of standard input with a line`)
	if err := c.parseFlags(flags, args); err != nil {
		return err
	}
	if *batch {
		if len(grants) > 0 || flags.NArg() > 0 {
			return usageError("-batch takes chains and needs from standard input only")
		}
		return c.scopeBatch(ctx)
	}
	reason, _, err := c.decide(flags, grants)
	if err != nil {
		return err
	}
	return c.decision(reason)
}

// decide decides about the need of a parsed command line.
func (c cli) decide(flags *flag.FlagSet, grants chains) (r scope.Reason, n scope.Need, err error) {
	if err := checkArguments(flags, 1); err != nil {
		return r, n, err
	}
	set, err := compile(grants)
	if err != nil {
		return r, n, unparsed("-grant", grants, err)
	}
	n, err = scope.ParseNeed(flags.Arg(0))
	if err != nil {
		return r, n, unparsed("the need", flags.Args(), err)
	}
	return set.Explain(n), n, nil
}

func (c cli) decision(r scope.Reason) error {
	if !r.Allowed {
		fmt.Fprintln(c.out, "denied")
		return errDenied
	}
	_, err := fmt.Fprintln(c.out, "allowed")
	return err
}

// chains is a flag that may be repeated.
type chains []string

func (c *chains) String() string { return strings.Join(*c, " ") }

func (c *chains) Set(chain string) error {
	if chain == "" {
		// Probably a shell variable that is not set, and not the empty chain of the
		// wire.
		return errors.New("no chain; everything is *")
	}
	*c = append(*c, chain)
	return nil
}

// compile makes a set of chains. An unknown chain is an error.
func compile(grants []string) (scope.Set, error) {
	set, err := scope.Compile("-grant", grants...)
	for chain := range set.Unknown() {
		_, unknown := scope.Parse(chain)
		if e, ok := errors.AsType[*scope.SyntaxError](unknown); ok {
			e.Index = slices.Index(grants, chain)
		}
		err = errors.Join(err, unknown)
	}
	return set, err
}

// unparsed returns a usage error that shows where chains do not parse.
func unparsed(what string, chains []string, err error) error {
	var text strings.Builder
	problems := syntaxErrors(err)
	slices.SortFunc(problems, func(a, b *scope.SyntaxError) int { return a.Index - b.Index })
	for _, problem := range problems {
		fmt.Fprintf(&text, "%s: %v\n", what, problem)
		if i := problem.Index; i < len(chains) {
			text.WriteString(marked(chains[i], problem.Offset, len(problem.Got)))
		}
	}
	return usageError(strings.TrimSuffix(text.String(), "\n"))
}

// syntaxErrors returns the single errors that Compile has joined.
func syntaxErrors(err error) (all []*scope.SyntaxError) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			all = append(all, syntaxErrors(err)...)
		}
	} else if e, ok := errors.AsType[*scope.SyntaxError](err); ok {
		all = append(all, e)
	}
	return all
}

// marked returns a chain, and below it a line that marks a part of it with one ^ or
// more. It returns "" for a chain with characters that a terminal may not show.
func marked(chain string, offset, length int) string {
	if strings.ContainsFunc(chain, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	marks := strings.Repeat("^", max(length, 1))
	return fmt.Sprintf("    %s\n    %s%s\n", chain, strings.Repeat(" ", offset), marks)
}
