package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"rsc.io/qr"
)

// otpauthOf returns a URI of n bytes.
func otpauthOf(n int) string {
	const start = otpauthTOTP + "acme:mia%40acme.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=acme&x="
	return start + strings.Repeat("Aa0-", n)[:n-len(start)]
}

func (s *server) draw(t *testing.T, text string) answer {
	t.Helper()
	body, err := json.Marshal(value{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	return s.question(t, http.MethodPost, "/console/qr", "application/json", string(body))
}

// drawn checks that a PNG has the modules of the code of a text, with four white ones around.
func drawn(t *testing.T, reply value, text string) (modules int) {
	t.Helper()
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := base64.StdEncoding.DecodeString(reply["png"].(string))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	side, modules := picture.Bounds().Dx(), code.Size+8
	if side%modules != 0 || side != picture.Bounds().Dy() {
		t.Fatalf("a code of %d modules is drawn as %v", code.Size, picture.Bounds())
	}
	scale := side / modules
	for x := range side {
		for y := range side {
			red, _, _, _ := picture.At(x, y).RGBA()
			if (red == 0) != code.Black(x/scale-4, y/scale-4) {
				t.Fatalf("%q: the pixel %d, %d is wrong", text, x, y)
			}
		}
	}
	return code.Size
}

func TestQRCodesOfAllSizes(t *testing.T) {
	t.Parallel()
	s := startEmpty(t)
	sizes := map[int]bool{}
	for n := 100; n <= maxOTPAuth; n += 12 {
		sizes[drawn(t, s.draw(t, otpauthOf(n)).ok(t)["data"].(value), otpauthOf(n))] = true
	}
	if len(sizes) < 10 {
		t.Errorf("codes of %d sizes alone", len(sizes))
	}
}

func TestQRCodeOfAnEnrolment(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.browser(t)
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	otpauth := b.post(t, "/accounts/me/second-factor", nil).ok(t)["data"].(value)["otpauth"].(string)
	got := s.draw(t, otpauth)
	if got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a secret that may be cached: %v", got.header)
	}
	drawn(t, got.ok(t)["data"].(value), otpauth)
}

func TestQRCodesAreOfSecondFactorsOnly(t *testing.T) {
	t.Parallel()
	s := startEmpty(t)
	asked := func(text string) string { return `{"text":"` + text + `"}` }
	for name, test := range map[string]struct {
		method, contentType, body string
		status                    int
		detail, path              string
	}{
		"another method":      {"GET", "application/json", "", 405, "invalidArgument.method", ""},
		"a form":              {"POST", "text/plain", asked(otpauthOf(120)), 415, "unsupportedMediaType.unspecified", ""},
		"a body over 4 KiB":   {"POST", "application/json", asked(strings.Repeat("a", maxDrawing)), 413, "tooLarge.unspecified", ""},
		"F28 513 bytes":       {"POST", "application/json", asked(otpauthOf(maxOTPAuth + 1)), 400, "invalidArgument.body", "text"},
		"F28 a link":          {"POST", "application/json", asked("https://elsewhere.example/totp/"), 400, "invalidArgument.body", "text"},
		"F28 counted codes":   {"POST", "application/json", asked("otpauth://hotp/acme?secret=JBSWY3DPEHPK3PXP"), 400, "invalidArgument.body", "text"},
		"F28 a second line":   {"POST", "application/json", asked(otpauthTOTP + `acme\nhttps://elsewhere.example`), 400, "invalidArgument.body", "text"},
		"F28 more than ASCII": {"POST", "application/json", asked(otpauthTOTP + "ácme"), 400, "invalidArgument.body", "text"},
		"no text":             {"POST", "application/json", `{}`, 400, "invalidArgument.body", "text"},
		"no string":           {"POST", "application/json", `{"text":["otpauth://totp/acme"]}`, 400, "invalidArgument.body", "text"},
		"an unknown field":    {"POST", "application/json", `{"text":"otpauth://totp/acme","size":9}`, 400, "invalidArgument.body", "size"},
	} {
		t.Run(name, func(t *testing.T) {
			fault := s.refused(t, s.question(t, test.method, "/console/qr", test.contentType, test.body), test.status, test.detail)
			if found := children(fault); test.path != "" && (len(found) != 1 || found[test.path] == "") {
				t.Errorf("reasons %v", found)
			}
		})
	}
}
