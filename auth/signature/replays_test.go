package signature_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
)

func TestS14Siblings(t *testing.T) {
	again := func(q wire, n int) wire {
		q.nonce = "sibling" + strconv.Itoa(100000000+n)
		return q
	}
	t.Run("S14 at once, and the ninth", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		for n := range 8 {
			want(t, w.send(t, again(q, n)), 200, "ann")
		}
		reply := w.send(t, again(q, 8))
		want(t, reply, 401, replayed)
		if got := reply.Header.Get("WWW-Authenticate"); got != `Signature error="replayed", versions="1 2"` {
			t.Errorf("challenge %q", got)
		}
	})
	t.Run("S14 after 2 s", func(t *testing.T) {
		var w *world
		w = newWorld(t, func(n *world) {
			n.guard.Now = func() time.Time { return time.Now().Add(w.offset) }
			w = n
		})
		q := w.request()
		want(t, w.send(t, again(q, 1)), 200, "ann")
		w.offset = 2001 * time.Millisecond
		want(t, w.send(t, again(q, 2)), 401, replayed)
	})
	t.Run("S14 with SingleUse", func(t *testing.T) {
		w := newWorld(t, func(w *world) { w.mechanism.Policy.SingleUse = true })
		q := w.request()
		want(t, w.send(t, again(q, 1)), 200, "ann")
		want(t, w.send(t, again(q, 2)), 401, replayed)
	})
	t.Run("S14 with an account header", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		q.account = "bob"
		want(t, w.send(t, again(q, 1)), 200, "bob")
		want(t, w.send(t, again(q, 2)), 401, replayed)
	})
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		t.Run("S14b "+method, func(t *testing.T) {
			w := newWorld(t)
			q := w.request()
			q.method = method
			want(t, w.send(t, again(q, 1)), 200, "ann")
			want(t, w.send(t, again(q, 2)), 401, replayed)
		})
		t.Run("S14b "+method+" with UnsafeMethodSiblings", func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.mechanism.Policy.UnsafeMethodSiblings = true })
			q := w.request()
			q.method = method
			want(t, w.send(t, again(q, 1)), 200, "ann")
			want(t, w.send(t, again(q, 2)), 200, "ann")
		})
	}
}

func TestN01NonceShape(t *testing.T) {
	w := newWorld(t)
	for name, nonce := range map[string]string{
		"15": "abcdefghijklmno", "17": "abcdefghijklmnopq", "empty": "", "hyphen": "abcdefgh-jklmnop",
		"space": "abcdefgh jklmnop", "é": "abcdefghéjklmno", "fullwidth digit": "abcdefghijklm１", "Kelvin sign": "abcdefghijklm\u212a",
	} {
		t.Run("N01 "+name, func(t *testing.T) {
			q := w.request()
			q.nonce = nonce
			w.clean(t, q, 400, malformed)
		})
	}
}

func TestN02ReplaysAreRefused(t *testing.T) {
	t.Run("N02 exact replay", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		want(t, w.send(t, q), 200, "ann")
		want(t, w.send(t, q), 401, replayed)
	})
	t.Run("N02 100 clients with one request over loopback", func(t *testing.T) {
		w := newWorld(t, func(w *world) { w.mechanism.Replays = signing.NewMemory(0) })
		q := w.request()
		statuses := make(chan int, 100)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { statuses <- w.send(t, q).StatusCode })
		}
		wg.Wait()
		close(statuses)
		passed := 0
		for status := range statuses {
			switch status {
			case 200:
				passed++
			case 401:
			default:
				t.Errorf("status %d", status)
			}
		}
		if passed != 1 || w.handled.Load() != 1 {
			t.Errorf("%d of 100 passed, %d were handled", passed, w.handled.Load())
		}
	})
	t.Run("N02b same nonce under a new timestamp", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		want(t, w.send(t, q), 200, "ann")
		next := w.request()
		next.nonce, next.timestamp = q.nonce, plus(t, q.timestamp, 1)
		want(t, w.send(t, next), 401, replayed)
	})
	t.Run("N03 same nonce under two client keys", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		want(t, w.send(t, q), 200, "ann")
		q.key, q.account = headless, "bob"
		want(t, w.send(t, q), 200, "bob")
	})
	t.Run("N04 bad MAC with a victim's nonce, then the victim", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		q.signature = strings.Repeat("0", 64)
		w.clean(t, q, 401, invalid)
	})
}

func plus(t testing.TB, timestamp string, ms int64) string {
	t.Helper()
	n, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(n+ms, 10)
}

func TestN05TheWindowIsInclusive(t *testing.T) {
	now := time.UnixMilli(1_790_000_000_000)
	w := newWorld(t, func(w *world) { w.guard.Now = func() time.Time { return now } })
	for name, test := range map[string]struct {
		offset time.Duration
		status int
		detail string
	}{
		"oldest":       {-5 * time.Minute, 200, "ann"},
		"too old":      {-5*time.Minute - time.Millisecond, 401, stale},
		"newest":       {time.Minute, 200, "ann"},
		"too new":      {time.Minute + time.Millisecond, 401, stale},
		"a day behind": {-24 * time.Hour, 401, stale},
	} {
		t.Run("N05 "+name, func(t *testing.T) {
			q := w.request()
			q.timestamp = strconv.FormatInt(now.Add(test.offset).UnixMilli(), 10)
			reply := w.send(t, q)
			want(t, reply, test.status, test.detail)
			if got := reply.Header.Get("WWW-Authenticate"); test.status == 401 && got != `Signature error="stale", versions="1 2"` {
				t.Errorf("challenge %q", got)
			}
		})
	}
}

func TestN06TimestampShape(t *testing.T) {
	w := newWorld(t)
	now := w.request().timestamp
	for name, timestamp := range map[string]string{
		"seconds": now[:10], "11 digits": now[:11], "16 digits": now + "000", "plus": "+" + now,
		"hexadecimal": "0x1a0c3e7b8c0", "exponent": "1e12", "underscore": now[:1] + "_" + now[1:],
		"Arabic digits": "١٧٩٠٠٠٠٠٠٠٠٠٠", "negative": "-" + now, "leading zero": "0" + now, "fraction": now + ".0",
		"N07 the largest number": "9223372036854775807", "N07 one more": "9223372036854775808", "empty": "",
	} {
		t.Run("N06 "+name, func(t *testing.T) {
			q := w.request()
			q.timestamp = timestamp
			w.clean(t, q, 400, malformed)
		})
	}
}

func TestN08RetentionCountsFromTheSignedTime(t *testing.T) {
	w := newWorld(t)
	start := time.Now()
	var offset time.Duration
	store := &keeping{}
	w.guard.Now = func() time.Time { return start.Add(offset) }
	w.mechanism.Replays = store
	q := w.request()
	q.timestamp = strconv.FormatInt(start.Add(time.Minute).UnixMilli(), 10)
	want(t, w.send(t, q), 200, "ann")
	offset = 6*time.Minute - time.Millisecond
	if !store.keep.After(start.Add(offset)) {
		t.Errorf("kept until %v, and accepted until %v", store.keep.Sub(start), offset)
	}
}

func TestN09AFullStoreIsTooBusy(t *testing.T) {
	w := newWorld(t, func(w *world) {
		memory := signing.NewMemory(40)
		memory.PerKey = 20
		w.mechanism.Replays = memory
	})
	var full atomic.Int64
	var wg sync.WaitGroup
	for range 6 { // clients
		requests := make([]wire, 10)
		for i := range requests {
			requests[i] = w.request()
		}
		wg.Go(func() {
			for _, q := range requests {
				reply := w.send(t, q)
				switch reply.StatusCode {
				case 200:
				case 503:
					full.Add(1)
					want(t, reply, 503, "tooBusy.storeFull")
					if reply.Header.Get("Retry-After") == "" {
						t.Error("503 without Retry-After")
					}
				default:
					t.Errorf("got %d %s", reply.StatusCode, reply.Text)
				}
			}
		})
	}
	wg.Wait()
	if full.Load() != 40 {
		t.Errorf("%d of 60 requests were refused by a quota of 20", full.Load())
	}
	other := w.request()
	other.key, other.account = headless, "bob"
	want(t, w.send(t, other), 200, "bob")
}

func TestN11AStoreThatFails(t *testing.T) {
	for name, after := range map[string]bool{"down": false, "answers with an error after writing": true} {
		t.Run("N11 "+name, func(t *testing.T) {
			w := newWorld(t)
			store := w.mechanism.Replays.(*mapStore)
			store.err, store.after = http.ErrServerClosed, after
			q := w.request()
			reply := w.send(t, q)
			want(t, reply, 503, "error.storeUnavailable")
			if reply.Header.Get("Retry-After") == "" || w.handled.Load() != 0 {
				t.Error("without Retry-After, or handled")
			}
			store.err = nil
			if after {
				want(t, w.send(t, q), 401, replayed)
			}
			want(t, w.send(t, w.request()), 200, "ann")
		})
	}
	t.Run("N11 slow", func(t *testing.T) {
		w := newWorld(t, func(w *world) {
			w.guard.Timeout = 100 * time.Millisecond
			w.mechanism.Replays = hanging{}
		})
		began := time.Now()
		want(t, w.send(t, w.request()), 503, "error.storeUnavailable")
		if took := time.Since(began); took < 100*time.Millisecond {
			t.Errorf("refused after %v, before the deadline", took)
		}
		if w.handled.Load() != 0 {
			t.Error("handled")
		}
	})
	t.Run("N11 down, with an error that reads like a replay", func(t *testing.T) {
		w := newWorld(t)
		w.mechanism.Replays.(*mapStore).err = errors.Join(auth.ErrUnavailable, signing.ErrReplayed)
		want(t, w.send(t, w.request()), 503, "error.storeUnavailable")
	})
	t.Run("N11 credentials down", func(t *testing.T) {
		w := newWorld(t, func(w *world) { w.mechanism.Credentials = brokenCredentials{} })
		want(t, w.send(t, w.request()), 503, "error.storeUnavailable")
	})
}

func TestN12AStoreThatHasJustStarted(t *testing.T) {
	w := newWorld(t)
	captured := w.request()
	time.Sleep(5 * time.Millisecond)
	w.mechanism.Replays = signing.NewMemory(0)
	time.Sleep(5 * time.Millisecond)
	reply := w.send(t, captured)
	want(t, reply, 401, stale)
	want(t, w.send(t, w.request()), 200, "ann")
}
