package signing

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrPath is returned by Command for a path that two programs could read in two
// ways, or that is not below the mount.
var ErrPath = errors.New("signing: path is not clean")

var errMount = fmt.Errorf("%w: not below the mount", ErrPath)

// Command returns the command of r, what a signature is made over: the escaped
// path as it was sent, without the mount (such as "/acme/v2", or "" for none),
// with a leading slash and without a trailing one; the root is "/". Nothing is
// decoded and the query has no part in it.
//
// Paths that are not clean are refused with an error that wraps ErrPath, and are
// never repaired: bytes that should have been escaped, empty segments, dot
// segments, escaped letters, digits, '-', '_' or '.', control characters,
// backslashes, and escapes that are not UTF-8.
func Command(r *http.Request, mount string) (string, error) {
	escaped := r.URL.EscapedPath()
	// Where the raw path holds a byte that should have been escaped, EscapedPath
	// silently encodes the decoded path anew: not what was sent, nor signed.
	altered := r.URL.RawPath != "" && r.URL.RawPath != escaped
	if altered || r.URL.Opaque != "" {
		return "", ErrPath
	}
	return command(escaped, mount)
}

func command(escaped, mount string) (string, error) {
	if !clean(escaped) {
		return "", ErrPath
	}
	resource, below := strings.CutPrefix(escaped, strings.TrimSuffix(mount, "/"))
	switch {
	case !below, resource != "" && resource[0] != '/':
		return "", errMount
	case resource == "" || resource == "/":
		return "/", nil
	}
	return strings.TrimSuffix(resource, "/"), nil
}

// clean reports whether an escaped path has one reading only.
func clean(escaped string) bool {
	if escaped == "" {
		return true
	}
	path, err := url.PathUnescape(escaped)
	return err == nil &&
		escaped[0] == '/' &&
		!strings.Contains(escaped, "//") &&
		!escapesPlain(escaped) &&
		!hasDotSegment(path) &&
		!strings.ContainsFunc(path, forbidden) &&
		utf8.ValidString(path)
}

// hasDotSegment looks at the decoded path, so that "..%2F" is one too: a handler
// that decodes before it opens a file would climb.
func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

func forbidden(r rune) bool { return r == '\\' || unicode.IsControl(r) }

// escapesPlain reports whether a well-formed path escapes a character that every
// program writes bare: two spellings of one path would be two commands. The tilde
// may pass, older encoders escape it.
func escapesPlain(escaped string) bool {
	for i := range len(escaped) {
		if escaped[i] != '%' {
			continue
		}
		c := unhex(escaped[i+1])<<4 | unhex(escaped[i+2])
		if classOf[c]&alphanumeric != 0 || c == '-' || c == '_' || c == '.' {
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

// Clients built on the WHATWG URL rules may sign these three bare and send them
// escaped.
var bareSpelling = strings.NewReplacer("%7C", "|", "%27", "'", "%5E", "^")

// alternative returns the one other spelling a client may have signed, if there
// is one.
func alternative(command string) (string, bool) {
	bare := bareSpelling.Replace(command)
	return bare, bare != command
}
