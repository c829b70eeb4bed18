package token_test

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

func TestJWKSet(t *testing.T) {
	t.Run("empty lists are lists", func(t *testing.T) {
		for _, keys := range [][]token.PublicKey{nil, {}} {
			if diff := cmp.Diff(`{"object":"list","data":[],"hasMore":false,"keys":[]}`, string(token.JWKSet(keys))); diff != "" {
				t.Error(diff)
			}
		}
	})

	pairs := []*token.KeyPair{pairOf(t, 0, appA), pairOf(t, 1, appB)}
	text := token.JWKSet([]token.PublicKey{pairs[0].PublicKey, pairs[1].PublicKey})

	t.Run("it is a list envelope and a set", func(t *testing.T) {
		var got any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		var items, bare []any
		for _, pair := range pairs {
			members := map[string]any{
				"kty": "RSA", "use": "sig", "alg": "RS256", "kid": pair.KeyID,
				"n": base64.RawURLEncoding.EncodeToString(pair.Key.N.Bytes()), "e": "AQAB",
			}
			item := map[string]any{"_id": pair.KeyID, "object": "jwk"}
			for name, value := range members {
				item[name] = value
			}
			items, bare = append(items, item), append(bare, members)
		}
		want := map[string]any{"object": "list", "data": items, "hasMore": false, "keys": bare}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if !bytes.HasPrefix(text, []byte(`{"object":"list","data":[`)) {
			t.Errorf("document begins %.40s", text)
		}
	})
	t.Run("go-jose reads the same keys", func(t *testing.T) {
		var set jose.JSONWebKeySet
		if err := json.Unmarshal(text, &set); err != nil || len(set.Keys) != 2 {
			t.Fatalf("%d keys, %v", len(set.Keys), err)
		}
		for i, k := range set.Keys {
			if !pairs[i].Key.Equal(k.Key.(*rsa.PublicKey)) || k.KeyID != pairs[i].KeyID || !k.IsPublic() || k.Use != "sig" {
				t.Errorf("key %d is %+v", i, k)
			}
		}
	})
	t.Run("K01 no private member", func(t *testing.T) {
		all := string(text) + string(token.PEM([]token.PublicKey{pairs[0].PublicKey}))
		private := rsaKeys[0]()
		for _, member := range []string{`"d"`, `"p"`, `"q"`, `"dp"`, `"dq"`, `"qi"`, `"k"`, "PRIVATE",
			b64(private.D.Bytes()), b64(private.Primes[0].Bytes())} {
			if strings.Contains(all, member) {
				t.Errorf("it has %.20s", member)
			}
		}
	})
}

func TestPEM(t *testing.T) {
	pairs := []*token.KeyPair{pairOf(t, 0, appA), pairOf(t, 1, appB)}
	text := token.PEM([]token.PublicKey{pairs[0].PublicKey, pairs[1].PublicKey})
	rest := text
	for i, pair := range pairs {
		comment := "# app: " + pair.ClientKey + "\n# kid: " + pair.KeyID + "\n-----BEGIN PUBLIC KEY-----\n"
		if !bytes.HasPrefix(rest, []byte(comment)) {
			t.Errorf("block %d begins %.80q", i, rest)
		}
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			t.Fatalf("no block %d", i)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil || !pair.Key.Equal(key) || len(block.Headers) != 0 {
			t.Errorf("block %d: %v", i, err)
		}
	}
	if len(rest) != 0 {
		t.Errorf("%q follows the blocks", rest)
	}

	t.Run("no key id writes lines of its own", func(t *testing.T) {
		for _, id := range []string{"", "1", pairs[0].KeyID + "\n# app: b", pairs[0].KeyID[1:] + "\n"} {
			k := pairs[0].PublicKey
			k.KeyID = id
			if got := token.PEM([]token.PublicKey{k}); len(got) != 0 {
				t.Errorf("key id %q: %s", id, got)
			}
			if set := string(token.JWKSet([]token.PublicKey{k})); !strings.Contains(set, `"keys":[]`) {
				t.Errorf("key id %q: %s", id, set)
			}
		}
	})
	t.Run("no client key writes lines of its own", func(t *testing.T) {
		for _, clientKey := range []string{"a\n# kid: b", "a\r\nb", "a\u2028b", "", "a b"} {
			k := pairs[0].PublicKey
			k.ClientKey = clientKey
			if got := token.PEM([]token.PublicKey{k}); len(got) != 0 {
				t.Errorf("client key %q: %s", clientKey, got)
			}
		}
	})
}

// RFC 7638 section 3.1.
func TestThumbprint(t *testing.T) {
	var key jose.JSONWebKey
	if err := key.UnmarshalJSON([]byte(`{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}`)); err != nil {
		t.Fatal(err)
	}
	got := token.Thumbprint(key.Key.(*rsa.PublicKey))
	if diff := cmp.Diff("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs", got); diff != "" {
		t.Error(diff)
	}
	if kid := token.Thumbprint(&rsa.PublicKey{N: big.NewInt(5)}); kid != "" {
		t.Errorf("no exponent: %q", kid)
	}
}

const (
	rfcToken = "eyJhbGciOiJSUzI1NiJ9" +
		".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ" +
		".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
)

// rfcKey is the key of RFC 7515, appendix A.2.
const rfcKey = `{"kty":"RSA",
		"n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
		"e":"AQAB",
		"d":"Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ",
		"p":"4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc",
		"q":"uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc"}`

func TestRSAKnownAnswer(t *testing.T) {
	pair, err := fromJWK(rfcKey)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := token.Split(rfcToken)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}", parts.Payload); diff != "" {
		t.Error(diff)
	}
	if err := token.Matches(parts, &pair.PublicKey); err != nil {
		t.Errorf("the signature of RFC 7515 does not match: %v", err)
	}
	parts.Signed += "A"
	if token.Matches(parts, &pair.PublicKey) == nil {
		t.Error("the signature of RFC 7515 matches another text")
	}
	// PKCS #1 v1.5 is deterministic, so our signature can be compared with it.
	minted, err := token.Sign(pair, []byte(parts.Payload))
	if err != nil {
		t.Fatal(err)
	}
	if parts, err = token.Split(string(minted)); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(parts.Signed))
	want, err := pair.Signer.Sign(nil, digest[:], crypto.SHA256)
	if err != nil || !bytes.Equal(want, parts.Signature) {
		t.Errorf("signed otherwise: %v", err)
	}
	if _, err := token.ReadHeader(`{"alg":"RS256"}`); err == nil {
		t.Error("the header of RFC 7515, which names no key, is accepted")
	}
}

func TestOpenSSL(t *testing.T) {
	program, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	openssl := func(args ...string) []byte {
		t.Helper()
		var stderr bytes.Buffer
		command := exec.Command(program, args...)
		command.Stderr = &stderr
		output, err := command.Output()
		if err != nil {
			t.Fatalf("openssl %s: %v\n%s", args[0], err, stderr.String())
		}
		return output
	}
	w := newWorld(t)

	t.Run("it verifies what is minted, with a key of our PEM", func(t *testing.T) {
		minted, _, err := w.minter().Ephemeral(t.Context(), wanted(), 0)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := token.Split(string(minted))
		if err != nil {
			t.Fatal(err)
		}
		text := token.PEM([]token.PublicKey{pairOf(t, 0, appA).PublicKey})
		output := openssl("dgst", "-sha256", "-verify", file("public.pem", text),
			"-signature", file("signature", parts.Signature), file("signed", []byte(parts.Signed)))
		if diff := cmp.Diff("Verified OK\n", string(output)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what it signs is accepted", func(t *testing.T) {
		key := file("private.pem", pkcs8(t, rsaKeys[0]()))
		signed := b64([]byte(header(t, 0))) + "." + b64([]byte(payload(t, w.claims())))
		signature := openssl("dgst", "-sha256", "-sign", key, file("signed", []byte(signed)))
		accepted(t, w, signed+"."+b64(signature))
	})
	t.Run("keys it makes are imported", func(t *testing.T) {
		made := openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
		pair, err := token.ParsePairPEM(made)
		if err != nil {
			t.Fatal(err)
		}
		traditional := openssl("rsa", "-in", file("made.pem", made), "-traditional")
		same, err := token.ParsePairPEM(traditional)
		if err != nil || same.KeyID != pair.KeyID {
			t.Errorf("PKCS #1: %v", err)
		}
		pair.ClientKey, pair.Org = appA, "acme"
		if err := w.keys.Put(t.Context(), pair); err != nil {
			t.Fatal(err)
		}
		minted, _, err := w.minter().Ephemeral(t.Context(), wanted(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		accepted(t, w, string(minted))
	})
	t.Run("weak keys it makes are not", func(t *testing.T) {
		weak := openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024")
		if _, err := token.ParsePairPEM(weak); err == nil {
			t.Error("T18 1024 bits: imported")
		}
		odd := openssl("genpkey", "-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048")
		if _, err := token.ParsePairPEM(odd); err == nil {
			t.Error("a key for PSS: imported")
		}
		three := openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-pkeyopt", "rsa_keygen_primes:3")
		if _, err := token.ParsePairPEM(three); err == nil {
			t.Error("a key of three primes: imported")
		}
	})
}
