package signing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Sign returns the signature of a request, 64 lower-case hexadecimal digits, as
// section 5.3 of the interface defines it.
//
// The command is the escaped path of the resource without the mount, such as
// "/connections"; see [Command]. The method may be in any case. The timestamp is the
// value of the timestamp header: Unix milliseconds in decimal.
//
// If FIPS 140 is enforced, Sign panics, as crypto/hmac does, if client key and secret
// have fewer than 14 bytes together.
func Sign(clientKey string, secret Secret, command, method, timestamp string) string {
	mac := hmac.New(sha256.New, []byte(clientKey+string(secret)))
	mac.Write(appendMessage(nil, command, strings.ToUpper(method), timestamp))
	return hex.EncodeToString(mac.Sum(nil))
}

// appendMessage appends the message of the MAC. A command may hold a semicolon. The
// message is still unambiguous, because methods and timestamps cannot hold one.
func appendMessage(dst []byte, command, method, timestamp string) []byte {
	dst = append(dst, command...)
	dst = append(dst, ';')
	dst = append(dst, method...)
	dst = append(dst, ';')
	return append(dst, timestamp...)
}
