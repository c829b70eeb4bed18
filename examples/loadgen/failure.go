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

// replyError is a reply that was not the one asked for.
type replyError struct {
	status int
	err    error // often an *envelope.Fault
}

func (e *replyError) Error() string { return fmt.Sprintf("status %d: %v", e.status, e.err) }
func (e *replyError) Unwrap() error { return e.err }

// codeOf sorts an error into one of few: the code of a fault, without the
// namespace, or what else it was. Texts with addresses and times in them would
// be as many as the errors.
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
