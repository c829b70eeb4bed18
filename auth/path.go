package auth

import "strings"

// splitMount splits a clean path into its first two segments, org and version, and the rest.
func splitMount(path string) (org, version, rest string, ok bool) {
	org, below, _ := strings.Cut(path[1:], "/")
	version, _, nested := strings.Cut(below, "/")
	if rest = "/"; nested {
		rest = below[len(version):]
	}
	return org, version, rest, org != "" && version != ""
}

// isOrg reports whether code may name an org: [a-z0-9][a-z0-9_-]{0,39}.
func isOrg(code string) bool {
	if code == "" || len(code) > 40 || code[0] == '-' || code[0] == '_' {
		return false
	}
	for _, b := range []byte(code) {
		if !('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '_') {
			return false
		}
	}
	return true
}

// isKey reports whether a text can be the Key of an org. It is part of cookie names.
func isKey(key string) bool {
	return key != "" && len(key) <= 64 && !strings.ContainsFunc(key, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._~-", r))
	})
}

// isMethod reports whether a method name has only upper-case letters and hyphens, as all
// registered names do. Methods are case-sensitive (RFC 9110, section 9.1), and a signature
// covers them in upper case.
func isMethod(method string) bool {
	return !strings.ContainsFunc(method, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '-' })
}
