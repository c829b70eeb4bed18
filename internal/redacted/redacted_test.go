package redacted_test

import (
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
