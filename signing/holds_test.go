package signing_test

import (
	"crypto/fips140"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

func TestHolds(t *testing.T) {
	now := time.Now()
	clientKey, live := signing.Generate()
	_, second := signing.Generate()
	_, former := signing.Generate()
	_, ended := signing.Generate()
	key, err := signing.NewKey(clientKey, live, second)
	if err != nil {
		t.Fatal(err)
	}
	for secret, until := range map[signing.Secret]time.Time{former: now.Add(time.Minute), ended: now.Add(-time.Nanosecond)} {
		if key, err = key.WithFormer(secret, until); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		secret signing.Secret
		want   bool
		ends   bool
	}{
		{"a live secret", live, true, false},
		{"the other live secret", second, true, false},
		{"a former secret", former, true, true},
		{"a former secret that has ended", ended, false, false},
		{"no secret", "", false, false},
		{"a part", live[:63], false, false},
		{"more", live + "x", false, false},
		{"a NUL more", live + "\x00", false, false},
		{"lower case", signing.Secret(strings.ToLower(string(live))), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			by := key.Holds(c.secret, now)
			if (by != nil) != c.want || by != nil && (by.Ends().IsZero() == c.ends || by.ClientKey() != clientKey) {
				t.Errorf("got %v", by)
			}
			if (*signing.Key)(nil).Holds(c.secret, now) != nil {
				t.Error("nobody holds it")
			}
		})
	}
}

// TestHoldsNoPaddedSecret: HMAC pads keys of less than 64 bytes with zeros.
func TestHoldsNoPaddedSecret(t *testing.T) {
	if fips140.Enforced() {
		t.Skip("short keys are refused anyway")
	}
	key, err := signing.UnsafeKey("key", "secret")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if key.Holds("secret", now) != key || key.Holds("secret\x00", now) != nil || key.Holds("secret\x00\x00", now) != nil {
		t.Error("a padded secret is the secret")
	}
}

// TestHoldsCostsTheSame counts the allocations, most of which are the new HMAC.
func TestHoldsCostsTheSame(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates, too")
	}
	clientKey, secret := signing.Generate()
	_, wrong := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	known := testing.AllocsPerRun(100, func() { key.Holds(wrong, now) })
	unknown := testing.AllocsPerRun(100, func() { (*signing.Key)(nil).Holds(wrong, now) })
	if known != unknown {
		t.Errorf("a wrong secret allocates %v times, an unknown client %v times", known, unknown)
	}
}
