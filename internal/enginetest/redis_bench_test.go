package enginetest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
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

// BenchmarkClusterClaim compares a claim in a cluster of one or three primaries with one in a single
// server, alternately, over one client each. It reports the ratio of the times that the servers count,
// and that of what the caller waits. On two busy cores they were 0.8 to 1.4 and 1.1 to 1.2 with one primary. With
// three, four servers and the client had two cores, so that each call found cold caches: 1.3 to 1.5. TestCapacity
// has the ratio of CPU times, to which other processes do not add.
func BenchmarkClusterClaim(b *testing.B) {
	for _, primaries := range []int{1, clusterMasters} {
		b.Run(fmt.Sprint(primaries), func(b *testing.B) {
			single, cluster := startRedis(b), startCluster(b, primaries, false)
			var replays [2]signing.Replays
			for i, do := range []redisstore.Do{dial(b, single.addr()), dialCluster(b, cluster.addrs())} {
				server, err := redisstore.Open(b.Context(), do, redisstore.Options{PerKey: 1 << 30})
				if err != nil {
					b.Fatal(err)
				}
				replays[i] = server.Replays()
			}
			afterEpoch()
			var took [2][]time.Duration
			for n := uint64(0); b.Loop(); n++ {
				for i := range replays {
					begin := time.Now()
					if err := replays[i].Claim(b.Context(), useNow(fmt.Sprint("key", n%1000), n)); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(begin))
				}
			}
			var busy float64
			for _, s := range cluster.masters {
				busy += s.scriptTime(b)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(busy/single.scriptTime(b), "server/single")
			b.ReportMetric(float64(median(took[1]))/float64(median(took[0])), "caller/single")
		})
	}
}

// scriptTime returns how many microseconds a server has spent in scripts that it knew.
func (s *redisServer) scriptTime(t testing.TB) (spent float64) {
	t.Helper()
	_, line, _ := strings.Cut(s.command(t, "INFO", "commandstats").(string), "cmdstat_evalsha:")
	if _, err := fmt.Sscanf(line[strings.Index(line, "usec="):], "usec=%g", &spent); err != nil {
		t.Fatal(err)
	}
	return spent
}
