// Package urlpath decides which URL paths are clean. All programs read a clean path
// in the same way. Routing, checks and signatures all work on the escaped form that
// it returns.
package urlpath

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

// Clean returns the escaped path of a URL as it was sent, and whether it is clean.
// Callers must refuse a path that is not clean. They must not repair or redirect it,
// because a signature covers the path as the client wrote it.
func Clean(u *url.URL) (escaped string, ok bool) {
	if u.RawPath == "" && isPlain(u.Path) {
		return u.Path, true // the usual case
	}
	escaped = u.EscapedPath()
	// If the raw path has a byte that a URL does not allow, EscapedPath encodes the
	// decoded path again: it would return a/b%7C for a%2Fb|.
	if u.RawPath != "" && u.RawPath != escaped {
		return "", false
	}
	return escaped, isClean(escaped, u.Path)
}

// IsClean reports whether an escaped path is clean. It must start with a slash and be
// UTF-8. It must not escape a character that needs no escape. It has no empty segment
// except after one trailing slash, no dot segment, no control character and no
// backslash.
func IsClean(escaped string) bool {
	if !strings.Contains(escaped, "%") {
		return isClean(escaped, escaped)
	}
	path, err := url.PathUnescape(escaped)
	return err == nil && isClean(escaped, path)
}

// isPlain reports whether a path is clean without further checks. It has only
// characters that are never escaped, and no two slashes in a row.
func isPlain(path string) bool {
	for i := 1; i < len(path); i++ { // most paths are too short for strings.Contains to be faster
		if path[i] == '/' && path[i-1] == '/' {
			return false
		}
	}
	return strings.HasPrefix(path, "/") && ascii.Path.Only(path)
}

// isClean checks the escaped form for spelling, and the decoded form for meaning.
func isClean(escaped, path string) bool {
	return strings.HasPrefix(escaped, "/") &&
		!strings.Contains(escaped, "//") && // "%2F%2F" is part of a value, such as a URL
		!escapesPlain(escaped) &&
		// No dot segment. In the decoded path, "..%2F" is one, too: a handler that decodes
		// before it opens a file would leave its directory.
		!strings.Contains(path, "/./") && !strings.HasSuffix(path, "/.") &&
		!strings.Contains(path, "/../") && !strings.HasSuffix(path, "/..") &&
		!strings.ContainsFunc(path, forbidden) &&
		utf8.ValidString(path)
}

// forbidden reports whether some programs read a character as a slash, or drop it.
func forbidden(r rune) bool { return r == '\\' || unicode.IsControl(r) }

// escapesPlain reports whether a path escapes a character that every program writes
// bare. Otherwise two spellings of one path would be two commands. An escaped tilde
// is allowed, because older encoders escape it.
func escapesPlain(escaped string) bool {
	for _, rest, more := strings.Cut(escaped, "%"); more; _, rest, more = strings.Cut(rest, "%") {
		// Two digits follow: Clean and IsClean have decoded the path.
		if c, _ := strconv.ParseUint(rest[:2], 16, 8); ascii.Dotted.Has(byte(c)) {
			return true
		}
	}
	return false
}
