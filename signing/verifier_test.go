package signing_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	k, err := signing.NewKey(clientKey, secrets...)
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
	s.Policy.Now = func() time.Time { return s.now }
	return s
}

var nonces atomic.Int64

func freshNonce() string { return fmt.Sprintf("%016d", nonces.Add(1)) }

// signed returns a request for a command, honestly signed at a time.
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

// base is the request the attacks start from.
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
	for _, v := range readVectors(t).Vectors {
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

			// What the resource is called where the vector was meant for it.
			command := map[string]string{
				"the same path decoded is not the command":                         "/c_names/%C3%A9%E2%98%83",
				"the same path decoded is not the command (slash)":                 "/c_names/a%2Fb%20c",
				"alternative spelling of | ' ^ (signed bare, sent as %7C %27 %5E)": "/a%7Cb%27c%5Ed",
				"org and version wrongly signed":                                   "/connections",
				"query wrongly signed":                                             "/connections",
				"trailing slash not stripped":                                      "/connections",
			}[v.Name]
			if command == "" {
				command = v.Command
			}
			key, err := s.Verify(r, command)
			switch {
			case !v.Positive && !errors.Is(err, signing.ErrMismatch):
				t.Errorf("Verify = %v, want ErrMismatch", err)
			case v.Positive && err != nil:
				t.Errorf("Verify = %v", err)
			case v.Positive && key.ClientKey() != v.ClientKey:
				t.Errorf("Verify = %v", key)
			}
		})
	}
}

// Each case spoils an honest request. It must get its error, leave no trace, and
// the honest request must still pass.
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
			if key, err := s.Verify(spoiled, "/connections"); !errors.Is(err, test.want) || key != nil {
				t.Errorf("Verify = %v, %v, want %v", key, err, test.want)
			}
			if n := len(s.replays.claimed()); n != 0 {
				t.Errorf("%d requests recorded", n)
			}
			if _, err := s.Verify(honest, "/connections"); err != nil {
				t.Errorf("the honest request afterwards: %v", err)
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
				_, err := s.Verify(r, "/connections")
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
		if _, err := s.Verify(r, "/connections"); !errors.Is(err, signing.ErrMismatch) {
			t.Errorf("S03 bit %d flipped: %v, want ErrMismatch", bit, err)
		}
	}
	if len(s.replays.claimed()) != 0 {
		t.Error("recorded")
	}
	r.Header.Set(names.Signature, honest)
	if _, err := s.Verify(r, "/connections"); err != nil {
		t.Errorf("the honest request afterwards: %v", err)
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
		_, err := s.Verify(r, command)
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
	t.Run("S21 every live secret, also after a match", func(t *testing.T) {
		key := newKey(t, clientKey, secret, "another", "a third")
		n := signing.CountMACs(key)
		s := newServer(t)
		s.Keys = keyring{clientKey: key}
		if _, err := s.Verify(base(), "/connections"); err != nil {
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
		if _, err := s.Verify(base(), "/connections"); err != nil {
			t.Errorf("while it lives: %v", err)
		}
		s.Keys = keyring{clientKey: newKey(t, clientKey, "the new one")}
		if _, err := s.Verify(base(), "/connections"); !errors.Is(err, signing.ErrMismatch) {
			t.Errorf("afterwards: %v, want ErrMismatch", err)
		}
	})
}

// One signature is sent ten times, each time with a fresh nonce.
func TestSiblings(t *testing.T) {
	account := set(names.Account, "5b0000000000000000000001")
	tests := []struct {
		name    string
		methods []string
		policy  func(*signing.Policy)
		change  func(*http.Request)
		after   time.Duration // between the first and the others
		want    int           // accepted out of 10
	}{
		{"S14 GET and HEAD at once", []string{"GET", "HEAD"}, nil, nil, 0, 8},
		{"S14 within two seconds", []string{"GET", "HEAD"}, nil, nil, 2 * time.Second, 8},
		{"S14 after two seconds", []string{"GET", "HEAD"}, nil, nil, 2*time.Second + 1, 1},
		{"S14 with SingleUse", []string{"GET", "HEAD", "POST"}, func(p *signing.Policy) { p.SingleUse = true }, nil, 0, 1},
		{"S14 with an account header", []string{"GET", "HEAD"}, nil, account, 0, 1},
		{"S14 with another maximum", []string{"GET"}, func(p *signing.Policy) { p.SiblingMax = 3 }, nil, 0, 3},
		{"S14 with another window", []string{"GET"}, func(p *signing.Policy) { p.SiblingWindow = time.Second }, nil, 2 * time.Second, 1},
		{"S14b other methods", []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}, nil, nil, 0, 1},
		{"S14b with UnsafeMethodSiblings", []string{"POST", "PUT", "PATCH", "DELETE"},
			func(p *signing.Policy) { p.UnsafeMethodSiblings = true }, nil, 0, 8},
		{"S14b with UnsafeMethodSiblings and an account header", []string{"GET", "POST"},
			func(p *signing.Policy) { p.UnsafeMethodSiblings = true }, account, 0, 1},
		{"S14b with UnsafeMethodSiblings and SingleUse", []string{"GET", "POST"},
			func(p *signing.Policy) { p.UnsafeMethodSiblings, p.SingleUse = true, true }, nil, 0, 1},
	}
	for _, test := range tests {
		for _, method := range test.methods {
			t.Run(test.name+", "+method, func(t *testing.T) {
				s := newServer(t)
				if test.policy != nil {
					test.policy(&s.Policy)
				}
				accepted := 0
				for i := range 10 {
					r := signed(method, "/connections", noon)
					if test.change != nil {
						test.change(r)
					}
					_, err := s.Verify(r, "/connections")
					switch {
					case err == nil:
						accepted++
					case !errors.Is(err, signing.ErrReplayed):
						t.Fatal(err)
					}
					if i == 0 {
						s.now = s.now.Add(test.after)
					}
				}
				if accepted != test.want {
					t.Errorf("%d accepted, want %d", accepted, test.want)
				}
			})
		}
	}
}

func TestAccountCannotBeChangedByReplaying(t *testing.T) {
	account := set(names.Account, "5b0000000000000000000001")
	tests := map[string][2]func(*http.Request){
		"S14 added":    {drop(names.Account), account},
		"S14 dropped":  {account, drop(names.Account)},
		"S14 replaced": {account, set(names.Account, "5b0000000000000000000002")},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			honest, captured := base(), base()
			change[0](honest)
			change[1](captured)
			if _, err := s.Verify(honest, "/connections"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Verify(captured, "/connections"); !errors.Is(err, signing.ErrReplayed) {
				t.Errorf("Verify = %v, want ErrReplayed", err)
			}
		})
	}
}

func TestWhatTheMACDoesNotCover(t *testing.T) {
	t.Run("S13 query and body changed after signing", func(t *testing.T) {
		s := newServer(t)
		r := signed(http.MethodPost, "/connections", noon)
		r.URL.RawQuery = "limit=1000"
		if _, err := s.Verify(r, "/connections"); err != nil {
			t.Errorf("Verify = %v: by protocol it passes", err)
		}
	})
	t.Run("S08 a method override header is not read", func(t *testing.T) {
		s := newServer(t)
		r := signed(http.MethodPost, "/connections", noon)
		r.Header.Set("X-HTTP-Method-Override", "DELETE")
		if _, err := s.Verify(r, "/connections"); err != nil {
			t.Errorf("as POST: %v", err)
		}
	})
	t.Run("S07 a message with a lower-case method", func(t *testing.T) {
		// Sign cannot make it; this is hex(HMAC(..., "/connections;get;1790000000000")),
		// made with openssl.
		r := base()
		r.Header.Set(names.Signature, "9da82e7d47967e340c8c58bc5cab4ba91daa2a40450d942e3f3e3aab012b69dc")
		if _, err := newServer(t).Verify(r, "/connections"); !errors.Is(err, signing.ErrMismatch) {
			t.Errorf("Verify = %v, want ErrMismatch", err)
		}
	})
	t.Run("S11 an escaped slash is not a slash", func(t *testing.T) {
		for command, other := range map[string]string{"/c_x/a%2Fb": "/c_x/a/b", "/c_x/a/b": "/c_x/a%2Fb", "/c_x/a%252Fb": "/c_x/a%2Fb"} {
			if _, err := newServer(t).Verify(signed("GET", command, noon), other); !errors.Is(err, signing.ErrMismatch) {
				t.Errorf("%s signed as %s: %v, want ErrMismatch", other, command, err)
			}
		}
	})
}

func TestLongCommands(t *testing.T) {
	s := newServer(t)
	for _, n := range []int{1, 4 << 10, 1 << 20, 1} {
		command := "/" + strings.Repeat("a", n)
		if _, err := s.Verify(signed("GET", command, noon), command); err != nil {
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
			if _, err := newServer(t).Verify(signed("GET", test.signed, noon), test.sent); !errors.Is(err, test.want) {
				t.Errorf("Verify = %v, want %v", err, test.want)
			}
		})
	}
}

func TestReplays(t *testing.T) {
	t.Run("N02 an exact replay", func(t *testing.T) {
		s := newServer(t)
		r := base()
		if _, err := s.Verify(r, "/connections"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Verify(r, "/connections"); !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("Verify = %v, want ErrReplayed", err)
		}
	})
	t.Run("N02 100 goroutines with one request", func(t *testing.T) {
		s := newServer(t)
		r := base()
		var accepted, replayed atomic.Int64
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				switch _, err := s.Verify(r, "/connections"); {
				case err == nil:
					accepted.Add(1)
				case errors.Is(err, signing.ErrReplayed):
					replayed.Add(1)
				}
			})
		}
		wg.Wait()
		if accepted.Load() != 1 || replayed.Load() != 99 {
			t.Errorf("%d accepted, %d replayed", accepted.Load(), replayed.Load())
		}
	})
	t.Run("N02b the nonce under a new timestamp", func(t *testing.T) {
		s := newServer(t)
		r := base()
		if _, err := s.Verify(r, "/connections"); err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(time.Minute)
		at(strconv.FormatInt(s.now.UnixMilli(), 10))(r)
		if _, err := s.Verify(r, "/connections"); !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("Verify = %v, want ErrReplayed", err)
		}
	})
	t.Run("N03 one nonce under two client keys", func(t *testing.T) {
		s := newServer(t)
		s.Keys = keyring{clientKey: newKey(t, clientKey, secret), "other": newKey(t, "other", "x")}
		r := base()
		other := r.Clone(t.Context())
		other.Header.Set(names.ClientKey, "other")
		resign(other, "other", "x", "/connections", "GET")
		for _, r := range []*http.Request{r, other} {
			if _, err := s.Verify(r, "/connections"); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("N04 a bad MAC with a victim's nonce, then the victim", func(t *testing.T) {
		s := newServer(t)
		victim := base()
		forged := victim.Clone(t.Context())
		forged.Header.Set(names.Signature, strings.Repeat("0", 64))
		if _, err := s.Verify(forged, "/connections"); !errors.Is(err, signing.ErrMismatch) {
			t.Errorf("forged: %v, want ErrMismatch", err)
		}
		if _, err := s.Verify(victim, "/connections"); err != nil {
			t.Errorf("victim: %v", err)
		}
	})
	t.Run("N08 signed ahead, replayed at the far end of the window", func(t *testing.T) {
		s := newServer(t)
		r := signed("GET", "/connections", noon.Add(time.Minute))
		if _, err := s.Verify(r, "/connections"); err != nil {
			t.Fatal(err)
		}
		s.now = noon.Add(6 * time.Minute)
		if _, err := s.Verify(r, "/connections"); !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("Verify = %v, want ErrReplayed", err)
		}
		s.now = s.now.Add(time.Millisecond)
		if _, err := s.Verify(r, "/connections"); !errors.Is(err, signing.ErrStale) {
			t.Errorf("past it: %v, want ErrStale", err)
		}
	})
	t.Run("N08 each request is remembered longer than it can be accepted", func(t *testing.T) {
		for _, policy := range []signing.Policy{
			{},
			{Tolerance: time.Hour, FutureTolerance: 2 * time.Hour},
			{Tolerance: 1500 * time.Microsecond, FutureTolerance: 1<<63 - 1},
			{Tolerance: 1<<63 - 1},
		} {
			s := newServer(t)
			policy.Now = s.Policy.Now
			s.Policy = policy
			r := signed("GET", "/connections", noon)
			if _, err := s.Verify(r, "/connections"); err != nil {
				t.Fatalf("%+v: %v", policy, err)
			}
			tolerance := policy.Tolerance
			if tolerance == 0 {
				tolerance = 5 * time.Minute
			}
			if u := s.replays.claimed()[0]; !u.Keep.After(u.Signed.Add(tolerance)) {
				t.Errorf("tolerance %v: signed %v, remembered until %v", tolerance, u.Signed, u.Keep)
			}
		}
	})
}

func TestWindow(t *testing.T) {
	tests := map[string]struct {
		policy signing.Policy
		off    time.Duration
		want   error
	}{
		"N05 at Tolerance":                    {signing.Policy{}, -5 * time.Minute, nil},
		"N05 at FutureTolerance":              {signing.Policy{}, time.Minute, nil},
		"N05 at a Tolerance of its own":       {signing.Policy{Tolerance: time.Second}, -time.Second, nil},
		"N05 beyond it":                       {signing.Policy{Tolerance: time.Second}, -time.Second - time.Millisecond, signing.ErrStale},
		"N05 at a FutureTolerance of its own": {signing.Policy{FutureTolerance: time.Second}, time.Second, nil},
		"N05 beyond that":                     {signing.Policy{FutureTolerance: time.Second}, time.Second + time.Millisecond, signing.ErrStale},
		"a negative Tolerance":                {signing.Policy{Tolerance: -1}, -time.Millisecond, signing.ErrStale},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			test.policy.Now = s.Policy.Now
			s.Policy = test.policy
			if _, err := s.Verify(signed("GET", "/connections", noon.Add(test.off)), "/connections"); !errors.Is(err, test.want) {
				t.Errorf("Verify = %v, want %v", err, test.want)
			}
		})
	}
}

func TestWhatIsClaimed(t *testing.T) {
	s := newServer(t)
	s.now = noon.Add(3*time.Second + 123456)
	get := base()
	acting := base()
	acting.Header.Set(names.Account, "a")
	post := signed(http.MethodPost, "/connections", noon)
	var want []signing.Use
	for r, siblings := range map[*http.Request]int{get: 8, acting: 1, post: 1} {
		s.replays = new(mapReplays)
		s.Replays = s.replays
		if _, err := s.Verify(r, "/connections"); err != nil {
			t.Fatal(err)
		}
		sum, err := hex.DecodeString(r.Header.Get(names.Signature))
		if err != nil {
			t.Fatal(err)
		}
		want = []signing.Use{{
			ClientKey: clientKey,
			Nonce:     r.Header.Get(names.Nonce),
			Signature: [32]byte(sum),
			Signed:    noon,
			Seen:      s.now,
			Keep:      noon.Add(5*time.Minute + 30*time.Second),
			Siblings:  siblings,
			Window:    2 * time.Second,
		}}
		if diff := cmp.Diff(want, s.replays.claimed()); diff != "" {
			t.Errorf("claimed (-want +got):\n%s", diff)
		}
	}
}

func TestOrderOfVerification(t *testing.T) {
	var steps []string
	key := newKey(t, clientKey, secret)
	v := signing.Verifier{
		Policy: signing.Policy{Now: func() time.Time { steps = append(steps, "time"); return noon }},
		Keys: keysFunc(func(context.Context, string) (*signing.Key, error) {
			steps = append(steps, "key")
			return key, nil
		}),
		Admit: func(*http.Request, *signing.Key) error {
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
				v.Admit = func(*http.Request, *signing.Key) error {
					steps = append(steps, "admit")
					return test.admit
				}
			}
			r := base()
			test.spoil(r)
			_, err := v.Verify(r, "/connections")
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
			_, err := s.Verify(base(), "/connections")
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
		if _, err := s.Verify(base(), "/connections"); !errors.Is(err, signing.ErrFull) {
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
			if key, err := s.Verify(r, "/connections"); err == nil || key != nil {
				t.Errorf("Verify = %v, %v, want an error", key, err)
			}
			if len(s.replays.claimed()) != 0 {
				t.Error("recorded")
			}
		})
	}
}

func TestHeaderPrefix(t *testing.T) {
	for _, prefix := range []string{"X-Acme-", "x-acme-", "X-ACME-"} {
		s := newServer(t)
		s.Policy.Header = prefix
		r := base()
		if _, err := s.Verify(r, "/connections"); !errors.Is(err, signing.ErrNoSignature) {
			t.Errorf("%s: under the default prefix: %v, want ErrNoSignature", prefix, err)
		}
		for name, values := range r.Header {
			delete(r.Header, name)
			r.Header.Set("X-Acme-"+strings.TrimPrefix(name, "Service-"), values[0])
		}
		if _, err := s.Verify(r, "/connections"); err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
	}
	want := signing.Headers{
		ClientKey:  "Service-Client-Key",
		Signature:  "Service-Client-Signature",
		Timestamp:  "Service-Client-Timestamp",
		Nonce:      "Service-Client-Nonce",
		Account:    "Service-Client-Account",
		ServerTime: "Service-Server-Time",
	}
	if diff := cmp.Diff(want, signing.HeadersFor("")); diff != "" {
		t.Errorf("default names (-want +got):\n%s", diff)
	}
}

func TestSigned(t *testing.T) {
	tests := []struct {
		names []string
		want  bool
	}{
		{nil, false},
		{[]string{names.ClientKey}, false},
		{[]string{names.ClientKey, names.Account}, false},
		{[]string{names.Signature}, true},
		{[]string{names.Timestamp}, true},
		{[]string{names.Nonce}, true},
	}
	for _, test := range tests {
		h := http.Header{}
		for _, name := range test.names {
			h[name] = []string{""}
		}
		if got := names.Signed(h); got != test.want {
			t.Errorf("Signed(%v) = %t", test.names, got)
		}
	}
}

// anything accepts every claim: what is left is the cost of verifying.
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
				if _, err := v.Verify(r, "/connections"); err != nil {
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
		Policy:  signing.Policy{Header: prefix, Tolerance: time.Hour},
		Admit:   func(*http.Request, *signing.Key) error { return nil },
	}, r
}

// The shapes of section 5.3 of the interface, as regular expressions.
var (
	keyShape       = regexp.MustCompile(`^[\x21-\x7e]{1,128}$`)
	signatureShape = regexp.MustCompile(`^[0-9a-f]{64}$`)
	timeShape      = regexp.MustCompile(`^[1-9][0-9]{11,14}$`)
	nonceShape     = regexp.MustCompile(`^[A-Za-z0-9]{16}$`)
	accountShape   = regexp.MustCompile(`^[\x21-\x7e]{1,64}$`)
	methodShape    = regexp.MustCompile(`^[A-Z-]+$`)
)

// slowVerify says what Verify must say, the slow and obvious way. A header that
// is missing is nil.
func slowVerify(r *http.Request, command string) error {
	value := func(name string) string { return strings.Join(r.Header[name], "") }
	switch h := r.Header; {
	case !methodShape.MatchString(r.Method):
		return signing.ErrMethod
	case len(h[names.ClientKey]) > 1, len(h[names.Signature]) > 1, len(h[names.Timestamp]) > 1,
		len(h[names.Nonce]) > 1, len(h[names.Account]) > 1:
		return signing.ErrAmbiguous
	case h[names.Signature] == nil && h[names.Timestamp] == nil && h[names.Nonce] == nil:
		if h[names.Account] != nil {
			return signing.ErrAmbiguous
		}
		return signing.ErrNoSignature
	case !keyShape.MatchString(value(names.ClientKey)),
		!signatureShape.MatchString(value(names.Signature)),
		!timeShape.MatchString(value(names.Timestamp)),
		!nonceShape.MatchString(value(names.Nonce)),
		h[names.Account] != nil && !accountShape.MatchString(value(names.Account)):
		return signing.ErrMalformed
	}
	ms, err := strconv.ParseInt(value(names.Timestamp), 10, 64)
	if err != nil {
		return signing.ErrMalformed
	}
	if off := ms - noon.UnixMilli(); off < -300_000 || off > 60_000 {
		return signing.ErrStale
	}
	if value(names.ClientKey) != clientKey {
		return signing.ErrUnknownKey
	}
	bare := command
	for escape, c := range map[string]string{"%7C": "|", "%27": "'", "%5E": "^"} {
		bare = strings.ReplaceAll(bare, escape, c)
	}
	for _, command := range []string{command, bare} {
		if value(names.Signature) == signing.Sign(clientKey, secret, command, r.Method, value(names.Timestamp)) {
			return nil
		}
	}
	return signing.ErrMismatch
}

func FuzzVerify(f *testing.F) {
	const none, one, two = 0, 1, 2
	add := func(r *http.Request, command string, counts ...uint8) {
		count := func(i int) uint8 { return append(counts, one, one, one, one, none)[i] }
		f.Add(r.Method, command, r.Header.Get(names.ClientKey), r.Header.Get(names.Signature),
			r.Header.Get(names.Timestamp), r.Header.Get(names.Nonce), "5b0000000000000000000001",
			count(0), count(1), count(2), count(3), count(4))
	}
	add(base(), "/connections")
	add(base(), "/connections", one, one, one, one, one)
	add(base(), "/connections", one, one, one, two, none)
	add(base(), "/connections", none, one)
	add(base(), "/connections", none, none, none, none, one)
	add(signed("POST", "/a%7Cb", noon.Add(-5*time.Minute)), "/a%7Cb")
	add(signed("GET", "/a|b'c^d", noon.Add(time.Minute)), "/a%7Cb%27c%5Ed")
	add(signed("GET", "/x", noon.Add(2*time.Minute)), "/x")
	add(signed("get", "/x", noon), "/x")

	keys := keyring{clientKey: newKey(f, clientKey, secret)}
	f.Fuzz(func(t *testing.T, method, command, key, signature, timestamp, nonce, account string,
		keyCount, signatureCount, timestampCount, nonceCount, accountCount uint8) {
		h := http.Header{}
		put := func(name, value string, n uint8) {
			for range n % 3 {
				h[name] = append(h[name], value)
			}
		}
		put(names.ClientKey, key, keyCount)
		put(names.Signature, signature, signatureCount)
		put(names.Timestamp, timestamp, timestampCount)
		put(names.Nonce, nonce, nonceCount)
		put(names.Account, account, accountCount)
		r := &http.Request{Method: method, Header: h}

		claims := 0
		v := signing.Verifier{
			Keys:    keys,
			Replays: replaysFunc(func(context.Context, signing.Use) error { claims++; return nil }),
			Policy:  signing.Policy{Now: func() time.Time { return noon }},
		}
		got, err := v.Verify(r, command)
		want := slowVerify(r, command)
		if !errors.Is(err, want) || errors.Is(err, signing.ErrAmbiguous) != errors.Is(want, signing.ErrAmbiguous) {
			t.Fatalf("Verify = %v, want %v", err, want)
		}
		if accepted := want == nil; accepted != (got != nil) || accepted != (claims == 1) {
			t.Errorf("accepted %t: key %v, %d claims", accepted, got, claims)
		}
	})
}
