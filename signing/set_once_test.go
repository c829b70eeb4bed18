package signing_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/signing"
)

// keyValues is the simplest store that SetOnce can use.
type keyValues struct {
	sync.Mutex
	m map[string]keyValue

	fail func(call int) (before, after error) // nil: never
	call int
}

type keyValue struct {
	value string
	keep  time.Time
}

// replays returns a store whose first claim was a millisecond ago, so that a request
// signed now is later than its epoch.
func (kv *keyValues) replays() signing.SetOnce {
	begun := time.Now().Add(-time.Millisecond)
	kv.m = map[string]keyValue{"epoch": {strconv.FormatInt(begun.UnixMilli(), 10), begun.AddDate(1, 0, 0)}}
	return kv.set
}

func (kv *keyValues) set(ctx context.Context, key, value string, keep time.Time) (prior string, stored bool, err error) {
	kv.Lock()
	defer kv.Unlock()
	var after error
	if kv.fail != nil {
		kv.call++
		if err, after = kv.fail(kv.call); err != nil {
			return "", false, err
		}
	}
	if old, ok := kv.m[key]; ok && time.Now().Before(old.keep) {
		return old.value, false, after
	}
	kv.m[key] = keyValue{value, keep}
	return "", true, after
}

func (kv *keyValues) empty() {
	kv.Lock()
	defer kv.Unlock()
	clear(kv.m)
}

// fields lists what the store holds, one line for each key, in no order.
func (kv *keyValues) fields() map[string]string {
	kv.Lock()
	defer kv.Unlock()
	fields := make(map[string]string)
	for key, v := range kv.m {
		fields[key] = v.value + " until " + v.keep.UTC().Format(time.RFC3339Nano)
	}
	return fields
}

func TestSetOnceWritesTheDocumentedFormat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := keyValues{m: make(map[string]keyValue)}
		store := signing.SetOnce(kv.set)
		signed := time.Now() // midnight UTC 2000-01-01
		single := signing.Use{
			ClientKey: "acmeClientKey000000001",
			Nonce:     "AbCdEfGh01234567",
			Signature: [32]byte([]byte("signature of thirty-two bytes 1!")),
			Signed:    signed,
			Seen:      signed.Add(-time.Millisecond), // by a clock that is behind
			Keep:      signed.Add(tolerance),
		}
		claim(t, store, "single use", single, nil)
		for i := range 3 {
			time.Sleep(250 * time.Millisecond)
			u := single
			u.Nonce = fmt.Sprintf("%016d", i)
			u.Signature = [32]byte([]byte("signature of thirty-two bytes 2!"))
			u.Seen, u.Siblings, u.Window = time.Now(), 8, 2*time.Second
			claim(t, store, "one of three siblings", u, nil)
		}
		// printf 'AbCdEfGh01234567acmeClientKey000000001' | openssl dgst -sha256 -binary |
		// basenc --base64url, and so on.
		want := map[string]string{
			"epoch": "946684799999 until 2000-12-31T23:59:59.999Z",
			"n:sxtRO38c1KIk-3GvKIRe-YXj71x31UMVBaC0LtT3skM":   "used until 2000-01-01T00:05:00Z",
			"n:hyIBOMsx_GsKm8dvIon5sQORXzwbqimEMkY1E2qAIfE":   "used until 2000-01-01T00:05:00Z",
			"n:m6RXQsgoSnEgVMNN9ebyqUVToFbU124kobTJfxCBFp4":   "used until 2000-01-01T00:05:00Z",
			"n:gta8V5a8aqLROmbUY6_TfBw-tV1Iio4CLTJyYeqfaaA":   "used until 2000-01-01T00:05:00Z",
			"s:SoKogc6WBKmUERUR_gezNj2RyJ1tmMvj9GlTiameKGU":   "used until 2000-01-01T00:05:00Z",
			"s:US4f4sSGX3n3n242yCT8i0d7SP61ePxMVSNZFIdRRAc":   "946684800250 until 2000-01-01T00:05:00Z",
			"s:US4f4sSGX3n3n242yCT8i0d7SP61ePxMVSNZFIdRRAc:2": "used until 2000-01-01T00:05:00Z",
			"s:US4f4sSGX3n3n242yCT8i0d7SP61ePxMVSNZFIdRRAc:3": "used until 2000-01-01T00:05:00Z",
		}
		if diff := cmp.Diff(want, kv.fields()); diff != "" {
			t.Errorf("the store's content (-want +got):\n%s", diff)
		}
	})
}

func TestSetOnceTakesThreeCallsAndOneForEachSibling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := keyValues{fail: func(int) (before, after error) { return nil, nil }}
		store := kv.replays()
		request := useOf("key", 1)
		for i := range 8 {
			kv.call = 0
			claim(t, store, "a sibling", siblingOf(request, uint64(i)), nil)
			if want := 3 + i; kv.call != want {
				t.Errorf("acceptance %d took %d calls, want %d", i+1, kv.call, want)
			}
		}
	})
}

// TestSetOnceLeavesOfStale sends requests signed before the epoch, each a hundred
// times with fresh nonces. Each must leave no more keys than an accepted request.
func TestSetOnceLeavesOfStale(t *testing.T) {
	for _, c := range []struct {
		name string
		use  func(u signing.Use, i int) signing.Use
		want int
	}{
		{"N15 signed before the epoch", func(u signing.Use, i int) signing.Use {
			u.Nonce = fmt.Sprintf("fresh%011d", i)
			return u
		}, 2},
		{"N15 signed before the epoch, the same request", func(u signing.Use, _ int) signing.Use { return u }, 2},
		{"N15 signed before the epoch, as siblings and after their window", func(u signing.Use, i int) signing.Use {
			return siblingOf(u, uint64(i))
		}, 2 * 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kv keyValues
				store := kv.replays()
				u := signedAt(time.Now().Add(-time.Second), "key", 1)
				before := len(kv.fields())
				for i := range 8 {
					claim(t, store, "stale", c.use(u, i), anyOf{signing.ErrStale, signing.ErrReplayed})
				}
				time.Sleep(2 * time.Second)
				for i := range 100 {
					claim(t, store, "sent again", c.use(u, 8+i), signing.ErrReplayed)
				}
				if n := len(kv.fields()) - before; n != c.want {
					t.Errorf("%d keys more, want %d", n, c.want)
				}
			})
		})
	}
}

// TestSetOnceLeaves counts the keys that refused claims leave.
func TestSetOnceLeaves(t *testing.T) {
	fresh := func(u signing.Use, i int) signing.Use {
		u.Nonce = fmt.Sprintf("fresh%011d", i)
		return u
	}
	for _, c := range []struct {
		name  string
		use   func(single, get signing.Use, i int) signing.Use
		after time.Duration
		want  int // keys of a hundred refused claims
	}{
		{"N15 a captured signature with fresh nonces", func(single, _ signing.Use, i int) signing.Use {
			return fresh(single, i)
		}, 0, 0},
		{"N15 the same as siblings", func(single, _ signing.Use, i int) signing.Use {
			return siblingOf(single, uint64(i))
		}, 0, 0},
		{"N15 a signature after the window of its siblings", func(_, get signing.Use, i int) signing.Use {
			return siblingOf(get, uint64(100+i))
		}, 2 * time.Second, 0},
		{"N15 an exact replay", func(single, _ signing.Use, _ int) signing.Use { return single }, 0, 0},
		{"N15 an exact replay of a sibling", func(_, get signing.Use, _ int) signing.Use { return siblingOf(get, 1) }, 0, 0},
		{"N15 siblings beyond the last place", func(_, get signing.Use, i int) signing.Use {
			return siblingOf(get, uint64(100+i))
		}, 0, 100},
		{"N15 a used nonce with fresh signatures", func(single, _ signing.Use, i int) signing.Use {
			u := useOf("key", uint64(100+i))
			u.Nonce = single.Nonce
			return u
		}, 0, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kv keyValues
				store := kv.replays()
				single, get := useOf("key", 1), useOf("key", 2)
				claim(t, store, "single use", single, nil)
				for i := range uint64(8) {
					claim(t, store, "a sibling", siblingOf(get, i), nil)
				}
				time.Sleep(c.after)
				before := len(kv.fields())
				for i := range 100 {
					claim(t, store, "refused", c.use(single, get, i), signing.ErrReplayed)
				}
				if n := len(kv.fields()) - before; n != c.want {
					t.Errorf("%d keys more, want %d", n, c.want)
				}
			})
		})
	}
}

func TestSetOnceKeysAreBoundedAndPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kv keyValues
		plain := regexp.MustCompile(`^[A-Za-z0-9_:-]{1,64}$`)
		for i, clientKey := range []string{"", "a", "a:2", "key\r\nSET x", "schlüssel", strings.Repeat("x", 100_000)} {
			u := siblingOf(useOf(clientKey, uint64(i)), uint64(i))
			claim(t, kv.replays(), fmt.Sprintf("client key %.20q", clientKey), u, nil)
		}
		for key, value := range kv.fields() {
			if !plain.MatchString(key) {
				t.Errorf("key %q: %s", key, value)
			}
		}
	})
}

func TestSetOnceInAnEmptiedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := keyValues{m: make(map[string]keyValue)}
		store := signing.SetOnce(kv.set)
		claim(t, store, "N13 the first claim of all", useOf("key", 0), signing.ErrStale)
		time.Sleep(time.Minute)
		u := useOf("key", 1)
		claim(t, store, "a request", u, nil)
		time.Sleep(time.Second)

		kv.empty()
		u.Seen = time.Now()
		claim(t, store, "N13 its replay", u, signing.ErrStale)
		claim(t, store, "N13 one underway meanwhile", signedAt(time.Now().Add(-time.Millisecond), "key", 2), signing.ErrStale)
		claim(t, store, "N13 one signed in the millisecond that begins it", useOf("key", 3), signing.ErrStale)
		time.Sleep(time.Millisecond)
		claim(t, store, "signed afterwards", useOf("key", 5), nil)
		time.Sleep(time.Minute)
		claim(t, store, "signed later", useOf("key", 4), nil)
	})
	t.Run("N13 emptied between any two steps", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for call := 1; call <= 4; call++ {
				var kv keyValues
				store := kv.replays()
				u := useOf("key", 1)
				claim(t, store, "a request", u, nil)
				emptied := signing.SetOnce(func(ctx context.Context, key, value string, keep time.Time) (string, bool, error) {
					if kv.call++; kv.call == call {
						kv.empty()
					}
					return kv.set(ctx, key, value, keep)
				})
				u.Seen = time.Now()
				claim(t, emptied, fmt.Sprint("its replay, emptied before call ", call), u,
					anyOf{signing.ErrReplayed, signing.ErrStale})
			}
		})
	})
}

func TestSetOnceFailing(t *testing.T) {
	down := errors.New("connection refused")
	for _, c := range []struct {
		name  string
		fail  func(err error) (before, after error)
		nonce int // the first call whose failure leaves the nonce written
	}{
		{"before writing", func(err error) (error, error) { return err, nil }, 3},
		{"after writing", func(err error) (error, error) { return nil, err }, 2},
	} {
		for call := 1; call <= 4; call++ {
			t.Run(fmt.Sprintf("N11 %s, in call %d", c.name, call), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					kv := keyValues{}
					store := kv.replays()
					claim(t, store, "an earlier sibling", siblingOf(useOf("key", 1), 1), nil)

					kv.fail = func(n int) (error, error) {
						if n == call {
							return c.fail(down)
						}
						return nil, nil
					}
					u := siblingOf(useOf("key", 1), 2)
					claim(t, store, "the call that fails", u, down)

					kv.fail = nil
					if err := store.Claim(t.Context(), u); call >= c.nonce && !errors.Is(err, signing.ErrReplayed) {
						t.Errorf("the same request again: %v, want %v: its nonce is used", err, signing.ErrReplayed)
					}
					claim(t, store, "signed again", useOf("key", 2), nil)
				})
			})
		}
	}
	t.Run("what the function returns can be told apart", func(t *testing.T) {
		store := signing.SetOnce(func(context.Context, string, string, time.Time) (string, bool, error) {
			return "", true, fmt.Errorf("quota of the tenant: %w", signing.ErrFull)
		})
		claim(t, store, "full", useOf("key", 1), signing.ErrFull)
	})
	t.Run("a value that no claim wrote lets nothing in", func(t *testing.T) {
		for _, value := range []string{"", "x", "-", "1e3", "99999999999999999999"} {
			store := signing.SetOnce(func(_ context.Context, key, _ string, _ time.Time) (string, bool, error) {
				return value, strings.HasPrefix(key, "n:"), nil
			})
			claim(t, store, fmt.Sprintf("first sight %q", value), siblingOf(useOf("key", 1), 1), signing.ErrReplayed)

			store = func(_ context.Context, key, _ string, _ time.Time) (string, bool, error) {
				return value, key != "epoch", nil
			}
			if err := store.Claim(t.Context(), useOf("key", 1)); err == nil {
				t.Errorf("accepted with the epoch %q", value)
			}
		}
	})
}

func TestSetOnceClocksThatDiffer(t *testing.T) {
	for _, c := range []struct {
		name  string
		ahead time.Duration // of the second verifier
		want  error
	}{
		{"the second is behind, within the window", -1999 * time.Millisecond, nil},
		{"the second is behind by the window", -2 * time.Second, signing.ErrReplayed},
		{"the second is behind by the window, in milliseconds", -2*time.Second + time.Microsecond, signing.ErrReplayed},
		{"the second is ahead, within the window", 1999 * time.Millisecond, nil},
		{"the second is ahead by the window", 2 * time.Second, signing.ErrReplayed},
		{"the second is ahead by less than the window, in milliseconds", 2*time.Second - time.Microsecond, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(keyValues).replays()
				claim(t, store, "the epoch", useOf("key", 0), nil)
				time.Sleep(time.Minute)
				u := useOf("key", 1)
				claim(t, store, "first", siblingOf(u, 1), nil)
				sibling := siblingOf(u, 2)
				sibling.Seen = time.Now().Add(c.ahead)
				claim(t, store, "second", sibling, c.want)
			})
		})
	}
}

func TestSetOnceSingleUseHasNoSiblingsInAnyWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(keyValues).replays()
		u := useOf("key", 1)
		claim(t, store, "single use", u, nil)
		sibling := siblingOf(u, 2)
		sibling.Window = math.MaxInt64 // longer than the time since 1970
		claim(t, store, "a sibling afterwards", sibling, signing.ErrReplayed)
	})
}

// FuzzSetOnce compares a SetOnce with its promises: a nonce once, and a signature as
// often as each Use allows. Each four bytes of input choose a claim.
func FuzzSetOnce(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x00\x00" + "\x00\x01\x00\x00" + "\x00\x01\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x01" + "\x01\x01\x00\x01" + "\x02\x02\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x02" + "\x03\x01\x00\x02" + "\x02\x02\x00\x02"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		synctest.Test(t, func(t *testing.T) {
			type sighting struct {
				first  time.Time
				times  int
				single bool
			}
			store := new(keyValues).replays()
			nonces, signatures := map[byte]bool{}, map[byte]*sighting{}
			begun := time.Now()
			for i := 0; len(choices) >= 4 && i < 200; i, choices = i+1, choices[4:] {
				time.Sleep(pick(choices[0], 0, time.Millisecond, time.Second, 1999*time.Millisecond))
				u := useOf("key", uint64(choices[1]))
				u.Signature[0] = choices[2] % 4
				copy(u.Signature[24:], make([]byte, 8))
				u.Siblings, u.Window = pick(choices[3], 1, 2, 8), 2*time.Second
				u.Keep = begun.Add(time.Hour)

				want := error(nil)
				seen := signatures[u.Signature[0]]
				single := u.Siblings <= 1
				if seen != nil && (single || seen.single || time.Since(seen.first) >= u.Window) {
					claim(t, store, fmt.Sprint("claim ", i), u, signing.ErrReplayed)
					continue // without a trace
				}
				if seen == nil { // recorded also if the nonce is refused
					seen = &sighting{time.Now(), 0, single}
					signatures[u.Signature[0]] = seen
				}
				switch {
				case nonces[choices[1]]:
					seen.times = max(seen.times, 1)
					want = signing.ErrReplayed
				case seen.times >= max(u.Siblings, 1):
					want = signing.ErrReplayed
				default:
					seen.times++
				}
				nonces[choices[1]] = true // also if there was no sibling slot
				claim(t, store, fmt.Sprint("claim ", i), u, want)
			}
		})
	})
}
