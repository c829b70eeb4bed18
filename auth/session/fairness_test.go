package session_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// warm makes the encoding that stands in for those of unknown accounts.
func warm(t *testing.T, hasher *slow, parallel, places int) *session.Hashing {
	t.Helper()
	h := session.NewHashing(hasher, parallel, places)
	if _, _, err := h.Verify(t.Context(), "a", "a"); err != nil {
		t.Fatal(err)
	}
	return h
}

// crowd hashes repeatedly on this many connections, until ctx ends.
func crowd(ctx context.Context, h *session.Hashing, connections int, by func(n int) session.Party) *sync.WaitGroup {
	all := new(sync.WaitGroup)
	for n := range connections {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, _, err := h.VerifyBy(ctx, by(n), "a", "a"); errors.Is(err, session.ErrQueueFull) {
					time.Sleep(50 * time.Millisecond) // 45 connections try 900 times a second
				}
			}
		})
	}
	return all
}

// TestF19NobodyTakesTheQueue keeps the queue of two processors full. A hash takes a second.
// Other callers come one after the other.
func TestF19NobodyTakesTheQueue(t *testing.T) {
	type party = session.Party
	newcomer := func(n int) party { return party{fmt.Sprint("org", n), "ann", fmt.Sprint("office ", n)} }
	for name, c := range map[string]struct {
		crowd  func(n int) party
		places int // of the crowd, at most
		other  func(n int) party
		rounds time.Duration // until the other is answered

		connections int // of the crowd; 0: 45
	}{
		"F19 one account on 45 connections": {
			func(n int) party { return party{"acme", "mallory", fmt.Sprint(n)} }, 5, newcomer, 2, 0},
		"F19 one account, another of its org": {
			func(n int) party { return party{"acme", "mallory", fmt.Sprint(n)} }, 5,
			func(n int) party { return party{"acme", "bob", "office"} }, 6, 0},
		"F19 one address, with names of one org": {
			func(n int) party { return party{"acme", fmt.Sprint(n), "here"} }, 16, newcomer, 2, 0},
		"F19 one address, another one of the org": {
			func(n int) party { return party{"acme", fmt.Sprint(n), "here"} }, 16,
			func(n int) party { return party{"acme", "bob", "office"} }, 2, 0},
		"F19 one address, with names of many orgs": {
			func(n int) party { return party{fmt.Sprint(n), "mallory", "here"} }, 16, newcomer, 10, 0},
		"F19 one org with many accounts at many addresses": {
			func(n int) party { return party{"acme", fmt.Sprint(n), fmt.Sprint(n)} }, 33, newcomer, 2, 0},
		"F19 three orgs with many accounts at many addresses": {
			func(n int) party { return party{fmt.Sprint("crowd", n%3), fmt.Sprint(n), fmt.Sprint(n)} }, 45, newcomer, 3, 0},
		"F19 an org at few addresses, another one of the org": {
			func(n int) party { return party{"acme", fmt.Sprint(n), fmt.Sprint(n % 3)} }, 33,
			func(n int) party { return party{"acme", "bob", "office"} }, 3, 0},
		"F19 as many orgs as there are places at few addresses": {
			func(n int) party { return party{fmt.Sprint(n), "mallory", fmt.Sprint(n % 5)} }, 80, newcomer, 33, 69},
		"F19 the registrations of an org, and its logins": {
			func(n int) party { return party{"acme", "", "in acme"} }, 16,
			func(n int) party { return party{"acme", "bob", "office"} }, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hasher := &slow{}
				h := warm(t, hasher, 2, 64)
				ctx, cancel := context.WithCancel(t.Context())
				all := crowd(ctx, h, cmp.Or(c.connections, 45), c.crowd)
				time.Sleep(10 * time.Second)
				if n := h.Len(); n > c.places {
					t.Errorf("the crowd has %d places", n)
				}
				for n := range 20 {
					start := time.Now()
					ok, _, err := h.VerifyBy(t.Context(), c.other(n), "a", "a")
					if took := time.Since(start); !ok || err != nil || took > c.rounds*time.Second {
						t.Errorf("%d: %t, %v after %v", n, ok, err, took)
					}
					time.Sleep(1700 * time.Millisecond)
				}
				cancel()
				all.Wait()
				if n := h.Len(); n != 0 {
					t.Errorf("%d places are kept of nobody", n)
				}
				if n := hasher.most.Load(); n > 2 {
					t.Errorf("%d ran at once", n)
				}
			})
		})
	}
}

// TestF19AnyCrowd lets parties enter and leave at random.
func TestF19AnyCrowd(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 19))
				parallel, places, orgs := 1+random.IntN(3), 16+random.IntN(24), 1+random.IntN(8)
				hasher := &slow{}
				h := warm(t, hasher, parallel, places)
				var mu sync.Mutex
				held := map[string]int{}
				hold := func(by session.Party, n int) {
					mu.Lock()
					defer mu.Unlock()
					for _, key := range []string{"org " + by.Org, "name " + by.Org + by.Name, "address " + by.Address} {
						held[key] += n
					}
				}
				var all sync.WaitGroup
				var done, full atomic.Int64
				for range 500 {
					org := fmt.Sprint(random.IntN(orgs))
					by := session.Party{Org: org, Name: fmt.Sprint(random.IntN(20)), Address: fmt.Sprint(random.IntN(40))}
					if random.IntN(10) == 0 {
						by = session.Party{Org: "alone", Name: fmt.Sprint(random.IntN(1000)), Address: fmt.Sprint("alone", random.IntN(1000))}
					}
					patience := time.Duration(random.IntN(40)) * time.Second
					all.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						defer cancel()
						mu.Lock()
						alone := by.Org == "alone" && held["org alone"] == 0
						mu.Unlock()
						hold(by, 1)
						ok, _, err := h.VerifyBy(ctx, by, "a", "a")
						hold(by, -1)
						switch {
						case ok && err == nil:
							done.Add(1)
						case errors.Is(err, session.ErrQueueFull):
							full.Add(1)
							if alone {
								t.Error("an org that had nobody in the queue was turned away")
							}
						case !errors.Is(err, context.DeadlineExceeded):
							t.Errorf("Verify = %t, %v", ok, err)
						}
					})
					if n := random.IntN(3); n > 0 {
						time.Sleep(time.Duration(n) * 100 * time.Millisecond)
					}
					synctest.Wait()
					mu.Lock()
					for key, n := range held {
						most := map[byte]int{'o': 2 * (1 + (places+1)/2), 'n': 5, 'a': places / 4}[key[0]]
						if n > most {
							t.Errorf("%s has %d places", key, n)
						}
					}
					mu.Unlock()
					if n := h.Len(); n > 2*(places+orgs+1) {
						t.Fatalf("%d places", n)
					}
				}
				all.Wait()
				if h.Len() != 0 || hasher.most.Load() > int64(parallel) || done.Load() == 0 || full.Load() == 0 {
					t.Errorf("%d places left, %d at once, %d done, %d turned away", h.Len(), hasher.most.Load(), done.Load(), full.Load())
				}
			})
		})
	}
}

// TestF19RightPasswords logs one account in repeatedly on 45 connections, and others
// meanwhile, through a whole Manager.
func TestF19RightPasswords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, realTime)
		w.browser().login("warm", "up")
		w.hasher.hold = func() { time.Sleep(time.Second) }
		until := time.Now().Add(30 * time.Second)
		var all sync.WaitGroup
		var passed, refused atomic.Int64
		tries := w.stores.count("Try")
		for range 45 {
			all.Go(func() {
				for time.Now().Before(until) {
					switch got := w.browser().login("ann", annPassword); got.fault {
					case "":
						passed.Add(1)
					case auth.DetailLocked:
						refused.Add(1)
						time.Sleep(time.Second)
					default:
						t.Errorf("F19 %d %s", got.status, got.fault)
					}
				}
			})
		}
		time.Sleep(5 * time.Second)
		for name, c := range map[string]func() reply{
			"another org": func() reply {
				b := w.elsewhere(1)
				b.org = "globex"
				return b.login("gus", "gus's password")
			},
			"another account": func() reply { return w.elsewhere(1).login("bob", "bob's password") },
			"the address":     func() reply { return w.browser().login("bob", "bob's password") },
		} {
			for range 3 {
				start := time.Now()
				if got := c(); got.status != 200 || time.Since(start) > 6*time.Second {
					t.Errorf("F19 %s: %d %s after %v", name, got.status, got.fault, time.Since(start))
				}
			}
		}
		all.Wait()
		if n := w.stores.count("Try") - tries; refused.Load() < 45 || n != 2*int(passed.Load()+9) {
			t.Errorf("F19 %d passed, %d refused, %d tries counted", passed.Load(), refused.Load(), n)
		}
	})
}

// TestF19StrangersLeaveADeviceItsPlaces lets strangers use the owner's name and address.
func TestF19StrangersLeaveADeviceItsPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, realTime, knowsDevices)
		device := w.annsDevice()
		w.hasher.hold = func() { time.Sleep(time.Second) }
		places := runtime.GOMAXPROCS(0) * (32 + 32)
		var all sync.WaitGroup
		for n := range places {
			all.Go(func() { w.browser().login("user"+strconv.Itoa(n/4), "wrong") })
			all.Go(func() { w.elsewhere(n).login("ann", annPassword) })
			all.Go(func() { w.elsewhere(n%3).login("other"+strconv.Itoa(n/4), "wrong") })
		}
		synctest.Wait()
		want(t, w.browser().login("ann", annPassword), 429, auth.DetailLocked)
		want(t, device.login("ann", annPassword), http.StatusOK, "")
		all.Wait()
	})
}

// TestF19StrangersWhoRegister lets strangers hash passwords repeatedly, while a signed-in
// account changes its own.
func TestF19StrangersWhoRegister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, realTime, func(w *world) { w.manager.Hasher = &slow{} })
		b := w.ann()
		w.mux.HandleFunc("POST /register", auth.Public, func(rw http.ResponseWriter, r *http.Request) {
			_, err := w.manager.Passwords().Hash(r.Context(), "a password")
			auth.Fail(rw, r, err)
		})
		until := time.Now().Add(30 * time.Second)
		var all sync.WaitGroup
		for range runtime.GOMAXPROCS(0) * (32 + 32) {
			all.Go(func() {
				for time.Now().Before(until) {
					if w.browser().post("/register").fault == auth.DetailThrottled {
						time.Sleep(100 * time.Millisecond)
					}
				}
			})
		}
		time.Sleep(10 * time.Second)
		want(t, b.change(annPassword, nextPassword), http.StatusOK, "")
		all.Wait()
	})
}
