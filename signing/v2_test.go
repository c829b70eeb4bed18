package signing_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/signing"
)

const (
	demoBase = "https://api.example.com"
	macKey   = clientKey + string(secret)
)

var (
	always     = []string{`"@method"`, `"@authority"`, `"@path"`, `"@query"`}
	demoSigner = ed25519.NewKeyFromSeed(must(hex.DecodeString("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")))
	demoPublic = demoSigner.Public().(ed25519.PublicKey)
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// secondServer is a verifier at noon for both versions, at demoBase.
func secondServer(t testing.TB) *server {
	s := newServer(t)
	s.BaseURL = demoBase
	return s
}

func publicServer(t testing.TB) *server {
	s := secondServer(t)
	s.Keys = keyring{clientKey: must(signing.NewPublicKey(clientKey, demoPublic))}
	return s
}

// draft is a request of version 2 before it is signed.
type draft struct {
	*http.Request
	label     string
	list      []string // components
	params    []string // parameters without their semicolons
	authority string
	signer    ed25519.PrivateKey // nil: HMAC
	sep       string             // between components
}

// second returns a signed request of version 2 at noon. Changes come before the
// signature, so a client has signed what they say.
func second(method, target, body string, changes ...func(*draft)) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	if body == "" {
		r.Body = http.NoBody
	}
	d := &draft{Request: r, label: "sig", list: append([]string(nil), always...), authority: "api.example.com", sep: " "}
	if body != "" {
		d.covered("Content-Digest", sha256Digest(body))
	}
	d.params = []string{
		fmt.Sprintf("created=%d", noon.Unix()), `nonce="` + freshNonce() + `"`, `keyid="` + clientKey + `"`,
		`alg="hmac-sha256"`, `tag="service-v2"`,
	}
	for _, change := range changes {
		change(d)
	}
	d.sign()
	return r
}

func sha256Digest(body string) string {
	sum := sha256.Sum256([]byte(body))
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

func sha512Digest(body string) string {
	sum := sha512.Sum512([]byte(body))
	return "sha-512=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// covered sets a header that the signature covers.
func (d *draft) covered(name string, values ...string) {
	d.Header[name] = values
	d.list = append(d.list, `"`+strings.ToLower(name)+`"`)
}

func (d *draft) sign() {
	list, params := "("+strings.Join(d.list, d.sep)+")", ""
	for _, param := range d.params {
		params += ";" + param
	}
	text, err := signatureBase(d.Request, d.authority, list, params)
	if err != nil {
		text = err.Error() // nobody can sign this
	}
	signature := macOf([]byte(macKey), text)
	if d.signer != nil {
		signature = ed25519.Sign(d.signer, []byte(text))
	}
	d.Header["Signature-Input"] = append(d.Header["Signature-Input"], d.label+"="+list+params)
	d.Header["Signature"] = append(d.Header["Signature"], d.label+"=:"+base64.StdEncoding.EncodeToString(signature)+":")
}

// param replaces the parameter of a name, or removes it if text is "".
func param(name, text string) func(*draft) {
	return func(d *draft) {
		for i, p := range d.params {
			if strings.HasPrefix(p, name+"=") {
				d.params[i] = text
				if text == "" {
					d.params = append(d.params[:i], d.params[i+1:]...)
				}
				return
			}
		}
	}
}

func byEd25519(d *draft) {
	param("alg", `alg="ed25519"`)(d)
	d.signer = demoSigner
}

func list(components ...string) func(*draft) { return func(d *draft) { d.list = components } }

func header(name string, values ...string) func(*draft) {
	return func(d *draft) { d.Header[name] = values }
}

// knownAnswers are requests that stock libraries signed, and the examples of RFC 9421.
type knownAnswers struct {
	Ed25519PublicKeyBase64url string
	Vectors                   []struct {
		Name, MadeBy, Method, URL, Body, Account, Base string
		Headers                                        map[string]string
	}
	RFC9421 []struct {
		Section, Alg, SecretBase64, PublicKeyBase64url, Base, Signature string
	}
}

func readKnownAnswers(t testing.TB) (k knownAnswers) {
	t.Helper()
	if err := json.Unmarshal(must(os.ReadFile("testdata/signing-v2.json")), &k); err != nil {
		t.Fatal(err)
	}
	if len(k.Vectors) != 12 || len(k.RFC9421) != 2 {
		t.Fatalf("%d vectors, %d of the RFC", len(k.Vectors), len(k.RFC9421))
	}
	return k
}

func TestVerifyAcceptsWhatStockLibrariesSign(t *testing.T) {
	answers := readKnownAnswers(t)
	for _, v := range answers.Vectors {
		t.Run(v.Name+" by "+v.MadeBy, func(t *testing.T) {
			r := httptest.NewRequest(v.Method, v.URL, strings.NewReader(v.Body))
			for name, value := range v.Headers {
				r.Header.Set(name, value)
			}
			if v.Account != "" {
				r.Header.Set(names.Account, v.Account)
			}
			s := secondServer(t)
			if strings.Contains(v.Name, "ed25519") {
				public := must(base64.RawURLEncoding.DecodeString(answers.Ed25519PublicKeyBase64url))
				s.Keys = keyring{clientKey: must(signing.NewPublicKey(clientKey, public))}
			}
			s.BaseURL = strings.TrimSuffix(v.URL, r.URL.RequestURI())
			if got := signing.BaseOf(&s.Verifier, r); got != v.Base {
				t.Errorf("base %s\nwant %s", got, v.Base)
			}
			key, err := s.Verify(t.Context(), r, "/unused")
			if err != nil || key.ClientKey() != clientKey {
				t.Fatalf("Verify = %v, %v", key, err)
			}
			if body := must(io.ReadAll(r.Body)); string(body) != v.Body {
				t.Errorf("the handler reads %q", body)
			}
			r.Body = io.NopCloser(strings.NewReader(v.Body))
			if _, err := s.Verify(t.Context(), r, "/unused"); !errors.Is(err, signing.ErrReplayed) {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// The examples of RFC 9421, B.2.5 and B.2.6, cover components that the profile does not
// have. So they check what verifies a base, with the stored bases.
func TestExamplesOfRFC9421(t *testing.T) {
	for _, v := range readKnownAnswers(t).RFC9421 {
		signature := must(base64.StdEncoding.DecodeString(v.Signature))
		for _, c := range []struct {
			name string
			base string
			want bool
		}{{"the base", v.Base, true}, {"another base", v.Base + " ", false}} {
			got := signing.Matches(v.Alg, must(base64.StdEncoding.DecodeString(v.SecretBase64)),
				must(base64.RawURLEncoding.DecodeString(v.PublicKeyBase64url)), c.base, signature)
			if got != c.want {
				t.Errorf("%s: %s: %t", v.Section, c.name, got)
			}
		}
	}
}

// Each case is a request that its client has signed as it stands. It must be refused,
// and leave nothing.
func TestVerifyRefusesSignedSecond(t *testing.T) {
	const target = "/acme/v2/connections?limit=5"
	seconds := func(d time.Duration) string { return fmt.Sprint(noon.Add(d).Unix()) }
	tests := []struct {
		name   string
		change func(*draft)
		want   error
	}{
		// components
		{"V02 without @method", list(always[1:]...), signing.ErrMalformed},
		{"V02 without @authority", list(always[0], always[2], always[3]), signing.ErrMalformed},
		{"V02 without @path", list(always[0], always[1], always[3]), signing.ErrMalformed},
		{"V02 without @query", list(always[:3]...), signing.ErrMalformed},
		{"V02 nothing", list(), signing.ErrMalformed},
		{"V02 @method twice", list(append(always[:4:4], always[0])...), signing.ErrMalformed},
		{"V02 an upper-case name", list(`"@METHOD"`, always[1], always[2], always[3]), signing.ErrMalformed},
		{"V02 a name without quotes", list(`@method`, always[1], always[2], always[3]), signing.ErrMalformed},
		{"V02 a name as a token", list(`method`, always[1], always[2], always[3]), signing.ErrMalformed},
		{"V02 a name with parameters", list(`"@method";req`, always[1], always[2], always[3]), signing.ErrMalformed},
		{"V02 @query with a parameter", list(always[0], always[1], always[2], `"@query";name="limit"`), signing.ErrMalformed},
		{"V02 an unknown derived component", list(append(always[:4:4], `"@target-uri"`)...), signing.ErrMalformed},
		{"V02 a header that is no component", func(d *draft) { d.covered("Date", "Tue") }, signing.ErrMalformed},
		{"V02 a digest that is not there", func(d *draft) { d.list = append(d.list, `"content-digest"`) }, signing.ErrMalformed},
		{"V02 a digest that is not covered", header("Content-Digest", sha256Digest("")), signing.ErrMalformed},
		{"V02 an account that is not there", func(d *draft) { d.list = append(d.list, `"service-client-account"`) }, signing.ErrMalformed},
		{"V02 an account that is not covered", header(names.Account, "a"), signing.ErrMalformed},
		{"V02 an account of another brand", func(d *draft) { d.covered("X-Acme-Client-Account", "a") }, signing.ErrMalformed},
		{"V02 two blanks between names", func(d *draft) { d.sep = "  " }, signing.ErrMalformed},
		{"V02 a blank after the bracket", list(append([]string{""}, always...)...), signing.ErrMalformed},
		{"V02 two accounts", func(d *draft) { d.covered(names.Account, "a", "b") }, signing.ErrAmbiguous},
		{"V02 an account of 65 bytes", func(d *draft) { d.covered(names.Account, strings.Repeat("a", 65)) }, signing.ErrMalformed},
		// labels and tags
		{"V03 a label in upper case", func(d *draft) { d.label = "Sig" }, signing.ErrMalformed},
		{"V03 a label that starts with a star", func(d *draft) { d.label = "*sig" }, signing.ErrMalformed},
		{"V03 a label with a dot", func(d *draft) { d.label = "s.ig" }, signing.ErrMalformed},
		{"V03 a label of 33 letters", func(d *draft) { d.label = strings.Repeat("a", 33) }, signing.ErrMalformed},
		{"V03 another tag", param("tag", `tag="service-v3"`), signing.ErrNoSignature},
		{"V03 the tag of another brand", param("tag", `tag="x-acme-v2"`), signing.ErrNoSignature},
		{"V03 the tag in upper case", param("tag", `tag="Service-v2"`), signing.ErrNoSignature},
		{"V03 no tag", param("tag", ""), signing.ErrNoSignature},
		{"V03 two tags, ours first", param("tag", `tag="service-v2";tag="other"`), signing.ErrMalformed},
		{"V03 two tags, ours last", param("tag", `tag="other";tag="service-v2"`), signing.ErrMalformed},
		{"V03 the tag as a token", param("tag", `tag=service-v2`), signing.ErrMalformed},
		// alg and keyid
		{"V04 no alg", param("alg", ""), signing.ErrMalformed},
		{"V04 an alg of another kind", param("alg", `alg="rsa-pss-sha512"`), signing.ErrMalformed},
		{"V04 alg none", param("alg", `alg="none"`), signing.ErrMalformed},
		{"V04 alg in upper case", param("alg", `alg="HMAC-SHA256"`), signing.ErrMalformed},
		{"V04 alg twice", param("alg", `alg="hmac-sha256";alg="ed25519"`), signing.ErrMalformed},
		{"V04 Ed25519 for a key with secrets", byEd25519, signing.ErrMismatch},
		{"V04 the HMAC as Ed25519", param("alg", `alg="ed25519"`), signing.ErrMalformed},
		{"V04 no keyid", param("keyid", ""), signing.ErrMalformed},
		{"V04 keyid as a header", func(d *draft) {
			param("keyid", "")(d)
			d.Header.Set(names.ClientKey, clientKey)
		}, signing.ErrMalformed},
		{"V04 another client key header", header(names.ClientKey, "other"), signing.ErrAmbiguous},
		{"V04 two client key headers", header(names.ClientKey, clientKey, clientKey), signing.ErrAmbiguous},
		{"V04 keyid empty", param("keyid", `keyid=""`), signing.ErrMalformed},
		{"V04 keyid with an escape", param("keyid", `keyid="tkDemo\"7Qp"`), signing.ErrMalformed},
		{"V04 keyid twice", param("keyid", `keyid="a";keyid="`+clientKey+`"`), signing.ErrMalformed},
		{"V04 an empty keyid before the keyid", param("keyid", `keyid="";keyid="`+clientKey+`"`), signing.ErrMalformed},
		{"V04 keyid of 129 bytes", param("keyid", `keyid="`+strings.Repeat("a", 129)+`"`), signing.ErrMalformed},
		{"V04 keyid as a token", param("keyid", `keyid=`+clientKey), signing.ErrMalformed},
		{"V04 an unknown keyid", param("keyid", `keyid="tkDemo7Qp2Lx9VbNc4Zr8X"`), signing.ErrUnknownKey},
		// created and expires
		{"V05 no created", param("created", ""), signing.ErrMalformed},
		{"V05 created a second too old", param("created", "created="+seconds(-301*time.Second)), signing.ErrStale},
		{"V05 created a second too far ahead", param("created", "created="+seconds(61*time.Second)), signing.ErrStale},
		{"V05 created with a fraction", param("created", "created="+seconds(0)+".0"), signing.ErrMalformed},
		{"V05 created negative", param("created", "created=-"+seconds(0)), signing.ErrMalformed},
		{"V05 created with a leading zero", param("created", "created=0"+seconds(0)), signing.ErrMalformed},
		{"V05 created as a string", param("created", `created="`+seconds(0)+`"`), signing.ErrMalformed},
		{"V05 created without a value", param("created", "created"), signing.ErrMalformed},
		{"V05 created in milliseconds", param("created", "created="+seconds(0)+"000"), signing.ErrStale},
		{"V05 created of 16 digits", param("created", "created=1000000000000000"), signing.ErrMalformed},
		{"V05 created twice", param("created", "created="+seconds(0)+";created="+seconds(0)), signing.ErrMalformed},
		{"V05 created 0", param("created", "created=0"), signing.ErrMalformed},
		{"V05 expired", func(d *draft) { d.params = append(d.params, "expires="+seconds(-time.Second)) }, signing.ErrStale},
		{"V05 expires later, created too old", func(d *draft) {
			param("created", "created="+seconds(-301*time.Second))(d)
			d.params = append(d.params, "expires="+seconds(time.Hour))
		}, signing.ErrStale},
		{"V05 expires twice", func(d *draft) {
			d.params = append(d.params, "expires="+seconds(1), "expires="+seconds(time.Hour))
		}, signing.ErrMalformed},
		{"V05 an unknown parameter", func(d *draft) { d.params = append(d.params, "x=1") }, signing.ErrMalformed},
		{"V05 a blank before a parameter", func(d *draft) { d.params[0] = " " + d.params[0] }, signing.ErrMalformed},
		// nonce
		{"V06 no nonce", param("nonce", ""), signing.ErrMalformed},
		{"V06 a nonce of 15", param("nonce", `nonce="`+strings.Repeat("a", 15)+`"`), signing.ErrMalformed},
		{"V06 a nonce of 129", param("nonce", `nonce="`+strings.Repeat("a", 129)+`"`), signing.ErrMalformed},
		{"V06 a nonce with a blank", param("nonce", `nonce="aaaaaaaa aaaaaaaa"`), signing.ErrMalformed},
		{"V06 a nonce with an escape", param("nonce", `nonce="aaaaaaaa\\aaaaaaaa"`), signing.ErrMalformed},
		{"V06 a nonce outside ASCII", param("nonce", `nonce="aaaaaaaaéaaaaaaaa"`), signing.ErrMalformed},
		{"V06 a nonce as bytes", param("nonce", `nonce=:YWFhYWFhYWFhYWFhYWFhYQ==:`), signing.ErrMalformed},
		{"V06 nonce twice", func(d *draft) { d.params = append(d.params, d.params[1]) }, signing.ErrMalformed},
		// authority
		{"V09 another authority", func(d *draft) { d.authority = "evil.example" }, signing.ErrMismatch},
		{"V09 the authority with a port", func(d *draft) { d.authority = "api.example.com:8443" }, signing.ErrMismatch},
		{"V09 the authority with the default port", func(d *draft) { d.authority += ":443" }, signing.ErrMismatch},
		{"V09 the authority in upper case", func(d *draft) { d.authority = "API.example.com" }, signing.ErrMismatch},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := secondServer(t)
			r := second("GET", target, "", test.change)
			if key, err := s.Verify(t.Context(), r, "/connections"); !errors.Is(err, test.want) || key != nil {
				t.Errorf("Verify = %v, %v, want %v", key, err, test.want)
			}
			if n := len(s.replays.claimed()); n != 0 {
				t.Errorf("%d requests recorded", n)
			}
			if _, err := s.Verify(t.Context(), second("GET", target, ""), "/connections"); err != nil {
				t.Errorf("an honest request: %v", err)
			}
		})
	}
}

// Each case changes an honest request on its way.
func TestVerifyRefusesChangedSecond(t *testing.T) {
	const target, body = "/acme/v2/c_notes/1?x=%2f&a=1&a=2", `{"c_text":"hi"}`
	input := func(change func(string) string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Signature-Input", change(r.Header.Get("Signature-Input"))) }
	}
	signatureOf := func(change func(string) string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Signature", change(r.Header.Get("Signature"))) }
	}
	query := func(q string) func(*http.Request) { return func(r *http.Request) { r.URL.RawQuery = q } }
	content := func(body string) func(*http.Request) {
		return func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		}
	}
	path := func(path string) func(*http.Request) {
		return func(r *http.Request) { r.URL.Path, r.URL.RawPath = path, "" }
	}
	const account = "5b0000000000000000000001"
	tests := []struct {
		name   string
		change func(*http.Request)
		want   error
	}{
		{"V01 another method", func(r *http.Request) { r.Method = "PUT" }, signing.ErrMismatch},
		{"V01 another org", path("/other/v2/c_notes/1"), signing.ErrMismatch},
		{"V01 another version", path("/acme/v3/c_notes/1"), signing.ErrMismatch},
		{"V01 another resource", path("/acme/v2/c_notes/2"), signing.ErrMismatch},
		{"V01 a trailing slash", path("/acme/v2/c_notes/1/"), signing.ErrMismatch},
		{"V01 another query", query("x=%2f&a=1&a=3"), signing.ErrMismatch},
		{"V01 another account", set(names.Account, "5b0000000000000000000002"), signing.ErrMismatch},
		{"V01 no account", drop(names.Account), signing.ErrMalformed},
		{"V01 another digest", set("Content-Digest", sha256Digest("x")), signing.ErrMismatch},
		{"V01 no digest", drop("Content-Digest"), signing.ErrMalformed},
		{"V01 a later time", input(func(s string) string { return strings.Replace(s, "created=179", "created=17900", 1) }), signing.ErrStale},
		{"V01 a second later", input(func(s string) string { return strings.Replace(s, "1790000000", "1790000001", 1) }), signing.ErrMismatch},
		{"V01 another nonce", input(func(s string) string { return strings.Replace(s, `nonce="0`, `nonce="1`, 1) }), signing.ErrMismatch},
		{"V01 components in another order", input(func(s string) string {
			return strings.Replace(s, `"@method" "@authority"`, `"@authority" "@method"`, 1)
		}), signing.ErrMismatch},
		{"V01 parameters in another order", input(func(s string) string {
			return strings.Replace(s, `;alg="hmac-sha256";tag="service-v2"`, `;tag="service-v2";alg="hmac-sha256"`, 1)
		}), signing.ErrMismatch},
		{"V01 expires added", input(func(s string) string { return s + ";expires=1790000100" }), signing.ErrMismatch},
		{"V01 the signature of another request", func(r *http.Request) {
			r.Header["Signature"] = second("GET", "/", "").Header["Signature"]
		}, signing.ErrMismatch},
		{"V03 two signatures with our tag", func(r *http.Request) {
			other := second("GET", "/", "", func(d *draft) { d.label = "sig2" })
			for _, name := range []string{"Signature", "Signature-Input"} {
				r.Header[name] = append(r.Header[name], other.Header[name]...)
			}
		}, signing.ErrAmbiguous},
		{"V03 two labels in one line", input(func(s string) string { return s + ", " + strings.Replace(s, "sig=", "sig2=", 1) }), signing.ErrAmbiguous},
		{"V03 the label twice", input(func(s string) string { return s + `, sig=("@method");tag="other"` }), signing.ErrAmbiguous},
		{"V03 the label twice, ours last", input(func(s string) string { return `sig=1, ` + s }), signing.ErrAmbiguous},
		{"V03 the signature's label twice", signatureOf(func(s string) string { return s + ", " + s }), signing.ErrMalformed},
		{"V03 another label in Signature", signatureOf(func(s string) string { return "x" + s }), signing.ErrMalformed},
		{"V03 no Signature", drop("Signature"), signing.ErrMalformed},
		{"V03 no Signature-Input", drop("Signature-Input", names.Account), signing.ErrNoSignature},
		{"V03 no Signature-Input, and an account", drop("Signature-Input"), signing.ErrAmbiguous},
		{"V03 the input as a boolean", set("Signature-Input", `sig;tag="service-v2"`), signing.ErrMalformed},
		{"V03 the input as an item", set("Signature-Input", `sig="x";tag="service-v2"`), signing.ErrMalformed},
		{"V03 an input that is cut off", input(func(s string) string { return s[:len(s)-1] }), signing.ErrMalformed},
		{"V03 a list without its first bracket", input(func(s string) string { return strings.Replace(s, "(", "", 1) }), signing.ErrMalformed},
		{"V03 a list without its last bracket", input(func(s string) string { return strings.Replace(s, ")", "", 1) }), signing.ErrMalformed},
		{"V03 two lists", input(func(s string) string { return strings.Replace(s, ")", ") (\"@method\")", 1) }), signing.ErrMalformed},
		{"V03 a comma at the end", input(func(s string) string { return s + "," }), signing.ErrMalformed},
		{"V03 garbage behind another member", input(func(s string) string { return s + ", a=(" }), signing.ErrMalformed},
		{"V07 two digest headers", func(r *http.Request) { r.Header.Add("Content-Digest", sha256Digest(body)) }, signing.ErrAmbiguous},
		{"V08 another body", content(`{"c_text":"ho"}`), signing.ErrDigest},
		{"V08 no body", func(r *http.Request) { r.Body = http.NoBody }, signing.ErrDigest},
		{"V08 a byte more", content(body + " "), signing.ErrDigest},
		{"V08 a byte less", content(body[:len(body)-1]), signing.ErrDigest},
		{"V08 a compressed body", content("\x1f\x8b\x08"), signing.ErrDigest},
		{"V08 a body that breaks off", func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(body), brokenReader{}))
		}, signing.ErrDigest},
		{"V08 a longer body than the bound", content(strings.Repeat("x", 1<<20+1)), signing.ErrBodyTooLarge},
		{"V08 a longer body of unknown length", func(r *http.Request) {
			content(strings.Repeat("x", 1<<20+1))(r)
			r.ContentLength = -1
		}, signing.ErrBodyTooLarge},
		{"V08 a body that a middleware bounds", func(r *http.Request) {
			r.Body = http.MaxBytesReader(nil, r.Body, 3)
		}, signing.ErrBodyTooLarge},
		{"V10 the query unescaped", query("x=/&a=1&a=2"), signing.ErrMismatch},
		{"V10 the query with an escape in upper case", query("x=%2F&a=1&a=2"), signing.ErrMismatch},
		{"V10 the query in another order", query("x=%2f&a=2&a=1"), signing.ErrMismatch},
		{"V10 the query without a repeated name", query("x=%2f&a=1"), signing.ErrMismatch},
		{"V10 no query", query(""), signing.ErrMismatch},
		{"V10 a query outside ASCII", query("x=é"), signing.ErrMalformed},
		{"V10 a query with a line feed", query("x=%2f\n\"@path\": /"), signing.ErrMalformed},
		{"V10 a query of 32 KiB", query(strings.Repeat("a", 32<<10)), signing.ErrMalformed},
		{"V11 headers of 8 KiB", input(func(s string) string { return s + ", a=:" + strings.Repeat("a", 8<<10) + ":" }), signing.ErrMalformed},
		{"V11 a signature of 8 KiB", signatureOf(func(s string) string { return s + ", a=:" + strings.Repeat("a", 8<<10) + ":" }), signing.ErrMalformed},
		{"V11 a folded input", input(func(s string) string { return strings.Replace(s, ";created", "\r\n ;created", 1) }), signing.ErrMalformed},
		{"V11 an input outside ASCII", input(func(s string) string { return s + `, a="é"` }), signing.ErrMalformed},
		{"V11 a line that ends inside a member", func(r *http.Request) {
			s := r.Header.Get("Signature-Input")
			r.Header["Signature-Input"] = []string{s[:20], s[20:]}
		}, signing.ErrMalformed},
		{"V11 an empty line", func(r *http.Request) { r.Header.Add("Signature-Input", "") }, signing.ErrMalformed},
		{"V12 a signature of version 1 beside it", set(names.Signature, strings.Repeat("0", 64)), signing.ErrAmbiguous},
		{"V12 a timestamp of version 1 beside it", set(names.Timestamp, "1790000000000"), signing.ErrAmbiguous},
		{"V12 a nonce of version 1 beside it", set(names.Nonce, "0000000000000000"), signing.ErrAmbiguous},
		{"V12 a whole request of version 1 beside it", func(r *http.Request) {
			for name, values := range signed("POST", "/x", noon).Header {
				r.Header[name] = values
			}
		}, signing.ErrAmbiguous},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := secondServer(t)
			make := func() *http.Request {
				return second("POST", target, body, func(d *draft) { d.covered(names.Account, account) })
			}
			r := make()
			test.change(r)
			if key, err := s.Verify(t.Context(), r, "/c_notes/1"); !errors.Is(err, test.want) || key != nil {
				t.Errorf("Verify = %v, %v, want %v", key, err, test.want)
			}
			if n := len(s.replays.claimed()); n != 0 {
				t.Errorf("%d requests recorded", n)
			}
			if _, err := s.Verify(t.Context(), make(), "/c_notes/1"); err != nil {
				t.Errorf("an honest request: %v", err)
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestVerifyRefusesEveryFlippedBitSecond(t *testing.T) {
	for alg, test := range map[string]struct {
		s      *server
		change func(*draft)
	}{"hmac-sha256": {secondServer(t), func(*draft) {}}, "ed25519": {publicServer(t), byEd25519}} {
		r := second("GET", "/acme/v2/connections", "", test.change)
		honest := r.Header.Get("Signature")
		text := strings.Trim(strings.TrimPrefix(honest, "sig="), ":")
		sum := must(base64.StdEncoding.DecodeString(text))
		for bit := range 8 * len(sum) {
			flipped := bytes.Clone(sum)
			flipped[bit/8] ^= 1 << (bit % 8)
			r.Header.Set("Signature", "sig=:"+base64.StdEncoding.EncodeToString(flipped)+":")
			if _, err := test.s.Verify(t.Context(), r, "/"); !errors.Is(err, signing.ErrMismatch) {
				t.Fatalf("V01 %s, bit %d: %v", alg, bit, err)
			}
		}
		for _, c := range []string{text[:len(text)-1], text + "=", strings.TrimRight(text, "="), strings.NewReplacer("+", "-", "/", "_").Replace(text) + "_"} {
			r.Header.Set("Signature", "sig=:"+c+":")
			if _, err := test.s.Verify(t.Context(), r, "/"); !errors.Is(err, signing.ErrMalformed) {
				t.Errorf("V01 %s, another spelling %s: %v", alg, c, err)
			}
		}
		r.Header.Set("Signature", honest)
		if _, err := test.s.Verify(t.Context(), r, "/"); err != nil {
			t.Errorf("%s: the honest request: %v", alg, err)
		}
	}
}

func TestSecondIsAccepted(t *testing.T) {
	const body = `{"c_text":"hi"}`
	both := func(d *draft) { d.Header.Set("Content-Digest", sha512Digest(body)+" ,\t"+sha256Digest(body)) }
	tests := []struct {
		name, method, target, body string
		change                     func(*draft)
	}{
		{"plain", "GET", "/acme/v2/connections", "", func(*draft) {}},
		{"components in another order", "GET", "/x", "", list(always[3], always[1], always[0], always[2])},
		{"parameters in another order", "GET", "/x", "", func(d *draft) { d.params[0], d.params[4] = d.params[4], d.params[0] }},
		{"at the end of the window", "GET", "/x", "", param("created", fmt.Sprintf("created=%d", noon.Unix()-300))},
		{"at its start", "GET", "/x", "", param("created", fmt.Sprintf("created=%d", noon.Unix()+60))},
		{"that expires now", "GET", "/x", "", func(d *draft) { d.params = append(d.params, fmt.Sprintf("expires=%d", noon.Unix())) }},
		{"a nonce of 128 characters", "GET", "/x", "", param("nonce", `nonce="`+strings.Repeat("~;,=(", 25)+`abc"`)},
		{"another label", "GET", "/x", "", func(d *draft) { d.label = "a_b-9" }},
		{"V09 another Host header", "GET", "/x", "", func(d *draft) { d.Host = "10.0.0.1:8080" }},
		{"V10 a query of one question mark", "GET", "/x?", "", func(*draft) {}},
		{"V10 a plus, escapes of two cases, a repeated name", "GET", "/x?a=1+2&b=%2f&b=%2F", "", func(*draft) {}},
		{"V07 SHA-512", "PUT", "/x", body, header("Content-Digest", sha512Digest(body))},
		{"V07 both digests", "PUT", "/x", body, both},
		{"V07 the digest of nothing", "DELETE", "/x", "", func(d *draft) { d.covered("Content-Digest", sha256Digest("")) }},
		{"V08 HEAD", "HEAD", "/x", "", func(*draft) {}},
		{"V08 GET with a body", "GET", "/x", body, func(*draft) {}},
		{"V08 a body of unknown length", "POST", "/x", body, func(d *draft) { d.ContentLength = -1 }},
		{"V08 a body as long as the bound", "POST", "/x", strings.Repeat("x", 1<<20), func(*draft) {}},
		{"V08 an empty body of unknown length", "POST", "/x", "", func(d *draft) {
			d.Body, d.ContentLength = io.NopCloser(strings.NewReader("")), -1
		}},
		{"the client key header says the same", "GET", "/x", "", header(names.ClientKey, clientKey)},
		{"V03 beside signatures of others", "GET", "/x", "", func(d *draft) {
			d.Header["Signature-Input"] = []string{`proxy=("@method" "date";sf);created=1;tag="proxy", a=1.5;b=?0 ,b=:aGk=:`, `c;x="q\"\\,";y=tok/en:`}
			d.Header["Signature"] = []string{`proxy=:aGk=:;x`}
		}},
	}
	for _, test := range tests {
		for alg, s := range map[string]*server{"hmac-sha256": secondServer(t), "ed25519": publicServer(t)} {
			t.Run(test.name+" "+alg, func(t *testing.T) {
				changes := []func(*draft){test.change}
				if alg == "ed25519" {
					changes = append(changes, func(d *draft) {
						for i, p := range d.params {
							if p == `alg="hmac-sha256"` {
								d.params[i] = `alg="ed25519"`
							}
						}
						d.signer = demoSigner
					})
				}
				r := second(test.method, test.target, test.body, changes...)
				if _, err := generalVerify(r, "api.example.com", "service-v2", []byte(macKey), demoPublic); err != nil {
					t.Errorf("a stock library: %v", err)
				}
				if _, err := s.Verify(t.Context(), r, "/unused"); err != nil {
					t.Fatal(err)
				}
				if body := must(io.ReadAll(r.Body)); string(body) != test.body {
					t.Errorf("the handler reads %d bytes", len(body))
				}
			})
		}
	}
}

func TestContentDigest(t *testing.T) {
	const body = `{"c_text":"hi"}`
	right, wrong := sha256Digest(body), sha256Digest("x")
	for name, value := range map[string]string{
		"V07 wrong":                            wrong,
		"V07 SHA-512 wrong":                    sha512Digest("x"),
		"V07 one of two is wrong":              right + ", " + sha512Digest("x"),
		"V07 the other of two is wrong":        wrong + ", " + sha512Digest(body),
		"V07 unknown":                          "md5=:XrY7u+Ae7tCTyyK7j1rNww==:",
		"V07 a known one and an unknown one":   right + ", md5=:XrY7u+Ae7tCTyyK7j1rNww==:",
		"V07 one twice":                        wrong + ", " + right,
		"V07 empty":                            "",
		"V07 a parameter":                      right + ";x",
		"V07 a string":                         `sha-256="x"`,
		"V07 without its padding":              strings.Replace(right, "=:", ":", 1),
		"V07 of another length":                "sha-256=:aGk=:",
		"V07 the name in upper case":           strings.Replace(right, "sha", "SHA", 1),
		"V07 the form of the old Digest field": strings.ReplaceAll(right, ":", ""),
	} {
		t.Run(name, func(t *testing.T) {
			s := secondServer(t)
			r := second("POST", "/x", body, header("Content-Digest", value))
			if _, err := s.Verify(t.Context(), r, "/x"); !errors.Is(err, signing.ErrDigest) {
				t.Errorf("Verify = %v", err)
			}
			if len(s.replays.claimed()) != 0 {
				t.Error("recorded")
			}
		})
	}
	t.Run("V07 missing, with a body", func(t *testing.T) {
		s := secondServer(t)
		r := second("POST", "/x", "")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), -1
		if _, err := s.Verify(t.Context(), r, "/x"); !errors.Is(err, signing.ErrDigest) || len(s.replays.claimed()) != 0 {
			t.Errorf("Verify = %v", err)
		}
	})
}

// No text is what both versions sign. So no signature of one is one of the other.
func TestVersionsDoNotMix(t *testing.T) {
	s := secondServer(t)
	first := signed("GET", "/connections", noon)
	mac := must(hex.DecodeString(first.Header.Get(names.Signature)))
	r := second("GET", "/connections", "")
	r.Header.Set("Signature", "sig=:"+base64.StdEncoding.EncodeToString(mac)+":")
	if _, err := s.Verify(t.Context(), r, "/connections"); !errors.Is(err, signing.ErrMismatch) {
		t.Errorf("V13 the MAC of version 1 as version 2: %v", err)
	}
	r = second("GET", "/connections", "")
	text := strings.TrimSuffix(strings.TrimPrefix(r.Header.Get("Signature"), "sig=:"), ":")
	first.Header.Set(names.Signature, hex.EncodeToString(must(base64.StdEncoding.DecodeString(text))))
	if _, err := s.Verify(t.Context(), first, "/connections"); !errors.Is(err, signing.ErrMismatch) {
		t.Errorf("V13 the MAC of version 2 as version 1: %v", err)
	}
	base := signing.BaseOf(&s.Verifier, second("GET", "/connections", ""))
	first = signed("GET", base, noon)
	if _, err := s.Verify(t.Context(), first, "/connections"); !errors.Is(err, signing.ErrMismatch) {
		t.Errorf("V13 version 1 over a base of version 2: %v", err)
	}
	if base[0] != '"' {
		t.Errorf("V13 a base that starts with %q", base[0])
	}
}

func TestNonceOfSecondIsNeverAcceptedAgain(t *testing.T) {
	for name, replays := range map[string]signing.Replays{"map": new(mapReplays), "Memory": signing.NewMemory(0)} {
		now := time.Now().Add(time.Second)
		s := secondServer(t)
		s.Replays, s.Now = replays, func() time.Time { return now }
		created := func(after time.Duration) func(*draft) {
			return param("created", fmt.Sprintf("created=%d", now.Add(after).Unix()))
		}
		nonce := param("nonce", `nonce="`+freshNonce()+`"`)
		r := second("GET", "/x", "", created(0), nonce)
		if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for what, again := range map[string]*http.Request{
			"V14 the same request":          r,
			"V14 with a new created":        second("GET", "/x", "", created(time.Second), nonce),
			"V14 as another request":        second("POST", "/y", "{}", created(0), nonce),
			"V14 the same, in a new window": second("HEAD", "/x", "", created(30*time.Second), nonce),
		} {
			if _, err := s.Verify(t.Context(), again, "/x"); !errors.Is(err, signing.ErrReplayed) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
}

func TestUseOfSecond(t *testing.T) {
	s := secondServer(t)
	r := second("GET", "/x", "", param("nonce", `nonce="nonceNumber00000"`))
	if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
		t.Fatal(err)
	}
	sum := must(base64.StdEncoding.DecodeString(strings.Trim(strings.TrimPrefix(r.Header.Get("Signature"), "sig="), ":")))
	nonce := sha256.Sum256([]byte("v2nonceNumber00000"))
	want := []signing.Use{{
		ClientKey: clientKey, Nonce: base32.StdEncoding.EncodeToString(nonce[:10]), Signature: sha256.Sum256(sum),
		Signed: time.Unix(1790000000, 0), Seen: noon, Keep: noon.Add(330 * time.Second), Siblings: 1, Window: 2 * time.Second,
	}}
	if diff := cmp.Diff(want, s.replays.uses); diff != "" {
		t.Error(diff)
	}
}

func TestVersionsOfAPolicy(t *testing.T) {
	for _, c := range []struct {
		name          string
		version       int
		baseURL       string
		first, second error
		challenge     string
	}{
		{"both", 0, demoBase, nil, nil, `Signature versions="1 2"`},
		{"no base URL", 0, "", nil, signing.ErrVersion, `Signature`},
		{"only 1", 1, demoBase, nil, signing.ErrVersion, `Signature`},
		{"V15 only 2", 2, demoBase, signing.ErrVersion, nil, `Signature versions="2"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			s.Policy.Version, s.BaseURL = c.version, c.baseURL
			if _, err := s.Verify(t.Context(), signed("GET", "/x", noon), "/x"); !errors.Is(err, c.first) {
				t.Errorf("version 1: %v", err)
			}
			if _, err := s.Verify(t.Context(), second("GET", "/x", ""), "/x"); !errors.Is(err, c.second) {
				t.Errorf("version 2: %v", err)
			}
			w := httptest.NewRecorder()
			s.Handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
			if got := w.Header().Get("WWW-Authenticate"); w.Code != 401 || got != c.challenge {
				t.Errorf("%d with %q", w.Code, got)
			}
		})
	}
}

func TestBaseURLOfAVerifier(t *testing.T) {
	for base, authority := range map[string]string{
		"https://api.example.com": "api.example.com", "https://API.Example.com:443": "api.example.com",
		"http://api.example.com:80": "api.example.com", "https://api.example.com:80": "api.example.com:80",
		"http://[::1]:8080": "[::1]:8080", "HTTPS://api.example.com": "api.example.com", "http://[::1]:80": "[::1]",
	} {
		s := newServer(t)
		s.BaseURL = base
		r := second("GET", "/x", "", func(d *draft) { d.authority = authority })
		if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
			t.Errorf("V09 %s: %v", base, err)
		}
	}
	for _, base := range []string{"api.example.com", "https://", "ftp://a", "https://a@b", "https://a?b", "https://:443", "http://a#b", ""} {
		s := newServer(t)
		s.BaseURL = base
		if _, err := s.Verify(t.Context(), second("GET", "/x", ""), "/x"); err == nil || errors.Is(err, signing.ErrMismatch) {
			t.Errorf("%s: %v", base, err)
		}
	}
	// A mount that something has cut off is signed too.
	s := newServer(t)
	s.BaseURL = demoBase + "/acme/v2/"
	r := second("GET", "/acme/v2/x/", "")
	r.URL.Path = "/x/"
	if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
		t.Error(err)
	}
	r = second("GET", "/@acme/x", "")
	r.URL.Path = "/x"
	s.BaseURL = demoBase + "/@acme"
	if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
		t.Error(err)
	}
	s.BaseURL = demoBase + "/acme/v2/"
	r = second("GET", "/acme/v2/x/", "")
	r.URL.Path = "/other"
	s.Path = "/x/"
	if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
		t.Error(err)
	}
}

func TestNewPublicKeyRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		clientKey string
		keys      []ed25519.PublicKey
	}{
		"no key":                        {clientKey, nil},
		"31 bytes":                      {clientKey, []ed25519.PublicKey{demoPublic[:31]}},
		"33 bytes":                      {clientKey, []ed25519.PublicKey{append(demoPublic[:32:32], 0)}},
		"an empty one behind another":   {clientKey, []ed25519.PublicKey{demoPublic, nil}},
		"no client key":                 {"", []ed25519.PublicKey{demoPublic}},
		"a client key with a quote":     {`a"b`, []ed25519.PublicKey{demoPublic}},
		"a client key with a slash":     {`a\b`, []ed25519.PublicKey{demoPublic}},
		"a client key outside ASCII":    {"é", []ed25519.PublicKey{demoPublic}},
		"a client key with a blank":     {"a b", []ed25519.PublicKey{demoPublic}},
		"a client key that is too long": {strings.Repeat("a", 129), []ed25519.PublicKey{demoPublic}},
	} {
		if k, err := signing.NewPublicKey(c.clientKey, c.keys...); err == nil || k != nil {
			t.Errorf("V16 %s: %v", name, k)
		}
	}
}

// The points of small order are computed here with the equation of the curve: those
// that eight times themselves is the neutral element.
func TestNewPublicKeyRefusesSmallOrders(t *testing.T) {
	encodings := smallOrderEncodings(t)
	if len(encodings) < 14 {
		t.Errorf("%d encodings", len(encodings))
	}
	for _, key := range encodings {
		if _, err := signing.NewPublicKey(clientKey, key[:]); err == nil {
			t.Errorf("V16 %x was taken", key)
		}
	}
	if _, err := signing.NewPublicKey(clientKey, demoPublic); err != nil {
		t.Error(err)
	}
}

// smallOrderEncodings returns each 32 bytes that decode to a point of small order, with
// y below 2^255 and either sign, also those that RFC 8032 calls invalid.
func smallOrderEncodings(t *testing.T) (all [][32]byte) {
	n := func(s string) *big.Int { v, _ := new(big.Int).SetString(s, 10); return v }
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	mod := func(v *big.Int) *big.Int { return v.Mod(v, p) }
	mul := func(a, b *big.Int) *big.Int { return mod(new(big.Int).Mul(a, b)) }
	d := mul(n("-121665"), new(big.Int).ModInverse(n("121666"), p))
	one := big.NewInt(1)
	// Doubling on -x²+y² = 1+dx²y²: y(2P) = (y²+x²)/(2+x²-y²), with x² = (y²-1)/(dy²+1).
	// So y alone decides whether three doublings end at y = 1.
	double := func(y *big.Int) *big.Int {
		y2 := mul(y, y)
		x2 := mul(mod(new(big.Int).Sub(y2, one)), new(big.Int).ModInverse(mod(new(big.Int).Add(mul(d, y2), one)), p))
		below := mod(new(big.Int).Sub(new(big.Int).Add(big.NewInt(2), x2), y2))
		return mul(mod(new(big.Int).Add(y2, x2)), new(big.Int).ModInverse(below, p))
	}
	// Order 1, 2 and 4 have y = 1, -1 and 0. Order 8 doubles to y = 0: y² = -x², which is
	// d·y⁴ + 2y² - 1 = 0.
	candidates := []*big.Int{one, mod(big.NewInt(-1)), big.NewInt(0)}
	root := new(big.Int).ModSqrt(mod(new(big.Int).Add(one, d)), p)
	for _, r := range []*big.Int{root, new(big.Int).Sub(p, root)} {
		y2 := mul(mod(new(big.Int).Sub(r, one)), new(big.Int).ModInverse(d, p))
		if y := new(big.Int).ModSqrt(y2, p); y != nil {
			candidates = append(candidates, y, new(big.Int).Sub(p, y))
		}
	}
	for _, y := range candidates {
		if eight := double(double(double(y))); eight.Cmp(one) != 0 {
			t.Errorf("8 times the point of y = %d has y = %d", y, eight)
		}
		for _, same := range []*big.Int{y, new(big.Int).Add(y, p)} {
			if same.BitLen() > 255 {
				continue
			}
			for _, sign := range []byte{0, 0x80} {
				var key [32]byte
				same.FillBytes(key[:])
				slices.Reverse(key[:])
				key[31] |= sign
				all = append(all, key)
			}
		}
	}
	return all
}

func TestKeysOfTwoKinds(t *testing.T) {
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	key := must(signing.NewPublicKey(clientKey, other.Public().(ed25519.PublicKey), demoPublic))
	if len(key.PublicKeys()) != 2 || len(key.Secrets()) != 0 {
		t.Errorf("%d public keys, %d secrets", len(key.PublicKeys()), len(key.Secrets()))
	}
	key.PublicKeys()[1][0]++ // a copy
	s := secondServer(t)
	s.Keys = keyring{clientKey: key}
	if _, err := s.Verify(t.Context(), second("GET", "/x", "", byEd25519), "/x"); err != nil {
		t.Errorf("the second of two: %v", err)
	}
	if _, err := s.Verify(t.Context(), second("GET", "/x", ""), "/x"); !errors.Is(err, signing.ErrMismatch) {
		t.Errorf("V04 an HMAC for a public key: %v", err)
	}
	if _, err := s.Verify(t.Context(), signed("GET", "/x", noon), "/x"); !errors.Is(err, signing.ErrMismatch) {
		t.Errorf("V04 version 1 for a public key: %v", err)
	}
	if _, err := key.WithFormer(secret, noon); err == nil {
		t.Error("a public key with a former secret")
	}
}

func TestFormerSecretOfSecond(t *testing.T) {
	_, latest := signing.Generate()
	s := secondServer(t)
	s.Keys = keyring{clientKey: must(newKey(t, clientKey, latest).WithFormer(secret, noon))}
	key, err := s.Verify(t.Context(), second("GET", "/x", ""), "/x")
	if err != nil || !key.Ends().Equal(noon) {
		t.Errorf("Verify = %v, %v", key, err)
	}
	s.now = noon.Add(time.Millisecond)
	if _, err := s.Verify(t.Context(), second("GET", "/x", ""), "/x"); !errors.Is(err, signing.ErrMismatch) {
		t.Errorf("after its end: %v", err)
	}
}

// A stranger cannot learn from the work of a refusal which client keys exist.
func TestMACsComputedSecond(t *testing.T) {
	key := newKey(t, clientKey, secret)
	known, unknown := signing.CountMACs(key), signing.CountMACs(signing.Nobody())
	s := secondServer(t)
	for _, c := range []struct {
		name           string
		keys           signing.Keys
		change         func(*draft)
		known, unknown int64
	}{
		{"an honest request", keyring{clientKey: key}, func(*draft) {}, 1, 0},
		{"a wrong signature", keyring{clientKey: key}, func(d *draft) { d.authority = "x" }, 1, 0},
		{"V04 an unknown key", keyring{}, func(*draft) {}, 0, 1},
		{"V04 an HMAC for a public key", keyring{clientKey: must(signing.NewPublicKey(clientKey, demoPublic))}, func(*draft) {}, 0, 1},
		{"V06 a malformed one", keyring{clientKey: key}, param("nonce", ""), 0, 0},
	} {
		known.Store(0)
		unknown.Store(0)
		s.Keys = c.keys
		s.Verify(t.Context(), second("GET", "/x", "", c.change), "/x")
		if known.Load() != c.known || unknown.Load() != c.unknown {
			t.Errorf("%s: %d and %d MACs", c.name, known.Load(), unknown.Load())
		}
	}
}

// Admit, digest and claim come in this order, and each only after the one before.
func TestOrderOfSecond(t *testing.T) {
	refused := errors.New("refused")
	s := secondServer(t)
	s.Admit = func(context.Context, *http.Request, *signing.Key) error { return refused }
	r := second("POST", "/x", "body")
	r.Body = io.NopCloser(brokenReader{})
	if _, err := s.Verify(t.Context(), r, "/x"); err != refused {
		t.Errorf("a refused credential with a broken body: %v", err)
	}
	s.Admit = nil
	s.Replays = replaysFunc(func(context.Context, signing.Use) error { t.Error("claimed"); return nil })
	if _, err := s.Verify(t.Context(), r, "/x"); !errors.Is(err, signing.ErrDigest) {
		t.Errorf("a broken body: %v", err)
	}
}

// The limit of Handler is one for stores: a body may take longer to come.
func TestHandlerWaitsForABody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		s := secondServer(t)
		s.Now = nil
		s.Replays = replaysFunc(func(ctx context.Context, _ signing.Use) error { return ctx.Err() })
		r := second("POST", "/x", "body", param("created", fmt.Sprintf("created=%d", now.Unix())))
		r.Body = io.NopCloser(slowReader{strings.NewReader("body")})
		w := httptest.NewRecorder()
		s.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("got %d", w.Code)
		}
	})
}

type slowReader struct{ io.Reader }

func (s slowReader) Read(p []byte) (int, error) {
	time.Sleep(2 * time.Second)
	return s.Reader.Read(p)
}

// A captured request could be sent again with a body so slow that a store has forgotten
// the first one meanwhile.
func TestASlowBodyOutlivesNoStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		s := secondServer(t)
		s.Now = nil
		s.Replays = new(mapReplays)
		r := second("POST", "/x", "body", param("created", fmt.Sprintf("created=%d", now.Unix())))
		if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Minute)
		r.Body = io.NopCloser(readerFunc(func(p []byte) (int, error) {
			time.Sleep(time.Minute)
			return copy(p, "body"), io.EOF
		}))
		if _, err := s.Verify(t.Context(), r, "/x"); !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("within retention: %v", err)
		}
		r.Body = io.NopCloser(readerFunc(func(p []byte) (int, error) {
			time.Sleep(time.Hour)
			return copy(p, "body"), io.EOF
		}))
		if _, err := s.Verify(t.Context(), r, "/x"); !errors.Is(err, signing.ErrStale) {
			t.Errorf("after retention: %v", err)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestHandlerAnswersSecond(t *testing.T) {
	s := secondServer(t)
	for want, r := range map[int]*http.Request{
		200: second("POST", "/x", "{}"),
		400: second("POST", "/x", "{}", header("Content-Digest", sha256Digest("x"))),
		413: second("POST", "/x", strings.Repeat("x", 1<<20+1)),
		401: second("POST", "/x", "{}", func(d *draft) { d.authority = "x" }),
	} {
		w := httptest.NewRecorder()
		s.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.Header.Get(names.ClientKey) != clientKey || want != 200 {
				t.Errorf("served %d with %v", want, r.Header)
			}
		})).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("got %d, want %d", w.Code, want)
		}
	}
}

// hotSecond is an honest request of version 2 and its verifier, without a store.
func hotSecond(t testing.TB, body string, changes ...func(*draft)) (*signing.Verifier, *http.Request) {
	r := second("GET", "/acme/v2/connections?limit=5", body, append(changes, param("created", fmt.Sprintf("created=%d", time.Now().Unix())))...)
	key := newKey(t, clientKey, secret)
	if strings.Contains(r.Header.Get("Signature-Input"), "ed25519") {
		key = must(signing.NewPublicKey(clientKey, demoPublic))
	}
	return &signing.Verifier{
		Keys:    keysFunc(func(context.Context, string) (*signing.Key, error) { return key, nil }),
		Replays: anything{}, BaseURL: demoBase, Policy: signing.Policy{Tolerance: time.Hour},
	}, r
}

func TestVerifySecondAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	costs := func(base string, change func(*draft)) float64 {
		v, r := hotSecond(t, "", change)
		v.BaseURL = base
		return testing.AllocsPerRun(1000, func() {
			if _, err := v.Verify(r.Context(), r, "/connections"); err != nil {
				t.Fatal(err)
			}
		})
	}
	for alg, change := range map[string]func(*draft){"hmac-sha256": func(*draft) {}, "ed25519": byEd25519} {
		allocs := costs(demoBase, change)
		if allocs > 2 {
			t.Errorf("%s: %v allocations", alg, allocs)
		}
		if n := costs(strings.Replace(demoBase, "https", "HTTPS", 1), change); n != allocs {
			t.Errorf("%s: %v allocations with a scheme in upper case, not %v", alg, n, allocs)
		}
	}
}

// V19: a header costs no memory for each of its members.
func TestManyMembersTakeNoMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	many := strings.Repeat("a,", 4000) + "a"
	for name, header := range map[string]string{"V19 of another tag": "Signature-Input", "V19 signatures": "Signature", "V19 digests": "Content-Digest"} {
		v, r := hotSecond(t, "", func(*draft) {})
		r.Header.Set(header, many)
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := v.Verify(r.Context(), r, "/connections"); err == nil {
				t.Fatal("accepted")
			}
		})
		if allocs > 8 { // most are those of the error
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}
