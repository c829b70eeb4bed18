package signing_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

// vectors are known answers, made by other implementations of HMAC.
type vectors struct {
	Vectors []struct {
		Name         string
		ClientKey    string
		ClientSecret signing.Secret
		Command      string
		Method       string
		Timestamp    string
		Message      string
		Signature    string
		Positive     bool
	}
	WirePathToCommand []struct {
		Wire    string
		Command *string
	}
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/signing.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Vectors) == 0 || len(v.WirePathToCommand) == 0 {
		t.Fatal("no vectors")
	}
	return v
}

// The one row of the vectors that is not made by the algorithm.
const secretFirst = "key order: secret first"

func TestSignKnownAnswers(t *testing.T) {
	for _, v := range readVectors(t).Vectors {
		t.Run(v.Name, func(t *testing.T) {
			got := signing.Sign(v.ClientKey, v.ClientSecret, v.Command, v.Method, v.Timestamp)
			if want := v.Name != secretFirst; (got == v.Signature) != want {
				t.Errorf("Sign = %s, vector %s, want them equal: %t", got, v.Signature, want)
			}
		})
	}
	t.Run(secretFirst+", made so", func(t *testing.T) {
		for _, v := range readVectors(t).Vectors {
			if v.Name != secretFirst {
				continue
			}
			got := signing.Sign(string(v.ClientSecret), signing.Secret(v.ClientKey), v.Command, v.Method, v.Timestamp)
			if got != v.Signature {
				t.Errorf("Sign with the two exchanged = %s, vector %s", got, v.Signature)
			}
		}
	})
}

func TestSignLikeOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	for _, v := range readVectors(t).Vectors {
		if v.Name == secretFirst {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), openssl, "dgst", "-sha256", "-hmac", v.ClientKey+string(v.ClientSecret))
			run.Stdin = strings.NewReader(v.Message)
			out, err := run.Output()
			if err != nil {
				t.Fatal(err)
			}
			fields := strings.Fields(string(out))
			want := fields[len(fields)-1]
			if got := signing.Sign(v.ClientKey, v.ClientSecret, v.Command, v.Method, v.Timestamp); got != want {
				t.Errorf("Sign = %s, openssl says %s", got, want)
			}
		})
	}
}

func TestCommandKnownAnswers(t *testing.T) {
	for _, v := range readVectors(t).WirePathToCommand {
		t.Run(v.Wire, func(t *testing.T) {
			got, err := signing.Command(httptest.NewRequest(http.MethodGet, v.Wire, nil), "/acme/v2")
			switch {
			case v.Command == nil && err == nil:
				t.Errorf("Command = %q, want a refusal", got)
			case v.Command != nil && (err != nil || got != *v.Command):
				t.Errorf("Command = %q, %v, want %q", got, err, *v.Command)
			}
		})
	}
}
