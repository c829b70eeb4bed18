package session

import "time"

// ParseSecret is parseSecret.
func ParseSecret(text string) (token [32]byte, ok bool) { return parseSecret(text) }

// Text is secret.text.
func Text(token [32]byte) string { return secret(token).text() }

// NewDevice and ParseDevice make and take the text of a device cookie.
func NewDevice(k DeviceKey, org, account string, at time.Time) string {
	return k.newDevice(org, proof{account, at}).text()
}

func ParseDevice(k DeviceKey, org, text string) (again string, ok bool) {
	d, ok := k.parse(org, text)
	return d.text(), ok
}
