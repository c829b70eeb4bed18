package bearer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// MintFault gives an error of a token.Minter its place in the table of faults,
// for auth.Fail: what is wrong with the claims or the scope, chain by chain, no
// key pair, too many tokens. Any other error is a store's, and wraps
// auth.ErrUnavailable. Nil stays nil.
func MintFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, token.ErrScope):
		return scopeFault(err)
	case errors.Is(err, token.ErrClaims):
		reason := strings.TrimPrefix(err.Error(), token.ErrClaims.Error()+": ")
		return &auth.Error{Detail: auth.DetailOption, Reason: reason, Err: err}
	case errors.Is(err, token.ErrNoKeyPair):
		return &auth.Error{Detail: auth.DetailNoKeyPair, Err: err}
	case errors.Is(err, token.ErrTooMany):
		return &auth.Error{Detail: auth.DetailTooManyTokens, Err: err}
	}
	return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
}

// scopeFault says of each chain what is wrong with it.
func scopeFault(err error) error {
	e := &auth.Error{Detail: auth.DetailInvalidScope, Err: err}
	for i, problem := range syntaxErrors(err) {
		if i == maxExcess {
			break
		}
		reason := fmt.Sprintf("segment %d: got %q, expected %s", problem.Segment+1, problem.Got, problem.Expected)
		if problem.Hint != "" {
			reason += "; " + problem.Hint
		}
		e.Faults = append(e.Faults, &auth.Error{
			Detail: auth.DetailInvalidScope,
			Path:   fmt.Sprintf("scope[%d]", problem.Index),
			Reason: reason,
		})
	}
	return e
}

// syntaxErrors returns all that are joined in an error.
func syntaxErrors(err error) (found []*scope.SyntaxError) {
	switch e := err.(type) {
	case *scope.SyntaxError:
		return []*scope.SyntaxError{e}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			found = append(found, syntaxErrors(part)...)
		}
	case interface{ Unwrap() error }:
		return syntaxErrors(e.Unwrap())
	}
	return found
}
