package signature_test

import (
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// TestSchemeOfEachVersion describes what the Policy accepts, and no more.
func TestSchemeOfEachVersion(t *testing.T) {
	const first = "Acme-Client-Key Acme-Client-Timestamp Acme-Client-Nonce Acme-Client-Signature"
	const second = "Signature-Input Signature"
	for version, want := range [][]string{{first, second}, {first}, {second}} {
		m := &signature.Mechanism{Policy: signing.Policy{Version: version}}
		schemes := m.Schemes(&auth.Settings{Brand: auth.Brand{Header: "Acme-"}})
		var got []string
		for _, s := range schemes {
			got = append(got, strings.Join(s.Headers, " "))
			if s.Headers[0] == "Signature-Input" && !strings.Contains(s.Description, "`acme-v2`") {
				t.Errorf("the tag is not in %q", s.Description)
			}
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("version %d: %q, want %q", version, got, want)
		}
	}
}
