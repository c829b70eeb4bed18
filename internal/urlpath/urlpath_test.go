package urlpath_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/internal/urlpath"
)

var paths = []struct {
	name, escaped string
	clean         bool
}{
	{"the root", "/", true},
	{"segments", "/a/b-c_d.e~f", true},
	{"one trailing slash", "/a/", true},
	{"an escaped slash", "/a%2Fb", true},
	{"a value that is an escaped URL", "/https%3A%2F%2Fexample.com%2F", true},
	{"an escape in lower case", "/a%2fb", true},
	{"an escaped tilde", "/%7Ea", true},
	{"escaped UTF-8", "/%C3%A9%E2%98%83", true},
	{"dots in a segment", "/a..b/...", true},

	{"nothing", "", false},
	{"no slash in front", "a", false},
	{"an empty segment", "/a//b", false},
	{"an empty segment at the end", "/a//", false},
	{"a dot segment", "/a/./b", false},
	{"two dots", "/a/..", false},
	{"escaped dots", "/a/%2E%2E/b", false},
	{"one escaped dot", "/a/.%2e/b", false},
	{"dots before an escaped slash", "/a/..%2Fb", false},
	{"an escaped letter", "/%61", false},
	{"the last letter", "/%7A", false},
	{"the last letter, in lower case", "/%7a", false},
	{"an escaped capital", "/%41", false},
	{"the last capital", "/%5A", false},
	{"an escaped digit", "/%30", false},
	{"the last digit", "/%39", false},
	{"an escaped minus", "/%2D", false},
	{"an escaped underscore", "/%5F", false},
	{"an escaped underscore, in lower case", "/%5f", false},
	{"an escape cut short", "/a%2", false},
	{"an escape that is none", "/a%zz", false},
	{"a backslash", `/a\b`, false},
	{"an escaped backslash", "/a%5Cb", false},
	{"a null character", "/a%00", false},
	{"a line break", "/a%0Ab", false},
	{"a control character beyond ASCII", "/a%C2%85", false},
	{"half a character", "/a%C3", false},
}

func TestIsClean(t *testing.T) {
	for _, test := range paths {
		t.Run(test.name, func(t *testing.T) {
			if got := urlpath.IsClean(test.escaped); got != test.clean {
				t.Errorf("IsClean(%q) = %t, want %t", test.escaped, got, test.clean)
			}
		})
	}
}

func TestClean(t *testing.T) {
	for _, test := range paths {
		t.Run(test.name, func(t *testing.T) {
			u, err := url.Parse(test.escaped)
			if err != nil {
				t.Skip("no URL")
			}
			if got, ok := urlpath.Clean(u); ok != test.clean || ok && got != test.escaped {
				t.Errorf("Clean(%q) = %q, %t, want %t", test.escaped, got, ok, test.clean)
			}
		})
	}
	t.Run("a raw path that belongs to another path", func(t *testing.T) {
		if got, ok := urlpath.Clean(&url.URL{Path: "/b", RawPath: "/a"}); ok || got != "" {
			t.Errorf("Clean = %q, %t, want refused", got, ok)
		}
	})
	t.Run("a byte that should have been escaped", func(t *testing.T) {
		u, err := url.Parse("/a%2Fb|")
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := urlpath.Clean(u); ok {
			t.Errorf("Clean = %q, want refused", got)
		}
	})
}

// FuzzClean compares Clean with IsClean, and checks that a clean path has one meaning.
// It parses to itself, and its segments stay the same if a program decodes first.
func FuzzClean(f *testing.F) {
	for _, seed := range paths {
		f.Add(seed.escaped)
	}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" || u.Opaque != "" {
			return
		}
		escaped, ok := urlpath.Clean(u)
		if !ok {
			return
		}
		if path, _, _ := strings.Cut(target, "?"); u.Scheme == "" && escaped != path {
			t.Errorf("Clean(%q) = %q, not what was sent", target, escaped)
		}
		if !urlpath.IsClean(escaped) {
			t.Errorf("IsClean(%q) = false, against Clean", escaped)
		}
		for segment := range strings.SplitSeq(u.Path, "/") {
			if segment == "." || segment == ".." {
				t.Errorf("Clean(%q) let a dot segment pass", target)
			}
		}
		if again, err := url.ParseRequestURI(escaped); err != nil || again.Path != u.Path {
			t.Errorf("%q parses to another path than %q, or %v", escaped, target, err)
		}
	})
}
