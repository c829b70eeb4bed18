package session_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

const deviceName = "__Host-device-acme"

var deviceKey = session.NewDeviceKey([]byte(deviceSecret))

const deviceSecret = "a device key of at least 32 bytes"

func knowsDevices(w *world) { w.manager.DeviceKey = deviceKey }

// annsDevice returns a browser with a device cookie of ann, and no session.
func (w *world) annsDevice() *browser {
	w.t.Helper()
	b := w.ann()
	want(w.t, b.post("/logout"), 200, "")
	if b.cookie(deviceName) == "" || len(b.jar) != 1 {
		w.t.Fatalf("after the logout: cookies %v", b.jar)
	}
	return b
}

// guess sends wrong passwords, each from its own address, and returns how many were
// verified.
func (w *world) guess(name string, times int) int {
	w.t.Helper()
	before := w.hasher.verified.Load()
	for n := range times {
		w.elsewhere(n).login(name, "wrong")
	}
	return int(w.hasher.verified.Load() - before)
}

func TestDeviceCookie(t *testing.T) {
	t.Run("its attributes", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		got := w.browser().login("ann", annPassword)
		if sets(got) != "+"+cookieName+" +"+deviceName {
			t.Fatalf("cookies %q", sets(got))
		}
		attributes := strings.Replace(got.header["Set-Cookie"][1], got.cookies[1].Value, "VALUE", 1)
		if attributes != deviceName+"=VALUE; Path=/; Max-Age=15552000; HttpOnly; Secure; SameSite=Lax" {
			t.Errorf("%s", attributes)
		}
		raw, err := base64.RawURLEncoding.DecodeString(got.cookies[1].Value)
		if err != nil || bytes.Contains(raw, []byte("ann")) {
			t.Errorf("%q, %v", raw, err)
		}
	})
	t.Run("on a loopback host without TLS", func(t *testing.T) {
		w := newWorld(t, knowsDevices, func(w *world) { w.guard.BaseURL = "http://localhost:8080" })
		b := w.browser()
		if got := b.login("ann", annPassword); sets(got) != "+session-acme +device-acme" || got.cookies[1].Secure {
			t.Errorf("cookies %v", got.cookies)
		}
		w.guess("ann", 5)
		want(t, b.login("ann", annPassword), 200, "")
	})
	t.Run("under a name of the application's own", func(t *testing.T) {
		for name, cookie := range map[string]string{"known": "__Host-known", "a_{org}_known": "__Host-a_acme_known"} {
			w := newWorld(t, knowsDevices, func(w *world) { w.manager.Cookies.Device = name })
			b := w.ann()
			w.guess("ann", 5)
			want(t, b.login("ann", annPassword), 200, "")
			if b.cookie(cookie) == "" {
				t.Errorf("cookies %v", b.jar)
			}
		}
	})
	t.Run("none without a key", func(t *testing.T) {
		w := newWorld(t)
		if got := w.browser().login("ann", annPassword); sets(got) != "+"+cookieName {
			t.Errorf("cookies %q", sets(got))
		}
		b := w.browser()
		b.jar[deviceName] = session.NewDevice(session.DeviceKey{}, "acme", "ann", w.now()) // made with the empty key
		w.guess("ann", 5)
		want(t, b.login("ann", annPassword), 429, auth.DetailLocked)
	})
	t.Run("a new one with each proof", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b, seen := w.browser(), map[string]bool{}
		for _, path := range []string{"/login", "/start", "/reauthenticate"} {
			want(t, b.post(path, "login", "ann", "password", annPassword, "account", "ann"), 200, "")
			seen[b.cookie(deviceName)] = true
		}
		if len(seen) != 3 || seen[""] {
			t.Errorf("%d cookies", len(seen))
		}
	})
	t.Run("it opens nothing", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b := w.annsDevice()
		want(t, b.get("/me"), 401, auth.DetailNoCredentials)
		want(t, b.login("ann", "wrong"), 401, auth.DetailInvalidCredentials)
		b.jar[cookieName] = b.cookie(deviceName)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("no second factor", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b := w.ann()
		b.enrol()
		want(t, b.post("/logout"), 200, "")
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
	})
}

func TestF15TheOwnerPassesOnAKnownDevice(t *testing.T) {
	t.Run("F15 from many addresses", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b := w.annsDevice()
		for range 3 {
			if n := w.guess("ann", 50); n > 5 {
				t.Errorf("%d were looked at", n)
			}
			want(t, w.browser().login("ann", annPassword), 429, auth.DetailLocked)
			want(t, b.login("ann", annPassword), 200, "")
		}
	})
	t.Run("F15 from the owner's own address", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b, other := w.annsDevice(), w.browser()
		w.delayAddress(other)
		want(t, other.login("ann", annPassword), 429, auth.DetailLocked)
		want(t, b.login("ann", "mistyped"), 401, auth.DetailInvalidCredentials)
		want(t, b.login("ann", annPassword), 200, "")
	})
	t.Run("F15 a step-up", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b := w.ann()
		w.guess("ann", 50)
		want(t, b.post("/reauthenticate", "login", "ann", "password", annPassword), 200, "")
	})
	t.Run("F15 what the owner proves does not set the guesser free", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b := w.annsDevice()
		w.guess("ann", 50)
		for range 10 {
			want(t, b.login("ann", annPassword), 200, "")
			if n := w.guess("ann", 50); n > 0 {
				t.Errorf("%d were looked at", n)
			}
		}
	})
	t.Run("F15 what the owner mistypes delays nobody else", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b := w.annsDevice()
		for range 5 {
			want(t, b.login("ann", "mistyped"), 401, auth.DetailInvalidCredentials)
		}
		for n := range 4 {
			want(t, w.elsewhere(n).login("ann", "wrong"), 401, auth.DetailInvalidCredentials)
		}
		want(t, w.elsewhere(9).login("ann", annPassword), 200, "")
	})
	t.Run("F15 with a second factor", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b, secret, _ := w.pending()
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
		w.guess("ann", 50)
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
		w.clock.Advance(time.Minute)
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
	})
	t.Run("F15 once the account was changed and proven again", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b := w.ann()
		w.clock.Advance(time.Second)
		w.mux.HandleFunc("POST /change", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: w.clock.Now()})
			if _, err := w.manager.Reauthenticate(rw, r, "ann", annPassword); err != nil {
				auth.Fail(rw, r, err)
				return
			}
			rw.Write([]byte("{}"))
		})
		want(t, b.post("/change"), 200, "")
		w.guess("ann", 50)
		want(t, b.login("ann", annPassword), 200, "")
	})
}

func TestF16WhatIsNoDeviceCookie(t *testing.T) {
	w := newWorld(t, knowsDevices)
	honest := w.annsDevice().cookie(deviceName)
	bob := w.browser()
	want(t, bob.login("bob", "bob's password"), 200, "")
	at := w.now()
	w.directory.PutAccount(auth.Account{ID: "cay", Org: "acme", Changed: at})
	w.stores.passwords["acme/cay"] = annPassword
	flipped := func(at int) string {
		raw := must(base64.RawURLEncoding.DecodeString(honest))
		raw[at] ^= 1
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	cases := map[string]struct{ login, value string }{
		"F16 none":                           {"ann", ""},
		"F16 cut":                            {"ann", honest[:95]},
		"F16 extended":                       {"ann", honest + "A"},
		"F16 a line break in it":             {"ann", honest[:95] + "\n"},
		"F16 of another account":             {"ann", bob.cookie(deviceName)},
		"F16 of another org":                 {"ann", session.NewDevice(deviceKey, "globex", "ann", at)},
		"F16 made with another key":          {"ann", session.NewDevice(session.NewDeviceKey(bytes.Repeat([]byte{1}, 32)), "acme", "ann", at)},
		"F16 made with the empty key":        {"ann", session.NewDevice(session.DeviceKey{}, "acme", "ann", at)},
		"F16 180 days old":                   {"ann", session.NewDevice(deviceKey, "acme", "ann", at.Add(-180*24*time.Hour))},
		"F16 older than the latest change":   {"cay", session.NewDevice(deviceKey, "acme", "cay", at.Add(-time.Millisecond))},
		"F16 of a name that is unknown":      {"nobody", session.NewDevice(deviceKey, "acme", "nobody", at)},
		"F16 of an account that is disabled": {"off", session.NewDevice(deviceKey, "acme", "off", at)},
		"F16 8 KiB":                          {"ann", strings.Repeat("A", 8<<10)},
	}
	for bit := range 72 {
		cases[fmt.Sprint("F16 a bit flipped in byte ", bit)] = struct{ login, value string }{"ann", flipped(bit)}
	}
	w.directory.PutAccount(auth.Account{ID: "off", Org: "acme", Disabled: true})
	w.stores.passwords["acme/off"] = annPassword
	for _, login := range []string{"ann", "cay", "nobody", "off"} {
		w.guess(login, 50)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := w.elsewhere(200)
			b.jar[deviceName] = c.value
			got := w.costs(t, spent{}, func() reply { return b.login(c.login, annPassword) })
			want(t, got, 429, auth.DetailLocked)
		})
	}
	t.Run("F16 two of them", func(t *testing.T) {
		b := w.elsewhere(200)
		line := deviceName + "=" + honest
		want(t, b.do("POST", "/login", form("login", "ann", "password", annPassword), "Cookie", line+"; "+line), 429, auth.DetailLocked)
		want(t, b.do("POST", "/login", form("login", "ann", "password", annPassword), "Cookie", line), 200, "")
	})
	t.Run("F16 one that is made up costs no look-up", func(t *testing.T) {
		b := w.elsewhere(200)
		before := w.stores.count("Password")
		for at := range 72 {
			b.jar[deviceName] = flipped(at)
			want(t, b.login("ann", annPassword), 429, auth.DetailLocked)
		}
		if n := w.stores.count("Password") - before; n != 0 {
			t.Errorf("%d look-ups", n)
		}
	})
	t.Run("F16 as old as the latest change, and a moment short of 180 days", func(t *testing.T) {
		b := w.elsewhere(200)
		b.jar[deviceName] = session.NewDevice(deviceKey, "acme", "cay", at)
		want(t, b.login("cay", annPassword), 200, "")
		b = w.elsewhere(200)
		b.jar[deviceName] = session.NewDevice(deviceKey, "acme", "ann", at.Add(time.Millisecond-180*24*time.Hour))
		want(t, b.login("ann", annPassword), 200, "")
	})
	t.Run("F16 a store that fails to say", func(t *testing.T) {
		b := w.elsewhere(200)
		b.jar[deviceName] = session.NewDevice(deviceKey, "acme", "ann", at)
		w.stores.set("Password", http.ErrServerClosed)
		want(t, b.login("ann", annPassword), 429, auth.DetailLocked)
		w.stores.set("Password", nil)
		w.stores.set("Try", http.ErrServerClosed)
		want(t, b.login("ann", annPassword), 503, auth.DetailUnavailable)
		w.stores.set("Try", nil)
		want(t, b.login("ann", annPassword), 200, "")
	})
}

func TestF17AStolenDeviceCookie(t *testing.T) {
	t.Run("F17 gives five guesses, and then counts as none", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		owner := w.annsDevice()
		thief := w.elsewhere(1)
		thief.jar[deviceName] = owner.cookie(deviceName)
		for range 5 {
			want(t, thief.login("ann", "wrong"), 401, auth.DetailInvalidCredentials)
		}
		if n := w.memory.Counts(); n != 1 {
			t.Errorf("%d counts, want the device's", n)
		}
		for range 5 {
			want(t, thief.login("ann", "wrong"), 401, auth.DetailInvalidCredentials) // counted for the name
		}
		for range 20 {
			want(t, thief.login("ann", annPassword), 429, auth.DetailLocked)
		}
		// The delays of name and device have ended. Each allows one more guess.
		w.clock.Advance(time.Second)
		hashes := w.hasher.verified.Load()
		for range 20 {
			thief.login("ann", "wrong")
		}
		if n := w.hasher.verified.Load() - hashes; n != 2 {
			t.Errorf("%d more were looked at", n)
		}
		// The owner waits as well on this device, until a login succeeds.
		want(t, owner.login("ann", annPassword), 429, auth.DetailLocked)
		w.clock.Advance(2 * time.Second)
		want(t, owner.login("ann", annPassword), 200, "")
	})
	t.Run("F17 delays the owner's other devices, until the cookies end", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		thief, owner := w.annsDevice(), w.annsDevice()
		for range 5 {
			thief.login("ann", "wrong")
		}
		want(t, owner.login("ann", annPassword), 200, "") // the name has no delay
		for range 10 {
			thief.login("ann", "wrong")
		}
		want(t, owner.login("ann", annPassword), 429, auth.DetailLocked)
		w.clock.Advance(time.Minute)
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: w.clock.Now()})
		want(t, owner.login("ann", annPassword), 200, "")
		for range 50 {
			thief.login("ann", "wrong")
		}
		want(t, owner.login("ann", annPassword), 200, "")
	})
	t.Run("F17 of 20 devices, tried at once", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		var devices []*browser
		for n := range 20 {
			b := w.annsDevice()
			b.remote = "198.51.100." + strconv.Itoa(n) + ":1"
			devices = append(devices, b)
		}
		before := w.hasher.verified.Load()
		for range 5 {
			want(t, devices[0].login("ann", "wrong"), 401, auth.DetailInvalidCredentials)
		}
		if n := w.memory.Counts(); n != 1 {
			t.Errorf("%d counts, want one for all devices", n)
		}
		for _, b := range devices {
			for range 20 {
				b.login("ann", "wrong")
			}
		}
		if n := w.hasher.verified.Load() - before; n != 5+5 {
			t.Errorf("%d were looked at, want 5 of the devices and 5 of the name", n)
		}
	})
	t.Run("F17 for a day", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		thief := w.annsDevice()
		for range 24 * 60 {
			thief.login("ann", "wrong")
			w.clock.Advance(time.Minute)
		}
		// Both counts reach the longest delay.
		if n := w.hasher.verified.Load(); n > 2*(5+10+24*4) {
			t.Errorf("%d were looked at", n)
		}
	})
	t.Run("F17 100 at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, realTime, knowsDevices)
			device := w.annsDevice()
			w.hasher.hold = func() { time.Sleep(time.Second) }
			before := w.hasher.verified.Load()
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() { device.clone().login("ann", "wrong") })
			}
			all.Wait()
			if n := w.hasher.verified.Load() - before; n > 5+5 {
				t.Errorf("%d of 100 were looked at", n)
			}
		})
	})
	t.Run("F17 collected by who knew the password before it was changed", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		var kept []*browser
		for range 20 {
			kept = append(kept, w.annsDevice())
		}
		w.clock.Advance(time.Second)
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: w.clock.Now()})
		w.stores.passwords["acme/ann"] = "another"
		before := w.hasher.verified.Load()
		for n, b := range kept {
			b.remote = "198.51.100." + strconv.Itoa(n) + ":1"
			for range 10 {
				b.login("ann", annPassword)
			}
		}
		if n := w.hasher.verified.Load() - before; n > 5 {
			t.Errorf("%d were looked at", n)
		}
	})
	t.Run("F17 made while the password was changed", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		w.hasher.hold = sync.OnceFunc(func() {
			w.clock.Advance(time.Second)
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: w.clock.Now()})
			w.clock.Advance(time.Second)
		})
		b := w.browser()
		want(t, b.login("ann", annPassword), 401, auth.DetailInvalidCredentials)
		if len(b.jar) != 0 {
			t.Errorf("cookies %v", b.jar)
		}
	})
}

func TestF18NoDeviceCookieForHalfALogin(t *testing.T) {
	w := newWorld(t, knowsDevices)
	b, secret, recovery := w.pending()
	wants := func(got reply, what string) {
		t.Helper()
		if strings.Contains(sets(got), deviceName) {
			t.Errorf("F18 %s: cookies %q", what, sets(got))
		}
	}
	wants(w.browser().login("ann", annPassword), "the password alone")
	wants(w.browser().login("ann", annPassword, "code", w.wrong(secret)), "a wrong code beside it")
	wants(w.browser().login("ann", "wrong", "code", recovery[0]), "a code alone")
	wants(w.browser().login("nobody", "wrong"), "an unknown name")
	wants(w.browser().post("/start", "account", "ann"), "proven elsewhere")
	wants(b.post("/verify", "code", w.wrong(secret)), "a wrong code")
	if got := b.post("/verify", "code", w.code(secret)); !strings.Contains(sets(got), "+"+deviceName) {
		t.Errorf("the whole login: cookies %q", sets(got))
	}
	w = newWorld(t, knowsDevices, org(func(o *auth.Org) { o.Session.SecondFactor = true }))
	b = w.browser()
	wants(b.login("ann", annPassword), "where a factor is to be enrolled")
	b.enrol()
	if b.cookie(deviceName) == "" {
		t.Error("the enrolment that completes a login gave none")
	}
}

// knownDevice is a cookie made in Python: 16 bytes of nonce, the time, 16 bytes of the
// account's MAC, and the MAC of all. MACs are over parts with their lengths in front.
// A later version must accept the cookies of this one.
const knownDevice = "AAECAwQFBgcICQoLDA0ODwAAAaDEUGwAcxpx4ItygqHaTWrHiPGb2-25BiJ2nkt3hOJEn8NcUcpFxzXvAaV1znYbftdJ_TjU"

func TestDeviceCookieKnownAnswer(t *testing.T) {
	w := newWorld(t, knowsDevices)
	w.guess("ann", 50)
	b := w.browser()
	b.jar[deviceName] = knownDevice
	want(t, b.login("ann", annPassword), 200, "")
}

// Each cookie has exactly one spelling, and cannot be made without the key.
func FuzzParseDevice(f *testing.F) {
	const honest = knownDevice // a fixed one, because each process of the fuzzing would make another
	for _, text := range []string{honest, "", honest[:95], honest + "=", honest[:95] + "\n", "\r" + honest[:95], honest[:92] + "AAAA"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if again, ok := session.ParseDevice(deviceKey, "acme", text); ok && (again != text || text != honest) {
			t.Errorf("%q was read as %q", text, again)
		}
		if _, ok := session.ParseDevice(deviceKey, "globex", text); ok {
			t.Errorf("%q was taken in another org", text)
		}
	})
}
