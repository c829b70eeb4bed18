package signing_test

import (
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

func TestSignatureError(t *testing.T) {
	tests := []struct{ line, want string }{
		{`Signature`, ""},
		{`Signature error="stale"`, "stale"},
		{`signature ERROR=stale`, "stale"},
		{`Signature realm="x", error="replayed"`, "replayed"},
		{`Signature realm = "x" , error = "replayed"`, "replayed"},
		{`Bearer, Signature error="stale", Session`, "stale"},
		{`Bearer error="invalid_token", Signature`, ""},
		{`Bearer realm="Signature error=stale"`, ""},
		{`Bearer realm="a, Signature error=stale"`, ""},
		{`Bearer realm="a\", Signature error=stale"`, ""},
		{`Negotiate YII==, Signature error="stale"`, "stale"},
		{`Signature, Bearer error="stale"`, ""},
		{`Signature2 error="stale"`, ""},
		{`error="stale"`, ""},
		{`"`, ""},
		{``, ""},
		{`,,=,Signature ,error="stale"`, "stale"},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			if got := signing.SignatureError(test.line); got != test.want {
				t.Errorf("SignatureError = %q, want %q", got, test.want)
			}
		})
	}
}
