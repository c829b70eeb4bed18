package session_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
)

// rfcSecret is that of RFC 6238, appendix B, for SHA-1.
var rfcSecret = session.FactorSecret("12345678901234567890")

// TestCode takes the times and codes of RFC 6238, appendix B. The codes there
// have eight digits, of which ours are the last six: both are one number cut
// by a power of ten.
func TestCode(t *testing.T) {
	for _, c := range []struct {
		unix  int64
		eight string
	}{
		{59, "94287082"},
		{1111111109, "07081804"},
		{1111111111, "14050471"},
		{1234567890, "89005924"},
		{2000000000, "69279037"},
		{20000000000, "65353130"},
	} {
		want := c.eight[2:]
		if got := session.Code(rfcSecret, c.unix/30); got != want {
			t.Errorf("at %d: %s, want %s", c.unix, got, want)
		}
		step, ok := session.Match(rfcSecret, want, time.Unix(c.unix, 0), 0)
		if !ok || step != c.unix/30 {
			t.Errorf("at %d: Match = %d %t", c.unix, step, ok)
		}
	}
}

func TestMatch(t *testing.T) {
	now := time.Unix(1111111111, 0)
	step := now.Unix() / 30
	at := func(offset int64) string { return session.Code(rfcSecret, step+offset) }
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
		{"no secret", nil, session.Code(nil, step), none, 0},
		{"an empty secret", session.FactorSecret{}, session.Code(nil, step), none, 0},
		{"empty", rfcSecret, "", none, 0},
		{"five digits", rfcSecret, at(0)[1:], none, 0},
		{"seven digits", rfcSecret, "0" + at(0), none, 0},
		{"a blank before", rfcSecret, " " + at(0), none, 0},
		{"a line end after", rfcSecret, at(0) + "\n", none, 0},
		{"a sign", rfcSecret, "+" + at(0)[1:], none, 0},
		{"digits of another script", rfcSecret, "٠٥٠٤٧١", none, 0},
		{"three of them, six bytes long", rfcSecret, "٠٥٠", none, 0},
	} {
		got, ok := session.Match(c.secret, c.given, now, c.after)
		if got != c.step || ok != (c.step != 0) {
			t.Errorf("%s: Match = %d %t, want %d", c.name, got, ok, c.step)
		}
	}
}

// Where two steps side by side have one code, the later is taken, so that the
// code is not accepted a second time.
func TestMatchTakesTheLaterOfTwo(t *testing.T) {
	// The first such pair, found with hmac and hashlib of Python.
	const step, given = 910737, "911617"
	if session.Code(rfcSecret, step) != given || session.Code(rfcSecret, step+1) != given {
		t.Fatal("the steps have other codes")
	}
	if got, ok := session.Match(rfcSecret, given, time.Unix(step*30, 0), 0); !ok || got != step+1 {
		t.Errorf("Match = %d %t, want %d", got, ok, step+1)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("050471", int64(1111111111), int64(0))
	f.Add("٠٥٠", int64(1111111111), int64(0))
	f.Add("-50471", int64(1111111111), int64(37037036))
	six := regexp.MustCompile(`\A[0-9]{6}\z`)
	f.Fuzz(func(t *testing.T, given string, unix, after int64) {
		// As far as a clock goes.
		unix = ((unix % (1 << 40)) + 1<<40) % (1 << 40)
		now := time.Unix(unix, 0)
		for _, text := range []string{given, session.Code(rfcSecret, unix/30) + given, given + session.Code(rfcSecret, unix/30)} {
			step, ok := session.Match(rfcSecret, text, now, after)
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
	text := session.OTPAuth(issuer, account, rfcSecret)
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
	// 16 bytes would need padding, which authenticators refuse.
	if text := session.OTPAuth("a", "b", rfcSecret[:16]); strings.Contains(text, "%3D") || strings.Contains(text, "=&") {
		t.Errorf("padded: %s", text)
	}
}

func ExampleOTPAuth() {
	secret := session.FactorSecret("12345678901234567890") // 20 random bytes, in earnest
	fmt.Println(session.OTPAuth("Acme", "ann@example.com", secret))
	fmt.Println(secret)
	// Output:
	// otpauth://totp/Acme:ann%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Acme&algorithm=SHA1&digits=6&period=30
	// REDACTED
}
