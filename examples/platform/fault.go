package main

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// fail answers with a fault outside the Guard, where auth.Fail does not know
// the brand.
func (p *platform) fail(w http.ResponseWriter, detail string) {
	fault := (&auth.Error{Detail: detail}).Fault()
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(fault.Status)
	w.Write(fault.Encode(p.guard.Brand.Faults)) // a client that has gone needs no answer
}

// invalid is a body with everything that is wrong with it, so that a client can
// mend it all at once. auth.Fail knows it by its Fault.
type invalid struct {
	detail string // auth.DetailBody or auth.DetailOption
	faults []*envelope.Fault
}

// maxFaults bounds what a body full of nonsense is answered with.
const maxFaults = 32

// add notes what is wrong with one property.
func (e *invalid) add(path, reason string) {
	if len(e.faults) == maxFaults {
		return
	}
	fault := (&auth.Error{Detail: e.detail, Reason: reason}).Fault()
	fault.Path = path
	e.faults = append(e.faults, fault)
}

// orNil is the error to return: nil if nothing is wrong.
func (e *invalid) orNil() error {
	if len(e.faults) == 0 {
		return nil
	}
	return e
}

func (e *invalid) Error() string { return e.Fault().Error() }

func (e *invalid) Fault() *envelope.Fault {
	fault := (&auth.Error{Detail: e.detail}).Fault()
	fault.Faults = e.faults
	return fault
}
