package replaytable_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tenantkit/tenantkit/internal/replaytable"
)

const (
	crowd   = 1 << 18 // nonces that one client key chooses
	buckets = 1 << 12
	parts   = 13
)

// chosen are nonces of an attacker who knows everything except the seed. Each is 16
// bytes long, and differs from all others of its family.
var chosen = map[string]func(i uint64) string{
	"at random":               func(uint64) string { return text(rand.Uint64(), rand.Uint64()) },
	"a counter":               func(i uint64) string { return text(0, i) },
	"a counter in front":      func(i uint64) string { return text(i, 0) },
	"in the highest bits":     func(i uint64) string { return text(i<<40, 0) },
	"twice the same half":     func(i uint64) string { return text(i, i) },
	"halves that cancel":      func(i uint64) string { return text(i, ^i) },
	"halves that sum to zero": func(i uint64) string { return text(i, -i) },
	"bits reversed":           func(i uint64) string { return text(bits.Reverse64(i), i) },
	"multiples of the rows":   func(i uint64) string { return text(0, i*buckets*4*parts) },
	"hexadecimal":             func(i uint64) string { return fmt.Sprintf("%016x", i) },
}

func text(high, low uint64) string {
	return string(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low))
}

// TestSeedCrowdsNoBucket counts the tags in each bucket. The seed is random, because
// maphash has no fixed seeds. A Poisson distribution of 64 exceeds 160 with a
// probability below 10^-21. The sum of squares of a uniform distribution is 14
// standard deviations above its mean as rarely. Neither fails by chance.
func TestSeedCrowdsNoBucket(t *testing.T) {
	seed := replaytable.NewSeed()
	key := seed.Key("client key of 22 chars")
	for name, nonce := range chosen {
		t.Run(name, func(t *testing.T) {
			var tags, signatures []replaytable.Tag
			for i := range uint64(crowd) {
				n := nonce(i)
				tags = append(tags, seed.Nonce(key, n))
				signatures = append(signatures, seed.Signature(key, (*[32]byte)([]byte(n+n))))
			}
			spread(t, "nonces", tags)
			spread(t, "signatures", signatures)
			if tag := tags[0]; tag == signatures[0] {
				t.Error("a nonce has the tag of a signature")
			}
		})
	}
	t.Run("client keys", func(t *testing.T) {
		var keys, nonces []replaytable.Tag
		shards := make([]int, 64)
		for i := range crowd {
			key := seed.Key(fmt.Sprint("key ", i))
			keys, nonces = append(keys, key), append(nonces, seed.Nonce(key, "the same nonce00"))
			shards[key.Pick(len(shards))]++
		}
		spread(t, "keys", keys)
		spread(t, "one nonce of each", nonces)
		uniform(t, "shards", shards)
	})
}

// spread checks all numbers that are derived from a tag.
func spread(t *testing.T, what string, tags []replaytable.Tag) {
	t.Helper()
	first, second, part, both := make([]int, buckets), make([]int, buckets), make([]int, parts), make([]int, buckets)
	for _, tag := range tags {
		a, b, p := tag.Homes(buckets, parts)
		first[a]++
		second[b]++
		part[p]++
		a, b, p = tag.Homes(16, 16)
		both[a<<8|b<<4|p]++
	}
	uniform(t, what+", first homes", first)
	uniform(t, what+", second homes", second)
	uniform(t, what+", parts", part)
	uniform(t, what+", homes of a part", both)

	slices.Sort(tags)
	if n := len(slices.Compact(tags)); n != crowd {
		t.Errorf("%s: %d of %d tags differ", what, n, crowd)
	}
}

// uniform compares counts with those of a random distribution.
func uniform(t *testing.T, what string, counts []int) {
	t.Helper()
	mean, squares := float64(crowd)/float64(len(counts)), 0.0
	for _, n := range counts {
		squares += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	if fullest := slices.Max(counts); float64(fullest) > mean+12*math.Sqrt(mean) {
		t.Errorf("%s: %d in the fullest of %d, %.0f on average", what, fullest, len(counts), mean)
	}
	if freedom := float64(len(counts) - 1); squares > freedom+14*math.Sqrt(2*freedom)+100 {
		t.Errorf("%s: the squares are %.0f, want about %.0f", what, squares, freedom)
	}
}
