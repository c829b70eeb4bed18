package signing_test

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/signing"
)

// received returns a request as a server gets it for a request target.
func received(target string) (*http.Request, error) {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, err
	}
	return &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}, nil
}

func TestCommand(t *testing.T) {
	tests := []struct{ name, target, mount, want string }{
		{"no mount", "/connections", "", "/connections"},
		{"a slash as the mount", "/connections", "/", "/connections"},
		{"the root", "/", "", "/"},
		{"a mount with a slash at its end", "/api/v1/a", "/api/v1/", "/a"},
		{"the mount and a slash", "/acme/v2/", "/acme/v2", "/"},
		{"a trailing slash", "/acme/v2/a/b/", "/acme/v2", "/a/b"},
		{"absolute form", "http://host/acme/v2/a?b=c", "/acme/v2", "/a"},
		{"absolute form without a path", "http://host", "", "/"},
		{"a tilde either way", "/%7Ea/~b", "", "/%7Ea/~b"},
		{"a hash, a percent and a question mark escaped", "/%23%25%3F", "", "/%23%25%3F"},
		{"lower-case digits of an escape stay", "/%c3%a9", "", "/%c3%a9"},
		{"dots that are no dot segment", "/a..b/.../.c", "", "/a..b/.../.c"},
		{"S11 an escaped slash", "/c_x/a%2Fb", "", "/c_x/a%2Fb"},
		{"S11 escaped twice, decoded never", "/c_x/a%252Fb", "", "/c_x/a%252Fb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := received(test.target)
			if err != nil {
				t.Fatal(err)
			}
			got, err := signing.Command(r, test.mount)
			if err != nil || got != test.want {
				t.Errorf("Command = %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// unclean are request targets that net/http hands to a handler.
var unclean = map[string]string{
	"S10 an empty segment":                    "/acme/v2//connections",
	"S10 two slashes at the end":              "/connections//",
	"S10 a dot-dot segment":                   "/x/../connections",
	"S10 a dot segment":                       "/x/./connections",
	"S10 a dot-dot segment at the end":        "/x/..",
	"S10 an escaped dot-dot segment":          "/%2e%2e/connections",
	"S10 a half escaped dot-dot segment":      "/.%2E/connections",
	"S10 a dot segment after decoding":        "/x/..%2Fconnections",
	"S10 an escaped letter":                   "/%63onnections",
	"S10 an escaped digit":                    "/%31",
	"S10 an escaped hyphen":                   "/a%2Db",
	"S10 an escaped underscore":               "/a%5Fb",
	"S10 an escaped dot":                      "/a%2Eb",
	"S10 NUL":                                 "/a%00b",
	"S10 a line feed":                         "/a%0ab",
	"S10 DEL":                                 "/a%7Fb",
	"S10 a control character outside ASCII":   "/a%C2%85b",
	"S10 an escaped backslash":                "/a%5Cb",
	"S10 not UTF-8":                           "/a%FFb",
	"S10 UTF-8 cut short":                     "/a%C3",
	"S10 an overlong slash":                   "/a%C0%AFb",
	"S10 a surrogate":                         "/a%ED%A0%80",
	"S10 a raw backslash":                     `/a\b`,
	"S10 a raw quote":                         `/a"b`,
	"S10 a raw less-than":                     "/a<b",
	"S10 a raw brace":                         "/a{b",
	"S10 a raw bar":                           "/a|b",
	"S10 a raw caret":                         "/a^b",
	"S10 a raw hash":                          "/a#b",
	"S10 raw UTF-8":                           "/é",
	"S10b an escaped slash and a raw bar":     "/c_x/a%2Fb|",
	"S10b an escaped slash and raw UTF-8":     "/c_x/a%2Fé",
	"S10b an escaped slash and a raw caret":   "/c_x/a%2F^",
	"an escaped space and a raw double quote": `/a%20"`,
}

func TestCommandRefusesUncleanPaths(t *testing.T) {
	for name, target := range unclean {
		t.Run(name, func(t *testing.T) {
			r, err := received(target)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := signing.Command(r, ""); !errors.Is(err, signing.ErrPath) {
				t.Errorf("Command(%s) = %q, %v, want ErrPath", target, got, err)
			}
		})
	}
	others := map[string]*url.URL{
		"an asterisk":                {Path: "*"},
		"a relative path":            {Path: "a"},
		"an opaque URL":              {Scheme: "http", Opaque: "a"},
		"a raw path of another path": {Path: "/b", RawPath: "/a"},
	}
	for name, u := range others {
		t.Run(name, func(t *testing.T) {
			if got, err := signing.Command(&http.Request{URL: u}, ""); !errors.Is(err, signing.ErrPath) {
				t.Errorf("Command = %q, %v, want ErrPath", got, err)
			}
		})
	}
}

func TestCommandIsBounded(t *testing.T) {
	for size, want := range map[int]error{2048: nil, 2049: signing.ErrPath, 60 << 10: signing.ErrPath} {
		command := "/" + strings.Repeat("a", size-1)
		for _, mount := range []string{"", "/acme/v2"} {
			for _, slash := range []string{"", "/"} {
				r, err := received(mount + command + slash)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := signing.Command(r, mount); !errors.Is(err, want) || want == nil && got != command {
					t.Errorf("S22 %d bytes below %q: %d bytes, %v, want %v", size, mount, len(got), err, want)
				}
			}
		}
	}
}

func TestCommandRefusesWhatIsNotBelowTheMount(t *testing.T) {
	for _, target := range []string{"/", "/acme", "/acme/v1/a", "/acme/v20", "/acme/v2x/a", "/ACME/v2/a", "/x/acme/v2/a"} {
		r, err := received(target)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := signing.Command(r, "/acme/v2"); !errors.Is(err, signing.ErrPath) {
			t.Errorf("Command(%s) = %q, %v, want ErrPath", target, got, err)
		}
	}
}

// wellFormed is the grammar of a clean path as it is on the wire.
var (
	wellFormed = regexp.MustCompile(`^(/([A-Za-z0-9._~!$&'()*+,;=:@\[\]-]|%[0-9A-Fa-f]{2})+)*/?$`)
	plain      = regexp.MustCompile(`%(2[dDeE]|3[0-9]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aA])`)
)

// slowCommand is another implementation of Command. It reads the bytes of the request
// line, while Command reads what net/url has parsed.
func slowCommand(target string) (command string, ok bool) {
	path, _, _ := strings.Cut(target, "?")
	if !wellFormed.MatchString(path) || plain.MatchString(path) {
		return "", false
	}
	decoded, err := url.PathUnescape(path)
	if err != nil || !utf8.ValidString(decoded) || strings.Contains(decoded, `\`) {
		return "", false
	}
	for _, r := range decoded {
		if unicode.IsControl(r) {
			return "", false
		}
	}
	for _, segment := range strings.Split(decoded, "/") {
		if segment == "." || segment == ".." {
			return "", false
		}
	}
	if path == "/" {
		return "/", true
	}
	return strings.TrimSuffix(path, "/"), true
}

func FuzzCommand(f *testing.F) {
	for _, target := range unclean {
		f.Add(target)
	}
	for _, target := range []string{"/", "/a/b/", "/a%2Fb%20c?d=e", "/c_set[]", "/a+b;c=1,d/a:b@c", "/%7Ea/a%7Cb%27c%5Ed", "/%C3%A9%E2%98%83"} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		if !strings.HasPrefix(target, "/") {
			return
		}
		r, err := received(target)
		if err != nil {
			return
		}
		got, err := signing.Command(r, "")
		want, ok := slowCommand(target)
		if (err == nil) != ok || got != want {
			t.Fatalf("Command(%q) = %q, %v, want %q, %t", target, got, err, want, ok)
		}
		if err != nil {
			return
		}
		again, err := received(got)
		if err != nil {
			t.Fatalf("the command %q of %q is no request target: %v", got, target, err)
		}
		if stable, err := signing.Command(again, ""); err != nil || stable != got {
			t.Errorf("Command(%q) = %q, %v, want it unchanged", got, stable, err)
		}
		below, err := received("/acme/v2" + target)
		if err != nil {
			t.Fatal(err)
		}
		if mounted, err := signing.Command(below, "/acme/v2"); err != nil || mounted != got {
			t.Errorf("below a mount Command = %q, %v, want %q", mounted, err, got)
		}
	})
}
