package signing_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenantkit/tenantkit/signing"
)

// modelMemory is a model of Memory. Both must give the same answers.
type modelMemory struct {
	start            time.Time
	requests, perKey int

	nonces     map[string]time.Time // until when they are remembered
	signatures map[string]*modelSignature
	keys       map[string]map[time.Time]int // requests by their end
	total      map[time.Time]int
}

type modelSignature struct {
	first, end time.Time
	accepted   int
	single     bool
}

func newModelMemory(requests, perKey int) *modelMemory {
	return &modelMemory{
		start: time.Now(), requests: requests, perKey: perKey,
		nonces:     make(map[string]time.Time),
		signatures: make(map[string]*modelSignature),
		keys:       make(map[string]map[time.Time]int),
		total:      make(map[time.Time]int),
	}
}

func (m *modelMemory) claim(u signing.Use) error {
	now := time.Now()
	if u.Signed.UnixMilli() < m.start.UnixMilli() || !u.Keep.After(now) {
		return signing.ErrStale
	}
	end := m.start.Add((u.Keep.Sub(m.start) + tick - 1) / tick * tick)

	nonce := u.ClientKey + " " + u.Nonce
	if m.nonces[nonce].After(now) {
		return signing.ErrReplayed
	}
	window := min(u.Window.Milliseconds(), 2*60*60*1000)
	single := u.Siblings <= 1 || window <= 0
	s := m.signatures[u.ClientKey+" "+string(u.Signature[:])]
	if s != nil && s.end.After(now) {
		if single || s.single || s.accepted >= min(u.Siblings, 255) ||
			now.Sub(m.start).Milliseconds()-s.first.Sub(m.start).Milliseconds() >= window {
			return signing.ErrReplayed
		}
	} else {
		s = &modelSignature{first: now, single: single}
	}
	if remembered(m.keys[u.ClientKey], now) >= m.perKey || remembered(m.total, now) >= m.requests {
		return signing.ErrFull
	}

	m.nonces[nonce] = end
	s.accepted++
	s.single = s.single || u.Keep.Sub(now) >= 2*time.Hour
	if end.After(s.end) {
		s.end = end
	}
	m.signatures[u.ClientKey+" "+string(u.Signature[:])] = s
	if m.keys[u.ClientKey] == nil {
		m.keys[u.ClientKey] = make(map[time.Time]int)
	}
	m.keys[u.ClientKey][end]++
	m.total[end]++
	return nil
}

func remembered(ends map[time.Time]int, now time.Time) (n int) {
	for end, count := range ends {
		if end.After(now) {
			n += count
		} else {
			delete(ends, end)
		}
	}
	return n
}

// checkMemory compares a small Memory with the model. Each eight bytes of input
// choose a claim or a pause. With quotas, no claim is kept so long that the quotas
// are no longer exact.
func checkMemory(t *testing.T, choices []byte, quotas bool) {
	const requests = 12
	perKey, keeps := requests, []time.Duration{
		-time.Second, 0, 1, time.Millisecond, tick, time.Minute, 5 * time.Minute, 6 * time.Minute, 8 * time.Minute,
		time.Hour, 2*time.Hour - 1, 2 * time.Hour, 5 * time.Hour, 365 * 24 * time.Hour,
	}
	if quotas {
		perKey, keeps = 4, keeps[:9]
	}
	time.Sleep(123_456_789)
	store, model := signing.NewMemory(requests), newModelMemory(requests, perKey)
	store.PerKey = perKey

	for i := 0; len(choices) >= 8; i, choices = i+1, choices[8:] {
		c := choices[:8]
		time.Sleep(pick(c[0], 0, 0, 0, 1, time.Millisecond, 999*time.Millisecond, 2*time.Second, tick-1, tick,
			time.Minute, 5*time.Minute, time.Hour, 1<<24*time.Millisecond, 5*time.Hour))
		u := signing.Use{
			ClientKey: pick(c[1], "a", "b", "aa"),
			Nonce:     fmt.Sprintf("%016x", c[2]%32),
			Signature: [32]byte{31: c[3] % 16},
			Signed:    pick(c[4], time.Now(), time.Now(), time.Now(), model.start, model.start.Add(-time.Millisecond)),
			Keep:      time.Now().Add(pick(c[5], keeps...)),
			Siblings:  pick(c[6], 8, 8, 8, 0, 1, 2, 3, 255, 1000),
			Window: pick(c[7], 2*time.Second, 2*time.Second, 0, -1, 1, time.Millisecond, time.Minute, time.Hour,
				2*time.Hour, 1000*time.Hour),
		}
		want, got := model.claim(u), store.Claim(t.Context(), u)
		if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
			t.Fatalf("claim %d, %v after the start, of %+v (-want +got):\n%s", i, time.Since(model.start), u, diff)
		}
		if want, got := remembered(model.total, time.Now()), store.Len(); want != got {
			t.Fatalf("claim %d: %d are remembered, want %d", i, got, want)
		}
	}
}

func pick[T any](choice byte, of ...T) T { return of[int(choice)%len(of)] }

func TestMemoryAgreesWithModel(t *testing.T) {
	seeds := uint64(400)
	if raceEnabled {
		seeds = 40
	}
	for seed := range seeds {
		random := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(make([]byte, 24), seed)))
		choices := make([]byte, 8*500)
		random.Read(choices)
		if seed%4 > 1 { // mostly without pauses
			for i := 0; i < len(choices); i += 8 {
				choices[i] %= 29 // 0 to 13 twice, and 0
				if i%(8*13) != 0 {
					choices[i] %= 8
				}
			}
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkMemory(t, choices, seed%2 == 0) })
		})
	}
}

func FuzzMemory(f *testing.F) {
	f.Add([]byte{}, true)
	f.Add([]byte("one claim"), false)
	f.Add([]byte("\x00\x00\x00\x00\x00\x06\x00\x00"+"\x06\x00\x01\x00\x00\x06\x00\x00"+"\x0a\x00\x00\x00\x00\x06\x00\x00"), true)
	f.Add([]byte("\x00\x00\x00\x00\x00\x0a\x00\x08"+"\x0b\x00\x01\x00\x00\x0a\x00\x08"+"\x0c\x00\x02\x00\x00\x0a\x00\x08"), false)
	f.Fuzz(func(t *testing.T, choices []byte, quotas bool) {
		synctest.Test(t, func(t *testing.T) { checkMemory(t, choices[:min(len(choices), 8*2000)], quotas) })
	})
}

// TestMemoryAtLength compares a store with the model while tables grow, fill up and
// empty, so that many entries move.
func TestMemoryAtLength(t *testing.T) {
	steps := 400_000
	if raceEnabled {
		steps /= 20
	}
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		store, model := signing.NewMemory(steps), newModelMemory(steps, steps)
		store.PerKey = steps
		pause := int64(20 * time.Millisecond)
		for i := range uint64(steps) {
			if i%50_000 == 0 {
				pause = [...]int64{20, 200, 1, 2000}[i/50_000%4] * int64(time.Millisecond)
			}
			time.Sleep(time.Duration(random.Int64N(pause)))
			u := siblingOf(useOf(fmt.Sprint("key ", random.IntN(3)), i), i)
			if random.IntN(3) == 0 { // a request that was claimed before
				j := i - random.Uint64N(min(i, 20_000)+1)
				u = siblingOf(useOf(fmt.Sprint("key ", random.IntN(3)), j), j)
			}
			u.Keep = time.Now().Add(time.Duration(random.Int64N(int64(6 * time.Minute))))
			want, got := model.claim(u), store.Claim(t.Context(), u)
			if want != got {
				t.Fatalf("claim %d: %v, want %v", i, got, want)
			}
		}
	})
}
