package token_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/fips140"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// refused asserts that a token is refused with want and ErrInvalid, that the error
// quotes nothing of it, and that an honest token still passes.
func refused(t *testing.T, w *world, raw string, want error) {
	t.Helper()
	got, err := w.verify(t, raw)
	if got != nil || !errors.Is(err, token.ErrInvalid) || !errors.Is(err, want) {
		t.Errorf("Verify = %v, %v, want the error %v", got, err, want)
	}
	if want == token.ErrInvalid {
		for _, other := range []error{token.ErrExpired, token.ErrNotYet, token.ErrKeyMismatch, token.ErrRevoked, token.ErrExhausted} {
			if errors.Is(err, other) {
				t.Errorf("error %v says more than that the token is invalid", err)
			}
		}
	}
	noSecret(t, err, raw)
	if _, err := w.verify(t, w.token(t)); err != nil {
		t.Errorf("an honest token afterwards: %v", err)
	}
}

// noSecret asserts that an error quotes no part of a token.
func noSecret(t *testing.T, err error, raw string) {
	t.Helper()
	if err == nil {
		return
	}
	for part := range strings.SplitSeq(raw, ".") {
		if len(part) > 16 && strings.Contains(err.Error(), part[:16]) {
			t.Errorf("error quotes the token: %v", err)
		}
	}
	if len(err.Error()) > 512 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

// accepted asserts that a token passes.
func accepted(t *testing.T, w *world, raw string) *token.Verified {
	t.Helper()
	got, err := w.verify(t, raw)
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	return got
}

func TestForgedForms(t *testing.T) {
	w := newWorld(t)
	honest := w.token(t)
	parts := strings.Split(honest, ".")
	head, body := header(t, 0), payload(t, w.claims())
	k := kid(t, 0)

	for name, raw := range map[string]string{
		"T01 alg none":                    forge(t, 0, `{"alg":"none","kid":"`+k+`"}`, body),
		"T01 alg None":                    forge(t, 0, `{"alg":"None","kid":"`+k+`"}`, body),
		"T01 alg nOnE":                    forge(t, 0, `{"alg":"nOnE","kid":"`+k+`"}`, body),
		"T01 alg rs256":                   forge(t, 0, `{"alg":"rs256","kid":"`+k+`"}`, body),
		"T01 alg missing":                 forge(t, 0, `{"kid":"`+k+`"}`, body),
		"T01 alg a number":                forge(t, 0, `{"alg":256,"kid":"`+k+`"}`, body),
		"T01 alg null":                    forge(t, 0, `{"alg":null,"kid":"`+k+`"}`, body),
		"T01 kid missing":                 forge(t, 0, `{"alg":"RS256"}`, body),
		"T01 alg none, empty signature":   b64([]byte(`{"alg":"none","kid":"`+k+`"}`)) + "." + parts[1] + ".",
		"T01 alg none, two parts":         b64([]byte(`{"alg":"none","kid":"`+k+`"}`)) + "." + parts[1],
		"T01 empty signature":             parts[0] + "." + parts[1] + ".",
		"T01 one part":                    parts[0],
		"T01 two parts":                   parts[0] + "." + parts[1],
		"T01 four parts":                  honest + "." + parts[2],
		"T01 five parts":                  honest + "." + parts[2] + "." + parts[2],
		"T01 trailing dot":                honest + ".",
		"T01 leading dot":                 "." + honest,
		"T01 empty payload":               parts[0] + ".." + parts[2],
		"T01 empty header":                "." + parts[1] + "." + parts[2],
		"T01 nothing":                     "",
		"T01 two dots alone":              "..",
		"T03 PS256 signature under RS256": parts[0] + "." + parts[1] + "." + b64(pss(t, parts[0]+"."+parts[1])),
		"T16 padding":                     parts[0] + "." + parts[1] + "=." + parts[2],
		"T16 padding at the end":          honest + "==",
		"T16 the other alphabet":          strings.NewReplacer("-", "+", "_", "/").Replace(w.tokenWith(t, "-", "_")),
		"T16 CR inside":                   parts[0] + "." + parts[1][:8] + "\r" + parts[1][8:] + "." + parts[2],
		"T16 LF inside":                   parts[0] + "." + parts[1] + "." + parts[2][:8] + "\n" + parts[2][8:],
		"T16 LF at the end":               honest + "\n",
		"T16 space inside":                parts[0] + "." + parts[1][:8] + " " + parts[1][8:] + "." + parts[2],
		"T16 space around":                " " + honest,
		"T16 NUL at the end":              honest + "\x00",
		"signature of another payload":    parts[0] + "." + b64([]byte(payload(t, w.claims("sub", "another")))) + "." + parts[2],
		"signature of another header":     b64([]byte(head+" ")) + "." + parts[1] + "." + parts[2],
		"signature one byte short":        parts[0] + "." + parts[1] + "." + b64(rs256(t, 0, parts[0]+"."+parts[1])[1:]),
		"signature one byte long":         parts[0] + "." + parts[1] + "." + b64(append([]byte{0}, rs256(t, 0, parts[0]+"."+parts[1])...)),
	} {
		t.Run(name, func(t *testing.T) { refused(t, w, raw, token.ErrInvalid) })
	}

	t.Run("T16 spare bits of the last character", func(t *testing.T) {
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		// 256 bytes are 341 characters and 4 bits: 4 of the last one's 6 count.
		last := strings.IndexByte(alphabet, honest[len(honest)-1])
		for spare := 1; spare < 4; spare++ {
			refused(t, w, honest[:len(honest)-1]+alphabet[last|spare:][:1], token.ErrInvalid)
		}
	})

	t.Run("T16 spare bits in header and payload", func(t *testing.T) {
		// Two bytes at the end are three characters and 2 bits. The two bytes are
		// blanks, so the JSON would still be valid without them.
		body := payload(t, w.claims()) + "  "
		for len(body)%3 != 2 {
			body += " "
		}
		signed := parts[0] + "." + b64([]byte(body))
		accepted(t, w, signed+"."+b64(rs256(t, 0, signed)))
		signed = signed[:len(signed)-1] + string(signed[len(signed)-1]+1)
		refused(t, w, signed+"."+b64(rs256(t, 0, signed)), token.ErrInvalid)

		head := header(t, 0) + "  "
		for len(head)%3 != 2 {
			head += " "
		}
		encoded := b64([]byte(head))
		signed = encoded[:len(encoded)-1] + string(encoded[len(encoded)-1]+1) + "." + parts[1]
		refused(t, w, signed+"."+b64(rs256(t, 0, signed)), token.ErrInvalid)
	})

	t.Run("T16 line breaks under a good signature", func(t *testing.T) {
		for _, signed := range []string{
			parts[0][:8] + "\n" + parts[0][8:] + "." + parts[1], parts[0] + "." + parts[1][:8] + "\r\n" + parts[1][8:],
		} {
			refused(t, w, signed+"."+b64(rs256(t, 0, signed)), token.ErrInvalid)
		}
	})

	t.Run("signature with one bit flipped, every byte", func(t *testing.T) {
		signed := parts[0] + "." + parts[1]
		signature := rs256(t, 0, signed)
		for i := range signature {
			signature[i] ^= 1 << (i % 8)
			if got, err := w.verify(t, signed+"."+b64(signature)); got != nil || !errors.Is(err, token.ErrInvalid) {
				t.Fatalf("byte %d: Verify = %v, %v", i, got, err)
			}
			signature[i] ^= 1 << (i % 8)
		}
	})
}

// tokenWith is an honest token whose text has each of the given characters. The two
// alphabets of base64 differ in these characters.
func (w *world) tokenWith(t *testing.T, characters ...string) string {
	for i := range 1000 {
		raw := w.token(t, "n", i)
		missing := false
		for _, c := range characters {
			missing = missing || !strings.Contains(raw, c)
		}
		if !missing {
			return raw
		}
	}
	t.Fatal("no such token")
	return ""
}

func pss(t *testing.T, signed string) []byte {
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPSS(rand.Reader, rsaKeys[0](), crypto.SHA256, digest[:], &rsa.PSSOptions{SaltLength: 32})
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func TestForeignAlgorithms(t *testing.T) {
	w := newWorld(t)
	body := payload(t, w.claims())
	k := kid(t, 0)
	sign := func(alg string, sign func(signed string) []byte) string {
		signed := b64([]byte(`{"alg":"`+alg+`","kid":"`+k+`","typ":"JWT"}`)) + "." + b64([]byte(body))
		return signed + "." + b64(sign(signed))
	}

	public := &rsaKeys[0]().PublicKey
	pkix, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := json.Marshal(map[string]string{"kty": "RSA", "n": b64(public.N.Bytes()), "e": "AQAB"})
	if err != nil {
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})
	for name, secret := range map[string][]byte{
		"PEM": block, "PEM without the last line break": block[:len(block)-1], "DER": pkix,
		"PKCS1": x509.MarshalPKCS1PublicKey(public), "JWK": keys, "modulus": public.N.Bytes(), "nothing": nil,
	} {
		for _, alg := range []string{"HS256", "RS256"} {
			t.Run("T02 HMAC keyed with our public "+name+" as "+alg, func(t *testing.T) {
				refused(t, w, sign(alg, func(signed string) []byte {
					var mac hash.Hash
					fips140.WithoutEnforcement(func() { mac = hmac.New(sha256.New, secret) }) // attackers need not follow FIPS 140
					mac.Write([]byte(signed))
					return mac.Sum(nil)
				}), token.ErrInvalid)
			})
		}
	}

	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for alg, signer := range map[string]func(string) []byte{
		"RS384": func(s string) []byte {
			digest := sha512.Sum384([]byte(s))
			signature, _ := rsa.SignPKCS1v15(nil, rsaKeys[0](), crypto.SHA384, digest[:])
			return signature
		},
		"RS512": func(s string) []byte {
			digest := sha512.Sum512([]byte(s))
			signature, _ := rsa.SignPKCS1v15(nil, rsaKeys[0](), crypto.SHA512, digest[:])
			return signature
		},
		"PS256": func(s string) []byte { return pss(t, s) },
		"ES256": func(s string) []byte {
			digest := sha256.Sum256([]byte(s))
			signature, _ := ecdsa.SignASN1(rand.Reader, ec, digest[:])
			return signature
		},
		"EdDSA": func(s string) []byte { return ed25519.Sign(ed, []byte(s)) },
	} {
		t.Run("T03 "+alg, func(t *testing.T) { refused(t, w, sign(alg, signer), token.ErrInvalid) })
		t.Run("T03 "+alg+" signature under RS256", func(t *testing.T) {
			refused(t, w, sign("RS256", signer), token.ErrInvalid)
		})
	}
}

func TestHeaders(t *testing.T) {
	w := newWorld(t)
	body := payload(t, w.claims())
	k := kid(t, 0)
	with := func(member string) string { return `{"alg":"RS256","kid":"` + k + `",` + member + `}` }

	t.Run("typ is optional, and members come in any order", func(t *testing.T) {
		accepted(t, w, forge(t, 0, `{"alg":"RS256","kid":"`+k+`"}`, body))
		accepted(t, w, forge(t, 0, ` { "typ" : "JWT" , "kid":"`+k+`", "alg":"RS256"}`+"\r\n\t", body))
	})
	t.Run("members may be escaped", func(t *testing.T) {
		accepted(t, w, forge(t, 0, `{"\u0061lg":"RS\u0032\u0035\u0036","kid":"`+k+`"}`, body))
	})

	for name, head := range map[string]string{
		"T04 foreign typ":                  with(`"typ":"at+jwt"`),
		"T04 typ in another case":          with(`"typ":"jwt"`),
		"T04 typ null":                     with(`"typ":null`),
		"T04 typ empty":                    with(`"typ":""`),
		"T04 crit":                         with(`"crit":["exp"]`),
		"T04 crit empty":                   with(`"crit":[]`),
		"T04 b64 false":                    with(`"b64":false,"crit":["b64"]`),
		"T04 zip":                          with(`"zip":"DEF"`),
		"T04 cty":                          with(`"cty":"JWT"`),
		"T04 any other member":             with(`"x":1`),
		"T04 a member of another case":     with(`"KID":"` + k + `"`),
		"T05 duplicate alg":                `{"alg":"RS256","alg":"RS256","kid":"` + k + `"}`,
		"T05 duplicate alg, first none":    `{"alg":"none","alg":"RS256","kid":"` + k + `"}`,
		"T05 duplicate kid":                with(`"kid":"` + k + `"`),
		"T05 duplicate kid, escaped":       with(`"\u006bid":"` + k + `"`),
		"T05 duplicate typ":                with(`"typ":"JWT","typ":"JWT"`),
		"T06 kid unknown":                  `{"alg":"RS256","kid":"` + strings.Repeat("x", 43) + `"}`,
		"T06 kid in another case":          `{"alg":"RS256","kid":"` + strings.ToLower(k) + `"}`,
		"T06 kid with blanks":              `{"alg":"RS256","kid":"` + k + ` "}`,
		"T06 kid a path":                   `{"alg":"RS256","kid":"../../x"}`,
		"T06 kid SQL":                      `{"alg":"RS256","kid":"' OR 1=1"}`,
		"T06 kid NUL":                      `{"alg":"RS256","kid":"` + k + `\u0000"}`,
		"T06 kid empty":                    `{"alg":"RS256","kid":""}`,
		"T06 kid of another app":           `{"alg":"RS256","kid":"` + kid(t, 1) + `"}`,
		"T06 kid a number":                 `{"alg":"RS256","kid":1}`,
		"T06 kid null":                     `{"alg":"RS256","kid":null}`,
		"T07 header with trailing data":    header(t, 0) + `{}`,
		"T07 header with a BOM":            "\ufeff" + header(t, 0),
		"T07 header null":                  `null`,
		"T07 header an array":              `["alg","RS256"]`,
		"T07 header empty":                 `{}`,
		"T07 header with a comma too many": `{"alg":"RS256","kid":"` + k + `",}`,
		"T07 header unfinished":            `{"alg":"RS256","kid":"` + k,
		"T07 header with invalid UTF-8":    "{\"alg\":\"RS256\",\"kid\":\"\xff" + k + "\"}",
	} {
		t.Run(name, func(t *testing.T) { refused(t, w, forge(t, 0, head, body), token.ErrInvalid) })
	}

	t.Run("T06 kid of 10 KiB", func(t *testing.T) {
		refused(t, w, forge(t, 0, `{"alg":"RS256","kid":"`+strings.Repeat("x", 10<<10)+`"}`, body), token.ErrInvalid)
	})
	t.Run("T06 header over 1 KiB within a token of 8 KiB", func(t *testing.T) {
		refused(t, w, forge(t, 0, header(t, 0)+strings.Repeat(" ", 1024), body), token.ErrInvalid)
	})
	t.Run("T06 what is no kid is not looked up", func(t *testing.T) {
		under := &counted{Keys: &w.keys}
		verifier := token.Verifier{Keys: under, Now: w.now}
		for _, kid := range []string{"", k[1:], k + "x", strings.Repeat("'", 43), k[1:] + " ", k[1:] + "/"} {
			_, err := verifier.Verify(t.Context(), forge(t, 0, `{"alg":"RS256","kid":"`+kid+`"}`, body), token.Expect{Org: "acme", Audience: audience})
			if !errors.Is(err, token.ErrInvalid) {
				t.Errorf("kid %q: error %v", kid, err)
			}
		}
		if under.calls != 0 {
			t.Errorf("%d look-ups", under.calls)
		}
	})
	t.Run("T06 iss of A signed by B", func(t *testing.T) {
		refused(t, w, forge(t, 1, header(t, 1), body), token.ErrInvalid)
	})
	t.Run("T06 unknown kids and bad signatures answer alike", func(t *testing.T) {
		_, unknown := w.verify(t, forge(t, 0, `{"alg":"RS256","kid":"`+strings.Repeat("x", 43)+`"}`, body))
		_, forged := w.verify(t, forge(t, 1, header(t, 0), body))
		for _, err := range []error{unknown, forged} {
			for _, more := range []error{token.ErrNotFound, token.ErrExpired, token.ErrNotYet, token.ErrRevoked, token.ErrExhausted, token.ErrKeyMismatch} {
				if !errors.Is(err, token.ErrInvalid) || errors.Is(err, more) {
					t.Errorf("error %v is told apart by %v", err, more)
				}
			}
		}
	})
}

func TestPayloads(t *testing.T) {
	w := newWorld(t)
	honest := payload(t, w.claims())
	body := strings.TrimSuffix(honest, "}")
	nested := func(depth int) string {
		return strings.Repeat("[", depth) + strings.Repeat("]", depth)
	}

	for name, text := range map[string]string{
		"T05 duplicate sub":                      body + `,"sub":"` + account + `"}`,
		"T05 duplicate sub, escaped":             body + `,"s\u0075b":"x"}`,
		"T05 duplicate namespace claim":          body + `,"service/skp":true,"service/skp":false}`,
		"T05 duplicate namespace claim, escaped": body + `,"service/skp":true,"service\/skp":false}`,
		"T05 duplicate of an unknown claim":      body + `,"x":1,"x":1}`,
		"T05 duplicate below":                    body + `,"x":{"a":1,"b":{"c":1,"c":2}}}`,
		"T05 duplicate in an array":              body + `,"x":[[{"a":1,"a":1}]]}`,
		"T07 trailing object":                    honest + `{}`,
		"T07 trailing character":                 honest + `x`,
		"T07 trailing NUL":                       honest + "\x00",
		"T07 BOM":                                "\ufeff" + honest,
		"T07 NaN":                                body + `,"x":NaN}`,
		"T07 Infinity":                           body + `,"x":Infinity}`,
		"T07 depth 17":                           body + `,"x":` + nested(16) + `}`,
		"T07 depth 1000":                         body + `,"x":` + nested(1000) + `}`,
		"T07 depth 17 of objects":                body + `,"x":` + strings.Repeat(`{"a":`, 16) + "1" + strings.Repeat("}", 16) + `}`,
		"T07 invalid UTF-8":                      body + ",\"x\":\"\xff\"}",
		"T07 overlong UTF-8":                     body + ",\"x\":\"\xc0\xaf\"}",
		"T07 surrogate in UTF-8":                 body + ",\"x\":\"\xed\xa0\x80\"}",
		"T07 lone high surrogate":                body + `,"x":"\ud800"}`,
		"T07 high surrogate, then a letter":      body + `,"x":"\ud800\u0061"}`,
		"T07 lone low surrogate":                 body + `,"x":"\udc00"}`,
		"T07 surrogates the wrong way round":     body + `,"x":"\udc00\ud800"}`,
		"T07 lone surrogate in a name":           body + `,"\ud800":1}`,
		"T07 control character in a string":      body + ",\"x\":\"\n\"}",
		"T07 null":                               `null`,
		"T07 empty array":                        `[]`,
		"T07 string":                             `"x"`,
		"T07 number":                             `1`,
		"T07 empty":                              ` `,
		"T07 array of claims":                    `[` + honest + `]`,
		"T07 single quotes":                      strings.ReplaceAll(honest, `"`, `'`),
		"T07 comment":                            body + `/**/}`,
		"T07 comma too many":                     body + `,}`,
		"T07 no colon":                           body + `,"x" 1}`,
		"T07 name without quotes":                body + `,x:1}`,
		"T07 leading zero":                       body + `,"x":01}`,
		"T07 plus sign":                          body + `,"x":+1}`,
		"T07 no digits behind the point":         body + `,"x":1.}`,
		"T07 no digits before the point":         body + `,"x":.1}`,
		"T07 no digits in the exponent":          body + `,"x":1e}`,
		"T07 TRUE":                               body + `,"x":TRUE}`,
		"T07 minus alone":                        body + `,"x":-}`,
		"T07 broken element":                     body + `,"x":[1,]}`,
		"T07 no comma between elements":          body + `,"x":[1 2]}`,
		"T07 no comma between members":           body + `"x":1}`,
		"T07 no brace at the start":              honest[1:],
		"T07 no bracket at the start":            body + `,"service/rls":"a"]}`,
		"T07 a code point that is not hex":       body + `,"x":"\u00:0"}`,
		"T07 a code point beyond F":              body + `,"x":"\u00G0"}`,
		"T07 a code point beyond f":              body + `,"x":"\u00g0"}`,
		"T07 raw control behind an escape":       body + ",\"x\":\"\\n\x01\"}",
		"T07 half a pair of surrogates":          body + `,"x":"\ud83d\ude"}`,
		"T07 unfinished string behind an escape": body + `,"x":"\n`,
		"T07 unfinished word":                    body + `,"x":tru}`,
		"T07 unfinished escape":                  body + `,"x":"\`,
		"T07 unfinished code point":              body + `,"x":"\u00`,
		"T07 unknown escape":                     body + `,"x":"\a"}`,
		"T07 65 members":                         body + members(65) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, w, forge(t, 0, header(t, 0), text), token.ErrInvalid)
		})
	}

	t.Run("T05b other spellings are other claims", func(t *testing.T) {
		got := accepted(t, w, forge(t, 0, header(t, 0), body+`,"SUB":"admin","ſub":"admin","SERVICE/SKP":true,"service/SKP":true,"exp ":1}`))
		if got.Subject() != account || got.SkipACL() {
			t.Errorf("Subject, SkipACL = %q, %v", got.Subject(), got.SkipACL())
		}
		if diff := cmp.Diff(`"admin"`, string(got.Claims().Extra["SUB"])); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("unknown claims are kept as they were written", func(t *testing.T) {
		got := accepted(t, w, forge(t, 0, header(t, 0), body+`,"x": {"a" : [1e400, -0.0, "\u00e9\ud83d\ude00", 1E5, 1e+5, 1E-5]} ,"y":null,"z":`+nested(15)+`}`))
		if diff := cmp.Diff(`{"a" : [1e400, -0.0, "\u00e9\ud83d\ude00", 1E5, 1e+5, 1E-5]}`, string(got.Claims().Extra["x"])); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(`null`, string(got.Claims().Extra["y"])); diff != "" {
			t.Error(diff)
		}
		if got.Claims().Extra["absent"] != nil || got.Claims().Extra["iss"] != nil {
			t.Error("Extra has what is not an extra claim")
		}
	})
	t.Run("escapes are read as every reader reads them", func(t *testing.T) {
		got := accepted(t, w, w.token(t, "sub", raw(`"\"\\\/ \u00E9\u20AC\uD83D\uDE00\ufffd"`)))
		if diff := cmp.Diff("\"\\/ é€😀\ufffd", got.Subject()); diff != "" {
			t.Error(diff)
		}
		accepted(t, w, w.token(t, "x", raw(`"\b\f\n\r\t\u0000"`)))
		for _, control := range []string{`\b`, `\f`, `\n`, `\r`, `\t`, `\u0000`, `\u001F`, `\u007f`} {
			refused(t, w, w.token(t, "sub", raw(`"`+control+`"`)), token.ErrInvalid)
		}
	})
	t.Run("64 members are accepted", func(t *testing.T) {
		accepted(t, w, forge(t, 0, header(t, 0), body+members(64)+`}`))
	})
	t.Run("a claim of another namespace is unknown", func(t *testing.T) {
		got := accepted(t, w, forge(t, 0, header(t, 0), body+`,"acme/skp":true,"skp":true,"service//skp":true}`))
		if got.SkipACL() {
			t.Error("SkipACL is set")
		}
	})
}

// members are extra claims, so that an object with the 6 honest claims has n.
func members(n int) (text string) {
	for i := range n - 6 {
		text += fmt.Sprintf(`,"x%d":1`, i)
	}
	return text
}

func TestClaims(t *testing.T) {
	w := newWorld(t)
	now := w.now().Unix()
	for _, claim := range []string{"exp", "nbf", "iat"} {
		for _, value := range []string{
			`"1767323045"`, `null`, `1e400`, `1e300`, `-1`, `-0`, `1.5`, `1767323045.`, `1767323045e`, `1767323045.0`, `1e9`, `true`, `[]`, `{}`,
			`[1767323045]`, `253402300800`, `9223372036854775808`, `18446744073709551617`, strings.Repeat("9", 1000),
		} {
			t.Run(fmt.Sprintf("T08 %s %.20s", claim, value), func(t *testing.T) {
				refused(t, w, w.token(t, claim, raw(value)), token.ErrInvalid)
			})
		}
	}

	for name, c := range map[string]struct {
		claim string
		value any
		want  error
	}{
		"T08 exp now":                   {"exp", now, token.ErrExpired},
		"T08 exp a second ago":          {"exp", now - 1, token.ErrExpired},
		"T08 exp 0":                     {"exp", 0, token.ErrExpired},
		"T09 nbf beyond the leeway":     {"nbf", now + 61, token.ErrNotYet},
		"T09 iat beyond the leeway":     {"iat", now + 61, token.ErrNotYet},
		"T10 aud missing":               {"aud", nil, token.ErrInvalid},
		"T10 aud empty":                 {"aud", "", token.ErrInvalid},
		"T10 aud an empty array":        {"aud", []string{}, token.ErrInvalid},
		"T10 aud an array of ours":      {"aud", []string{audience}, token.ErrInvalid},
		"T10 aud an array with another": {"aud", []string{audience, "https://x.example"}, token.ErrInvalid},
		"T10 aud of another org":        {"aud", "https://api.example.com/other/v2", token.ErrInvalid},
		"T10 aud in another case":       {"aud", strings.ToUpper(audience), token.ErrInvalid},
		"T10 aud with a slash":          {"aud", audience + "/", token.ErrInvalid},
		"T10 aud a prefix":              {"aud", audience[:len(audience)-1], token.ErrInvalid},
		"T10 aud a number":              {"aud", 1, token.ErrInvalid},
		"T11 iss missing":               {"iss", nil, token.ErrInvalid},
		"T11 iss empty":                 {"iss", "", token.ErrInvalid},
		"T11 iss a number":              {"iss", 1, token.ErrInvalid},
		"T11 iss of another app":        {"iss", appB, token.ErrInvalid},
		"T11 iss in another case":       {"iss", strings.ToUpper(appA), token.ErrInvalid},
		"T11 sub missing":               {"sub", nil, token.ErrInvalid},
		"T11 sub empty":                 {"sub", "", token.ErrInvalid},
		"T11 sub null":                  {"sub", raw("null"), token.ErrInvalid},
		"T11 sub an array":              {"sub", []string{account}, token.ErrInvalid},
		"T11 sub with NUL":              {"sub", account + "\x00", token.ErrInvalid},
		"T11 sub with DEL":              {"sub", account + "\x7f", token.ErrInvalid},
		"T11 sub of 513 bytes":          {"sub", strings.Repeat("x", 513), token.ErrInvalid},
		"T11 iat missing":               {"iat", nil, token.ErrInvalid},
		"T13 skp a string":              {"service/skp", "true", token.ErrInvalid},
		"T13 skp 1":                     {"service/skp", 1, token.ErrInvalid},
		"T13 skp null":                  {"service/skp", raw("null"), token.ErrInvalid},
		"T13 skc a string":              {"service/skc", "true", token.ErrInvalid},
		"T13 skc 0":                     {"service/skc", 0, token.ErrInvalid},
		"T13 gnt 99":                    {"service/gnt", 99, token.ErrInvalid},
		"T13 gnt 9":                     {"service/gnt", 9, token.ErrInvalid},
		"T13 gnt 0":                     {"service/gnt", 0, token.ErrInvalid},
		"T13 gnt -1":                    {"service/gnt", -1, token.ErrInvalid},
		"T13 gnt 4.0":                   {"service/gnt", raw("4.0"), token.ErrInvalid},
		"T13 gnt a number in a string":  {"service/gnt", "4", token.ErrInvalid},
		"T13 gnt an unknown name":       {"service/gnt", "root", token.ErrInvalid},
		"T13 gnt null":                  {"service/gnt", raw("null"), token.ErrInvalid},
		"T13 gnt an array":              {"service/gnt", []int{4}, token.ErrInvalid},
		"T13 rls an object":             {"service/rls", map[string]int{"administrator": 1}, token.ErrInvalid},
		"T13 rls a string":              {"service/rls", "administrator", token.ErrInvalid},
		"T13 rls null":                  {"service/rls", raw("null"), token.ErrInvalid},
		"T13 rls with a number":         {"service/rls", []any{"a", 1}, token.ErrInvalid},
		"T13 rls with an empty role":    {"service/rls", []string{""}, token.ErrInvalid},
		"T13 rls 65 roles":              {"service/rls", strings.Split(strings.Repeat("a,", 64)+"a", ","), token.ErrInvalid},
		"T13 rls 10 000 roles":          {"service/rls", strings.Split(strings.Repeat("a,", 9999)+"a", ","), token.ErrInvalid},
		"T13 scp a string":              {"service/scp", "object.read", token.ErrInvalid},
		"T13 scp an empty string":       {"service/scp", "", token.ErrInvalid},
		"T13 scp null":                  {"service/scp", raw("null"), token.ErrInvalid},
		"T13 scp nested":                {"service/scp", [][]string{{"object.read"}}, token.ErrInvalid},
		"T13 scp with a number":         {"service/scp", []int{1}, token.ErrInvalid},
		"T13 scp with null":             {"service/scp", raw("[null]"), token.ErrInvalid},
		"T13 scp an object":             {"service/scp", raw("{}"), token.ErrInvalid},
		"T13 scp that does not parse":   {"service/scp", []string{"object.read", "object.read.account.name"}, token.ErrInvalid},
		"T13 scp 400 bad chains":        {"service/scp", strings.Split(strings.Repeat("No.Chain,", 400)+"x", ","), token.ErrInvalid},
		"T13 scp 1025 chains":           {"service/scp", strings.Split(strings.Repeat("admin,", 1024)+"admin", ","), token.ErrInvalid},
		"T14 cnt without jti":           {"service/cnt", 1, token.ErrInvalid},
		"T14 jti empty":                 {"jti", "", token.ErrInvalid},
		"T14 jti a number":              {"jti", 1, token.ErrInvalid},
		"T14 jti null":                  {"jti", raw("null"), token.ErrInvalid},
		"T24 jti that nobody issued":    {"jti", "AAAAAAAAAAAAAAAAAAAAAA", token.ErrRevoked},
	} {
		t.Run(name, func(t *testing.T) { refused(t, w, w.token(t, c.claim, c.value), c.want) })
	}

	permanent := token.Record{ID: "id", Org: "acme", ClientKey: appA, Subject: account, KeyID: kid(t, 0)}
	if err := w.ledger.Issue(t.Context(), permanent, nil, 10); err != nil {
		t.Fatal(err)
	}
	accepted(t, w, w.token(t, "jti", "id"))
	for _, value := range []string{`0`, `-1`, `1.5`, `1e3`, `9223372036854775808`, `9007199254740992`, `"3"`, `null`, `true`} {
		t.Run("T14 cnt "+value, func(t *testing.T) {
			refused(t, w, w.token(t, "jti", "id", "service/cnt", raw(value)), token.ErrInvalid)
		})
	}

	t.Run("T09 iat ahead, nbf not", func(t *testing.T) {
		refused(t, w, w.token(t, "iat", now+61, "nbf", now-100), token.ErrNotYet)
		refused(t, w, w.token(t, "iat", now-100, "nbf", now+61), token.ErrNotYet)
	})
	t.Run("claims at their bounds are accepted", func(t *testing.T) {
		got := accepted(t, w, w.token(t,
			"exp", now+1, "nbf", now+60, "iat", now+60, "service/gnt", "read", "service/skp", true, "service/skc", false,
			"service/rls", strings.Split(strings.Repeat("a,", 63)+"é", ",")))
		if got.Grant() != scope.LevelRead || !got.SkipACL() || got.SkipCreateACL() || len(got.Roles()) != 64 {
			t.Errorf("claims are %+v", got.Claims())
		}
		accepted(t, w, w.token(t, "exp", int64(253402300799), "iat", 0, "nbf", 0, "service/gnt", 8))
	})
	t.Run("an ephemeral token of another issuer may have no exp", func(t *testing.T) {
		if got := accepted(t, w, w.token(t, "exp", nil)); !got.Expires().IsZero() {
			t.Errorf("Expires = %v", got.Expires())
		}
		w.advance(100 * 365 * 24 * time.Hour)
		defer w.advance(-100 * 365 * 24 * time.Hour)
		accepted(t, w, w.token(t, "exp", nil, "iat", now))
	})
	t.Run("a chain of an unknown root is dropped and reported", func(t *testing.T) {
		set, claimed := accepted(t, w, w.token(t, "service/scp", []string{"billing.read", "admin.read"})).Scope()
		var unknown []string
		for chain, source := range set.Unknown() {
			unknown = append(unknown, source+" "+chain)
		}
		if diff := cmp.Diff([]string{"token billing.read"}, unknown); diff != "" || !claimed {
			t.Errorf("claimed %v: %s", claimed, diff)
		}
		if !set.Allows(scope.Admin(scope.Read)) || set.Allows(scope.Admin(scope.Update)) {
			t.Error("the other chain does not permit what it says")
		}
	})
	t.Run("scope absent and scope empty grant nothing and are told apart", func(t *testing.T) {
		absent, claimed := accepted(t, w, w.token(t, "service/scp", nil)).Scope()
		empty, emptyClaimed := accepted(t, w, w.token(t, "service/scp", []string{})).Scope()
		if claimed || !emptyClaimed {
			t.Errorf("claimed = %v and %v, want false and true", claimed, emptyClaimed)
		}
		need := scope.Admin(scope.Read)
		if absent.Overlaps(need) || empty.Overlaps(need) {
			t.Error("they grant something")
		}
	})
}

func TestAppOfAnotherOrg(t *testing.T) {
	w := newWorld(t)
	foreign := pairOf(t, 2, "2aAbBcCdDeEfFgGhHiIjJk")
	foreign.Org = "other"
	if err := w.keys.Put(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	raw := forge(t, 2, header(t, 2), payload(t, w.claims("iss", foreign.ClientKey)))
	t.Run("T10 an app says that its token is for another org", func(t *testing.T) {
		refused(t, w, raw, token.ErrInvalid)
	})
	t.Run("T10 no org is expected", func(t *testing.T) {
		if _, err := w.verifier.Verify(t.Context(), raw, token.Expect{Audience: audience}); !errors.Is(err, token.ErrInvalid) {
			t.Errorf("error %v, want ErrInvalid", err)
		}
	})
	t.Run("its own org takes it", func(t *testing.T) {
		if _, err := w.verifier.Verify(t.Context(), raw, token.Expect{Org: "other", Audience: audience}); err != nil {
			t.Errorf("Verify: %v", err)
		}
	})
}

func TestRefusalsCostNoUse(t *testing.T) {
	w := newWorld(t)
	id := "0123456789abcdefABCDEF"
	record := token.Record{ID: id, Org: "acme", ClientKey: appA, Subject: account, KeyID: kid(t, 0), MaxUses: 1, Issued: w.now()}
	if err := w.ledger.Issue(t.Context(), record, nil, 10); err != nil {
		t.Fatal(err)
	}
	limited := []any{"jti", id, "service/cnt", 1}
	with := func(pairs ...any) string { return w.token(t, append(pairs, limited...)...) }

	refused(t, w, with("exp", w.now().Unix()), token.ErrExpired)
	refused(t, w, with("nbf", w.now().Unix()+61), token.ErrNotYet)
	refused(t, w, with("aud", "https://api.example.com/other/v2"), token.ErrInvalid)
	refused(t, w, with("service/scp", []string{"no such chain"}), token.ErrInvalid)
	refused(t, w, forge(t, 1, header(t, 0), payload(t, w.claims(limited...))), token.ErrInvalid)
	refused(t, w, with()+"x", token.ErrInvalid)

	t.Run("T12 the client key differs", func(t *testing.T) {
		_, err := w.verifier.Verify(t.Context(), with(), token.Expect{Org: "acme", Audience: audience, ClientKey: appB})
		if !errors.Is(err, token.ErrKeyMismatch) || !errors.Is(err, token.ErrInvalid) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("T11 account disabled", func(t *testing.T) {
		disabled := errors.New("account is disabled")
		w.admit = func(_ context.Context, got *token.Verified) error {
			if got.Subject() == account {
				return disabled
			}
			return nil
		}
		if _, err := w.verify(t, with()); err != disabled {
			t.Errorf("error %v, want Admit's", err)
		}
		w.admit = nil
	})
	t.Run("T24 one jti in two signed tokens", func(t *testing.T) {
		refused(t, w, with("sub", "another"), token.ErrRevoked)
		refused(t, w, w.token(t, "jti", id, "service/cnt", 2), token.ErrRevoked)
		refused(t, w, w.token(t, "jti", id), token.ErrRevoked)
		refused(t, w, forge(t, 1, header(t, 1), payload(t, w.claims(append(limited, "iss", appB)...))), token.ErrRevoked)
	})

	t.Run("an account that is admitted spends its use", func(t *testing.T) {
		w := newWorld(t)
		if err := w.ledger.Issue(t.Context(), record, nil, 10); err != nil {
			t.Fatal(err)
		}
		w.admit = func(context.Context, *token.Verified) error { return nil }
		raw := w.token(t, limited...)
		accepted(t, w, raw)
		if _, err := w.verify(t, raw); !errors.Is(err, token.ErrExhausted) {
			t.Errorf("error %v, want ErrExhausted", err)
		}
	})

	t.Run("T12 the client key is equal, and the one use is still there", func(t *testing.T) {
		if _, err := w.verifier.Verify(t.Context(), with(), token.Expect{Org: "acme", Audience: audience, ClientKey: appA}); err != nil {
			t.Errorf("Verify: %v", err)
		}
	})
	t.Run("T25 the use is spent, whatever the handler does", func(t *testing.T) {
		refused(t, w, with(), token.ErrExhausted)
	})
}

func TestVerifierSetUp(t *testing.T) {
	w := newWorld(t)
	raw := w.token(t)
	for name, c := range map[string]struct {
		keys token.Keys
		want token.Expect
	}{
		"no Keys":                      {nil, token.Expect{Org: "acme", Audience: audience}},
		"no Audience":                  {&w.keys, token.Expect{}},
		"Keys that return nothing":     {fixedKey{}, token.Expect{Org: "acme", Audience: audience}},
		"Keys that return another key": {otherKey{pairOf(t, 0, appA).PublicKey}, token.Expect{Org: "acme", Audience: audience}},
		"Keys that fail":               {&counted{err: errBroken}, token.Expect{Org: "acme", Audience: audience}},
	} {
		t.Run(name, func(t *testing.T) {
			verifier := token.Verifier{Keys: c.keys, Now: w.now}
			if got, err := verifier.Verify(t.Context(), raw, c.want); got != nil || err == nil || errors.Is(err, token.ErrInvalid) {
				t.Errorf("Verify = %v, %v, want an error that is not the token's", got, err)
			}
		})
	}
	t.Run("no Ledger, and a token with a jti", func(t *testing.T) {
		w.verifier.Ledger = nil
		refused(t, w, w.token(t, "jti", "an-id"), token.ErrInvalid)
	})
	t.Run("a ledger that fails", func(t *testing.T) {
		w.verifier.Ledger = brokenLedger{}
		if _, err := w.verify(t, w.token(t, "jti", "an-id")); !errors.Is(err, errBroken) || errors.Is(err, token.ErrInvalid) {
			t.Errorf("error %v, want the ledger's", err)
		}
	})
}

// otherKey is a Keys that ignores case.
type otherKey struct{ key token.PublicKey }

func (o otherKey) Public(context.Context, string) (*token.PublicKey, error) {
	o.key.KeyID = strings.ToLower(o.key.KeyID)
	return &o.key, nil
}

func TestDeletedApp(t *testing.T) {
	w := newWorld(t)
	seen, unseen := w.token(t), w.token(t, "n", 1)
	accepted(t, w, seen)
	if err := w.keys.Delete(t.Context(), "acme", appA); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{seen, unseen} {
		if _, err := w.verify(t, raw); !errors.Is(err, token.ErrInvalid) {
			t.Errorf("T11 deleted app: error %v", err)
		}
	}
}

// tokenOf is an honest token with the given number of bytes.
func (w *world) tokenOf(t *testing.T, size int) string {
	t.Helper()
	head, body := header(t, 0), payload(t, w.claims())
	for range 3 { // no base64 has one character more than a multiple of 4
		room := size - len(b64([]byte(head))) - len("..") - len(b64(make([]byte, 256)))
		raw := forge(t, 0, head, body+strings.Repeat(" ", room*3/4-len(body)))
		if len(raw) == size {
			return raw
		}
		head += " "
	}
	t.Fatalf("no token of %d bytes", size)
	return ""
}

func TestTokensOf8KiB(t *testing.T) {
	w := newWorld(t)
	accepted(t, w, w.tokenOf(t, 8<<10))
	refused(t, w, w.tokenOf(t, 8<<10+1), token.ErrInvalid)

	c := wanted()
	var longest token.Token
	for n := 5500; ; n++ {
		c.Extra = map[string]json.RawMessage{"x": raw(`"` + strings.Repeat("x", n) + `"`)}
		minted, _, err := w.minter().Ephemeral(t.Context(), c, 0)
		if err != nil {
			break
		}
		longest = minted
	}
	if len(longest) != 8<<10 {
		t.Errorf("the longest token minted has %d bytes", len(longest))
	}
	accepted(t, w, string(longest))
}

func TestOversizedTokensCostLittle(t *testing.T) {
	w := newWorld(t)
	k := kid(t, 0)
	for name, raw := range map[string]string{
		"T15 9 KiB":           w.token(t, "x", strings.Repeat("x", 6600)),
		"T15 1 MiB":           w.token(t, "x", strings.Repeat("x", 1<<20)),
		"T15 1 MiB of dots":   strings.Repeat(".", 1<<20),
		"T15 8 KiB of dots":   strings.Repeat(".", 8<<10),
		"T15 kid of 64 KiB":   forge(t, 0, `{"alg":"RS256","kid":"`+k+strings.Repeat("x", 64<<10)+`"}`, `{}`),
		"T15 kid of 5 KiB":    forge(t, 0, `{"alg":"RS256","kid":"`+k+strings.Repeat("x", 5<<10)+`"}`, `{}`),
		"T15 8 KiB of header": strings.Repeat("A", 8<<10-4) + ".A.A",
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, w, raw, token.ErrInvalid)
			if raceEnabled {
				t.Skip("the race detector allocates")
			}
			var before, after runtime.MemStats
			const rounds = 100
			runtime.ReadMemStats(&before)
			for range rounds {
				w.verifier.Verify(t.Context(), raw, token.Expect{Org: "acme", Audience: audience})
			}
			runtime.ReadMemStats(&after)
			if each := (after.TotalAlloc - before.TotalAlloc) / rounds; each >= 16<<10 {
				t.Errorf("%d bytes allocated", each)
			}
		})
	}
}
