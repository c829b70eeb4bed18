package session

import "strings"

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
	old, new           Hasher
	oldDummy, newDummy dummy
}

// Hash also reports if one of the Hashers can make no encoding. The Manager calls it
// before the first Verify, which has no error.
func (m *migrating) Hash(password string) (string, error) {
	if _, _, err := m.dummies(); err != nil {
		return "", err
	}
	return m.new.Hash(password)
}

func (m *migrating) Verify(encoded, password string) (ok, rehash bool) {
	forOld, forNew, err := m.dummies()
	if err != nil {
		return false, false
	}
	kind := kindOf(encoded)
	isNew := kind == kindOf(forNew)
	if !isNew || m.oldMakes(kind) {
		forOld = encoded
	}
	if isNew {
		forNew = encoded
	}
	former, _ := m.old.Verify(forOld, password)
	ok, rehash = m.new.Verify(forNew, password)
	former, ok = former && forOld == encoded, ok && forNew == encoded
	return ok || former, rehash && ok || former && !ok
}

func (m *migrating) dummies() (old, new string, err error) {
	if old, err = m.oldDummy.of(m.old); err == nil {
		new, err = m.newDummy.of(m.new)
	}
	return old, new, err
}

// oldMakes reports whether old makes encodings of this kind, or a Hasher nested in it does.
func (m *migrating) oldMakes(kind string) bool {
	made, _ := m.oldDummy.of(m.old)
	nested, ok := m.old.(*migrating)
	return kindOf(made) == kind || ok && nested.oldMakes(kind)
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
