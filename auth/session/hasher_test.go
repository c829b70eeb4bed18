package session_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth/session"
)

// Encoded passwords made with pbkdf2_hmac of Python's hashlib, and its base64 without
// the padding.
const (
	once     = "$pbkdf2-sha256$i=1$MDEyMzQ1Njc4OWFiY2RlZg$Yy2wRoe+n2N8tqLlzlMT/6LDwe+Z8g08lxr+xEewy+c"
	unicode  = "$pbkdf2-sha256$i=4096$8PHy8/T19vf4+fr7/P3+/w$pJE7iTRChPQTQc6m385AMu4MfuJmePrQqmRxY2onp/M"
	standard = "$pbkdf2-sha256$i=600000$MDEyMzQ1Njc4OWFiY2RlZg$kYKAg/dg7WC7VQ4k8+iaopu8snxCGdA0xMTwPC5tudk"
	long     = "$pbkdf2-sha256$i=1000$MDEyMzQ1Njc4OWFiY2RlZg$4PAcwO867H9KR/5d0TCJvlWAoasa3RghERtMNw4QqGY"
	empty    = "$pbkdf2-sha256$i=1000$MDEyMzQ1Njc4OWFiY2RlZg$1SowFvcyM8WmWKE5mw1mE6SzWhTrQkI1ozLfFjQpvY4"
	tooMany  = "$pbkdf2-sha256$i=10000001$MDEyMzQ1Njc4OWFiY2RlZg$WPMpEK51BFSxBDwnxEFZ3MvYm6Y8FY0piOERKz5KqLQ"
)

func TestPBKDF2KnownAnswers(t *testing.T) {
	for _, c := range []struct {
		name, encoded, password string
		iterations              int
		ok, rehash              bool
	}{
		{"one iteration", once, "correct horse", 1, true, false},
		{"letters of all kinds", unicode, "pässwörd ☃", 4096, true, false},
		{"600,000 iterations are today's", standard, "correct horse", 0, true, false},
		{"longer than a block of SHA-256", long, strings.Repeat("x", 200), 1000, true, false},
		{"empty", empty, "", 1000, true, false},

		{"fewer iterations than today", unicode, "pässwörd ☃", 4097, true, true},
		{"fewer than by default", unicode, "pässwörd ☃", 0, true, true},
		{"more than today", unicode, "pässwörd ☃", 4095, true, false},

		{"another password", unicode, "pässwörd ☂", 4097, false, false},
		{"a password cut short", long, strings.Repeat("x", 199), 1000, false, false},
		{"a password of a longer one's block", long, strings.Repeat("x", 64), 1000, false, false},
		{"right, but beyond what a record may ask for", tooMany, "correct horse", 1, false, false},
	} {
		ok, rehash := session.PBKDF2{Iterations: c.iterations}.Verify(c.encoded, c.password)
		if ok != c.ok || rehash != c.rehash {
			t.Errorf("%s: Verify = %t %t, want %t %t", c.name, ok, rehash, c.ok, c.rehash)
		}
	}
}

func TestPBKDF2RefusesOtherRecords(t *testing.T) {
	h := session.PBKDF2{Iterations: 1}
	change := func(old, new string) string { return strings.Replace(once, old, new, 1) }
	for name, encoded := range map[string]string{
		"empty":                       "",
		"only the prefix":             "$pbkdf2-sha256$i=",
		"another function":            change("sha256", "sha512"),
		"capital letters":             change("sha256", "SHA256"),
		"no iterations":               change("i=1", "i="),
		"0 iterations":                change("i=1", "i=0"),
		"iterations below 0":          change("i=1", "i=-1"),
		"a sign":                      change("i=1", "i=+1"),
		"a leading zero":              change("i=1", "i=01"),
		"another base":                change("i=1", "i=0x1"),
		"a billion iterations":        change("i=1", "i=1000000000"),
		"iterations beyond 64 bits":   change("i=1", "i=18446744073709551617"),
		"another parameter":           change("i=1", "i=1,l=32"),
		"no salt":                     change("MDEyMzQ1Njc4OWFiY2RlZg", ""),
		"a short salt":                change("MDEyMzQ1Njc4OWFiY2RlZg", "MDEyMzQ1Njc4OWFiY2Rl"),
		"a padded salt":               change("MDEyMzQ1Njc4OWFiY2RlZg", "MDEyMzQ1Njc4OWFiY2RlZg=="),
		"loose bits in the last byte": change("RlZg$", "RlZh$"),
		"a line end within the salt":  change("MDEy", "MD\nEy"),
		"no hash":                     once[:strings.LastIndex(once, "$")+1],
		"half a hash":                 once[:len(once)-21],
		"a field more":                once + "$",
		"a blank after":               once + " ",
		"a blank before":              " " + once,
		"a megabyte":                  once + strings.Repeat("A", 1<<20),
	} {
		if ok, rehash := h.Verify(encoded, "correct horse"); ok || rehash {
			t.Errorf("%s: Verify = %t %t", name, ok, rehash)
		}
	}
}

func TestPBKDF2Hash(t *testing.T) {
	h := session.PBKDF2{Iterations: 10}
	shape := regexp.MustCompile(`^\$pbkdf2-sha256\$i=10\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`)
	seen := map[string]bool{}
	for range 100 {
		encoded, err := h.Hash("correct horse")
		if err != nil {
			t.Fatal(err)
		}
		if !shape.MatchString(encoded) {
			t.Errorf("record %q", encoded)
		}
		if seen[encoded] {
			t.Errorf("%q again: no new salt", encoded)
		}
		seen[encoded] = true
		if ok, rehash := h.Verify(encoded, "correct horse"); !ok || rehash {
			t.Errorf("Verify = %t %t", ok, rehash)
		}
	}
}

func FuzzPBKDF2(f *testing.F) {
	f.Add(once, "correct horse")
	f.Add(empty, "")
	f.Add("$pbkdf2-sha256$i=999999999$MDEyMzQ1Njc4OWFiY2RlZg$", "")
	shape := regexp.MustCompile(`\A\$pbkdf2-sha256\$i=[1-9][0-9]*\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}\z`)
	many := regexp.MustCompile(`i=[0-9]{5,}`)
	f.Fuzz(func(t *testing.T, encoded, password string) {
		if many.MatchString(encoded) {
			t.Skip() // slow on purpose
		}
		ok, rehash := session.PBKDF2{Iterations: 1}.Verify(encoded, password)
		if ok && !shape.MatchString(encoded) {
			t.Errorf("%q is of the password %q", encoded, password)
		}
		if rehash {
			t.Error("fewer than one iteration")
		}
	})
}
