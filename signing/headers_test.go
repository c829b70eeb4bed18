package signing_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/signing"
)

func TestHeaderPrefix(t *testing.T) {
	for _, prefix := range []string{"X-Acme-", "x-acme-", "X-ACME-"} {
		s := newServer(t)
		s.Header = prefix
		r := base()
		if _, err := s.Verify(r.Context(), r, "/connections"); !errors.Is(err, signing.ErrNoSignature) {
			t.Errorf("%s: under the default prefix: %v, want ErrNoSignature", prefix, err)
		}
		for name, values := range r.Header {
			delete(r.Header, name)
			r.Header.Set("X-Acme-"+strings.TrimPrefix(name, "Service-"), values[0])
		}
		if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
	}
	want := signing.Headers{
		ClientKey:  "Service-Client-Key",
		Signature:  "Service-Client-Signature",
		Timestamp:  "Service-Client-Timestamp",
		Nonce:      "Service-Client-Nonce",
		Account:    "Service-Client-Account",
		ServerTime: "Service-Server-Time",
		Tag:        "service-v2",
	}
	if diff := cmp.Diff(want, signing.HeadersFor("")); diff != "" {
		t.Errorf("default names (-want +got):\n%s", diff)
	}
}

func TestSigned(t *testing.T) {
	tests := []struct {
		names []string
		want  bool
	}{
		{nil, false},
		{[]string{names.ClientKey}, false},
		{[]string{names.ClientKey, names.Account}, false},
		{[]string{names.Signature}, true},
		{[]string{names.Timestamp}, true},
		{[]string{names.Nonce}, true},
	}
	for _, test := range tests {
		h := http.Header{}
		for _, name := range test.names {
			h[name] = []string{""}
		}
		if got := names.Version(h) != 0; got != test.want {
			t.Errorf("Signed(%v) = %t", test.names, got)
		}
	}
}
