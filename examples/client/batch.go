package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/scope"
)

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
		if err := answers.Encode(verdictOn(lines.Bytes())); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line of more than %d bytes", maxLine)
	}
	return errors.Join(lines.Err(), ctx.Err())
}

func verdictOn(line []byte) verdict {
	allowed, err := decideLine(line)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	return verdict{Allowed: &allowed}
}

// question is the form of an input line. Its chains mean the same as on the wire:
// "" is everything, and an empty or missing list grants nothing.
var question = body.Form{
	{Path: "grants", Kind: body.Strings},
	{Path: "need", Kind: body.String, Required: true},
}

func decideLine(line []byte) (bool, error) {
	values, _, err := question.Parse(string(line))
	if err != nil {
		return false, lineError(err)
	}
	grants, _ := values["grants"].([]string)
	set, err := compile(grants)
	if err != nil {
		return false, chainError("grants", err)
	}
	need, err := scope.ParseNeed(values["need"].(string))
	if err != nil {
		return false, chainError("need", err)
	}
	return set.Allows(need), nil
}

// chainError names the field and the first chain that does not parse, as the paths in the
// faults of a server do.
func chainError(field string, err error) error {
	problems := syntaxErrors(err)
	if len(problems) == 0 {
		return fmt.Errorf("%s: %w", field, err)
	}
	first := slices.MinFunc(problems, func(a, b *scope.SyntaxError) int { return a.Index - b.Index })
	if field == "grants" {
		field = fmt.Sprintf("grants[%d]", first.Index)
	}
	return fmt.Errorf("%s: %s", field, first.Reason())
}

// lineError returns the reason of the first fault in a line. It leaves out what
// body says about the body of a request.
func lineError(err error) error {
	refused, ok := errors.AsType[*auth.Error](err)
	if !ok {
		return err
	}
	if len(refused.Faults) == 0 {
		return errors.New(refused.Reason)
	}
	return fmt.Errorf("%s: %s", refused.Faults[0].Path, refused.Faults[0].Reason)
}
