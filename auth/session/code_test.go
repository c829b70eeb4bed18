package session_test

import (
	"bytes"
	"crypto/fips140"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth/session"
)

// rfcSecret and rfcSecret256 are the secrets of RFC 6238, appendix B, for SHA-1 and
// SHA-256.
var (
	rfcSecret    = session.FactorSecret("12345678901234567890")
	rfcSecret256 = session.FactorSecret("12345678901234567890123456789012")
)

var (
	sha1Codes   = new(session.Manager)
	sha256Codes = &session.Manager{SHA256Codes: true}
	codes       = &session.Manager{SHA256Codes: fips140.Enforced()}
)

// TestCode uses the times and codes of RFC 6238, appendix B. The codes there have eight
// digits. Ours are their last six, because both are one number modulo a power of ten.
func TestCode(t *testing.T) {
	for _, c := range []struct {
		unix         int64
		sha1, sha256 string
	}{
		{59, "94287082", "46119246"},
		{1111111109, "07081804", "68084774"},
		{1111111111, "14050471", "67062674"},
		{1234567890, "89005924", "91819424"},
		{2000000000, "69279037", "90698825"},
		{20000000000, "65353130", "77737706"},
	} {
		t.Run("SHA-1", func(t *testing.T) { knownCode(t, sha1Codes, rfcSecret, c.unix, c.sha1) })
		t.Run("SHA-256", func(t *testing.T) { knownCode(t, sha256Codes, rfcSecret256, c.unix, c.sha256) })
	}
}

func knownCode(t *testing.T, m *session.Manager, secret session.FactorSecret, unix int64, eight string) {
	t.Helper()
	want := eight[2:]
	if got := m.Code(secret, unix/30); got != want {
		t.Errorf("at %d: %s, want %s", unix, got, want)
	}
	step, ok := m.Match(secret, want, time.Unix(unix, 0), 0)
	if !ok || step != unix/30 {
		t.Errorf("at %d: Match = %d %t", unix, step, ok)
	}
}

func TestMatch(t *testing.T) {
	now := time.Unix(1111111111, 0)
	step := now.Unix() / 30
	at := func(offset int64) string { return codes.Code(rfcSecret, step+offset) }
	none := step - 100
	for _, c := range []struct {
		name   string
		secret session.FactorSecret
		given  string
		after  int64
		step   int64 // 0: refused
	}{
		{"the current step", rfcSecret, at(0), none, step},
		{"the step before", rfcSecret, at(-1), none, step - 1},
		{"the step to come", rfcSecret, at(1), none, step + 1},
		{"two steps before", rfcSecret, at(-2), none, 0},
		{"two steps ahead", rfcSecret, at(2), none, 0},
		{"F07 a step that was accepted", rfcSecret, at(0), step, 0},
		{"F07 a step before the one that was accepted", rfcSecret, at(-1), step, 0},
		{"the step after the one that was accepted", rfcSecret, at(1), step, step + 1},
		{"every step was accepted", rfcSecret, at(1), step + 1, 0},
		{"F07 the code of another secret", session.FactorSecret("another 20 bytes key"), at(0), none, 0},
		{"no secret", "", codes.Code("", step), none, 0},
		{"empty", rfcSecret, "", none, 0},
		{"five digits", rfcSecret, at(0)[1:], none, 0},
		{"seven digits", rfcSecret, "0" + at(0), none, 0},
		{"a blank before", rfcSecret, " " + at(0), none, 0},
		{"a line end after", rfcSecret, at(0) + "\n", none, 0},
		{"a sign", rfcSecret, "+" + at(0)[1:], none, 0},
		{"digits of another script", rfcSecret, "٠٥٠٤٧١", none, 0},
		{"three of them, six bytes long", rfcSecret, "٠٥٠", none, 0},
	} {
		got, ok := codes.Match(c.secret, c.given, now, c.after)
		if got != c.step || ok != (c.step != 0) {
			t.Errorf("%s: Match = %d %t, want %d", c.name, got, ok, c.step)
		}
	}
}

// If two adjacent steps have the same code, match returns the later one, so that the code
// is not accepted a second time.
func TestMatchTakesTheLaterOfTwo(t *testing.T) {
	// The first such pairs, computed with hmac and hashlib of Python.
	t.Run("SHA-1", func(t *testing.T) { laterOfTwo(t, sha1Codes, rfcSecret, 910737, "911617") })
	t.Run("SHA-256", func(t *testing.T) { laterOfTwo(t, sha256Codes, rfcSecret256, 398541, "728233") })
}

func laterOfTwo(t *testing.T, m *session.Manager, secret session.FactorSecret, step int64, given string) {
	t.Helper()
	if m.Code(secret, step) != given || m.Code(secret, step+1) != given {
		t.Fatal("the steps have other codes")
	}
	if got, ok := m.Match(secret, given, time.Unix(step*30, 0), 0); !ok || got != step+1 {
		t.Errorf("Match = %d %t, want %d", got, ok, step+1)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("050471", int64(1111111111), int64(0))
	f.Add("٠٥٠", int64(1111111111), int64(0))
	f.Add("-50471", int64(1111111111), int64(37037036))
	six := regexp.MustCompile(`\A[0-9]{6}\z`)
	f.Fuzz(func(t *testing.T, given string, unix, after int64) {
		// Times that a clock can have.
		unix = ((unix % (1 << 40)) + 1<<40) % (1 << 40)
		now := time.Unix(unix, 0)
		for _, text := range []string{given, codes.Code(rfcSecret, unix/30) + given, given + codes.Code(rfcSecret, unix/30)} {
			step, ok := codes.Match(rfcSecret, text, now, after)
			if !ok {
				continue
			}
			if !six.MatchString(text) {
				t.Errorf("accepted %q", text)
			}
			if step <= after || step < unix/30-1 || step > unix/30+1 {
				t.Errorf("accepted step %d at %d after %d", step, unix/30, after)
			}
		}
	})
}

func TestOTPAuth(t *testing.T) {
	const issuer, account = "Große Straße & Söhne: 50+ %2F?", "ann+a@example.com/#ü"
	text := sha1Codes.Factors().OTPAuth(issuer, account, rfcSecret)
	if strings.ContainsAny(text, " +\"") || strings.Count(text, ":") != 2 {
		t.Errorf("not escaped: %s", text)
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/"+issuer+":"+account {
		t.Errorf("parsed as %q %q %q", u.Scheme, u.Host, u.Path)
	}
	// The secret: printf 12345678901234567890 | base32
	for name, want := range map[string]string{
		"secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "issuer": issuer, "algorithm": "SHA1", "digits": "6", "period": "30",
	} {
		if got := u.Query()[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	// Standard base32 of 16 bytes has padding, which authenticators refuse.
	if text := sha256Codes.Factors().OTPAuth("a", "b", session.FactorSecret(rfcSecret[:16])); strings.Contains(text, "%3D") || strings.Contains(text, "=&") {
		t.Errorf("padded: %s", text)
	} else if !strings.Contains(text, "&algorithm=SHA256&") {
		t.Errorf("another algorithm: %s", text)
	}
}

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

// TestUseRecoveryKnownAnswer checks that stored hashes still match their codes.
// The hash: printf 7ZK30QPAXW4M1D9HR6TV2BCEG8 | openssl dgst -sha256
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
		// A valid code is refused with any other text than blanks and dashes.
		with := codes[0] + code
		if _, ok := session.UseRecovery(hashes, with); ok && once != "" {
			t.Errorf("accepted %q", with)
		}
	})
}
