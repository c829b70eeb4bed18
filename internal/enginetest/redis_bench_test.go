package enginetest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/signing"
)

// BenchmarkRedisClaim compares a claim with the cheapest record of a nonce, over one client. The
// two alternate, so that other load on the machine slows both. It reports medians:
//
//	go test -run '^$' -bench RedisClaim -count 5 ./internal/enginetest
//
// On two idle cores a claim took 1.2 times as long as a SET, on busy ones 1.4 to 1.7. The parts
// were measured over 5000 turns. A script that returns at once takes 1.0, with both keys written
// 1.2. With the clock, the epoch and the count read it takes 1.28, and with the count written 1.34.
// The rest is Lua that compares them. So a target of 1.3 leaves no room for the fifth command. One
// command less would cost the exact count, or the check of the epoch with each claim.
func BenchmarkRedisClaim(b *testing.B) {
	s := startRedis(b)
	do := dial(b, s.addr())
	server, err := redisstore.Open(b.Context(), do, redisstore.Options{PerKey: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	afterEpoch()
	replays, n := server.Replays(), uint64(0)
	var bare, claims []time.Duration
	for b.Loop() {
		n++
		begin := time.Now()
		if _, err := do(b.Context(), "SET", fmt.Sprintf("bare:%016xkey", n), "", "NX", "PX", "420000"); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		if err := replays.Claim(b.Context(), useNow("key", n)); err != nil {
			b.Fatal(err)
		}
		bare, claims = append(bare, between.Sub(begin)), append(claims, time.Since(between))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(bare)), "ns/SET")
	b.ReportMetric(float64(median(claims)), "ns/claim")
	b.ReportMetric(float64(median(claims))/float64(median(bare)), "claim/SET")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// useNow returns request i of a client key, signed now, for single use.
func useNow(clientKey string, i uint64) signing.Use { return useAt(time.Now(), clientKey, i) }

func useAt(signed time.Time, clientKey string, i uint64) signing.Use {
	signed = time.UnixMilli(signed.UnixMilli())
	u := signing.Use{
		ClientKey: clientKey,
		Nonce:     fmt.Sprintf("%016x", i),
		Signed:    signed,
		Seen:      time.Now(),
		Keep:      signed.Add(6 * time.Minute),
	}
	binary.BigEndian.PutUint64(u.Signature[24:], i)
	return u
}
