package main

import "github.com/tenantkit/tenantkit/auth"

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

// isFull tells that no more is noted.
func (e *invalid) isFull() bool { return len(e.faults) == maxFaults }

// orNil is the error to return: nil if nothing is wrong.
func (e *invalid) orNil() error {
	if len(e.faults) == 0 {
		return nil
	}
	return &auth.Error{Detail: e.detail, Faults: e.faults}
}
