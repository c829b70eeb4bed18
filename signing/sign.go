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
// "/connections"; see [Command]. The method may be in any case. The timestamp is
// the value of the timestamp header: Unix milliseconds in decimal.
func Sign(clientKey string, secret Secret, command, method, timestamp string) string {
	mac := hmac.New(sha256.New, []byte(clientKey+string(secret)))
	mac.Write(appendMessage(nil, command, strings.ToUpper(method), timestamp))
	return hex.EncodeToString(mac.Sum(nil))
}

// appendMessage appends what the MAC is computed over. A command may hold a
// semicolon; it stays one message because methods and timestamps cannot.
func appendMessage(dst []byte, command, method, timestamp string) []byte {
	dst = append(dst, command...)
	dst = append(dst, ';')
	dst = append(dst, method...)
	dst = append(dst, ';')
	return append(dst, timestamp...)
}
