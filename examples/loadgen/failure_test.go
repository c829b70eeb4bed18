package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
)

func TestCodes(t *testing.T) {
	fault := &envelope.Fault{Detail: "expired.jwt", Status: 401}
	for _, test := range []struct {
		name, want string
		err        error
	}{
		{"a fault", "expired.jwt", &replyError{401, fault}},
		{"a fault behind a 200", "expired.jwt", &replyError{200, fault}},
		{"a page of HTML", "reply 502 without a fault or JSON", &replyError{502, envelope.ErrNotJSON}},
		{"a fault without a code", "reply 500 without a fault or JSON", &replyError{500, new(envelope.Fault)}},
		{"no reply in time", "timeout", &url.Error{Op: "Get", URL: "http://127.0.0.1/a", Err: context.DeadlineExceeded}},
		{"half a reply in time", "timeout", &replyError{200, context.DeadlineExceeded}},
		{"an address in a text", "EOF", &url.Error{Op: "Get", URL: "http://127.0.0.1/a", Err: errors.New("EOF")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := codeOf(test.err); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestTallyIsBounded checks that a tally stays small, whatever codes a server
// invents.
func TestTallyIsBounded(t *testing.T) {
	var tally tally
	for n := range 1000 {
		tally.add(time.Millisecond, fmt.Errorf("number %d", n))
	}
	failures := tally.failures()
	if len(failures) != maxCodes+1 || failures["others"] != 1000-maxCodes || failures["number 7"] != 1 {
		t.Errorf("%d codes, %d others", len(failures), failures["others"])
	}
	if n, failed := tally.counts(); n != 1000 || failed != 1000 {
		t.Errorf("%d of %d failed", failed, n)
	}
}
