package enginetest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testAssertions sends each assertion of an OAuth client many times, to all instances.
func (f *fleet) testAssertions(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	clientKey := f.newSigner(t, public)
	for range 3 {
		decided := until(func() bool {
			ask := f.asserting(clientKey, private)
			got := f.race(t, 30, func() wish { return ask })
			if got[ok] > 1 {
				t.Errorf("%d were accepted", got[ok])
			}
			if got["503 "] > 0 {
				return false // a store was too slow, and may have recorded the assertion
			}
			if diff := cmp.Diff(map[string]int{ok: 1, "401 ": 29}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			return true
		})
		if !decided {
			t.Error("the stores are too slow, all the time")
		}
	}
}

// newSigner makes an app that signs assertions, and returns its client key.
func (f *fleet) newSigner(t *testing.T, public ed25519.PublicKey) string {
	t.Helper()
	body := fmt.Sprintf(`{"name":"signer","credential":{"account":%q,"publicKey":%q}}`,
		f.facts["account_id"], base64.RawURLEncoding.EncodeToString(public))
	made := f.send(t, 0, f.signed("POST", "/apps", body))
	var app struct {
		ID string `json:"_id"`
	}
	if err := json.Unmarshal(made.body, &app); err != nil || made.status != http.StatusOK {
		t.Fatalf("%d %s", made.status, made.body)
	}
	if paired := f.send(t, 0, f.signed("POST", "/apps/"+app.ID+"/keypair", "")); paired.status != http.StatusOK {
		t.Fatalf("%d %s", paired.status, paired.body)
	}
	time.Sleep(2 * time.Second) // until all instances know the app
	return app.ID
}

// asserting returns a request for a token with a new assertion (RFC 7523).
func (f *fleet) asserting(clientKey string, key ed25519.PrivateKey) wish {
	now := time.Now().Unix()
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"EdDSA"}`)) + "." + encode(fmt.Appendf(nil, `{"iss":%q,"sub":%q,"aud":%q,"iat":%d,"exp":%d,"jti":%q}`,
		clientKey, clientKey, platformBase+"/acme/v2", now, now+60, rand.Text()))
	form := url.Values{
		"grant_type":            {"client_credentials"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
		"client_assertion":      {signed + "." + encode(ed25519.Sign(key, []byte(signed)))},
	}
	return wish{"POST", "/oauth/token", form.Encode(), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}
}
