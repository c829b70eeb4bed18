package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

// invalid collects everything that is wrong with a body, so that a client can
// mend it all at once.
type invalid struct {
	detail string // auth.DetailBody or auth.DetailOption
	faults []*auth.Error
}

// maxFaults bounds what a body full of nonsense is answered with.
const maxFaults = 32

// add notes what is wrong with one property.
func (e *invalid) add(path, reason string) {
	if len(e.faults) < maxFaults {
		e.faults = append(e.faults, &auth.Error{Detail: e.detail, Path: path, Reason: reason})
	}
}

// orNil is the error to return: nil if nothing is wrong.
func (e *invalid) orNil() error {
	if len(e.faults) == 0 {
		return nil
	}
	return &auth.Error{Detail: e.detail, Faults: e.faults}
}

// inFields gives what is in excess, or wrong, the names of the fields that asked for
// it, so that a client finds them in its request. What has no other name keeps its
// own.
func inFields(err error, fields map[string]string) error {
	if beyond, ok := errors.AsType[*auth.BeyondError](err); ok {
		named := new(auth.BeyondError)
		for _, e := range beyond.Excess {
			named.Excess = append(named.Excess, auth.Excess{Option: cmp.Or(fields[e.Option], e.Option), Value: e.Value})
		}
		return named
	}
	if e, ok := err.(*auth.Error); ok { // and none that a store's failure wraps
		return pathsIn(e, fields)
	}
	return err
}

// pathsIn is inFields of a fault and its children. A path may go on below a field, as
// scope[2] does.
func pathsIn(e *auth.Error, fields map[string]string) *auth.Error {
	named := *e
	if end := strings.IndexAny(e.Path+".", ".["); fields[e.Path[:end]] != "" {
		named.Path = fields[e.Path[:end]] + e.Path[end:]
	}
	named.Faults = nil
	for _, child := range e.Faults {
		named.Faults = append(named.Faults, pathsIn(child, fields))
	}
	return &named
}
