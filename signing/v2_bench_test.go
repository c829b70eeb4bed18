package signing_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

// BenchmarkVerifySecond compares Verify with its floor: the HMAC over the base, with a
// keyed state, and the two hashes for the store; or one Ed25519 verification.
func BenchmarkVerifySecond(b *testing.B) {
	b.Run("hmac floor", func(b *testing.B) {
		v, r := hotSecond(b, "")
		base := []byte(signing.BaseOf(v, r))
		mac := hmac.New(sha256.New, []byte(macKey))
		var sum [32]byte
		for b.Loop() {
			mac.Reset()
			mac.Write(base)
			mac.Sum(sum[:0])
			sha256.Sum256(sum[:])
			sha256.Sum256(sum[:18])
		}
	})
	b.Run("ed25519 floor", func(b *testing.B) {
		v, r := hotSecond(b, "", byEd25519)
		base := []byte(signing.BaseOf(v, r))
		text := strings.Trim(strings.TrimPrefix(r.Header.Get("Signature"), "sig="), ":")
		signature := must(base64.StdEncoding.DecodeString(text))
		for b.Loop() {
			if !ed25519.Verify(demoPublic, base, signature) {
				b.Fatal("refused")
			}
		}
	})
	for alg, change := range map[string]func(*draft){"hmac": func(*draft) {}, "ed25519": byEd25519} {
		b.Run(alg, func(b *testing.B) {
			v, r := hotSecond(b, "", change)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(r.Context(), r, "/connections"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDigest compares the digest of a body of 64 KiB with SHA-256 alone. A handler
// reads the body in any case, so both read it.
func BenchmarkDigest(b *testing.B) {
	body := strings.Repeat("x", 64<<10)
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var read bytes.Buffer
			read.Grow(len(body) + bytes.MinRead)
			read.ReadFrom(strings.NewReader(body))
			sha256.Sum256(read.Bytes())
		}
	})
	b.Run("verify", func(b *testing.B) {
		v, r := hotSecond(b, body)
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			r.Body = io.NopCloser(strings.NewReader(body))
			if _, err := v.Verify(r.Context(), r, "/connections"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkVerifySecondBody compares a request with a body of 30 bytes with the HMAC over its base
// and the SHA-256 of its body.
func BenchmarkVerifySecondBody(b *testing.B) {
	body := `{"c_text":"thirty bytes long"}`
	v, r := hotSecond(b, body)
	b.Run("floor", func(b *testing.B) {
		base, mac := []byte(signing.BaseOf(v, r)), hmac.New(sha256.New, []byte(macKey))
		var sum [32]byte
		for b.Loop() {
			mac.Reset()
			mac.Write(base)
			mac.Sum(sum[:0])
			sha256.Sum256([]byte(body))
		}
	})
	b.Run("verify", func(b *testing.B) {
		sent := strings.NewReader(body)
		received := io.NopCloser(sent)
		b.ReportAllocs()
		for b.Loop() {
			sent.Reset(body)
			r.Body = received
			if _, err := v.Verify(r.Context(), r, "/connections"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
