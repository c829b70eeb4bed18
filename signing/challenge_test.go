package signing_test

import (
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

var challengeLines = []struct{ line, want string }{
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

func TestSignatureError(t *testing.T) {
	for _, test := range challengeLines {
		t.Run(test.line, func(t *testing.T) {
			if got := signing.SignatureError(test.line); got != test.want {
				t.Errorf("SignatureError = %q, want %q", got, test.want)
			}
		})
	}
}

// A line may come from an attacker who impersonates the server.
func FuzzSignatureError(f *testing.F) {
	for _, seed := range challengeLines {
		f.Add(seed.line)
	}
	f.Add("\u017fignature error=x") // a letter that folds into an s
	f.Fuzz(func(t *testing.T, line string) {
		got := signing.SignatureError(line)
		if got != "" && !strings.Contains(strings.ToUpper(line), "SIGNATURE") {
			t.Errorf("SignatureError(%q) = %q, of another scheme", line, got)
		}
		if !strings.Contains(line, got) {
			t.Errorf("SignatureError(%q) = %q, which is not in it", line, got)
		}
		if got := signing.SignatureError(`Signature error="stale", ` + line); got != "stale" {
			t.Errorf("before %q: SignatureError = %q, want stale", line, got)
		}
	})
}
