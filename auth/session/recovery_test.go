package session_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth/session"
)

func TestNewRecovery(t *testing.T) {
	shape := regexp.MustCompile(`^([0-9A-HJKMNP-TV-Z]{4}-){6}[0-9A-HJKMNP-TV-Z]{2}$`)
	seen := map[string]bool{}
	for range 20 {
		codes, hashes := session.NewRecovery()
		if len(codes) != 10 || len(hashes) != 10 {
			t.Fatalf("%d codes, %d hashes", len(codes), len(hashes))
		}
		for i, code := range codes {
			if !shape.MatchString(code) {
				t.Errorf("code %q", code)
			}
			if seen[code] {
				t.Errorf("%q again", code)
			}
			seen[code] = true
			if want := sha256.Sum256([]byte(strings.ReplaceAll(code, "-", ""))); hashes[i] != want {
				t.Errorf("hash of %s is not the SHA-256 of its text", code)
			}
		}
	}
}

// TestUseRecoveryKnownAnswer keeps the hashes that are stored meaning the same
// codes: printf 7ZK30QPAXW4M1D9HR6TV2BCEG8 | openssl dgst -sha256
func TestUseRecoveryKnownAnswer(t *testing.T) {
	const hash = "0456f4130a8b61fd2fac5a95c8c5c839c2bcd5056bcc5cf29d524a7fa2402088"
	var stored [32]byte
	if n, err := hex.Decode(stored[:], []byte(hash)); n != 32 || err != nil {
		t.Fatal(n, err)
	}
	if _, ok := session.UseRecovery([][32]byte{stored}, "7ZK3-0QPA-XW4M-1D9H-R6TV-2BCE-G8"); !ok {
		t.Error("refused")
	}
}

func TestUseRecovery(t *testing.T) {
	const text = "7ZK30QPAXW4M1D9HR6TV2BCEG8"
	others, _ := session.NewRecovery()
	hashes := [][32]byte{
		sha256.Sum256([]byte(strings.ReplaceAll(others[0], "-", ""))),
		sha256.Sum256([]byte(text)),
		sha256.Sum256([]byte(strings.ReplaceAll(others[2], "-", ""))),
	}
	for _, c := range []struct {
		name, code string
		ok         bool
	}{
		{"as printed", "7ZK3-0QPA-XW4M-1D9H-R6TV-2BCE-G8", true},
		{"without dashes", text, true},
		{"in small letters", "7zk3-0qpa-xw4m-1d9h-r6tv-2bce-g8", true},
		{"blanks for dashes, and around", "\t 7ZK3 0QPA XW4M 1D9H R6TV 2BCE G8\r\n", true},
		{"dashes of a word processor", "7ZK3–0QPA—XW4M‑1D9H-R6TV-2BCE\u00a0G8", true},
		{"letters that look like digits", "7ZK3-oQPA-XW4M-lD9H-R6TV-2BCE-G8", true},
		{"capitals that look like digits", "7ZK3-OQPA-XW4M-ID9H-R6TV-2BCE-G8", true},
		{"one letter less", text[1:], false},
		{"one letter more", text + "0", false},
		{"another letter", "8" + text[1:], false},
		{"letters changed about", text[1:] + text[:1], false},
		{"letters of another alphabet", "7ZK30QPАXW4M1D9HR6TV2BCEG8", false}, // А is Cyrillic
		{"the sign of the kelvin", "7Z\u212a30QPAXW4M1D9HR6TV2BCEG8", false},
		{"empty", "", false},
		{"only dashes", "------", false},
		{"beyond what is read", text + strings.Repeat(" ", 256), false},
	} {
		before := slices.Clone(hashes)
		left, ok := session.UseRecovery(hashes, c.code)
		want := hashes
		if c.ok {
			want = [][32]byte{hashes[0], hashes[2]}
		}
		if diff := cmp.Diff(want, left); ok != c.ok || diff != "" {
			t.Errorf("%s: ok = %t (-want +got):\n%s", c.name, ok, diff)
		}
		if diff := cmp.Diff(before, hashes); diff != "" {
			t.Errorf("%s: wrote to its argument:\n%s", c.name, diff)
		}
	}
	if left, ok := session.UseRecovery(nil, text); ok || len(left) != 0 {
		t.Error("accepted though none is left")
	}
}

func TestUseRecoveryOnceEach(t *testing.T) {
	codes, left := session.NewRecovery()
	for used, i := range []int{9, 0, 4, 5, 1, 8, 2, 7, 3, 6} {
		after, ok := session.UseRecovery(left, codes[i])
		if !ok || len(after) != 9-used {
			t.Fatalf("code %d: %t, %d left", i, ok, len(after))
		}
		if _, again := session.UseRecovery(after, codes[i]); again {
			t.Errorf("code %d is accepted twice", i)
		}
		left = after
	}
}

func FuzzNormalRecovery(f *testing.F) {
	f.Add("7ZK3-0QPA-XW4M-1D9H-R6TV-2BCE-G8")
	f.Add(" 7zk3–oqpa lI\xff\u212a\u017f")
	codes, hashes := session.NewRecovery()
	f.Fuzz(func(t *testing.T, code string) {
		once := session.NormalRecovery(code)
		if twice := session.NormalRecovery(once); twice != once {
			t.Errorf("%q becomes %q, then %q", code, once, twice)
		}
		if bytes.ContainsAny([]byte(once), "abcdefghijklmnopqrstuvwxyzILO- \t\r\n") {
			t.Errorf("%q becomes %q", code, once)
		}
		_, ok := session.UseRecovery(hashes, code)
		if _, normal := session.UseRecovery(hashes, once); ok && !normal {
			t.Errorf("%q is accepted, %q is not", code, once)
		}
		// A code is never accepted with anything more than blanks and dashes.
		with := codes[0] + code
		if _, ok := session.UseRecovery(hashes, with); ok && once != "" {
			t.Errorf("accepted %q", with)
		}
	})
}
