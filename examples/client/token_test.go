package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMint(t *testing.T) {
	const body = `{"object":"result","data":{"token":"a.b.c"}}`
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + string(text)
		io.WriteString(w, body)
	}))
	defer server.Close()
	env := environment(server.URL)
	for _, test := range []struct {
		name string
		args []string
		want string // of the app's key and the body
	}{
		{"nothing but an account", []string{"ann"}, key + ` {"sub":"ann","scope":[]}`},
		{"everything", []string{"--scope", "*", "--life", "90s", "ann"}, key + ` {"sub":"ann","scope":["*"],"expiresIn":90}`},
		{"of another app", []string{"--app", "other", "--scope", "object.read", "--scope", "admin", "--role", "r", "--uses", "3", "ann"},
			`other {"sub":"ann","scope":["object.read","admin"],"roles":["r"],"maxUses":3}`},
		{"permanent", []string{"--permanent", "ann"}, key + ` {"sub":"ann","scope":[],"permanent":true}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, _, err := client(t, "", env, append([]string{"mint"}, test.args...)...)
			app, body, _ := strings.Cut(test.want, " ")
			want := "POST /acme/v2/apps/" + app + "/tokens application/json " + body
			if err != nil || out != "a.b.c\n" || asked != want {
				t.Errorf("%v, printed %q, asked\n%s, want\n%s", err, out, asked, want)
			}
		})
	}
	for _, args := range [][]string{{"mint"}, {"mint", "--life", "1500ms", "ann"}, {"mint", "--life", "-1s", "ann"}} {
		if _, _, err := client(t, "", env, args...); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// rsaKey is made once, because that takes a while.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// thumbprint computes the thumbprint of RFC 7638 without the library.
func thumbprint(k *rsa.PublicKey) string {
	text := fmt.Sprintf(`{"e":"AQAB","kty":"RSA","n":"%s"}`, base64.RawURLEncoding.EncodeToString(k.N.Bytes()))
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// signed makes a token with the standard library only.
func signed(t *testing.T, claims map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","kid":"`+thumbprint(&rsaKey().PublicKey)+`","typ":"JWT"}`)) + "." + encode(payload)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, rsaKey(), crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

func TestVerify(t *testing.T) {
	public := &rsaKey().PublicKey
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	set := "# app: " + key + "\n# kid: " + thumbprint(public) + "\n" + string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	reply := set
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/acme/v2/auth/certs/pem" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		io.WriteString(w, reply)
	}))
	defer server.Close()
	env := "TENANTKIT_URL=" + server.URL + "/acme/v2" // without a credential
	claims := func(changes map[string]any) map[string]any {
		c := map[string]any{
			"iss": key, "sub": "ann", "aud": server.URL + "/acme/v2",
			"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "service/scp": []string{""},
		}
		for name, value := range changes {
			c[name] = value
		}
		return c
	}
	good := signed(t, claims(nil))

	t.Run("a good token, from each place", func(t *testing.T) {
		for _, test := range []struct {
			stdin string
			args  []string
		}{{"", []string{good}}, {good + "\n", nil}, {good, []string{"-"}}} {
			out, errs, err := client(t, test.stdin, env, append([]string{"verify"}, test.args...)...)
			var printed map[string]any
			if err != nil || errs != "" || json.Unmarshal([]byte(out), &printed) != nil || printed["sub"] != "ann" {
				t.Errorf("%v %s %s", err, out, errs)
			}
		}
	})
	t.Run("one that could have been revoked", func(t *testing.T) {
		_, errs, err := client(t, "", env, "verify", signed(t, claims(map[string]any{"jti": "one"})))
		if err != nil || !strings.Contains(errs, "only the server knows") {
			t.Errorf("%v %s", err, errs)
		}
	})
	t.Run("what is refused", func(t *testing.T) {
		parts := strings.Split(good, ".")
		for name, raw := range map[string]string{
			"another audience": signed(t, claims(map[string]any{"aud": "https://elsewhere.example/acme/v2"})),
			"expired":          signed(t, claims(map[string]any{"exp": 1})),
			"another payload":  parts[0] + "." + strings.Split(signed(t, claims(map[string]any{"sub": "eve"})), ".")[1] + "." + parts[2],
			"nonsense":         "nonsense",
			"nothing":          "-",
		} {
			out, _, err := client(t, "", env, "verify", raw)
			if err == nil || out != "" || !strings.HasPrefix(err.Error(), "token: invalid") {
				t.Errorf("%s: %v, printed %q", name, err, out)
			}
		}
	})
	t.Run("a set that does not have the key, or is none", func(t *testing.T) {
		for text, want := range map[string]string{
			"# no keys\n":                           "token: invalid",
			"nothing":                               "token: published keys",
			strings.Replace(set, key, "another", 1): "token: invalid",
		} {
			reply = text
			if _, _, err := client(t, "", env, "verify", good); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		}
	})
	for _, args := range [][]string{{"verify", "a", "b"}, {"verify", "-nope"}} {
		if _, _, err := client(t, "", env, args...); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, _, err := client(t, "", "", "verify", good); !errors.As(err, new(usageError)) {
		t.Errorf("without a server: %v", err)
	}
}
