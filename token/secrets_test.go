package token_test

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/internal/testing/printed"
	"github.com/tenantkit/tenantkit/token"
)

func TestSecretsAreEncodedNowhere(t *testing.T) {
	pair := pairOf(t, 0, appA)
	secret := token.Token("eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl")
	keys := new(token.MemoryKeys)
	if err := keys.Put(t.Context(), pair); err != nil {
		t.Fatal(err)
	}
	private := pair.Signer.(*rsa.PrivateKey)
	leaks := []string{"eyJhbGci", fmt.Sprintf("%x", "eyJhbGci"), fmt.Sprintf("%X", "eyJhbGci"), fmt.Sprint([]byte("eyJhbGci"))[1:20]}
	for _, n := range []interface {
		Bytes() []byte
		Text(int) string
	}{private.D, private.Primes[0], private.Primes[1], private.Precomputed.Dp, private.Precomputed.Qinv} {
		raw := n.Bytes()
		leaks = append(leaks, string(raw[:8]), n.Text(10)[:16], n.Text(16)[:16], strings.ToUpper(n.Text(16)[:16]), b64(raw)[:16], fmt.Sprint(raw[:8])[1:15])
	}
	for name, text := range map[string]string{
		"K11 token":       printed.All(secret),
		"K11 pair":        printed.All(*pair),
		"K11 pair's":      printed.All(pair),
		"K11 keys":        printed.All(keys),
		"K11 minter":      printed.All(&token.Minter{Signers: keys}),
		"K11 transport":   printed.All(token.Transport{Token: secret}),
		"K11 transport's": printed.All(&token.Transport{Token: secret}),
		"K11 holder":      printed.All(struct{ Transport *token.Transport }{&token.Transport{Token: secret}}),
		"K11 http.Client": printed.All(http.Client{Transport: &token.Transport{Token: secret}}),
		"K11 struct":      printed.All(struct{ Secret token.Token }{secret}),
		"K11 pair within": printed.All(struct{ Pair *token.KeyPair }{pair}),
	} {
		for _, leak := range leaks {
			if strings.Contains(text, leak) {
				t.Errorf("%s: %q is in %s", name, leak, text)
			}
		}
		if name != "K11 keys" && name != "K11 minter" && !strings.Contains(text, "REDACTED") {
			t.Errorf("%s: nothing says REDACTED", name)
		}
	}
}
