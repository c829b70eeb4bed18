package main

import (
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

// invalid collects everything that is wrong with a body, so that a client can
// correct it all at once.
type invalid struct {
	detail string // auth.DetailBody or auth.DetailOption
	faults []*auth.Error
}

// maxFaults limits how many faults one reply lists.
const maxFaults = 32

// add adds what is wrong with one property.
func (e *invalid) add(path, reason string) {
	if len(e.faults) < maxFaults {
		e.faults = append(e.faults, &auth.Error{Detail: e.detail, Path: path, Reason: reason})
	}
}

// orNil returns the collected faults as one error, or nil if there are none.
func (e *invalid) orNil() error {
	if len(e.faults) == 0 {
		return nil
	}
	return &auth.Error{Detail: e.detail, Faults: e.faults}
}

// wrongBody returns the error for a body in which one property is wrong.
func wrongBody(path, reason string) error {
	wrong := invalid{detail: auth.DetailBody}
	wrong.add(path, reason)
	return wrong.orNil()
}

// inFields replaces the library's names in an error by the names of the request's
// fields. So a client finds them in its request. A name that fields does not have
// stays.
func inFields(err error, fields map[string]string) error {
	if e, ok := err.(*auth.Error); ok { // not one that a store's failure wraps
		return pathsIn(e, fields)
	}
	return err
}

// pathsIn is inFields for a fault and its children. A path may continue below a
// field, as scope[2] does.
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
