package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
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

var blackLine = regexp.MustCompile(`M(\d+) (\d+)h(\d+)`)

// painted paints an SVG as a browser does, with 3 pixels for a module. It knows the
// elements and attributes that svgOf writes, and accepts no others.
func painted(t *testing.T, svg string) (picture *image.Gray, modules int) {
	t.Helper()
	var drawing struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		ViewBox string   `xml:"viewBox,attr"`
		Crisp   string   `xml:"shape-rendering,attr"`
		Rect    struct {
			X      string `xml:"x,attr"`
			Y      string `xml:"y,attr"`
			Width  int    `xml:"width,attr"`
			Height int    `xml:"height,attr"`
			Fill   string `xml:"fill,attr"`
		} `xml:"rect"`
		Path struct {
			D      string `xml:"d,attr"`
			Stroke string `xml:"stroke,attr"`
		} `xml:"path"`
		Others []struct{ XMLName xml.Name } `xml:",any"`
	}
	if err := xml.Unmarshal([]byte(svg), &drawing); err != nil {
		t.Fatal(err)
	}
	side := drawing.Rect.Width
	if want := fmt.Sprintf("-4 -4.5 %d %d", side, side); drawing.ViewBox != want || drawing.Rect.X+" "+drawing.Rect.Y != "-4 -4.5" || drawing.Rect.Height != side {
		t.Errorf("the view is %q, and the ground %+v", drawing.ViewBox, drawing.Rect)
	}
	if drawing.Crisp != "crispEdges" || drawing.Rect.Fill != "#fff" || drawing.Path.Stroke != "#000" || len(drawing.Others) > 0 {
		t.Errorf("drawn as %+v", drawing)
	}
	if rest := blackLine.ReplaceAllString(drawing.Path.D, ""); rest != "" {
		t.Errorf("the path has %q", rest)
	}
	const scale = 3
	picture = image.NewGray(image.Rect(0, 0, side*scale, side*scale))
	draw.Draw(picture, picture.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	for _, line := range blackLine.FindAllStringSubmatch(drawing.Path.D, -1) {
		x, _ := strconv.Atoi(line[1])
		y, _ := strconv.Atoi(line[2])
		length, _ := strconv.Atoi(line[3])
		run := image.Rect(4+x, 4+y, 4+x+length, 4+y+1)
		if !run.In(image.Rect(4, 4, side-4, side-4)) {
			t.Errorf("%s is in the quiet zone", line[0])
		}
		run.Min, run.Max = run.Min.Mul(scale), run.Max.Mul(scale)
		draw.Draw(picture, run, image.NewUniform(color.Black), image.Point{}, draw.Src)
	}
	return picture, side - 8
}

// decoded reads a code as a camera does.
func decoded(t *testing.T, picture image.Image) string {
	t.Helper()
	bitmap, err := gozxing.NewBinaryBitmapFromImage(picture)
	if err != nil {
		t.Fatal(err)
	}
	found, err := qrcode.NewQRCodeReader().Decode(bitmap, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found.GetText()
}

// TestQRCodesAreRead reads codes of all sizes by a decoder that shares no code with
// the encoder.
func TestQRCodesAreRead(t *testing.T) {
	t.Parallel()
	s := startEmpty(t)
	sizes := map[int]bool{}
	for n := 100; n <= maxOTPAuth; n += 4 {
		text := otpauthOf(n)
		svg := s.draw(t, text).ok(t)["data"].(value)["svg"].(string)
		picture, modules := painted(t, svg)
		sizes[modules] = true
		if got := decoded(t, picture); got != text {
			t.Errorf("%d bytes are read as %q", n, got)
		}
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
	picture, _ := painted(t, got.ok(t)["data"].(value)["svg"].(string))
	if text := decoded(t, picture); text != otpauth {
		t.Errorf("%q is read as %q", otpauth, text)
	}
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

// BenchmarkQRCode draws a code of the demo, and the largest one.
func BenchmarkQRCode(b *testing.B) {
	for _, n := range []int{130, maxOTPAuth} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			length := 0
			for range b.N {
				code, err := qr.Encode(otpauthOf(n), qr.M)
				if err != nil {
					b.Fatal(err)
				}
				length = len(svgOf(code))
			}
			b.ReportMetric(float64(length), "bytes")
		})
	}
}
