package signing_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

// vectors are known answers, made by other implementations of HMAC. The README beside them describes the members.
type vectors struct {
	Version    int
	Signatures []struct {
		Name         string
		ClientKey    string
		ClientSecret signing.Secret
		Command      string
		Method       string
		Timestamp    string
		Message      string
		MACKey       string
		Signature    string
		Valid        bool
	}
	Commands []struct {
		Wire    string
		Command *string
		Fault   string
	}
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("../internal/interop/conformance/v1/signing.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if v.Version != 1 || len(v.Signatures) < 28 || len(v.Commands) < 32 {
		t.Fatalf("version %d with %d signatures and %d commands", v.Version, len(v.Signatures), len(v.Commands))
	}
	return v
}

func TestSignKnownAnswers(t *testing.T) {
	for _, v := range readVectors(t).Signatures {
		t.Run(v.Name, func(t *testing.T) {
			got := signing.Sign(v.ClientKey, v.ClientSecret, v.Command, v.Method, v.Timestamp)
			if (got == v.Signature) != v.Valid {
				t.Errorf("Sign = %s, vector %s, want them equal: %t", got, v.Signature, v.Valid)
			}
		})
	}
}

func TestSignLikeOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	for _, v := range readVectors(t).Signatures {
		t.Run(v.Name, func(t *testing.T) {
			key := cmp.Or(v.MACKey, v.ClientKey+string(v.ClientSecret))
			run := exec.CommandContext(t.Context(), openssl, "dgst", "-sha256", "-hmac", key)
			run.Stdin = strings.NewReader(v.Message)
			out, err := run.Output()
			if err != nil {
				t.Fatal(err)
			}
			fields := strings.Fields(string(out))
			if got := fields[len(fields)-1]; got != v.Signature {
				t.Errorf("openssl says %s, vector %s", got, v.Signature)
			}
		})
	}
}

func TestCommandKnownAnswers(t *testing.T) {
	for _, v := range readVectors(t).Commands {
		t.Run(v.Wire, func(t *testing.T) {
			got, err := signing.Command(httptest.NewRequest(http.MethodGet, v.Wire, nil), "/acme/v2")
			switch {
			case (v.Command == nil) != (v.Fault == "invalidArgument.path"):
				t.Errorf("fault %q", v.Fault)
			case v.Command == nil && err == nil:
				t.Errorf("Command = %q, want a refusal", got)
			case v.Command != nil && (err != nil || got != *v.Command):
				t.Errorf("Command = %q, %v, want %q", got, err, *v.Command)
			}
		})
	}
}
