package signing_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/internal/testing/printed"
	"github.com/tenantkit/tenantkit/signing"
)

func TestSecretsAreEncodedNowhere(t *testing.T) {
	const hidden = "Tr0ub4dorAnd3"
	secret := signing.Secret(hidden)
	key, err := signing.UnsafeKey("acme", secret)
	if err != nil {
		t.Fatal(err)
	}
	transport := &signing.Transport{BaseURL: "https://api.example.com", ClientKey: "acme", Secret: secret}
	for name, text := range map[string]string{
		"K11 transport":          printed.All(transport),
		"K11 transport's holder": printed.All(struct{ Transport *signing.Transport }{transport}),
		"K11 http.Client":        printed.All(http.Client{Transport: transport}),
		"K11 secret":             printed.All(secret),
		"K11 key":                printed.All(key),
		"K11 struct":             printed.All(struct{ Secret signing.Secret }{secret}),
	} {
		for _, leak := range []string{hidden, fmt.Sprintf("%x", hidden), fmt.Sprintf("%X", hidden), fmt.Sprint([]byte(hidden))} {
			if strings.Contains(text, leak) {
				t.Errorf("%s: %q is in %s", name, leak, text)
			}
		}
		if name != "K11 key" && !strings.Contains(text, "REDACTED") {
			t.Errorf("%s: nothing says REDACTED", name)
		}
	}
}
