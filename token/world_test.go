package token_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

const (
	appA     = "0aAbBcCdDeEfFgGhHiIjJk"
	appB     = "1aAbBcCdDeEfFgGhHiIjJk"
	account  = "65f0a1b2c3d4e5f601234567"
	audience = "https://api.example.com/acme/v2"
)

// rsaKeys are shared by the tests: making a key takes longer than most tests.
var rsaKeys = [3]func() *rsa.PrivateKey{
	sync.OnceValue(newRSA), sync.OnceValue(newRSA), sync.OnceValue(newRSA),
}

func newRSA() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// pairOf makes the pair of a shared key for an app of the org acme.
func pairOf(t testing.TB, i int, clientKey string) *token.KeyPair {
	t.Helper()
	pair, err := token.NewPair(rsaKeys[i]())
	if err != nil {
		t.Fatal(err)
	}
	pair.ClientKey, pair.Org = clientKey, "acme"
	return pair
}

// world is a platform with two apps. The tests build their tokens by hand.
type world struct {
	keys     token.MemoryKeys
	ledger   token.Ledger
	verifier token.Verifier
	clock    atomic.Int64 // Unix nanoseconds
	admit    func(context.Context, *token.Verified) error
	spent    func(context.Context, *token.Verified, token.Lineage) error
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{}
	w.clock.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	w.ledger, w.keys.Now = token.NewMemoryLedger(w.now), w.now
	w.verifier = token.Verifier{Keys: &w.keys, Ledger: w.ledger, Cache: &token.Cache{}, Now: w.now}
	for i, app := range []string{appA, appB} {
		if err := w.keys.Put(t.Context(), pairOf(t, i, app)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) now() time.Time          { return time.Unix(0, w.clock.Load()).UTC() }
func (w *world) advance(d time.Duration) { w.clock.Add(int64(d)) }

func (w *world) verify(t testing.TB, raw string) (*token.Verified, error) {
	t.Helper()
	return w.verifier.Verify(t.Context(), raw, token.Expect{Org: "acme", Audience: audience, Admit: w.admit, Spent: w.spent})
}

// claims are those of an honest token. The pairs that follow replace claims; nil
// removes one.
func (w *world) claims(pairs ...any) map[string]any {
	c := map[string]any{
		"iss": appA, "sub": account, "aud": audience,
		"iat": w.now().Unix(), "exp": w.now().Add(time.Hour).Unix(), "service/scp": []string{""},
	}
	for i := 0; i < len(pairs); i += 2 {
		c[pairs[i].(string)] = pairs[i+1]
	}
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// raw is JSON that claims contain unchanged.
func raw(text string) json.RawMessage { return json.RawMessage(text) }

// forge signs by hand, with one of the shared keys.
func forge(t testing.TB, key int, header, payload string) string {
	t.Helper()
	return forgeBytes(t, key, []byte(header), []byte(payload))
}

func forgeBytes(t testing.TB, key int, header, payload []byte) string {
	t.Helper()
	signed := b64(header) + "." + b64(payload)
	return signed + "." + b64(rs256(t, key, signed))
}

func rs256(t testing.TB, key int, signed string) []byte {
	t.Helper()
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, rsaKeys[key](), crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func header(t testing.TB, key int) string {
	t.Helper()
	return fmt.Sprintf(`{"alg":"RS256","kid":%q,"typ":"JWT"}`, kid(t, key))
}

func kid(t testing.TB, key int) string { return pairOf(t, key, appA).KeyID }

// token is a token of app A with these claims.
func (w *world) token(t testing.TB, pairs ...any) string {
	t.Helper()
	return forge(t, 0, header(t, 0), payload(t, w.claims(pairs...)))
}

func payload(t testing.TB, claims map[string]any) string {
	t.Helper()
	text, err := marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// marshal writes members unchanged. encoding/json would refuse or repair the errors
// that the tests need.
func marshal(claims map[string]any) (string, error) {
	text, sep := "{", ""
	for name, value := range claims {
		literal, ok := value.(json.RawMessage)
		if !ok {
			var err error
			if literal, err = json.Marshal(value); err != nil {
				return "", err
			}
		}
		text += fmt.Sprintf("%s%q:%s", sep, name, literal)
		sep = ","
	}
	return text + "}", nil
}

// heldBy is the holder of the tokens that an app of acme has issued for a subject.
func heldBy(clientKey, subject string) token.Holder {
	return token.Holder{Org: "acme", ClientKey: clientKey, Subject: subject}
}

// samePrefix compares what has no Equal.
var samePrefix = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
