package signing_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

func TestSecretsArePrintedNowhere(t *testing.T) {
	const hidden = "Tr0ub4dorAnd3"
	secret := signing.Secret(hidden)
	key, err := signing.UnsafeKey("acme", secret)
	if err != nil {
		t.Fatal(err)
	}
	transport := &signing.Transport{BaseURL: "https://api.example.com", ClientKey: "acme", Secret: secret}

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%U", "%t", "%10.3s"} {
		fmt.Fprintf(&out, verb+"\n", secret)
		fmt.Fprintf(&out, verb+"\n", &secret)
		fmt.Fprintf(&out, verb+"\n", []signing.Secret{secret})
		fmt.Fprintf(&out, verb+"\n", map[string]signing.Secret{"a": secret})
		fmt.Fprintf(&out, verb+"\n", key)
		fmt.Fprintf(&out, verb+"\n", transport)
	}
	fmt.Fprintln(&out, secret.String(), secret.GoString(), fmt.Errorf("%v: %w", secret, errors.New("x")))
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("m", "secret", secret, "key", key, "in", struct{ S signing.Secret }{secret})
	}
	if err := json.NewEncoder(&out).Encode(map[string]any{"s": secret, "k": key, "list": []signing.Secret{secret}}); err != nil {
		t.Fatal(err)
	}
	type document struct{ S signing.Secret }
	if err := xml.NewEncoder(&out).Encode(document{secret}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{hidden, fmt.Sprintf("%x", hidden), fmt.Sprintf("%X", hidden), fmt.Sprint([]byte(hidden))} {
		if strings.Contains(out.String(), text) {
			t.Errorf("printed %q in:\n%s", text, out.String())
		}
	}
	if !strings.Contains(out.String(), "REDACTED") {
		t.Error("nothing says that a secret was left out")
	}
}

func TestSecretIsReadFromJSONAsItIs(t *testing.T) {
	var config struct{ Secret signing.Secret }
	if err := json.Unmarshal([]byte(`{"secret":"abc"}`), &config); err != nil {
		t.Fatal(err)
	}
	if string(config.Secret) != "abc" {
		t.Errorf("read %q", string(config.Secret))
	}
}

func TestGenerate(t *testing.T) {
	key, secret := signing.Generate()
	if !regexp.MustCompile(`^[0-9A-Za-z]{22}$`).MatchString(key) {
		t.Errorf("client key %q", key)
	}
	if !regexp.MustCompile(`^[0-9A-Za-z]{64}$`).MatchString(string(secret)) {
		t.Errorf("secret of %d bytes has another shape", len(secret))
	}
	other, otherSecret := signing.Generate()
	if key == other || secret == otherSecret {
		t.Error("the same twice")
	}
	if _, err := signing.NewKey(key, secret); err != nil {
		t.Error(err)
	}
}

func TestNewKeyRefusesOtherShapes(t *testing.T) {
	key, secret := signing.Generate()
	tests := map[string]struct {
		key    string
		secret signing.Secret
	}{
		"S06 a letter moved from the secret to the key": {key + string(secret[:1]), secret[1:]},
		"S06 a letter moved from the key to the secret": {key[:21], signing.Secret(key[21:]) + secret},
		"a hyphen in the key":                           {key[:21] + "-", secret},
		"a newline in the secret":                       {key, secret[:63] + "\n"},
		"a letter that is not ASCII":                    {key[:20] + "é", secret},
		"nothing":                                       {"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := signing.NewKey(test.key, secret, test.secret); err == nil {
				t.Error("taken")
			}
		})
	}
	t.Run("S06 the two ways to split sign alike", func(t *testing.T) {
		a := signing.Sign("ab", "cdefghijklmnop", "/x", "GET", "1790000000000")
		if b := signing.Sign("a", "bcdefghijklmnop", "/x", "GET", "1790000000000"); a != b {
			t.Error("they do not: then the shape would not matter")
		}
	})
}
