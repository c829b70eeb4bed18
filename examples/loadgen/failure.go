package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"

	"github.com/tenantkit/tenantkit/envelope"
)

// replyError is a reply that is a fault, is no JSON or has another status than 200.
type replyError struct {
	status int
	err    error // often an *envelope.Fault
}

func (e *replyError) Error() string { return fmt.Sprintf("status %d: %v", e.status, e.err) }
func (e *replyError) Unwrap() error { return e.err }

// codeOf reduces an error to one of a few codes: the code of a fault without the
// namespace, or another short text. Full error texts contain addresses and times,
// so that there would be as many codes as errors.
func codeOf(err error) string {
	if fault, ok := errors.AsType[*envelope.Fault](err); ok && fault.Detail != "" {
		return fault.Detail
	}
	for _, known := range []error{errRemote, syscall.ECONNREFUSED, syscall.ECONNRESET} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if failed, ok := errors.AsType[net.Error](err); ok && failed.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	if reply, ok := errors.AsType[*replyError](err); ok {
		return fmt.Sprintf("reply %d without a fault or JSON", reply.status)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err.Error()
	}
	return err.Error()
}
