package session_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// rememberedDevice returns a browser of ann that is signed out and whose device is remembered, and the
// secret of her factor.
func (w *world) rememberedDevice() (*browser, session.FactorSecret) {
	w.t.Helper()
	b, secret, _ := w.pending()
	want(w.t, b.post("/verify", "code", w.code(secret), "device", "on"), 200, "")
	want(w.t, b.post("/logout"), 200, "")
	return b, secret
}

// devices returns what a Manager lists for ann.
func (w *world) devices() []session.SessionInfo {
	w.t.Helper()
	return must(w.manager.Sessions().Devices(w.t.Context(), &auth.Org{Code: "acme"}, "ann"))
}

func TestARememberedDevice(t *testing.T) {
	t.Run("its logins need no code, for 30 days", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b, secret := w.rememberedDevice()
		for range 3 {
			want(t, b.login("ann", annPassword), 200, "")
			if got := lastProof(t, w).Methods; len(got) != 2 || got[1] != "device" {
				t.Errorf("methods %q", got)
			}
			want(t, b.post("/reauthenticate", "login", "ann", "password", annPassword), 200, "")
			want(t, b.post("/logout"), 200, "")
		}
		want(t, w.browser().login("ann", annPassword), 403, auth.DetailSecondFactor)
		if n := len(w.devices()); n != 1 {
			t.Errorf("%d devices", n)
		}
		w.clock.Advance(30*day - time.Hour)
		want(t, b.login("ann", annPassword), 200, "")
		w.clock.Advance(time.Hour)
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor) // no use prolongs it
		if n := len(w.devices()); n != 0 {
			t.Errorf("%d devices", n)
		}
		want(t, b.post("/verify", "code", w.code(secret), "device", "on"), 200, "")
		want(t, b.login("ann", annPassword), 200, "")
	})
	t.Run("in one step", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b, secret, _ := w.pending()
		want(t, b.post("/login", "login", "ann", "password", annPassword, "code", w.code(secret), "device", "on"), 200, "")
		want(t, b.login("ann", annPassword), 200, "")
	})
	t.Run("asked for twice it is one", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b, secret := w.rememberedDevice()
		w.clock.Advance(time.Minute)
		want(t, b.post("/login", "login", "ann", "password", annPassword, "code", w.code(secret), "device", "on"), 200, "")
		if n := len(w.devices()); n != 1 {
			t.Errorf("%d devices", n)
		}
	})
	t.Run("20 of one account at most", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		first, secret := w.rememberedDevice()
		for range 20 {
			w.clock.Advance(time.Minute)
			b := w.browser()
			want(t, b.post("/login", "login", "ann", "password", annPassword, "code", w.code(secret), "device", "on"), 200, "")
		}
		if n := len(w.devices()); n != 20 {
			t.Errorf("%d devices", n)
		}
		want(t, first.login("ann", annPassword), 403, auth.DetailSecondFactor)
	})
	t.Run("what is listed says where and when", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		w.rememberedDevice()
		d := w.devices()[0]
		if d.ID == "" || d.Address == "" || !d.Created.Equal(w.now()) || !d.Expires.Equal(w.now().Add(30*day)) || len(d.Proof.Methods) > 0 {
			t.Errorf("%+v", d)
		}
		if got := must(w.manager.Sessions().Devices(t.Context(), &auth.Org{Code: "acme"}, "")); len(got) > 0 {
			t.Errorf("of nobody: %v", got)
		}
	})
	t.Run("the store fails", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b, secret, _ := w.pending()
		w.stores.set("Create", http.ErrServerClosed)
		want(t, b.post("/verify", "code", w.code(secret), "device", "on"), 503, auth.DetailUnavailable)
		if b.cookie(cookieName) != "" {
			t.Errorf("cookies %v", b.jar)
		}
	})
}

func TestF37WhatIsNoRememberedDevice(t *testing.T) {
	for name, do := range map[string]func(w *world, b *browser, secret session.FactorSecret) *browser{
		"F37 nobody asked": func(w *world, b *browser, secret session.FactorSecret) *browser {
			other := w.browser()
			w.clock.Advance(time.Minute)
			want(t, other.post("/login", "login", "ann", "password", annPassword, "code", w.code(secret)), 200, "")
			return other
		},
		"F37 the cookie of another account": func(w *world, b *browser, _ session.FactorSecret) *browser {
			bob := w.browser()
			want(t, bob.login("bob", "bob's password"), 200, "")
			secret, _ := bob.enrol()
			w.clock.Advance(time.Minute)
			want(t, bob.post("/login", "login", "bob", "password", "bob's password", "code", w.code(secret), "device", "on"), 200, "")
			want(t, bob.login("bob", "bob's password"), 200, "")
			return bob
		},
		"F37 the device cookie of a login before": func(w *world, b *browser, _ session.FactorSecret) *browser {
			stolen := b.clone()
			want(t, b.login("ann", annPassword), 200, "")
			return stolen
		},
		"F37 it was ended": func(w *world, b *browser, _ session.FactorSecret) *browser {
			if err := w.manager.Sessions().Revoke(t.Context(), "acme", "ann", w.devices()[0].ID); err != nil {
				t.Error(err)
			}
			return b
		},
		"F37 by another account it is not ended, but everywhere": func(w *world, b *browser, _ session.FactorSecret) *browser {
			if err := w.manager.Sessions().Revoke(t.Context(), "acme", "bob", w.devices()[0].ID); !auth.IsNotFound(err) {
				t.Error(err)
			}
			want(t, b.login("ann", annPassword), 200, "")
			w.manager.Sessions().RevokeAll(t.Context(), "acme", "ann", "")
			return b
		},
		"F37 the password was changed": func(w *world, b *browser, _ session.FactorSecret) *browser {
			want(t, b.login("ann", annPassword), 200, "")
			want(t, b.post("/password", "login", "ann", "password", annPassword, "next", "another password"), 200, "")
			w.stores.passwords["acme/ann"] = annPassword
			w.clock.Advance(time.Second)
			return b
		},
		"F37 the account was changed": func(w *world, b *browser, _ session.FactorSecret) *browser {
			w.clock.Advance(time.Second)
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: w.clock.Now()})
			return b
		},
		"F37 another factor, which other instances have not told of": func(w *world, b *browser, _ session.FactorSecret) *browser {
			f := must(w.memory.Factors().Factor(t.Context(), "acme", "ann"))
			f.Secret = session.FactorSecret("another secret of 20")
			if err := w.memory.Factors().Save(t.Context(), "acme", "ann", f); err != nil {
				t.Error(err)
			}
			return b
		},
		"F37 the org asks each time by now": func(w *world, b *browser, _ session.FactorSecret) *browser {
			w.putOrg(func(o *auth.Org) { o.Session.RememberDevice = -1 })
			return b
		},
		"F37 the org requires a factor by now": func(w *world, b *browser, _ session.FactorSecret) *browser {
			w.putOrg(func(o *auth.Org) { o.Session.SecondFactor = true })
			return b
		},
		"F37 the org allows fewer days by now": func(w *world, b *browser, _ session.FactorSecret) *browser {
			w.putOrg(func(o *auth.Org) { o.Session.RememberDevice = day })
			w.clock.Advance(day)
			return b
		},
		"F37 asked for where the org asks each time": func(w *world, _ *browser, secret session.FactorSecret) *browser {
			w.putOrg(func(o *auth.Org) { o.Session.RememberDevice = -1 })
			w.clock.Advance(time.Minute)
			b := w.browser()
			want(t, b.post("/login", "login", "ann", "password", annPassword, "code", w.code(secret), "device", "on"), 200, "")
			w.putOrg(func(o *auth.Org) { o.Session.RememberDevice = 30 * day })
			return b
		},
		"F37 another key": func(w *world, b *browser, _ session.FactorSecret) *browser {
			w.manager.DeviceKey = session.NewDeviceKey([]byte("another key of 32 bytes and more"))
			return b
		},
		"F37 the store does not say": func(w *world, b *browser, _ session.FactorSecret) *browser {
			delete(b.jar, cookieName)
			w.stores.set("Get", http.ErrServerClosed)
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, knowsDevices)
			b, secret := w.rememberedDevice()
			b = do(w, b, secret)
			want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
		})
	}
	t.Run("F37 it is no session and no ticket", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b, _ := w.rememberedDevice()
		want(t, b.login("ann", "wrong"), 401, auth.DetailInvalidCredentials)
		b.jar[cookieName] = b.cookie(deviceName)
		want(t, b.get("/me"), 401, expired)
		b.jar[ticketName] = b.cookie(deviceName)
		want(t, b.post("/verify", "code", "000000"), 401, invalidCode)
	})
	t.Run("F37 in another org", func(t *testing.T) {
		w := newWorld(t, knowsDevices)
		b, secret := w.rememberedDevice()
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "globex"})
		w.stores.passwords["globex/ann"] = annPassword
		f := session.Factor{Secret: secret}
		if err := w.memory.Factors().Save(t.Context(), "globex", "ann", f); err != nil {
			t.Fatal(err)
		}
		b.org = "globex"
		b.jar["__Host-device-globex"] = b.cookie(deviceName)
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
	})
	t.Run("F37 no key", func(t *testing.T) {
		w := newWorld(t)
		b, secret, _ := w.pending()
		want(t, b.post("/verify", "code", w.code(secret), "device", "on"), 200, "")
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
	})
}
