// Package urlpath holds the one rule of which URL paths are clean: those that
// any two programs read in the same way. Routing, checks and signatures all
// work on the escaped form that it returns.
package urlpath

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns the escaped path of a URL as it came over the wire, and whether
// it is clean. A path that is not is refused, never repaired and never
// redirected: a signature covers the path as the client wrote it.
func Clean(u *url.URL) (escaped string, ok bool) {
	if u.RawPath == "" && isPlain(u.Path) {
		return u.Path, true // as nearly all are
	}
	escaped = u.EscapedPath()
	// A raw byte that a URL does not allow makes EscapedPath encode the decoded
	// path anew: a%2Fb| would come out as a/b%7C.
	if u.RawPath != "" && u.RawPath != escaped {
		return "", false
	}
	return escaped, isClean(escaped, u.Path)
}

// IsClean reports whether an escaped path is clean: it starts with a slash, has
// no empty segment but one trailing slash, no dot segment, no control character
// or backslash, is UTF-8, and escapes nothing that needs no escape.
func IsClean(escaped string) bool {
	if !strings.Contains(escaped, "%") {
		return isClean(escaped, escaped)
	}
	path, err := url.PathUnescape(escaped)
	return err == nil && isClean(escaped, path)
}

// isPlain reports whether a path holds nothing that the rule has to look into:
// slashes, none beside another, and characters that stand for themselves.
func isPlain(path string) bool {
	before := byte('/')
	for i := 1; i < len(path); i++ {
		c := path[i]
		if !plain[c] || c == '/' && before == '/' {
			return false
		}
		before = c
	}
	return strings.HasPrefix(path, "/")
}

var plain = func() (set [256]bool) {
	for _, c := range "/-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" {
		set[c] = true
	}
	return set
}()

// isClean looks at both forms: at the escaped one for what is spelled in more
// than one way, at the decoded one for what it means.
func isClean(escaped, path string) bool {
	return strings.HasPrefix(escaped, "/") &&
		!strings.Contains(escaped, "//") && // "%2F%2F" is part of a value, of a URL say
		!escapesPlain(escaped) &&
		// Decoded, so that "..%2F" is a dot segment, too: a handler that decodes
		// before it opens a file would climb.
		!hasDotSegment(path) &&
		!strings.ContainsFunc(path, forbidden) &&
		utf8.ValidString(path)
}

func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// forbidden refuses what some programs read as a slash, or drop.
func forbidden(r rune) bool { return r == '\\' || unicode.IsControl(r) }

// escapesPlain reports whether a character is escaped that every program writes
// bare: two spellings of one path would be two commands. The tilde may pass,
// since older encoders escape it.
func escapesPlain(escaped string) bool {
	for i := range len(escaped) {
		if escaped[i] != '%' {
			continue
		}
		if i+2 >= len(escaped) {
			return true
		}
		switch c := unhex(escaped[i+1])<<4 | unhex(escaped[i+2]); {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
			return true
		}
	}
	return false
}

// unhex returns the value of a hexadecimal digit.
func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
