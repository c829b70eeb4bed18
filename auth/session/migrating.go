package session

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"
)

// Migrating returns a Hasher for passwords of two kinds: those that old has encoded,
// such as with bcrypt, and those of new. Hash encodes with new. Verify accepts both, and
// reports an old encoding for rehash. If Passwords is a Rehasher, a login replaces it.
//
// An encoding belongs to new if it begins as the encodings of new do: with the same text
// up to the second dollar sign, such as $argon2id$. Every other encoding belongs to old.
// If those of old begin alike, both try it: other programs write $pbkdf2-sha256$, too.
// For more old kinds, nest in the first argument: Migrating(Migrating(bcrypt, scrypt), new).
//
// Every verification runs both Hashers, one of them on an encoding that nobody knows the
// password of. The time therefore tells neither which accounts exist nor which ones have
// an old encoding. If old or new refuses an encoding in less than half its usual time, it
// runs once more, so that a malformed encoding costs about the same.
//
// Some differences stay. The encodings that old makes should cost as much as most of the
// stored ones: a wrong password takes other time for an encoding of another cost. A right
// password may take other time, too. A machine under load may take a malformed encoding
// for an ordinary one.
func Migrating(old, new Hasher) Hasher {
	return &migrating{old: steady{hasher: old}, new: steady{hasher: new}}
}

type migrating struct{ old, new steady }

// Hash also reports if one of the Hashers can make no encoding. The Manager calls it
// before the first Verify, which has no error.
func (m *migrating) Hash(password string) (string, error) {
	if err := m.prepare(); err != nil {
		return "", err
	}
	return m.new.hasher.Hash(password)
}

func (m *migrating) Verify(encoded, password string) (ok, rehash bool) {
	if m.prepare() != nil {
		return false, false
	}
	kind := kindOf(encoded)
	switch {
	case kind != kindOf(m.new.dummy):
		m.new.waste(password)
		ok, _ = m.old.verify(encoded, password)
		return ok, ok
	case m.old.makes(kind):
		former, _ := m.old.verify(encoded, password)
		ok, rehash = m.new.verify(encoded, password)
		return ok || former, rehash || !ok && former
	}
	m.old.waste(password)
	return m.new.verify(encoded, password)
}

func (m *migrating) prepare() error { return errors.Join(m.old.prepare(), m.new.prepare()) }

// kindOf returns what an encoding begins with, up to its second dollar sign.
func kindOf(encoded string) string {
	rest, ok := strings.CutPrefix(encoded, "$")
	if !ok {
		return ""
	}
	kind, _, _ := strings.Cut(rest, "$")
	return kind
}

// steady is a Hasher whose wrong passwords all take about the same time.
type steady struct {
	hasher Hasher

	making sync.Mutex
	dummy  string        // an encoding of a password that nobody knows
	usual  time.Duration // of a verification of dummy
}

// prepare makes the dummy and measures it. If there is an error, the next call tries
// again.
func (s *steady) prepare() error {
	s.making.Lock()
	defer s.making.Unlock()
	if s.dummy != "" {
		return nil
	}
	dummy, err := s.hasher.Hash(rand.Text())
	if err != nil {
		return err
	}
	// Not measured again with passwords of callers: some Hashers refuse very long ones
	// at once. The fastest of three, because load only makes them slower.
	password := rand.Text()
	verify := func() { s.hasher.Verify(dummy, password) }
	s.usual = min(timed(verify), timed(verify), timed(verify))
	s.dummy = dummy
	return nil
}

// makes reports whether Hash makes encodings of this kind, or a nested Hasher does.
func (s *steady) makes(kind string) bool {
	if m, ok := s.hasher.(*migrating); ok {
		return m.old.makes(kind) || m.new.makes(kind)
	}
	return kindOf(s.dummy) == kind
}

// waste takes the time of a wrong password.
func (s *steady) waste(password string) { s.hasher.Verify(s.dummy, password) }

func (s *steady) verify(encoded, password string) (ok, rehash bool) {
	took := timed(func() { ok, rehash = s.hasher.Verify(encoded, password) })
	if !ok && took < s.usual/2 {
		s.waste(password) // it has refused the encoding without computing anything
	}
	return ok, rehash
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}
