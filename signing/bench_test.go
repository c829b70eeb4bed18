package signing_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"net/http"
	"sync"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

// BenchmarkFloor measures the least work of any verifier: one HMAC over the message,
// with its keyed state taken from a pool.
func BenchmarkFloor(b *testing.B) {
	type keyed struct {
		hash hash.Hash
		sum  [32]byte
	}
	pool := sync.Pool{New: func() any {
		return &keyed{hash: hmac.New(sha256.New, []byte(clientKey+string(secret)))}
	}}
	message := []byte("/connections;GET;1790000000000")
	b.ReportAllocs()
	for b.Loop() {
		k := pool.Get().(*keyed)
		k.hash.Reset()
		k.hash.Write(message)
		k.hash.Sum(k.sum[:0])
		pool.Put(k)
	}
}

func BenchmarkVerify(b *testing.B) {
	for name, prefix := range map[string]string{"default": "", "prefix": "X-Acme-"} {
		b.Run(name, func(b *testing.B) {
			v, r := hotPath(b, prefix)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(r.Context(), r, "/connections"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		v, r := hotPath(b, "")
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := v.Verify(r.Context(), r, "/connections"); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("unknown key", func(b *testing.B) {
		v, r := hotPath(b, "")
		v.Keys = keysFunc(func(context.Context, string) (*signing.Key, error) { return nil, signing.ErrUnknownKey })
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.Verify(r.Context(), r, "/connections"); err == nil {
				b.Fatal("accepted")
			}
		}
	})
}

func BenchmarkSign(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		signing.Sign(clientKey, secret, "/connections", http.MethodGet, "1790000000000")
	}
}

func BenchmarkTransport(b *testing.B) {
	for name, clock := range map[string]*signing.Clock{"a Clock": new(signing.Clock), "the shared clock": nil} {
		b.Run(name, func(b *testing.B) {
			client := &signing.Transport{
				Clock: clock, BaseURL: "https://api.example.com/acme/v2", ClientKey: clientKey, Secret: secret,
				Base: roundTrip(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
				}),
			}
			r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, client.BaseURL+"/connections", nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.RoundTrip(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCommand(b *testing.B) {
	for name, target := range map[string]string{"plain": "/acme/v2/connections", "escaped": "/acme/v2/c_names/%C3%A9%E2%98%83"} {
		b.Run(name, func(b *testing.B) {
			r, err := received(target)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := signing.Command(r, "/acme/v2"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
