package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/scope"
)

// The scope tester of the console. It runs on the server and not in the page, so
// that there is one implementation of scopes. It is public: it decides about the
// caller's own chains, uses no secret and reads no store.

const (
	maxQuestion = 16 << 10 // bytes of a body
	maxGrants   = 100
)

var scopeQuestion = body.Form{
	{Path: "grants", Kind: body.Strings}, // as on the wire: "" is everything
	{Path: "need", Kind: body.String},
}

// scopeReply is a decision and its reasons.
type scopeReply struct {
	Allowed  bool           `json:"allowed"`
	Part     bool           `json:"part"`              // whether any part of the need is permitted: then lists and writes are limited to that part
	Need     string         `json:"need"`              // in canonical form, like the chain
	Chain    string         `json:"chain,omitempty"`   // the chain that allows, or comes nearest
	Source   string         `json:"source,omitempty"`  // of the chain: "grant 2"
	Segment  int            `json:"segment,omitempty"` // unless allowed: the first segment that fails, from 1
	Why      string         `json:"why"`
	Warnings []scopeWarning `json:"warnings"`
}

// scopeWarning is about a grant that parses but grants nothing.
type scopeWarning struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

// decideScope answers POST /console/scope.
func decideScope(r *http.Request) (scopeReply, error) {
	values, err := readValues(r, scopeQuestion)
	if err != nil {
		return scopeReply{}, err
	}
	grants, _ := values["grants"].([]string)
	if len(grants) > maxGrants {
		return scopeReply{}, &auth.Error{Detail: auth.DetailBody, Path: "grants", Reason: fmt.Sprintf("at most %d", maxGrants)}
	}
	wrong := invalid{detail: auth.DetailInvalidScope}
	set, warnings := compileGrants(grants, &wrong)
	asked, _ := values["need"].(string)
	need, err := scope.ParseNeed(asked)
	if err != nil {
		wrong.add("need", syntaxReason(err))
	}
	if err := wrong.orNil(); err != nil {
		return scopeReply{}, err
	}
	return explain(set, need, warnings), nil
}

// compileGrants makes one set of grants. Each grant has a source of its own, so
// that an explanation can name the one that decided.
func compileGrants(grants []string, wrong *invalid) (all scope.Set, warnings []scopeWarning) {
	warnings = []scopeWarning{} // never null
	for i, chain := range grants {
		source := fmt.Sprintf("grant %d", i+1)
		set, err := scope.Compile(source, chain)
		if err != nil {
			wrong.add(fmt.Sprintf("grants[%d]", i), syntaxReason(err))
			continue
		}
		if err := scope.Vet(chain); err != nil {
			warnings = append(warnings, scopeWarning{source, syntaxReason(err)})
		}
		all = all.Union(set)
	}
	return all, warnings
}

func syntaxReason(err error) string {
	problem, ok := errors.AsType[*scope.SyntaxError](err)
	if !ok {
		return "does not parse"
	}
	return problem.Reason()
}

func explain(set scope.Set, need scope.Need, warnings []scopeWarning) scopeReply {
	reason := set.Explain(need)
	reply := scopeReply{
		Allowed:  reason.Allowed,
		Part:     set.Overlaps(need),
		Need:     need.String(),
		Chain:    reason.Chain.String(),
		Source:   reason.Source,
		Warnings: warnings,
	}
	switch {
	case reason.Allowed:
		reply.Why = "The chain covers the whole need."
	case reply.Chain == "":
		reply.Why = "No chain could match anything."
	default:
		reply.Segment = reason.Segment + 1
		reply.Why = whyNot(reply.Chain, reply.Need, reason.Segment)
	}
	return reply
}

// whyNot says how a need differs from the nearest chain, at the first segment that
// fails.
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
