package token_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	josejson "github.com/go-jose/go-jose/v4/json"
	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/internal/strictjson"
	"github.com/tenantkit/tenantkit/token"
)

// refusals lists every reason to refuse a JSON text, each with a check that the reason
// is true. Other readers also refuse a text for its syntax. The other reasons are those
// for which this package is stricter.
var refusals = map[error]func(text string) bool{
	strictjson.ErrValue:     noJSON,
	strictjson.ErrNumber:    noJSON,
	strictjson.ErrString:    noJSON,
	strictjson.ErrControl:   noJSON,
	strictjson.ErrEscape:    noJSON,
	strictjson.ErrName:      noJSON,
	strictjson.ErrColon:     noJSON,
	strictjson.ErrComma:     noJSON,
	strictjson.ErrTrailing:  noJSON,
	strictjson.ErrUTF8:      func(s string) bool { return !utf8.ValidString(s) },
	strictjson.ErrSurrogate: func(s string) bool { return strings.Contains(strings.ToLower(s), `\ud`) },
	strictjson.ErrDuplicate: func(s string) bool { var v any; return josejson.Unmarshal([]byte(s), &v) != nil },
	strictjson.ErrDepth:     func(s string) bool { return strings.Count(s, "[")+strings.Count(s, "{") > 16 },
	strictjson.ErrMembers:   func(s string) bool { return strings.Count(s, ":") >= 64 },
	strictjson.ErrType:      anyText,

	token.ErrLong:      func(s string) bool { return strings.Count(s, ",") >= 64 },
	token.ErrRange:     func(s string) bool { return strings.ContainsAny(s, "123456789") },
	token.ErrAlgorithm: anyText,
	token.ErrTyp:       func(s string) bool { return strings.Contains(s, "t") || strings.Contains(s, `\u`) },
	token.ErrKeyID:     anyText,
	token.ErrMember:    anyText,
	token.ErrMissing:   anyText,
	token.ErrText:      anyText,
	token.ErrCount:     anyText,
	token.ErrGrant:     anyText,
}

func noJSON(text string) bool { return !json.Valid([]byte(text)) }

func anyText(string) bool { return true }

// explained asserts that a refusal has one of the reasons, and that the reason is true.
func explained(t *testing.T, text string, err error) {
	t.Helper()
	for reason, holds := range refusals {
		if errors.Is(err, reason) {
			if !holds(text) {
				t.Errorf("%q is refused for %v, which is not so", text, err)
			}
			return
		}
	}
	t.Errorf("%q is refused for an unlisted reason: %v", text, err)
}

func FuzzHeader(f *testing.F) {
	k := strings.Repeat("k", 43)
	for _, seed := range []string{
		`{"alg":"RS256","kid":"` + k + `","typ":"JWT"}`, ` { "kid" : "` + k + `" , "alg" : "RS256" } `,
		`{"\u0061lg":"RS256","kid":"` + k + `"}`, `{"alg":"RS256","kid":"` + k + `","crit":[]}`, `{"alg":"none"}`,
		`{"alg":"RS256","alg":"RS256"}`, `{"alg":"RS256","kid":"` + k + `","typ":"JWT"}{}`, `{}`, `[]`, `null`, "",
		`{"ALG":"RS256","kid":"` + k + `"}`, "{\"alg\":\"\xff\"}", `{"alg":"\ud800"}`, `{"alg":1}`, `{"alg":"RS256","typ":null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kid, err := token.ReadHeader(text)
		if err != nil {
			explained(t, text, err)
			return
		}
		for name, unmarshal := range map[string]func([]byte, any) error{
			"encoding/json": json.Unmarshal, "go-jose": josejson.Unmarshal,
		} {
			var got map[string]any
			if err := unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%s refuses %q: %v", name, text, err)
			}
			want := map[string]any{"alg": "RS256", "kid": kid}
			if len(got) == 3 {
				want["typ"] = "JWT"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s reads %q otherwise: %s", name, text, diff)
			}
		}
	})
}

func FuzzClaims(f *testing.F) {
	const least = `{"iss":"a","sub":"b","aud":"c","iat":1`
	for _, seed := range []string{
		least + `}`, least + `,"nbf":2,"exp":3,"jti":"d","service/cnt":4}`, least + `,"service/scp":[""],"service/rls":["x","y"]}`,
		least + `,"service/skp":true,"service/skc":false,"service/gnt":4}`, least + `,"service/gnt":"read"}`,
		least + `,"SUB":"x","ſub":"y","x":[1e400,{"y":null}],"z":"\ud83d\ude00\n"}`, least + `,"s\u0075b":"x"}`,
		least + `,"x":{"a":1,"a":2}}`, least + `,"service/scp":null}`, least + `,"exp":1.0}`, least + `,"exp":-1}`,
		least + `,"exp":1e3}`, least + `,"exp":99999999999999999999}`, least + `,"service/cnt":1}`, least + `}x`,
		least + `,"x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, least + members(70) + `}`,
		least + `,"service/rls":["` + strings.Repeat(`x","`, 70) + `"]}`, `{"iss":""}`, `{"iss":"a","sub":"b","iat":1}`, `{"iss":"a","sub":"b","aud":"c"}`, `{"iss":"\u0000"}`, `null`, `"`, "\ufeff{}",
		least + `,"x":"\ud800"}`, "{\"iss\":\"\xc3\"}", `{"iss":01}`, `{"iss":tru`, `{"iss":"a",}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := token.ReadClaims(text, "service/")
		if err != nil {
			explained(t, text, err)
			return
		}
		if got.Issuer == "" || got.Subject == "" || got.Audience == "" || got.IssuedAt.IsZero() {
			t.Fatalf("%q is accepted without what is required", text)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &members); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", text, err)
		}
		var any map[string]josejson.RawMessage
		if err := josejson.Unmarshal([]byte(text), &any); err != nil || len(any) != len(members) {
			t.Fatalf("go-jose refuses %q: %v", text, err)
		}
		for name, raw := range got.Extra {
			if diff := cmp.Diff(string(members[name]), string(raw)); diff != "" {
				t.Errorf("claim %q: %s", name, diff)
			}
			if !json.Valid(raw) {
				t.Errorf("claim %q is not JSON: %q", name, raw)
			}
			delete(members, name)
		}
		got.Extra = nil
		if diff := cmp.Diff(claimsOf(t, members), got); diff != "" {
			t.Errorf("encoding/json reads %q otherwise: %s", text, diff)
		}
	})
}

// claimsOf reads the claims of a payload with encoding/json.
func claimsOf(t *testing.T, members map[string]json.RawMessage) (c token.Claims) {
	t.Helper()
	times := map[string]*time.Time{"iat": &c.IssuedAt, "nbf": &c.NotBefore, "exp": &c.Expires}
	values := map[string]any{
		"iss": &c.Issuer, "sub": &c.Subject, "aud": &c.Audience, "jti": &c.ID,
		"service/scp": &c.Scope, "service/rls": &c.Roles, "service/cnt": &c.MaxUses,
		"service/skp": &c.SkipACL, "service/skc": &c.SkipCreateACL,
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var err error
		switch value := members[name]; {
		case times[name] != nil:
			var seconds int64
			err = json.Unmarshal(value, &seconds)
			*times[name] = time.Unix(seconds, 0).UTC()
		case name == "service/gnt":
			err = json.Unmarshal(value, &c.Grant)
		case values[name] == nil:
			t.Errorf("claim %q was neither read nor kept", name)
		default:
			err = json.Unmarshal(value, values[name])
		}
		if err != nil {
			t.Errorf("encoding/json refuses claim %q: %v", name, err)
		}
	}
	return c
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"YQ.YQ.YQ", "YR.YQ.YQ", "YQ==.YQ.YQ", "Y.Y.Y", "..", "YQ.YQ.YQ.YQ", "Y\nQ.YQ.YQ", "-_.-_8.AA", rfcToken} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		parts, err := token.Split(raw)
		if err != nil {
			if !errors.Is(err, token.ErrInvalid) {
				t.Errorf("error %v, want ErrInvalid", err)
			}
			return
		}
		signed := b64([]byte(parts.Header)) + "." + b64([]byte(parts.Payload))
		if signed != parts.Signed || signed+"."+b64(parts.Signature) != raw {
			t.Errorf("%q is another text of the same token", raw)
		}
	})
}

// From accepted tokens, nobody can make another text that is accepted.
func FuzzVerify(f *testing.F) {
	w := newWorld(f)
	honest := []string{
		w.token(f), w.token(f, "service/skp", true, "x", "y"), w.token(f, "exp", nil),
		forge(f, 1, header(f, 1), payload(f, w.claims("iss", appB))),
	}
	for _, raw := range honest {
		f.Add(raw)
		f.Add(raw + "=")
		f.Add(raw[:len(raw)-1])
		f.Add(strings.Replace(raw, ".", "..", 1))
	}
	for _, head := range []string{
		`{"alg":"none","kid":"` + kid(f, 0) + `"}`, `{"alg":"RS256","kid":"` + kid(f, 1) + `"}`, `{"alg":"RS256","kid":"../../x"}`,
		`{"alg":"RS256","kid":"` + kid(f, 0) + `","crit":[]}`, `{"alg":"RS256","kid":"` + kid(f, 0) + `","typ":"at+jwt"}`,
	} {
		f.Add(forge(f, 0, head, payload(f, w.claims())))
	}
	for _, pairs := range [][]any{
		{"exp", w.now().Unix()}, {"nbf", w.now().Unix() + 61}, {"aud", []string{audience}}, {"iss", appB}, {"jti", "unknown"},
		{"service/cnt", 1}, {"service/scp", []string{"object.read.account.name"}}, {"service/skp", "true"},
	} {
		f.Add(w.token(f, pairs...))
	}
	first, second := strings.Split(honest[0], "."), strings.Split(honest[1], ".")
	f.Add(first[0] + "." + second[1] + "." + first[2])
	f.Add(rfcToken)
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := w.verify(t, raw)
		if (err == nil) != slices.Contains(honest, raw) {
			t.Errorf("Verify(%q) = %v, %v", raw, got, err)
		}
		if err != nil && !errors.Is(err, token.ErrInvalid) {
			t.Errorf("error %v, want ErrInvalid", err)
		}
		noSecret(t, err, raw)
	})
}

// For any URL, the token is sent only to its host and path.
func FuzzTransport(f *testing.F) {
	for _, seed := range []string{
		"https://api.example.com/acme/v2", "https://API.example.com:443/acme/v2/x?y#z", "https://api.example.com/acme/v2/../v3", "//api.example.com/acme/v2",
		"https://api.example.com/acme/v2/%2e%2e/v3", `https://api.example.com/acme/v2/..%5Cv3`, "https://api.example.com@evil.example/acme/v2",
		"http://api.example.com/acme/v2", "https://api.example.com:8443/acme/v2", "https://api.example.com.evil.example/acme/v2", "https:api.example.com/acme/v2",
	} {
		f.Add(seed, "")
	}
	f.Add("https://api.example.com/acme/v2", "evil.example")
	f.Add("https://evil.example/acme/v2", "api.example.com")
	f.Fuzz(func(t *testing.T, address, host string) {
		u, err := url.Parse(address)
		if err != nil {
			return
		}
		if host == "" {
			host = u.Host
		}
		far := &recorder{}
		transport := &token.Transport{BaseURL: "https://api.example.com/acme/v2", Token: bearer, Base: far}
		_, err = transport.RoundTrip(&http.Request{Method: http.MethodGet, URL: u, Host: host})
		if (err == nil) != (len(far.requests) == 1) || err != nil && !errors.Is(err, token.ErrOutside) {
			t.Fatalf("%q: %d requests, %v", address, len(far.requests), err)
		}
		if err != nil {
			return
		}
		for _, asked := range []string{u.Host, host} {
			if strings.TrimSuffix(strings.ToLower(asked), ":443") != "api.example.com" {
				t.Errorf("%q went to host %q", address, asked)
			}
		}
		if below := path.Clean(u.Path) + "/"; u.Scheme != "https" || !strings.HasPrefix(below, "/acme/v2/") {
			t.Errorf("%q went to %s %s", address, u.Scheme, below)
		}
	})
}

func FuzzParsePair(f *testing.F) {
	f.Add(pkcs1(rsaKeys[0]()))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		pair, err := token.ParsePairPEM(text)
		if err != nil {
			if !errors.Is(err, token.ErrBadKey) {
				t.Errorf("error %v, want ErrBadKey", err)
			}
			return
		}
		pair.ClientKey = appA
		if err := pair.Validate(); err != nil {
			t.Errorf("imported and not fit: %v", err)
		}
	})
}
