package session_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// spent counts the records that requests leave and what they cost. Writes are calls of
// stores that change something.
type spent struct{ Counts, Records, Writes, Hashes int }

func (w *world) spent() spent {
	records, _, _ := w.memory.Len()
	w.stores.mu.Lock()
	defer w.stores.mu.Unlock()
	return spent{w.memory.Counts(), records, w.stores.writes, int(w.hasher.verified.Load())}
}

// costs fails unless the request leaves and costs this.
func (w *world) costs(t *testing.T, want spent, do func() reply) reply {
	t.Helper()
	before := w.spent()
	got := do()
	after := w.spent()
	after = spent{after.Counts - before.Counts, after.Records - before.Records, after.Writes - before.Writes, after.Hashes - before.Hashes}
	if after != want {
		t.Errorf("leaves and costs %+v, want %+v", after, want)
	}
	return got
}

// elsewhere returns a browser at another address.
func (w *world) elsewhere(n int) *browser {
	b := w.browser()
	b.remote = "198.51.100." + strconv.Itoa(n) + ":1"
	return b
}

// delayName causes a delay of the name, from other addresses.
func (w *world) delayName(name string) {
	for n := range 5 {
		w.elsewhere(n).login(name, "wrong")
	}
}

func (w *world) delayAddress(b *browser) {
	for n := range 100 {
		b.login("user"+strconv.Itoa(n), "wrong")
	}
}

// TestBudgetOfRefusedLogins checks what each kind of refused login leaves and costs. A
// count is a key of Attempts.
func TestBudgetOfRefusedLogins(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(w *world) func() reply
		status  int
		fault   string
		budget  spent
	}{
		"an unknown name: it and the address": {func(w *world) func() reply {
			return func() reply { return w.browser().login("nobody", "wrong") }
		}, 401, auth.DetailInvalidCredentials, spent{Counts: 2, Writes: 2, Hashes: 1}},
		"a wrong password": {func(w *world) func() reply {
			return func() reply { return w.browser().login("ann", "wrong") }
		}, 401, auth.DetailInvalidCredentials, spent{Counts: 2, Writes: 2, Hashes: 1}},
		"a wrong password, again": {func(w *world) func() reply {
			w.browser().login("ann", "wrong")
			return func() reply { return w.browser().login("ann", "wrong") }
		}, 401, auth.DetailInvalidCredentials, spent{Writes: 2, Hashes: 1}},
		"a name that is too long": {func(w *world) func() reply {
			return func() reply { return w.browser().login(string(make([]byte, 257)), "wrong") }
		}, 401, auth.DetailInvalidCredentials, spent{}},
		"F14 a delayed name, another address": {func(w *world) func() reply {
			w.delayName("ann")
			return func() reply { return w.browser().login("ann", annPassword) }
		}, 429, auth.DetailLocked, spent{}},
		"F14 a delayed name that is unknown": {func(w *world) func() reply {
			w.delayName("nobody")
			return func() reply { return w.browser().login("nobody", "wrong") }
		}, 429, auth.DetailLocked, spent{}},
		"F14 a delayed address, another name": {func(w *world) func() reply {
			b := w.browser()
			w.delayAddress(b)
			return func() reply { return b.login("ann", annPassword) }
		}, 429, auth.DetailLocked, spent{}},
		"F14 a delayed address, an unknown name": {func(w *world) func() reply {
			b := w.browser()
			w.delayAddress(b)
			return func() reply { return b.login("nobody", "wrong") }
		}, 429, auth.DetailLocked, spent{}},
		"a wrong password on a known device: the device": {func(w *world) func() reply {
			knowsDevices(w)
			b := w.annsDevice()
			return func() reply { return b.login("ann", "wrong") }
		}, 401, auth.DetailInvalidCredentials, spent{Counts: 1, Writes: 1, Hashes: 1}},
		"F17 a delayed device, and a delayed name": {func(w *world) func() reply {
			knowsDevices(w)
			b := w.annsDevice()
			for range 10 {
				b.login("ann", "wrong")
			}
			return func() reply { return b.login("ann", annPassword) }
		}, 429, auth.DetailLocked, spent{}},
		"a page of another origin": {func(w *world) func() reply {
			return func() reply {
				return w.browser().do("POST", "/login", form("login", "ann", "password", annPassword), "Sec-Fetch-Site", "cross-site")
			}
		}, 403, auth.DetailCrossOrigin, spent{}},
		"the passwords are down": {func(w *world) func() reply {
			w.stores.set("Password", http.ErrServerClosed)
			return func() reply { return w.browser().login("ann", annPassword) }
		}, 503, auth.DetailUnavailable, spent{Writes: 4}},
		"the right password of a disabled account": {func(w *world) func() reply {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true})
			return func() reply { return w.browser().login("ann", annPassword) }
		}, 401, auth.DetailInvalidCredentials, spent{Writes: 4, Hashes: 1}},
		"a code is wanted: the ticket": {func(w *world) func() reply {
			w.ann().enrol()
			return func() reply { return w.browser().login("ann", annPassword) }
		}, 403, auth.DetailSecondFactor, spent{Records: 1, Writes: 5, Hashes: 1}},
		"a wrong code beside the password: the account's codes": {func(w *world) func() reply {
			secret, _ := w.ann().enrol()
			return func() reply { return w.browser().login("ann", annPassword, "code", w.wrong(secret)) }
		}, 401, auth.DetailInvalidCode, spent{Counts: 1, Writes: 5, Hashes: 1}},
		"a wrong code: the ticket and the account's codes": {func(w *world) func() reply {
			b, secret, _ := w.pending()
			return func() reply { return b.post("/verify", "code", w.wrong(secret)) }
		}, 401, auth.DetailInvalidCode, spent{Counts: 2, Writes: 2}},
		"a ticket that is used up": {func(w *world) func() reply {
			b, secret, _ := w.pending()
			for range 5 {
				b.post("/verify", "code", w.wrong(secret))
			}
			w.clock.Advance(time.Second)
			return func() reply { return b.post("/verify", "code", w.code(secret)) }
		}, 401, auth.DetailInvalidCode, spent{Writes: 1}},
		"delayed codes, another ticket": {func(w *world) func() reply {
			b, secret, _ := w.pending()
			for range 5 {
				b.post("/verify", "code", w.wrong(secret))
			}
			other := w.ticket()
			return func() reply { return other.post("/verify", "code", w.code(secret)) }
		}, 429, auth.DetailLocked, spent{Writes: 2}},
		"no ticket": {func(w *world) func() reply {
			return func() reply { return w.browser().post("/verify", "code", "123456") }
		}, 401, auth.DetailInvalidCode, spent{}},
		"an unknown ticket": {func(w *world) func() reply {
			b := w.browser()
			b.jar[ticketName] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
			return func() reply { return b.post("/verify", "code", "123456") }
		}, 401, auth.DetailInvalidCode, spent{}},
		"a ticket that is over": {func(w *world) func() reply {
			b, secret, _ := w.pending()
			w.clock.Advance(5 * time.Minute)
			return func() reply { return b.post("/verify", "code", w.code(secret)) }
		}, 401, auth.DetailInvalidCode, spent{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.memory.Now = func() time.Time { return time.UnixMilli(0) } // nothing expires by itself
			do := c.prepare(w)
			want(t, w.costs(t, c.budget, do), c.status, c.fault)
		})
	}
	t.Run("the queue of hashes is full", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, realTime)
			w.browser().login("warm", "up")
			w.hasher.hold = func() { time.Sleep(time.Second) }
			var all sync.WaitGroup
			for n := range runtime.GOMAXPROCS(0) * (1 + 16) {
				all.Go(func() { w.elsewhere(n).login(fmt.Sprint("user", n), "wrong") })
			}
			synctest.Wait()
			got := w.costs(t, spent{}, func() reply { return w.elsewhere(250).login("ann", annPassword) })
			want(t, got, 429, auth.DetailThrottled)
			all.Wait()
		})
	})
}

// TestBudgetOfRefusalsInTwoProcesses checks a delay in a process that has not set it.
func TestBudgetOfRefusalsInTwoProcesses(t *testing.T) {
	one := newWorld(t)
	other := newWorld(t, func(w *world) {
		w.memory, w.stores.Store, w.stores.Attempts, w.stores.FactorStore = one.memory, one.stores.Store, one.stores.Attempts, one.stores.FactorStore
	})
	login := func() reply { return other.browser().login("ann", annPassword) }
	one.delayName("ann")
	for range 21 {
		want(t, other.costs(t, spent{}, login), 429, auth.DetailLocked)
	}
	one.clock.Advance(time.Second)
	want(t, one.browser().login("ann", annPassword), 200, "")
	want(t, other.costs(t, spent{Records: 1, Writes: 5, Hashes: 1}, login), 200, "") // the delay is over for both
}

// TestBudgetOfALogin checks that a right password clears all earlier attempts but the
// count of the address.
func TestBudgetOfALogin(t *testing.T) {
	w := newWorld(t)
	w.costs(t, spent{Records: 1, Writes: 5, Hashes: 1}, func() reply { return w.browser().login("ann", annPassword) })
	w.browser().login("ann", "wrong")
	if got := w.spent(); got.Counts != 2 {
		t.Errorf("%+v", got)
	}
	w.costs(t, spent{Counts: -1, Records: 1, Writes: 5, Hashes: 1}, func() reply { return w.browser().login("ann", annPassword) })
}
