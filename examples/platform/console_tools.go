package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"rsc.io/qr"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/examples/internal/explain"
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

type scopeReply struct {
	explain.Decision
	Part     bool           `json:"part"`             // whether any part of the need is permitted: then lists and writes are limited to that part
	Source   string         `json:"source,omitempty"` // of the chain: "grant 2"
	Warnings []scopeWarning `json:"warnings"`
}

// scopeWarning is about a grant that parses but grants nothing.
type scopeWarning struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

func decideScope(_ *http.Request, values map[string]any) (scopeReply, error) {
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
	return replyOn(set, need, warnings), nil
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

func replyOn(set scope.Set, need scope.Need, warnings []scopeWarning) scopeReply {
	reason := set.Explain(need)
	return scopeReply{explain.Of(reason, need), set.Overlaps(need), reason.Source, warnings}
}

// The QR codes of the console, which bring the secret of a new second factor to a
// phone. They are made on the server, so that the page needs no library. The route is
// public: it draws the caller's own text, uses no secret of the server and reads no
// store. The text is a secret, so it is neither kept nor logged.

const (
	maxDrawing = 4 << 10 // bytes of a body; JSON may write a byte of the text as six
	maxOTPAuth = 512     // bytes of the text

	otpauthTOTP = "otpauth://totp/"
)

var drawingForm = body.Form{{Path: "text", Kind: checked(notOTPAuth), Required: true}}

type drawingReply struct {
	PNG []byte `json:"png"` // in base64
}

func drawOTPAuth(_ *http.Request, values map[string]any) (drawingReply, error) {
	text, _ := values["text"].(string)
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return drawingReply{}, err
	}
	return drawingReply{code.PNG()}, nil
}

// notOTPAuth refuses all but the URI of a time-based second factor: a public route that
// draws any text would serve those who put links into codes.
func notOTPAuth(uri string) string {
	escaped := !strings.ContainsFunc(uri, func(c rune) bool { return c <= ' ' || c > '~' })
	return cmp.Or(
		unless(len(uri) <= maxOTPAuth, fmt.Sprintf("must have at most %d bytes", maxOTPAuth)),
		unless(escaped && strings.HasPrefix(uri, otpauthTOTP), "must be a URI that begins with "+otpauthTOTP),
	)
}
