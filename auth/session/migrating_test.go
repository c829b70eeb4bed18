package session_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// kind is a Hasher of encodings that begin with $name$. An encoding ends with the
// password. It takes the same time for each encoding that has the parts of its own, and
// no time for others.
type kind struct {
	name     string
	takes    time.Duration
	outdated string // the password whose encoding is of weaker parameters
	failing  error  // of Hash
	hashed   atomic.Int64
	verified atomic.Int64
}

func (k *kind) Hash(password string) (string, error) {
	if k.failing != nil {
		return "", k.failing
	}
	k.hashed.Add(1)
	time.Sleep(k.takes)
	return k.of(password), nil
}

func (k *kind) of(password string) string { return "$" + k.name + "$" + password }

func (k *kind) Verify(encoded, password string) (ok, rehash bool) {
	k.verified.Add(1)
	if strings.Count(encoded, "$") != strings.Count(k.of(""), "$") || len(password) > 72 {
		return false, false
	}
	time.Sleep(k.takes)
	return encoded == k.of(password), password == k.outdated
}

// migration is a table of passwords of three kinds behind a Migrating Hasher.
type migration struct {
	older, old, new *kind
	hasher          session.Hasher
}

func newMigration() *migration {
	m := &migration{older: &kind{name: "6", takes: 30 * time.Millisecond}, old: &kind{name: "2b", takes: 50 * time.Millisecond},
		new: &kind{name: "argon2id", takes: 20 * time.Millisecond, outdated: "weak"}}
	m.hasher = session.Migrating(session.Migrating(m.older, m.old), m.new)
	return m
}

func (m *migration) reset() {
	for _, k := range []*kind{m.older, m.old, m.new} {
		k.verified.Store(0)
	}
}

func TestMigrating(t *testing.T) {
	for _, c := range []struct {
		name, encoded, password string
		ok, rehash              bool
		verified                [3]int64 // older, old, new
	}{
		{"an old encoding", "$2b$right", "right", true, true, [3]int64{1, 1, 1}},
		{"one of an older kind", "$6$right", "right", true, true, [3]int64{1, 1, 1}},
		{"a new one", "$argon2id$right", "right", true, false, [3]int64{1, 1, 1}},
		{"a new one of weaker parameters", "$argon2id$weak", "weak", true, true, [3]int64{1, 1, 1}},
		{"F21 a wrong password of an old one", "$2b$right", "wrong", false, false, [3]int64{1, 1, 1}},
		{"F21 a wrong password of an older kind", "$6$right", "wrong", false, false, [3]int64{1, 1, 1}},
		{"F21 a wrong password of a new one", "$argon2id$right", "wrong", false, false, [3]int64{1, 1, 1}},
		{"F22 a malformed old one", "$2b$right$", "right", false, false, [3]int64{1, 1, 1}},
		{"F22 a malformed one of an older kind", "$6", "right", false, false, [3]int64{1, 1, 1}},
		{"F22 a malformed new one", "$argon2id$right$", "right", false, false, [3]int64{1, 1, 1}},
		{"F22 an empty one", "", "right", false, false, [3]int64{1, 1, 1}},
		{"F22 one of no kind", "right", "right", false, false, [3]int64{1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMigration()
				if encoded := must(m.hasher.Hash("right")); encoded != "$argon2id$right" {
					t.Errorf("Hash = %q", encoded)
				}
				m.reset()
				start := time.Now()
				ok, rehash := m.hasher.Verify(c.encoded, c.password)
				if took := time.Since(start); took != 100*time.Millisecond && (c.ok || strings.HasPrefix(c.name, "F21")) {
					t.Errorf("took %v, want the sum of all", took)
				}
				if ok != c.ok || rehash != c.rehash {
					t.Errorf("Verify = %t %t, want %t %t", ok, rehash, c.ok, c.rehash)
				}
				if got := [3]int64{m.older.verified.Load(), m.old.verified.Load(), m.new.verified.Load()}; got != c.verified {
					t.Errorf("each ran %v times, want %v", got, c.verified)
				}
			})
		})
	}
}

// F22: other programs also write $pbkdf2-sha256$, with other fields.
func TestMigratingOfOnePrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passlib := &kind{name: "pbkdf2-sha256$29000", takes: 10 * time.Millisecond}
		crypt := &kind{name: "2b", takes: 50 * time.Millisecond}
		present := &kind{name: "pbkdf2-sha256", takes: 20 * time.Millisecond, outdated: "weak"}
		for name, old := range map[string]session.Hasher{
			"alone":           passlib,
			"before another":  session.Migrating(crypt, passlib),
			"behind another":  session.Migrating(passlib, crypt),
			"the same Hasher": present,
		} {
			hasher := session.Migrating(old, present)
			must(hasher.Hash("x"))
			for _, c := range []struct {
				encoded, password string
				ok, rehash        bool
			}{
				{passlib.of("right"), "right", true, true},
				{passlib.of("right"), "wrong", false, false},
				{present.of("right"), "right", true, false},
				{present.of("weak"), "weak", true, true},
				{present.of("right"), "wrong", false, false},
			} {
				if name == "the same Hasher" && c.encoded == passlib.of("right") {
					continue
				}
				ok, rehash := hasher.Verify(c.encoded, c.password)
				if ok != c.ok || rehash != c.rehash {
					t.Errorf("%s: %s by %s: %t %t", name, c.encoded, c.password, ok, rehash)
				}
			}
		}
	})
}

func TestMigratingWithoutADummy(t *testing.T) {
	for name, alter := range map[string]func(*migration){
		"of the new kind":   func(m *migration) { m.new.failing = errBroken },
		"of the old kind":   func(m *migration) { m.old.failing = errBroken },
		"of the older kind": func(m *migration) { m.older.failing = errBroken },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMigration()
			alter(m)
			if _, err := m.hasher.Hash("right"); err == nil {
				t.Error("Hash works")
			}
			for _, encoded := range []string{"$6$right", "$2b$right", "$argon2id$right"} {
				if ok, _ := m.hasher.Verify(encoded, "right"); ok {
					t.Errorf("%s matches, in a time that tells its kind", encoded)
				}
			}
			m.older.failing, m.old.failing, m.new.failing = nil, nil, nil
			if ok, _ := m.hasher.Verify("$2b$right", "right"); !ok {
				t.Error("it did not try again")
			}
		})
	}
}

// F21: an unknown name takes as long as accounts of every kind, and each login with an
// old encoding replaces it once.
func TestMigratingBehindALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMigration()
		passwords := &rehashing{encoded: map[string]string{"ann": "$2b$" + annPassword, "bob": "$argon2id$" + annPassword}}
		w := newWorld(t, realTime, func(w *world) {
			w.manager.Hasher, w.manager.PasswordStore = m.hasher, passwords
		})
		want(t, w.browser().login("ann", annPassword), 200, "") // makes the dummies
		if got := passwords.encoded["ann"]; got != "$argon2id$"+annPassword {
			t.Errorf("encoded is %q after a login", got)
		}
		passwords.encoded["ann"] = "$6$" + annPassword
		for _, name := range []string{"ann", "bob", "nobody"} {
			start := time.Now()
			want(t, w.browser().login(name, "wrong"), 401, auth.DetailInvalidCredentials)
			if took := time.Since(start); took != 100*time.Millisecond {
				t.Errorf("F21 %s took %v", name, took)
			}
		}
	})
}

// rehashing is a Passwords whose logins are the ids of accounts.
type rehashing struct{ encoded map[string]string }

func (r *rehashing) Password(_ context.Context, _ auth.OrgKey, login string) (account, encoded string, err error) {
	encoded, ok := r.encoded[login]
	if !ok {
		return "", "", auth.ErrNotFound
	}
	return login, encoded, nil
}

func (r *rehashing) Rehash(_ context.Context, _ auth.OrgKey, account, old, encoded string) error {
	if r.encoded[account] == old {
		r.encoded[account] = encoded
	}
	return nil
}
