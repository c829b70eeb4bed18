// Package names knows the names of properties and objects: letters, digits, _ and -.
package names

const maxLength = 40

// Valid reports whether text is a name.
func Valid(text string) bool { return text != "" && len(text) <= maxLength && Only(text) }

// Only reports whether text has no other bytes than names.
func Only(text string) bool {
	for i := range len(text) {
		if !Has(text[i]) {
			return false
		}
	}
	return true
}

// Has reports whether a name may have the byte c.
func Has(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
