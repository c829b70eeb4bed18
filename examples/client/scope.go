package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/examples/internal/explain"
	"github.com/tenantkit/tenantkit/scope"
)

// errDenied gives a command whose answer is no the exit status 1.
var errDenied = errors.New("denied")

func (c cli) scopeCheck() *cobra.Command {
	var grants []string
	var batch bool
	cmd := c.command("scope check", cobra.MaximumNArgs(1), func(ctx context.Context, args []string) error {
		switch {
		case batch && len(args) > 0:
			return usageError("--batch takes chains and needs from standard input only")
		case batch:
			return c.scopeBatch(ctx)
		case len(args) != 1:
			return usageError("one need is needed, or --batch; client scope check --help has examples")
		}
		reason, _, err := decide(grants, args[0])
		if err != nil {
			return err
		}
		return c.decided(reason.Allowed, "")
	})
	cmd.Flags().StringArrayVar(&grants, "grant", nil, grantUsage)
	cmd.Flags().BoolVar(&batch, "batch", false, `write a line for each line {"grants":["…"],"need":"…"} of standard input`)
	cmd.MarkFlagsMutuallyExclusive("batch", "grant")
	return cmd
}

const grantUsage = "a `chain` that is granted; may be repeated"

func (c cli) scopeExplain() *cobra.Command {
	var grants []string
	cmd := c.command("scope explain", cobra.ExactArgs(1), func(_ context.Context, args []string) error {
		reason, need, err := decide(grants, args[0])
		if err != nil {
			return err
		}
		e := explain.Of(reason, need)
		return c.decided(e.Allowed, textOf(e))
	})
	cmd.Flags().StringArrayVar(&grants, "grant", nil, grantUsage)
	return cmd
}

// decided prints a decision, and returns errDenied for a denial.
func (c cli) decided(allowed bool, why string) error {
	_, err := fmt.Fprint(c.out, verdictWord(allowed), "\n", why)
	if err == nil && !allowed {
		err = errDenied
	}
	return err
}

func verdictWord(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

func decide(grants []string, asked string) (r scope.Reason, n scope.Need, err error) {
	if slices.Contains(grants, "") {
		// Probably a shell variable that is not set, and not the empty chain of the wire.
		return r, n, usageError("--grant: no chain; everything is *")
	}
	set, problems := compile(grants)
	if problems != nil {
		return r, n, unparsed("grant", grants, problems)
	}
	n, err = scope.ParseNeed(asked)
	if err != nil {
		return r, n, unparsed("the need", []string{asked}, syntaxErrors(err))
	}
	return set.Explain(n), n, nil
}

// compile returns a set, or the problems of chains, also of those that a server ignores, in their order.
func compile(grants []string) (scope.Set, []*scope.SyntaxError) {
	set, err := scope.Compile("--grant", grants...)
	problems := syntaxErrors(err)
	for chain := range set.Unknown() {
		for _, unknown := range syntaxErrors(scope.Vet(chain)) {
			unknown.Index = slices.Index(grants, chain)
			problems = append(problems, unknown)
		}
	}
	slices.SortFunc(problems, func(a, b *scope.SyntaxError) int { return a.Index - b.Index })
	return set, problems
}

func syntaxErrors(err error) (all []*scope.SyntaxError) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			all = append(all, syntaxErrors(err)...)
		}
	} else if e, ok := errors.AsType[*scope.SyntaxError](err); ok {
		all = append(all, e)
	} else if err != nil { // package scope has no other errors; one must not allow
		all = append(all, &scope.SyntaxError{Expected: err.Error()})
	}
	return all
}

// unparsed returns a usage error that shows where chains do not parse. Like a server, it
// counts grants and segments from 1.
func unparsed(what string, chains []string, problems []*scope.SyntaxError) error {
	var text strings.Builder
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

// marked returns a chain, and below it a line that marks a part of it with one ^ or more. It returns "" for a chain
// with other characters than those of ASCII, which a terminal may show at another width, or not at all.
func marked(chain string, offset, length int) string {
	if chain == "" || strings.ContainsFunc(chain, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	marks := strings.Repeat("^", max(min(length, len(chain)-offset), 1))
	return fmt.Sprintf("    %s\n    %s%s\n", chain, strings.Repeat(" ", offset), marks)
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

// maxLine is the greatest length of an input line, in bytes. A list of 1024 chains
// fits, however it is escaped.
const maxLine = 8 << 20

// verdict is a line of output: a decision, or the error that prevents one.
type verdict struct {
	Allowed *bool  `json:"allowed,omitempty"`
	Error   string `json:"error,omitempty"`
}

// scopeBatch answers each line of the input with one line, in the same order. If a
// line is wrong, its answer is the error, and the batch continues.
func (c cli) scopeBatch(ctx context.Context) error {
	lines := bufio.NewScanner(c.in)
	lines.Buffer(nil, maxLine)
	answers := json.NewEncoder(c.out) // each at once: the caller may wait for it
	answers.SetEscapeHTML(false)
	for lines.Scan() {
		var answer verdict
		if allowed, err := decideLine(lines.Bytes()); err != nil {
			answer.Error = err.Error()
		} else {
			answer.Allowed = &allowed
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line of more than %d bytes", maxLine)
	}
	return errors.Join(lines.Err(), ctx.Err())
}

// question is the form of an input line. Its chains mean the same as on the wire:
// "" is everything, and an empty or missing list grants nothing.
var question = body.Form{
	{Path: "grants", Kind: body.Strings},
	{Path: "need", Kind: body.String, Required: true},
}

// decideLine returns a decision, or the first problem of a line. Like the paths in the faults of
// a server, it counts grants from 0.
func decideLine(line []byte) (bool, error) {
	values, _, err := question.Parse(string(line))
	rejected, ok := errors.AsType[*auth.Error](err)
	switch {
	case ok && len(rejected.Faults) > 0:
		return false, fmt.Errorf("%s: %s", rejected.Faults[0].Path, rejected.Faults[0].Reason)
	case ok:
		return false, errors.New(rejected.Reason) // without what is about the body of a request
	case err != nil:
		return false, err
	}
	grants, _ := values["grants"].([]string)
	set, problems := compile(grants)
	if problems != nil {
		return false, fmt.Errorf("grants[%d]: %s", problems[0].Index, problems[0].Reason())
	}
	need, err := scope.ParseNeed(values["need"].(string))
	if problems := syntaxErrors(err); problems != nil {
		return false, fmt.Errorf("need: %s", problems[0].Reason())
	}
	return set.Allows(need), nil
}
