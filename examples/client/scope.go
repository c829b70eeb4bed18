package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/scope"
)

// errDenied gives a command whose answer is no the exit status 1.
var errDenied = errors.New("denied")

func (c cli) scopeCheck() *cobra.Command {
	q := newScopeQuestion("scope check")
	batch := q.flags.Bool("batch", false, `answer each line {"grants":["…"],"need":"…"} of standard input with a line`)
	return c.command(q.flags, -1, func(ctx context.Context, args []string) error {
		switch {
		case *batch && (len(q.grants) > 0 || len(args) > 0):
			return usageError("--batch takes chains and needs from standard input only")
		case *batch:
			return c.scopeBatch(ctx)
		case len(args) != 1:
			return usageError("one need is needed, or --batch; client scope check --help has examples")
		}
		reason, _, err := q.decide(args)
		if err != nil {
			return err
		}
		if q.json { // a line of --batch
			err = c.printJSONOf(verdict{Allowed: &reason.Allowed}, true)
		} else {
			_, err = fmt.Fprintln(c.out, verdictWord(reason.Allowed))
		}
		return deniedUnless(reason.Allowed, err)
	})
}

func verdictWord(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

// deniedUnless returns the error of a command that has printed a decision.
func deniedUnless(allowed bool, err error) error {
	if err != nil || allowed {
		return err
	}
	return errDenied
}

// scopeQuestion is a command line that asks about chains.
type scopeQuestion struct {
	flags  *pflag.FlagSet
	grants []string
	json   bool
}

func newScopeQuestion(name string) *scopeQuestion {
	q := &scopeQuestion{flags: flagSet(name)}
	q.flags.StringArrayVar(&q.grants, "grant", nil, "a `chain` that is granted; may be repeated")
	q.flags.BoolVar(&q.json, "json", false, "print the decision as JSON")
	return q
}

// decide decides about the need of a parsed command line.
func (q *scopeQuestion) decide(args []string) (r scope.Reason, n scope.Need, err error) {
	if slices.Contains(q.grants, "") {
		// Probably a shell variable that is not set, and not the empty chain of the wire.
		return r, n, usageError("--grant: no chain; everything is *")
	}
	set, err := compile(q.grants)
	if err != nil {
		return r, n, unparsed("grant", q.grants, err)
	}
	n, err = scope.ParseNeed(args[0])
	if err != nil {
		return r, n, unparsed("the need", args, err)
	}
	return set.Explain(n), n, nil
}

// compile makes a set of chains. An unknown chain is an error.
func compile(grants []string) (scope.Set, error) {
	set, err := scope.Compile("--grant", grants...)
	for chain := range set.Unknown() {
		unknown := scope.Vet(chain)
		if e, ok := errors.AsType[*scope.SyntaxError](unknown); ok {
			e.Index = slices.Index(grants, chain)
		}
		err = errors.Join(err, unknown)
	}
	return set, err
}

// unparsed returns a usage error that shows where chains do not parse. Like a server, it
// counts grants and segments from 1.
func unparsed(what string, chains []string, err error) error {
	var text strings.Builder
	problems := syntaxErrors(err)
	slices.SortFunc(problems, func(a, b *scope.SyntaxError) int { return a.Index - b.Index })
	for _, problem := range problems {
		text.WriteString(what)
		if what == "grant" {
			fmt.Fprintf(&text, " %d", problem.Index+1)
		}
		fmt.Fprintf(&text, ": %s\n", problem.Reason())
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
// more. Offset and length are in bytes; the marks stand below letters. It returns "" for a
// chain of which a terminal may show a letter at another width, or not at all.
func marked(chain string, offset, length int) string {
	if chain == "" || strings.ContainsFunc(chain, func(r rune) bool { return !isNarrow(r) }) {
		return ""
	}
	offset = min(offset, len(chain))
	before := utf8.RuneCountInString(chain[:offset])
	marks := strings.Repeat("^", max(utf8.RuneCountInString(chain[offset:min(offset+length, len(chain))]), 1))
	return fmt.Sprintf("    %s\n    %s%s\n", chain, strings.Repeat(" ", before), marks)
}

// isNarrow reports whether a terminal shows a character in one cell: those of ASCII, and
// the letters of three scripts that are like Latin. A Cyrillic letter in a chain looks like
// a Latin one, so that only the mark shows it.
func isNarrow(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r <= '~'
	}
	return r < 0x2000 && unicode.IsLetter(r) && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}
