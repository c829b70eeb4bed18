package session

// ParseSecret is parseSecret.
func ParseSecret(text string) (token [32]byte, ok bool) { return parseSecret(text) }

// Text is secret.text.
func Text(token [32]byte) string { return secret(token).text() }
