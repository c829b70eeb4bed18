package session

import (
	"crypto/rand"
	"strings"
	"sync"
)

// Migrating returns a Hasher for passwords of two kinds: those that old has encoded,
// such as with bcrypt, and those of new. Hash encodes with new. Verify accepts both, and
// reports an old encoding for rehash. If PasswordStore is a Rehasher, a login replaces it.
//
// An encoding belongs to new if it begins as the encodings of new do: with the same text
// up to the second dollar sign, such as $argon2id$. Every other encoding belongs to old.
// If those of old begin alike, both try it: other programs write $pbkdf2-sha256$, too.
// For more old kinds, nest in the first argument: Migrating(Migrating(bcrypt, scrypt), new).
//
// Every verification runs both Hashers, one of them on an encoding that nobody knows the
// password of. The time therefore tells neither which accounts exist nor which ones have an
// old encoding. This is best effort: the encodings that old makes should cost as much as most
// of the stored ones, and one that a Hasher rejects at once takes less time. Such are malformed ones,
// and, if both kinds begin alike, those of the other kind.
func Migrating(old, new Hasher) Hasher { return &migrating{old: old, new: new} }

type migrating struct {
	old, new Hasher

	making          sync.Mutex
	oldDummy, dummy string // encodings of a password that nobody knows
}

// Hash also reports if one of the Hashers can make no encoding. The Manager calls it
// before the first Verify, which has no error.
func (m *migrating) Hash(password string) (string, error) {
	if err := m.prepare(); err != nil {
		return "", err
	}
	return m.new.Hash(password)
}

func (m *migrating) Verify(encoded, password string) (ok, rehash bool) {
	if m.prepare() != nil {
		return false, false
	}
	forOld, forNew := encoded, m.dummy
	if kind := kindOf(encoded); kind == kindOf(m.dummy) {
		forNew = encoded
		if !m.oldMakes(kind) {
			forOld = m.oldDummy
		}
	}
	former, _ := m.old.Verify(forOld, password)
	ok, rehash = m.new.Verify(forNew, password)
	former, ok = former && forOld == encoded, ok && forNew == encoded
	return ok || former, rehash && ok || former && !ok
}

// prepare makes the dummies. If there is an error, the next call tries again.
func (m *migrating) prepare() (err error) {
	m.making.Lock()
	defer m.making.Unlock()
	for dummy, hasher := range map[*string]Hasher{&m.oldDummy: m.old, &m.dummy: m.new} {
		if *dummy == "" && err == nil {
			*dummy, err = hasher.Hash(rand.Text())
		}
	}
	return err
}

// oldMakes reports whether old makes encodings of this kind, or a nested Hasher does.
func (m *migrating) oldMakes(kind string) bool {
	if nested, ok := m.old.(*migrating); ok {
		return nested.oldMakes(kind) || kindOf(nested.dummy) == kind
	}
	return kindOf(m.oldDummy) == kind
}

// kindOf returns what an encoding begins with, up to its second dollar sign.
func kindOf(encoded string) string {
	rest, ok := strings.CutPrefix(encoded, "$")
	if !ok {
		return ""
	}
	kind, _, _ := strings.Cut(rest, "$")
	return kind
}
