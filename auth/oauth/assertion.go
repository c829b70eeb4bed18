package oauth

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/strictjson"
	"github.com/tenantkit/tenantkit/signing"
)

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" // RFC 7523, section 2.2

	maxLife   = 5 * time.Minute // of an assertion
	maxHeader = 1 << 10         // bytes
	maxText   = 512             // bytes of a claim
)

// algorithms are the names of Ed25519. RFC 9864 adds the second.
var algorithms = []string{"EdDSA", "Ed25519"}

// assertion is a JWT by which a client authenticates (RFC 7523, section 3).
type assertion struct {
	compact.Parts
	issuer, id      string
	expires, issued int64 // Unix seconds; issued may be 0
}

// byAssertion authenticates by private_key_jwt (OpenID Connect Core, section 9).
func (m mechanisms) byAssertion(ctx context.Context, r *http.Request, t *auth.Tenant, f form) (auth.Principal, error) {
	now := t.Now()
	a, err := readAssertion(f["client_assertion"], t.URL(), now)
	if err == nil && (f["client_assertion_type"] != assertionType || !f.isOf(a.issuer)) {
		err = errOtherID
	}
	if err != nil {
		t.Claim(auth.Claimed{Mechanism: signature.Name, App: a.issuer})
		return auth.Principal{}, invalidClient(err)
	}
	client, err := m.signature.Client(ctx, r, t, a.issuer, 2, a.signer)
	if err != nil {
		return auth.Principal{}, err
	}
	// Claimed last, so that a forged or refused assertion costs no storage.
	if err = m.signature.Claim(ctx, a.use(now)); err != nil {
		t.Claim(auth.Claimed{Mechanism: signature.Name, App: a.issuer})
	}
	return client, err
}

// signer returns the Key whose public key verifies the assertion, or nil. If there is no public
// key, it verifies with that of nobody, so that all take the same time.
func (a *assertion) signer(k *signing.Key) *signing.Key {
	var public []ed25519.PublicKey
	if k != nil {
		public = k.PublicKeys()
	}
	if public == nil {
		public = append(public, nobody())
	}
	verifies := func(p ed25519.PublicKey) bool { return ed25519.Verify(p, []byte(a.Signed), a.Signature) }
	if slices.ContainsFunc(public, verifies) {
		return k
	}
	return nil
}

// nobody returns a public key whose private key nobody knows. A Client refuses what it verifies.
var nobody = sync.OnceValue(func() ed25519.PublicKey {
	public, _, _ := ed25519.GenerateKey(nil) // the system's random numbers never fail
	return public
})

var errTimes = errors.New("not valid now, or valid for more than 5 minutes")

// readAssertion reads a JWT that must be for this audience. Its signature is still to be verified: only iss
// tells by which key.
func readAssertion(raw, audience string, now time.Time) (a assertion, err error) {
	if a.Parts, err = compact.Split(raw, maxHeader); err != nil {
		return a, err
	}
	if err := checkHeader(a.Header); err != nil {
		return a, err
	}
	m, err := compact.ReadMembers(a.Payload, strictjson.Limits{Depth: 16, Members: 64})
	if err != nil {
		return a, err
	}
	a.issuer, a.id = compact.Text(m["iss"]), compact.Text(m["jti"])
	valid, times := compact.Always(), map[string]int64{}
	for _, name := range []string{"exp", "iat", "nbf"} {
		if times[name], err = m.Seconds(name); err != nil || times[name] == 0 && m[name] != "" {
			return a, errors.Join(errTimes, err)
		}
		if name == "exp" {
			valid.Until(times[name])
		} else if m[name] != "" {
			valid.From(times[name])
		}
	}
	a.expires, a.issued = times["exp"], times["iat"]
	switch longest := int64(maxLife / time.Second); {
	case a.issuer == "" || compact.Text(m["sub"]) != a.issuer || a.id == "" || len(a.id) > maxText || a.expires == 0:
		return a, errors.New("iss and sub, aud, exp and jti are required")
	case compact.Text(m["aud"]) != audience: // an array would make the assertion valid elsewhere, too
		return a, errors.New("aud is not the issuer")
	case valid.Compare(now) != 0, a.expires-now.Unix() > longest, a.issued != 0 && a.expires-a.issued > longest:
		return a, errTimes
	}
	return a, nil
}

// checkHeader accepts alg, typ and kid. The credential has the key, so kid is not read.
func checkHeader(text string) error {
	m, err := compact.ReadMembers(text, strictjson.Limits{Depth: 16, Members: 16})
	typ := compact.Text(m["typ"])
	known := slices.Contains(algorithms, compact.Text(m["alg"])) && (m["typ"] == "" || typ == "JWT" || typ == "client-authentication+jwt")
	for name := range m {
		known = known && (name == "alg" || name == "typ" || name == "kid")
	}
	if err != nil || !known {
		return errors.Join(errors.New("the header is not that of an Ed25519 signature"), err)
	}
	return nil
}

// use returns the assertion as a request that is accepted once. Whoever has captured it may send
// it until exp.
func (a *assertion) use(now time.Time) signing.Use {
	id := sha256.Sum256([]byte("assertion " + a.id))
	signed := time.Unix(a.issued, 0)
	if a.issued == 0 {
		signed = time.Unix(a.expires, 0).Add(-maxLife) // it may be that old
	}
	return signing.Use{
		ClientKey: a.issuer,
		Nonce:     base32.StdEncoding.EncodeToString(id[:10]),
		Signature: sha256.Sum256(a.Signature),
		Signed:    signed,
		Seen:      now,
		Keep:      time.Unix(a.expires, 0).Add(compact.Leeway * time.Second), // the clocks of several servers differ
	}
}
