package main

import (
	"fmt"
	"net/http"
	"strings"

	"rsc.io/qr"

	"github.com/tenantkit/tenantkit/envelope/body"
)

// The QR codes of the console, which bring the secret of a new second factor to a
// phone. They are made on the server, so that the page needs no library. The route is
// public: it draws the caller's own text, uses no secret of the server and reads no
// store. The text is a secret, so it is neither kept nor logged.

const (
	maxDrawing = 4 << 10 // bytes of a body; JSON may write a byte of the text as six
	maxOTPAuth = 512     // bytes of the text

	otpauthTOTP = "otpauth://totp/"
)

var drawingForm = body.Form{{Path: "text", Kind: checked(notOTPAuth), Required: true}}

type drawingReply struct {
	PNG []byte `json:"png"` // in base64
}

// drawOTPAuth answers POST /console/qr.
func drawOTPAuth(_ *http.Request, values map[string]any) (drawingReply, error) {
	text, _ := values["text"].(string)
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return drawingReply{}, err
	}
	return drawingReply{code.PNG()}, nil
}

// notOTPAuth refuses all but the URI of a time-based second factor: a public route that
// draws any text would serve those who put links into codes.
func notOTPAuth(uri string) string {
	switch {
	case len(uri) > maxOTPAuth:
		return fmt.Sprintf("must have at most %d bytes", maxOTPAuth)
	case !strings.HasPrefix(uri, otpauthTOTP) || strings.ContainsFunc(uri, notInURI):
		return "must be a URI that begins with " + otpauthTOTP
	}
	return ""
}

// notInURI reports whether a character must be escaped in a URI.
func notInURI(c rune) bool { return c <= ' ' || c > '~' }
