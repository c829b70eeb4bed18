package signing_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/signing"
)

// The credential of the known answers.
const (
	clientKey = "tkDemo7Qp2Lx9VbNc4Zr8W"
	secret    = signing.Secret("b3Jc9PZ6wLr2Yk8sVtQ1mXeDf5Hu7Ga0nBiToC4qKzRyEwMl6JvSxUpAhFdNgI2O")
)

// noon is when these tests take place.
var noon = time.UnixMilli(1790000000000)

// names are the headers under the default prefix.
var names = signing.HeadersFor("")

func newKey(t testing.TB, clientKey string, secrets ...signing.Secret) *signing.Key {
	t.Helper()
	k, err := signing.UnsafeKey(clientKey, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// server is a verifier of the demo credential at noon.
type server struct {
	signing.Verifier
	replays *mapReplays
	now     time.Time
}

func newServer(t testing.TB) *server {
	s := &server{replays: new(mapReplays), now: noon}
	s.Keys = keyring{clientKey: newKey(t, clientKey, secret)}
	s.Replays = s.replays
	s.Now = func() time.Time { return s.now }
	return s
}

var nonces atomic.Int64

func freshNonce() string { return fmt.Sprintf("%016d", nonces.Add(1)) }

// signed returns a request for a command, correctly signed at a time.
func signed(method, command string, at time.Time) *http.Request {
	timestamp := strconv.FormatInt(at.UnixMilli(), 10)
	return &http.Request{
		Method: method,
		URL:    &url.URL{Path: command, RawQuery: "limit=5"},
		Header: http.Header{
			names.ClientKey: {clientKey},
			names.Timestamp: {timestamp},
			names.Nonce:     {freshNonce()},
			names.Signature: {signing.Sign(clientKey, secret, command, method, timestamp)},
		},
	}
}

// base is the request that the attacks change.
func base() *http.Request { return signed(http.MethodGet, "/connections", noon) }

// resign puts another signature on r.
func resign(r *http.Request, clientKey string, secret signing.Secret, command, method string) {
	r.Header.Set(names.Signature, signing.Sign(clientKey, secret, command, method, r.Header.Get(names.Timestamp)))
}

func set(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = values }
}

func drop(names ...string) func(*http.Request) {
	return func(r *http.Request) {
		for _, name := range names {
			delete(r.Header, name)
		}
	}
}

// at signs the request anew with another timestamp, whatever it is.
func at(timestamp string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set(names.Timestamp, timestamp)
		resign(r, clientKey, secret, "/connections", r.Method)
	}
}

func TestVerifyAcceptsTheVectors(t *testing.T) {
	for _, v := range readVectors(t).Signatures {
		t.Run(v.Name, func(t *testing.T) {
			ms, err := strconv.ParseInt(v.Timestamp, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			s := newServer(t)
			s.now = time.UnixMilli(ms)
			s.Keys = keyring{v.ClientKey: newKey(t, v.ClientKey, v.ClientSecret)}
			r := signed(strings.ToUpper(v.Method), v.Command, s.now)
			r.Header.Set(names.ClientKey, v.ClientKey)
			r.Header.Set(names.Signature, v.Signature)

			command := v.Command
			if v.Name == "alternative spelling of | ' ^ (signed bare, sent as %7C %27 %5E)" {
				command = "/a%7Cb%27c%5Ed" // what the resource is called
			}
			key, err := s.Verify(r.Context(), r, command)
			switch {
			case !v.Valid && !errors.Is(err, signing.ErrMismatch):
				t.Errorf("Verify = %v, want ErrMismatch", err)
			case v.Valid && err != nil:
				t.Errorf("Verify = %v", err)
			case v.Valid && key.ClientKey() != v.ClientKey:
				t.Errorf("Verify = %v", key)
			}
		})
	}
}

// Each case spoils an honest request. The case must return its error and leave no
// trace, and the honest request must still pass.
func TestVerifyRefuses(t *testing.T) {
	millis := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
	honest := base().Header.Get(names.Signature)
	sum, err := hex.DecodeString(honest)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		spoil func(*http.Request)
		want  error
	}{
		{"S01 signature missing", drop(names.Signature), signing.ErrMalformed},
		{"S01 timestamp missing", drop(names.Timestamp), signing.ErrMalformed},
		{"S01 nonce missing", drop(names.Nonce), signing.ErrMalformed},
		{"S01 client key missing", drop(names.ClientKey), signing.ErrMalformed},
		{"S01 only the signature", drop(names.Timestamp, names.Nonce, names.ClientKey), signing.ErrMalformed},
		{"S01 only the timestamp", drop(names.Signature, names.Nonce, names.ClientKey), signing.ErrMalformed},
		{"S01 only the nonce", drop(names.Signature, names.Timestamp, names.ClientKey), signing.ErrMalformed},
		{"S01b client key alone", drop(names.Signature, names.Timestamp, names.Nonce), signing.ErrNoSignature},
		{"nothing at all", drop(names.Signature, names.Timestamp, names.Nonce, names.ClientKey), signing.ErrNoSignature},
		{"S02 signature empty", set(names.Signature, ""), signing.ErrMalformed},
		{"S02 63 digits", set(names.Signature, honest[:63]), signing.ErrMalformed},
		{"S02 65 digits", set(names.Signature, honest+"0"), signing.ErrMalformed},
		{"S02 128 digits", set(names.Signature, honest+honest), signing.ErrMalformed},
		{"S02 upper case of the right MAC", set(names.Signature, strings.ToUpper(honest)), signing.ErrMalformed},
		{"S02 base64 of the right MAC", set(names.Signature, base64.StdEncoding.EncodeToString(sum)), signing.ErrMalformed},
		{"S02 64 bytes that are no digits", set(names.Signature, strings.Repeat("g", 64)), signing.ErrMalformed},
		{"S04 unknown client key", set(names.ClientKey, "tkDemo7Qp2Lx9VbNc4Zr8X"), signing.ErrUnknownKey},
		{"S04 unknown client key, seen as a wrong signature", set(names.ClientKey, "nobody"), signing.ErrMismatch},
		{"S04 the client key in another case", set(names.ClientKey, strings.ToLower(clientKey)), signing.ErrUnknownKey},
		{"S05 MAC keyed with the secret only", func(r *http.Request) {
			resign(r, "", secret, "/connections", "GET")
		}, signing.ErrMismatch},
		{"S05 MAC keyed with secret and key", func(r *http.Request) {
			resign(r, string(secret), clientKey, "/connections", "GET")
		}, signing.ErrMismatch},
		{"S05 MAC keyed with an empty secret", func(r *http.Request) {
			resign(r, clientKey, "", "/connections", "GET")
		}, signing.ErrMismatch},
		{"S07 request method in lower case", func(r *http.Request) { r.Method = "get" }, signing.ErrMethod},
		{"S07 request method in mixed case", func(r *http.Request) { r.Method = "Get" }, signing.ErrMethod},
		{"S07 no method", func(r *http.Request) { r.Method = "" }, signing.ErrMethod},
		{"a method that holds a piece of the message", func(r *http.Request) { r.Method = "GET;POST" }, signing.ErrMethod},
		{"S08 sent with another method", func(r *http.Request) { r.Method = http.MethodDelete }, signing.ErrMismatch},
		{"S09 command signed with the query", func(r *http.Request) {
			resign(r, clientKey, secret, "/connections?limit=5", "GET")
		}, signing.ErrMismatch},
		{"S09 command signed with the mount", func(r *http.Request) {
			resign(r, clientKey, secret, "/acme/v2/connections", "GET")
		}, signing.ErrMismatch},
		{"S09 command signed with a trailing slash", func(r *http.Request) {
			resign(r, clientKey, secret, "/connections/", "GET")
		}, signing.ErrMismatch},
		{"S15b account empty", set(names.Account, ""), signing.ErrMalformed},
		{"S15b account of 65 bytes", set(names.Account, strings.Repeat("a", 65)), signing.ErrMalformed},
		{"S15b account with a space", set(names.Account, "a b"), signing.ErrMalformed},
		{"S15b account outside ASCII", set(names.Account, "é"), signing.ErrMalformed},
		{"S15b account without a signature", func(r *http.Request) {
			drop(names.Signature, names.Timestamp, names.Nonce)(r)
			r.Header.Set(names.Account, "a")
		}, signing.ErrAmbiguous},
		{"S17 client key of 8 KiB", set(names.ClientKey, strings.Repeat("a", 8<<10)), signing.ErrMalformed},
		{"S17 client key of 129 bytes", set(names.ClientKey, strings.Repeat("a", 129)), signing.ErrMalformed},
		{"S17 client key empty", set(names.ClientKey, ""), signing.ErrMalformed},
		{"S17 client key outside ASCII", set(names.ClientKey, "tkDémo"), signing.ErrMalformed},
		{"S17 client key folded", set(names.ClientKey, clientKey+"\r\n "+clientKey), signing.ErrMalformed},
		{"S17 signature of 8 KiB", set(names.Signature, strings.Repeat("a", 8<<10)), signing.ErrMalformed},
		{"S17 nonce of 8 KiB", set(names.Nonce, strings.Repeat("a", 8<<10)), signing.ErrMalformed},
		{"S17 timestamp of 8 KiB", set(names.Timestamp, strings.Repeat("1", 8<<10)), signing.ErrMalformed},
		{"S17 two signatures joined by a proxy", set(names.Signature, honest+", "+honest), signing.ErrMalformed},
		{"S20 headers in the trailers", func(r *http.Request) {
			r.Trailer, r.Header = r.Header, http.Header{}
		}, signing.ErrNoSignature},
		{"N01 nonce of 15", set(names.Nonce, strings.Repeat("a", 15)), signing.ErrMalformed},
		{"N01 nonce of 17", set(names.Nonce, strings.Repeat("a", 17)), signing.ErrMalformed},
		{"N01 nonce empty", set(names.Nonce, ""), signing.ErrMalformed},
		{"N01 nonce with a hyphen", set(names.Nonce, "aaaaaaaaaaaaaaa-"), signing.ErrMalformed},
		{"N01 nonce with a space", set(names.Nonce, "aaaaaaaaaaaaaaa "), signing.ErrMalformed},
		{"N01 nonce with é, 16 letters", set(names.Nonce, "aaaaaaaaaaaaaaaé"), signing.ErrMalformed},
		{"N01 nonce with é, 16 bytes", set(names.Nonce, "aaaaaaaaaaaaaaé"), signing.ErrMalformed},
		{"N01 nonce with a fullwidth digit", set(names.Nonce, "aaaaaaaaaaaaa１"), signing.ErrMalformed},
		{"N01 nonce with a Kelvin sign", set(names.Nonce, "aaaaaaaaaaaaa\u212A"), signing.ErrMalformed},
		{"N01 nonce with a line feed after it", set(names.Nonce, "aaaaaaaaaaaaaaaa\n"), signing.ErrMalformed},
		{"N05 a millisecond before the window", at(millis(noon.Add(-5*time.Minute - time.Millisecond))), signing.ErrStale},
		{"N05 a millisecond after the window", at(millis(noon.Add(time.Minute + time.Millisecond))), signing.ErrStale},
		{"N06 seconds", at("1790000000"), signing.ErrMalformed},
		{"N06 11 digits", at("17900000000"), signing.ErrMalformed},
		{"N06 16 digits", at("1790000000000000"), signing.ErrMalformed},
		{"N06 a plus", at("+1790000000000"), signing.ErrMalformed},
		{"N06 a minus", at("-1790000000000"), signing.ErrMalformed},
		{"N06 a space before", at(" 1790000000000"), signing.ErrMalformed},
		{"N06 a space after", at("1790000000000 "), signing.ErrMalformed},
		{"N06 hexadecimal", at("0x1a0c8e4b400"), signing.ErrMalformed},
		{"N06 an exponent", at("1.79000000e12"), signing.ErrMalformed},
		{"N06 1e12", at("1e12"), signing.ErrMalformed},
		{"N06 underscores", at("1_790_000_000_000"), signing.ErrMalformed},
		{"N06 Arabic digits", at("١٧٩٠٠٠٠٠٠٠٠٠٠"), signing.ErrMalformed},
		{"N06 the character before 0", at("179000000000/"), signing.ErrMalformed},
		{"N06 the character after 9", at("179000000000:"), signing.ErrMalformed},
		{"N06 a leading zero", at("01790000000000"), signing.ErrMalformed},
		{"N06 empty", at(""), signing.ErrMalformed},
		{"N07 the largest integer", at("9223372036854775807"), signing.ErrMalformed},
		{"N07 one more", at("9223372036854775808"), signing.ErrMalformed},
		{"N07 the largest of 15 digits", at("999999999999999"), signing.ErrStale},
		{"N07 the smallest of 12 digits", at("100000000000"), signing.ErrStale},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			honest := base()
			spoiled := honest.Clone(t.Context())
			test.spoil(spoiled)
			if key, err := s.Verify(t.Context(), spoiled, "/connections"); !errors.Is(err, test.want) || key != nil {
				t.Errorf("Verify = %v, %v, want %v", key, err, test.want)
			}
			if n := len(s.replays.claimed()); n != 0 {
				t.Errorf("%d requests recorded", n)
			}
			if _, err := s.Verify(t.Context(), honest, "/connections"); err != nil {
				t.Errorf("the honest request afterwards: %v", err)
			}
		})
	}
}

func TestVerifyTakesMethodsOfCapitalsAndHyphens(t *testing.T) {
	tests := map[string]bool{
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ": true, "M-SEARCH": true, "PATCH": true,
		"GET@": false, "GET[": false, "GET;": false, "GET ": false, "G1": false, "gET": false, "": false,
	}
	for method, accepted := range tests {
		t.Run(method, func(t *testing.T) {
			var want error
			if !accepted {
				want = signing.ErrMethod
			}
			if _, err := newServer(t).Verify(t.Context(), signed(method, "/x", noon), "/x"); !errors.Is(err, want) {
				t.Errorf("Verify = %v, want %v", err, want)
			}
		})
	}
}

func TestVerifyRefusesTwoOfAHeader(t *testing.T) {
	for _, name := range []string{names.ClientKey, names.Signature, names.Timestamp, names.Nonce, names.Account} {
		for kind, second := range map[string]string{"the same value": "", "another value": "x"} {
			t.Run("S16 "+name+" twice, "+kind, func(t *testing.T) {
				s := newServer(t)
				r := base()
				if name == names.Account {
					r.Header.Set(name, "5b0000000000000000000001")
				}
				r.Header.Add(name, r.Header.Get(name)+second)
				_, err := s.Verify(r.Context(), r, "/connections")
				if !errors.Is(err, signing.ErrAmbiguous) || !errors.Is(err, signing.ErrMalformed) {
					t.Errorf("Verify = %v, want ErrAmbiguous", err)
				}
				if len(s.replays.claimed()) != 0 {
					t.Error("recorded")
				}
			})
		}
	}
}

func TestVerifyRefusesEveryFlippedBit(t *testing.T) {
	s := newServer(t)
	r := base()
	honest := r.Header.Get(names.Signature)
	for bit := range 256 {
		sum, err := hex.DecodeString(honest)
		if err != nil {
			t.Fatal(err)
		}
		sum[bit/8] ^= 1 << (bit % 8)
		r.Header.Set(names.Signature, hex.EncodeToString(sum))
		if _, err := s.Verify(r.Context(), r, "/connections"); !errors.Is(err, signing.ErrMismatch) {
			t.Errorf("S03 bit %d flipped: %v, want ErrMismatch", bit, err)
		}
	}
	if len(s.replays.claimed()) != 0 {
		t.Error("recorded")
	}
	r.Header.Set(names.Signature, honest)
	if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
		t.Errorf("the honest request afterwards: %v", err)
	}
}

// TestVerifyRefusesAWrongDigitAnywhere changes each digit of a signature. A second
// spelling of a signature must not even be compared.
func TestVerifyRefusesAWrongDigitAnywhere(t *testing.T) {
	honest := base().Header.Get(names.Signature)
	for i := range honest {
		for _, digit := range []string{"/", ":", "@", "A", "F", "`", "g", "\x00", "\xff"} {
			r := base()
			r.Header.Set(names.Signature, honest[:i]+digit+honest[i+1:])
			if _, err := newServer(t).Verify(r.Context(), r, "/connections"); !errors.Is(err, signing.ErrMalformed) {
				t.Errorf("digit %d is %q: %v, want ErrMalformed", i, digit, err)
			}
		}
	}
}

func TestMACsComputed(t *testing.T) {
	key := newKey(t, clientKey, secret)
	known, unknown := signing.CountMACs(key), signing.CountMACs(signing.Nobody())
	s := newServer(t)
	s.Keys = keyring{clientKey: key}
	verify := func(spoil func(*http.Request), command string) error {
		known.Store(0)
		unknown.Store(0)
		r := base()
		spoil(r)
		_, err := s.Verify(r.Context(), r, command)
		return err
	}
	stranger := set(names.ClientKey, "nobody")
	tests := []struct {
		name           string
		spoil          func(*http.Request)
		command        string
		known, unknown int64
	}{
		{"S04 wrong signature", set(names.Signature, strings.Repeat("0", 64)), "/connections", 1, 0},
		{"S04 unknown client key", stranger, "/connections", 0, 1},
		{"S04 wrong signature, two spellings", set(names.Signature, strings.Repeat("0", 64)), "/a%7Cb", 2, 0},
		{"S04 unknown client key, two spellings", stranger, "/a%7Cb", 0, 2},
		{"an honest request", func(*http.Request) {}, "/connections", 1, 0},
		{"S01 a malformed one", drop(names.Nonce), "/connections", 0, 0},
		{"N05 a stale one", at("1780000000000"), "/connections", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := verify(test.spoil, test.command)
			if known.Load() != test.known || unknown.Load() != test.unknown {
				t.Errorf("%d MACs with the key, %d without one, want %d and %d (%v)",
					known.Load(), unknown.Load(), test.known, test.unknown, err)
			}
		})
	}
	t.Run("S22 a key with eight former secrets", func(t *testing.T) {
		secrets := []signing.Secret{secret}
		for i := range 8 {
			secrets = append(secrets, signing.Secret(fmt.Sprint("former ", i)))
		}
		key := newKey(t, clientKey, secrets...)
		n, asked := signing.CountMACs(key), 0
		s := newServer(t)
		s.Keys = keysFunc(func(context.Context, string) (*signing.Key, error) {
			asked++
			return key, nil
		})
		long := func(head string, size int) string { return head + strings.Repeat("a", size-len(head)) }
		for _, c := range []struct {
			name, method, command string
			macs                  int64
			want                  error
		}{
			{"at most nine MACs", "GET", long("/", 2048), 9, signing.ErrMismatch},
			{"and eighteen with another spelling", "GET", long("/%7C", 2048), 18, signing.ErrMismatch},
			{"none over more than 2 KiB", "GET", long("/", 2049), 0, signing.ErrPath},
			{"none over more than 2 KiB, whatever the other spelling has", "GET", long("/%7C", 2049), 0, signing.ErrPath},
			{"none over a path of 60 KiB", "GET", long("/%7C", 60<<10), 0, signing.ErrPath},
			{"none over a method of 33 letters", strings.Repeat("A", 33), "/", 0, signing.ErrMethod},
			{"a method of 32 letters", strings.Repeat("A", 32), "/", 9, signing.ErrMismatch},
		} {
			n.Store(0)
			asked = 0
			r := base()
			r.Method = c.method
			r.Header.Set(names.Signature, strings.Repeat("0", 64))
			if _, err := s.Verify(r.Context(), r, c.command); !errors.Is(err, c.want) {
				t.Errorf("S22 %s: %v, want %v", c.name, err, c.want)
			}
			if n.Load() != c.macs || asked != min(int(c.macs), 1) {
				t.Errorf("S22 %s: %d MACs, the key asked for %d times, want %d MACs", c.name, n.Load(), asked, c.macs)
			}
		}
		if len(s.replays.claimed()) > 0 {
			t.Error("S22 recorded")
		}
	})
	t.Run("S21 every live secret, also after a match", func(t *testing.T) {
		key := newKey(t, clientKey, secret, "another", "a third")
		n := signing.CountMACs(key)
		s := newServer(t)
		s.Keys = keyring{clientKey: key}
		if _, err := s.Verify(t.Context(), base(), "/connections"); err != nil {
			t.Fatal(err)
		}
		if n.Load() != 3 {
			t.Errorf("%d MACs computed, want 3", n.Load())
		}
	})
}

func TestVerifyWithSeveralSecrets(t *testing.T) {
	t.Run("S21 two live secrets, signed with the older, until its end", func(t *testing.T) {
		s := newServer(t)
		s.Keys = keyring{clientKey: newKey(t, clientKey, "the new one", secret)}
		if _, err := s.Verify(t.Context(), base(), "/connections"); err != nil {
			t.Errorf("while it lives: %v", err)
		}
		s.Keys = keyring{clientKey: newKey(t, clientKey, "the new one")}
		if _, err := s.Verify(t.Context(), base(), "/connections"); !errors.Is(err, signing.ErrMismatch) {
			t.Errorf("afterwards: %v, want ErrMismatch", err)
		}
	})
}

func TestWhatTheMACDoesNotCover(t *testing.T) {
	t.Run("S13 query and body changed after signing", func(t *testing.T) {
		s := newServer(t)
		r := signed(http.MethodPost, "/connections", noon)
		r.URL.RawQuery = "limit=1000"
		if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
			t.Errorf("Verify = %v: by protocol it passes", err)
		}
	})
	t.Run("S08 a method override header is not read", func(t *testing.T) {
		s := newServer(t)
		r := signed(http.MethodPost, "/connections", noon)
		r.Header.Set("X-HTTP-Method-Override", "DELETE")
		if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
			t.Errorf("as POST: %v", err)
		}
	})
	t.Run("S07 a message with a lower-case method", func(t *testing.T) {
		// Sign cannot make it; this is hex(HMAC(..., "/connections;get;1790000000000")),
		// made with openssl.
		r := base()
		r.Header.Set(names.Signature, "9da82e7d47967e340c8c58bc5cab4ba91daa2a40450d942e3f3e3aab012b69dc")
		if _, err := newServer(t).Verify(r.Context(), r, "/connections"); !errors.Is(err, signing.ErrMismatch) {
			t.Errorf("Verify = %v, want ErrMismatch", err)
		}
	})
	t.Run("S11 an escaped slash is not a slash", func(t *testing.T) {
		for command, other := range map[string]string{"/c_x/a%2Fb": "/c_x/a/b", "/c_x/a/b": "/c_x/a%2Fb", "/c_x/a%252Fb": "/c_x/a%2Fb"} {
			if _, err := newServer(t).Verify(t.Context(), signed("GET", command, noon), other); !errors.Is(err, signing.ErrMismatch) {
				t.Errorf("%s signed as %s: %v, want ErrMismatch", other, command, err)
			}
		}
	})
}

func TestLongCommands(t *testing.T) {
	s := newServer(t)
	for _, n := range []int{1, 2<<10 - 1, 1} {
		command := "/" + strings.Repeat("a", n)
		if _, err := s.Verify(t.Context(), signed("GET", command, noon), command); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestAlternativeSpelling(t *testing.T) {
	tests := []struct {
		sent, signed string
		want         error
	}{
		{"/a%7Cb%27c%5Ed", "/a%7Cb%27c%5Ed", nil},
		{"/a%7Cb%27c%5Ed", "/a|b'c^d", nil},
		{"/a%7Cb'c", "/a|b'c", nil},
		{"/a%7Cb%27c%5Ed", "/a|b%27c^d", signing.ErrMismatch},
		{"/a%7cb", "/a|b", signing.ErrMismatch},
		{"/a%2Fb", "/a/b", signing.ErrMismatch},
		{"/a'b", "/a%27b", signing.ErrMismatch},
		{"/a%257Cb", "/a%7Cb", signing.ErrMismatch},
	}
	for _, test := range tests {
		t.Run(test.sent+" signed as "+test.signed, func(t *testing.T) {
			if _, err := newServer(t).Verify(t.Context(), signed("GET", test.signed, noon), test.sent); !errors.Is(err, test.want) {
				t.Errorf("Verify = %v, want %v", err, test.want)
			}
		})
	}
}

func TestOrderOfVerification(t *testing.T) {
	var steps []string
	key := newKey(t, clientKey, secret)
	v := signing.Verifier{
		Now: func() time.Time { steps = append(steps, "time"); return noon },
		Keys: keysFunc(func(context.Context, string) (*signing.Key, error) {
			steps = append(steps, "key")
			return key, nil
		}),
		Admit: func(context.Context, *http.Request, *signing.Key) error {
			steps = append(steps, "admit")
			return nil
		},
		Replays: replaysFunc(func(context.Context, signing.Use) error {
			steps = append(steps, "claim")
			return nil
		}),
	}
	refused := errors.New("refused")
	tests := []struct {
		name  string
		spoil func(*http.Request)
		admit error
		want  []string
	}{
		{"an honest request", func(*http.Request) {}, nil, []string{"time", "key", "admit", "claim"}},
		{"malformed", drop(names.Nonce), nil, nil},
		{"stale", at("1780000000000"), nil, []string{"time"}},
		{"a bad signature", set(names.Signature, strings.Repeat("0", 64)), nil, []string{"time", "key"}},
		{"S12 not admitted", func(*http.Request) {}, refused, []string{"time", "key", "admit"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			steps = nil
			v := v
			if test.admit != nil {
				v.Admit = func(context.Context, *http.Request, *signing.Key) error {
					steps = append(steps, "admit")
					return test.admit
				}
			}
			r := base()
			test.spoil(r)
			_, err := v.Verify(r.Context(), r, "/connections")
			if diff := cmp.Diff(test.want, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if test.admit != nil && err != test.admit {
				t.Errorf("Verify = %v, want the error of Admit", err)
			}
		})
	}
}

func TestFailuresArePassedOn(t *testing.T) {
	down := errors.New("down")
	sentinels := []error{signing.ErrMismatch, signing.ErrUnknownKey, signing.ErrMalformed, signing.ErrNoSignature,
		signing.ErrStale, signing.ErrReplayed, signing.ErrFull, signing.ErrMethod}
	tests := map[string]func(*server){
		"N11 the key look-up fails": func(s *server) {
			s.Keys = keysFunc(func(context.Context, string) (*signing.Key, error) { return nil, down })
		},
		"N11 the store fails": func(s *server) {
			s.Replays = replaysFunc(func(context.Context, signing.Use) error { return down })
		},
	}
	for name, broken := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			broken(s)
			_, err := s.Verify(t.Context(), base(), "/connections")
			if !errors.Is(err, down) {
				t.Errorf("Verify = %v, want %v", err, down)
			}
			if i := slices.IndexFunc(sentinels, func(e error) bool { return errors.Is(err, e) }); i >= 0 {
				t.Errorf("a failure looks like %v", sentinels[i])
			}
		})
	}
	t.Run("the store is full", func(t *testing.T) {
		s := newServer(t)
		s.Replays = replaysFunc(func(context.Context, signing.Use) error { return signing.ErrFull })
		if _, err := s.Verify(t.Context(), base(), "/connections"); !errors.Is(err, signing.ErrFull) {
			t.Errorf("Verify = %v, want ErrFull", err)
		}
	})
}

func TestVerifierIncomplete(t *testing.T) {
	tests := map[string]func(*server){
		"no keys":                    func(s *server) { s.Keys = nil },
		"no replays":                 func(s *server) { s.Replays = nil },
		"keys that return a nil key": func(s *server) { s.Keys = keyring{clientKey: nil} },
		"keys that return another":   func(s *server) { s.Keys = keyring{clientKey: newKey(t, "other", secret)} },
		"keys that fold the case":    func(s *server) { s.Keys = keyring{strings.ToLower(clientKey): newKey(t, clientKey, secret)} },
	}
	for name, broken := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			broken(s)
			r := base()
			if name == "keys that fold the case" {
				r.Header.Set(names.ClientKey, strings.ToLower(clientKey))
			}
			if key, err := s.Verify(r.Context(), r, "/connections"); err == nil || key != nil {
				t.Errorf("Verify = %v, %v, want an error", key, err)
			}
			if len(s.replays.claimed()) != 0 {
				t.Error("recorded")
			}
		})
	}
}

// anything accepts every claim, so that only the cost of verifying remains.
type anything struct{}

func (anything) Claim(context.Context, signing.Use) error { return nil }

func TestVerifyDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, prefix := range []string{"", "X-Acme-"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			v, r := hotPath(t, prefix)
			allocs := testing.AllocsPerRun(1000, func() {
				if _, err := v.Verify(r.Context(), r, "/connections"); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations", allocs)
			}
		})
	}
}

// hotPath is an honest request and its verifier, without a store.
func hotPath(t testing.TB, prefix string) (*signing.Verifier, *http.Request) {
	r := signed(http.MethodGet, "/connections", time.Now())
	h := signing.HeadersFor(prefix)
	r.Header = http.Header{
		h.ClientKey: r.Header[names.ClientKey],
		h.Signature: r.Header[names.Signature],
		h.Timestamp: r.Header[names.Timestamp],
		h.Nonce:     r.Header[names.Nonce],
	}
	key := newKey(t, clientKey, secret)
	return &signing.Verifier{
		Keys:    keysFunc(func(context.Context, string) (*signing.Key, error) { return key, nil }),
		Replays: anything{},
		Header:  prefix, Policy: signing.Policy{Tolerance: time.Hour},
		Admit: func(context.Context, *http.Request, *signing.Key) error { return nil },
	}, r
}
