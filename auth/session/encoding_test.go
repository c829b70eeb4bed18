package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/testing/printed"
)

func TestSecretsAreEncodedNowhere(t *testing.T) {
	const hidden = "Tr0ub4dorAnd3Tr0ub4d"
	secret := session.FactorSecret(hidden)
	for name, text := range map[string]string{
		"K11 secret":      printed.All(secret),
		"K11 factor":      printed.All(session.Factor{Secret: secret, Pending: secret}),
		"K11 mail ticket": printed.All(session.MailTicketOf(hidden)),
		"K08 device key":  printed.All(session.NewDeviceKey([]byte(hidden))),
		"K11 form":        printed.All(session.LoginForm{Login: "ann", Password: hidden, Code: hidden}),
		"K11 enrolment":   printed.All(session.Enrolment{Account: "ann", Secret: secret}),
	} {
		for _, leak := range []string{
			hidden, fmt.Sprintf("%x", hidden), fmt.Sprintf("%X", hidden), fmt.Sprint([]byte(hidden)), session.Enrolment{Secret: secret}.Base32(), "VHIwdWI0ZG9y", // its base64
		} {
			if strings.Contains(text, leak) {
				t.Errorf("%s: %q is in %s", name, leak, text)
			}
		}
		if !strings.Contains(text, "REDACTED") {
			t.Errorf("%s: nothing says REDACTED", name)
		}
	}
}
