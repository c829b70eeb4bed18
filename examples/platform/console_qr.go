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

	// quietZone is the white margin that cameras need, in modules (ISO/IEC 18004).
	quietZone = 4
)

var drawingForm = body.Form{{Path: "text", Kind: body.Kind{Read: readOTPAuth}, Required: true}}

type drawingReply struct {
	SVG string `json:"svg"`
}

// drawOTPAuth answers POST /console/qr.
func drawOTPAuth(r *http.Request) (drawingReply, error) {
	values, err := readValues(r, drawingForm)
	if err != nil {
		return drawingReply{}, err
	}
	text, _ := values["text"].(string)
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return drawingReply{}, err
	}
	return drawingReply{svgOf(code)}, nil
}

// readOTPAuth accepts the URI of a time-based second factor. No other text: a public
// route that draws any text would serve those who put links into codes.
func readOTPAuth(value string) (any, string) {
	text, refused := body.String.Read(value)
	if refused != "" {
		return nil, refused
	}
	uri, _ := text.(string)
	switch {
	case len(uri) > maxOTPAuth:
		return nil, fmt.Sprintf("must have at most %d bytes", maxOTPAuth)
	case !strings.HasPrefix(uri, otpauthTOTP) || strings.ContainsFunc(uri, notInURI):
		return nil, "must be a URI that begins with " + otpauthTOTP
	}
	return uri, ""
}

// notInURI reports whether a character must be escaped in a URI.
func notInURI(c rune) bool { return c <= ' ' || c > '~' }

// svgOf draws a code in black on white, whatever the colours of a page are. The
// coordinates are those of the modules, from 0. Each row is a line from the left: its
// y is the middle of the row, so the picture begins half a module higher.
func svgOf(code *qr.Code) string {
	side := code.Size + 2*quietZone
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="-%[1]d -%[1]d.5 %[2]d %[2]d" shape-rendering="crispEdges">`+
		`<rect x="-%[1]d" y="-%[1]d.5" width="%[2]d" height="%[2]d" fill="#fff"/><path d="%[3]s" stroke="#000"/></svg>`,
		quietZone, side, blackLines(code))
}

// blackLines returns the path of a code: a line for each run of black modules.
func blackLines(code *qr.Code) string {
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			if !code.Black(x, y) {
				continue
			}
			start := x
			for code.Black(x, y) { // white beyond the last module
				x++
			}
			fmt.Fprintf(&path, "M%d %dh%d", start, y, x-start)
		}
	}
	return path.String()
}
