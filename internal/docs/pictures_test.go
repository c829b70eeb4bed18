package docs_test

import (
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/internal/faults"
)

// TestPictures checks that a browser can show each picture, that it loads nothing, that a page shows it,
// and that codes stand below their statuses.
func TestPictures(t *testing.T) {
	t.Chdir(root)
	pictures, err := filepath.Glob("examples/guides/pictures/*.svg")
	if err != nil || len(pictures) != 4 {
		t.Fatalf("pictures: %v %v", pictures, err)
	}
	pages := read(t, "examples/guides/concepts.md")
	for _, picture := range pictures {
		if !strings.Contains(pages, "](pictures/"+filepath.Base(picture)+")") {
			t.Errorf("no page shows %s", picture)
		}
		statuses := ""
		for _, text := range textsOf(t, picture) {
			for _, code := range faultCode.FindAllString(text, -1) {
				switch f := faults.Of(code); {
				case !slices.Contains(faults.Details(), code):
					t.Errorf("%s: there is no code %s", picture, code)
				case !strings.Contains(statuses+text, strconv.Itoa(f.Status)):
					t.Errorf("%s: %s has the status %d, not %s", picture, code, f.Status, statuses)
				}
			}
			statuses = text
		}
	}
}

// TestScreenshots checks that the tour shows its screenshots, which are small. internal/interop/run pictures
// takes them.
func TestScreenshots(t *testing.T) {
	t.Chdir(root)
	const tour, most = "examples/platform/VISIT.md", 60_000
	for _, name := range []string{"data", "live", "scope", "tokens"} {
		picture := "pictures/" + name + ".png"
		if !strings.Contains(read(t, tour), "]("+picture+")") {
			t.Errorf("%s does not show %s", tour, picture)
		}
		if size := len(read(t, "examples/platform/"+picture)); size > most {
			t.Errorf("%s has %d bytes, and %d at most", picture, size, most)
		}
	}
}

var faultCode = regexp.MustCompile(`\b(?:invalidArgument|accessDenied|notFound|error|conflict)\.[a-zA-Z]+`)

// textsOf returns the texts of a picture in their order.
func textsOf(t *testing.T, picture string) (texts []string) {
	t.Helper()
	decoder, within := xml.NewDecoder(strings.NewReader(read(t, picture))), ""
	for {
		next, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%s: %v", picture, err)
		}
		switch next := next.(type) {
		case xml.StartElement:
			if within = next.Name.Local; slices.Contains([]string{"script", "image", "use", "foreignObject", "style"}, within) {
				t.Errorf("%s has an element %s", picture, within)
			}
		case xml.CharData:
			if within == "text" && strings.TrimSpace(string(next)) != "" {
				texts = append(texts, string(next))
			}
		}
	}
}
