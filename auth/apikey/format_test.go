package apikey_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/internal/testing/printed"
)

// knownKeys were made by Python (zlib.crc32) and Node (zlib.crc32), which agree:
//
//	A = "0123456789abcdefghjkmnpqrstvwxyz"
//	s = prefix + "_" + body; c = zlib.crc32(s.encode())
//	s += "".join(A[(c >> 5*i) & 31] for i in range(6, -1, -1))
var knownKeys = map[string][]string{
	"acme_live": {
		"acme_live_0000000000000000000000000000000000000000000003fenfy0",
		"acme_live_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz27dgxdw",
		"acme_live_0123456789abcdefghjkmnpqrstvwxyz0123456789abc0t1z8h6",
		"acme_live_7h3v9q2m8kx4tn0c5rjw6ybdzgs1fpea0987654321zyx12f6g56",
	},
	"a": {
		"a_0000000000000000000000000000000000000000000001fv7rz3",
		"a_7h3v9q2m8kx4tn0c5rjw6ybdzgs1fpea0987654321zyx32tm745",
	},
	"acme_test_eu_2": {
		"acme_test_eu_2_0123456789abcdefghjkmnpqrstvwxyz0123456789abc133072b",
		"acme_test_eu_2_7h3v9q2m8kx4tn0c5rjw6ybdzgs1fpea0987654321zyx0vdszpb",
	},
}

func TestKeysThatOthersMade(t *testing.T) {
	for prefix, keys := range knownKeys {
		f := apikey.Format{Prefix: prefix}
		for _, text := range keys {
			r, ok := f.Parse(text)
			if !ok || r.Prefix != prefix || r.ID != text[len(prefix)+1:][:13] || r.Hash != sha256.Sum256([]byte(text[len(prefix)+14:][:32])) {
				t.Errorf("%s: %q, %t", text, r.ID, ok)
			}
			if got := f.Regexp().FindString("key=" + text + "\n"); got != text {
				t.Errorf("Regexp finds %q in %s", got, text)
			}
			for other := range knownKeys {
				if _, ok := (apikey.Format{Prefix: other}).Parse(text); ok != (other == prefix) {
					t.Errorf("%s is a key of %s: %t", text, other, ok)
				}
			}
		}
	}
}

// badKeys returns texts that are nearly a key.
func badKeys(key string) map[string]string {
	prefix := key[:strings.LastIndexByte(key, '_')+1]
	swapped := key[:len(key)-2] + key[len(key)-1:] + key[len(key)-2:len(key)-1]
	if swapped == key {
		swapped = ""
	}
	return map[string]string{
		"without its last character":   key[:len(key)-1],
		"without its first character":  key[1:],
		"one character longer":         key + "0",
		"in upper case":                strings.ToUpper(key),
		"the body in upper case":       prefix + strings.ToUpper(key[len(prefix):]) + "A",
		"a look-alike, o for 0":        prefix + strings.Repeat("o", 52),
		"a look-alike, l for 1":        key[:len(key)-1] + "l",
		"wrapped by a mail program":    key[:40] + "\n" + key[40:],
		"wrapped, with a blank":        key[:40] + " " + key[40:],
		"in quotes":                    `"` + key + `"`,
		"with a blank behind it":       key + " ",
		"with a blank before it":       " " + key,
		"twice":                        key + key,
		"two, with a comma":            key + "," + key,
		"the prefix alone":             prefix,
		"the body alone":               key[len(prefix):],
		"another deployment's prefix":  "globex_live_" + key[len(prefix):],
		"with two of its ends swapped": swapped,
		"a zero byte":                  key[:30] + "\x00" + key[31:],
		"no UTF-8":                     key[:30] + "\xff" + key[31:],
		"a megabyte":                   key + strings.Repeat("0", 1<<20),
		"empty":                        "",
	}
}

func TestBadKeysDoNotParse(t *testing.T) {
	for prefix, keys := range knownKeys {
		f := apikey.Format{Prefix: prefix}
		for _, key := range keys {
			for what, text := range badKeys(key) {
				if got, ok := f.Parse(text); ok || !reflect.ValueOf(got).IsZero() {
					t.Errorf("%s, %s: %t", key, what, ok)
				}
			}
			for i := range key { // each typo
				for _, c := range "0z-_A" {
					if typo := key[:i] + string(c) + key[i+1:]; typo != key {
						if _, ok := f.Parse(typo); ok {
							t.Errorf("%s passes for %s", typo, key)
						}
					}
				}
			}
		}
	}
}

// TestScannersFindKeys runs the expression as a secret scanner does, over keys inside other text, and over
// random base32 of three alphabets.
func TestScannersFindKeys(t *testing.T) {
	f := apikey.Format{Prefix: "acme_live"}
	scanner := regexp.MustCompile(f.Regexp().String())
	around := []string{"export KEY=%\n", `{"key":"%"}`, "Authorization: Bearer %\r\n", "see %.", "(%)", "https://x.example/?k=%&a=b", "%"}
	seen := map[string]bool{}
	for i := range 1000 {
		key := string(f.Random())
		text := strings.Replace(around[i%len(around)], "%", key, 1)
		if got := scanner.FindAllString(text, -1); len(got) != 1 || got[0] != key {
			t.Errorf("%d keys found", len(got))
		}
		seen[key] = true
		if _, ok := f.Parse(key); !ok {
			t.Error("a new key does not parse")
		}
	}
	if len(seen) != 1000 {
		t.Errorf("%d different keys of 1000", len(seen))
	}
	corpus := make([]byte, 1<<20)
	for _, alphabet := range []string{"0123456789abcdefghjkmnpqrstvwxyz", "abcdefghijklmnopqrstuvwxyz234567", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"} {
		rand.Read(corpus)
		text := base32.NewEncoding(alphabet).EncodeToString(corpus)
		for begin := 0; begin+60 < len(text); begin += 60 { // and behind each of the prefixes that come near
			text := "acme_live" + text[begin:begin+52] + " acme_test_" + text[begin:begin+52] + " acme_live_" + text[begin:begin+60] + "\n" + text[begin:begin+52]
			if found := scanner.FindString(text); found != "" {
				t.Fatalf("an alarm for %s", found)
			}
		}
	}
}

func TestAKeyPrintsNothing(t *testing.T) {
	key := apikey.Format{Prefix: "acme_live"}.Random()
	out := printed.All(key)
	for _, part := range []string{string(key), string(key)[23:55]} {
		if strings.Contains(out, part) {
			t.Error("it prints its secret")
		}
	}
	if !strings.Contains(out, "REDACTED") {
		t.Error("nothing says REDACTED")
	}
}

// FuzzParse reads any text. What parses is of the shape that Regexp finds, and the next formats refuse it.
func FuzzParse(f *testing.F) {
	for prefix, keys := range knownKeys {
		for _, key := range keys {
			f.Add(prefix, key)
			for _, bad := range badKeys(key) {
				if len(bad) < 1000 {
					f.Add(prefix, bad)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, prefix, text string) {
		format := apikey.Format{Prefix: prefix}
		r, ok := format.Parse(text)
		if !ok {
			if !reflect.ValueOf(r).IsZero() {
				t.Errorf("%q", r.ID)
			}
			return
		}
		if r.Prefix != prefix || len(r.ID) != 13 || !strings.HasPrefix(text, prefix+"_"+r.ID) {
			t.Errorf("%q of %q", r.ID, text)
		}
		if format.Valid() && !format.Regexp().MatchString(text) {
			t.Errorf("Regexp does not find %q", text)
		}
		if _, ok := (apikey.Format{Prefix: prefix + "x"}).Parse(text); ok {
			t.Errorf("%q is a key of two formats", text)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	f, text := apikey.Format{Prefix: "acme_live"}, knownKeys["acme_live"][3]
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := f.Parse(text); !ok {
			b.Fatal("not a key")
		}
	}
}
