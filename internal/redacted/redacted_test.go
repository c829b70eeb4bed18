package redacted_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/internal/redacted"
	"github.com/tenantkit/tenantkit/internal/testing/printed"
)

type hidden = redacted.Value

// vault has a secret in each kind of field that fmt and the encoders read.
type vault struct {
	hidden
	Text  string
	Bytes []byte
}

func TestAStructWithAValueShowsNothing(t *testing.T) {
	const secret = "Tr0ub4dor"
	v := vault{Text: secret, Bytes: []byte(secret)}
	for name, text := range map[string]string{
		"vault":   printed.All(v),
		"pointer": printed.All(&v),
		"string":  printed.All(redacted.String[vault](secret)),
		"holder":  printed.All(struct{ Vault *vault }{&v}),
	} {
		for _, leak := range []string{secret, "54723075623464", "VHIwdWI0ZG9y", "84 114 48"} {
			if strings.Contains(text, leak) {
				t.Errorf("%s: %q is in %s", name, leak, text)
			}
		}
		if !strings.Contains(text, "REDACTED") {
			t.Errorf("%s: nothing says %s", name, "REDACTED")
		}
	}
}

// A store that keeps secrets by their type has lost them. It must not get one back that everybody knows.
func TestAnEncodedSecretIsNotRead(t *testing.T) {
	type record struct{ Secret redacted.String[vault] }
	text, err := json.Marshal(record{"Tr0ub4dor"})
	if err != nil {
		t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err == nil || r.Secret != "" {
		t.Errorf("%s is read as the secret %q", text, string(r.Secret))
	}
	if err := json.Unmarshal([]byte(`{"Secret":"Tr0ub4dor"}`), &r); err != nil || r.Secret != "Tr0ub4dor" {
		t.Errorf("%v, %q", err, string(r.Secret))
	}
	var encoded bytes.Buffer
	if err := gob.NewEncoder(&encoded).Encode(record{"Tr0ub4dor"}); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&encoded).Decode(&r); err == nil {
		t.Errorf("gob reads %q", string(r.Secret))
	}
}
