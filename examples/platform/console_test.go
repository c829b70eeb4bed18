package main

import (
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// consoleCall asks for a file of the console, as a browser does.
func (s *server) consoleCall(t *testing.T, method, path string, header http.Header) answer {
	t.Helper()
	r, err := http.NewRequest(method, s.BaseURL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	return send(t, r)
}

// consoleAt returns the path of a file of the console, whose folder is named by what the files hold.
func consoleAt(name string) string {
	for path := range console {
		if strings.HasSuffix(path, "/"+name) {
			return path
		}
	}
	return name
}

// startEmpty serves a platform without any org. The paths outside of the orgs need
// none.
func startEmpty(t *testing.T, args ...string) *server {
	t.Helper()
	p := parts(t, io.Discard, args...)
	web := httptest.NewServer(p.handler(p.routes()))
	t.Cleanup(web.Close)
	return &server{facts: facts{BaseURL: web.URL}, faults: p.guard.Brand.Faults}
}

func TestConsole(t *testing.T) {
	t.Parallel()
	s := startEmpty(t)
	for path, own := range console {
		mediaType, _, _ := strings.Cut(own.mediaType, ";")
		t.Run(path, func(t *testing.T) {
			file := s.consoleCall(t, http.MethodGet, path, nil)
			if got, _, _ := mime.ParseMediaType(file.header.Get("Content-Type")); file.status != 200 || got != mediaType {
				t.Fatalf("%d %s", file.status, got)
			}
			for name, want := range map[string]string{
				"Content-Security-Policy": consolePolicy,
				"X-Content-Type-Options":  "nosniff",
				"Cache-Control":           map[bool]string{true: "no-cache", false: "public, max-age=31536000, immutable"}[path == "/"],
				"Link":                    own.modules,
			} {
				if got := file.header.Get(name); got != want {
					t.Errorf("%s: %s", name, got)
				}
			}
			if regexp.MustCompile(`https?:|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(`).MatchString(file.text) {
				t.Error("names another server, or makes markup of data")
			}
			known := http.Header{"If-None-Match": {file.header.Get("ETag")}}
			if again := s.consoleCall(t, http.MethodGet, path, known); again.status != http.StatusNotModified {
				t.Errorf("asked for again: %d", again.status)
			}
			zipped := s.consoleCall(t, http.MethodGet, path, http.Header{"Accept-Encoding": {"br, gzip;q=0.8"}})
			if zipped.header.Get("Content-Encoding") != "gzip" || unzipped(t, zipped.text) != file.text {
				t.Errorf("zipped: %v", zipped.header)
			}
			plain := s.consoleCall(t, http.MethodGet, path, http.Header{"Accept-Encoding": {"gzip;q=0"}})
			if plain.text != file.text || plain.header.Get("ETag") == zipped.header.Get("ETag") {
				t.Errorf("for a client that refuses gzip: %v", plain.header)
			}
			parts := http.Header{"Range": {"bytes=99999999-"}, "If-Match": {`"x"`}}
			if whole := s.consoleCall(t, http.MethodGet, path, parts); whole.status != 200 || whole.text != file.text {
				t.Errorf("a range: %d %q", whole.status, whole.text)
			}
			if head := s.consoleCall(t, http.MethodHead, path, nil); head.status != 200 || head.text != "" {
				t.Errorf("HEAD: %d %q", head.status, head.text)
			}
			if post := s.consoleCall(t, http.MethodPost, path, nil); post.status != http.StatusMethodNotAllowed {
				t.Errorf("POST: %d", post.status)
			}
		})
	}
}

func unzipped(t *testing.T, text string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

func TestConsoleIsWhole(t *testing.T) {
	t.Parallel()
	t.Run("the policy that keeps out inline code keeps out none of the page", func(t *testing.T) {
		page := string(console["/"].body)
		if inline := regexp.MustCompile(`<style|\sstyle=|\son[a-z]+=|<script>|javascript:`).FindString(page); inline != "" {
			t.Errorf("inline: %s", inline)
		}
		for _, tag := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if _, own := console[tag[1]]; !own && tag[1] != "data:," && !slices.Contains([]string{"/healthz", "/readyz", "/openapi.json"}, tag[1]) {
				t.Errorf("refers to %s", tag[1])
			}
		}
	})
	t.Run("every module is served", func(t *testing.T) {
		for path, file := range console {
			for _, found := range regexp.MustCompile(`(?:from |import\()'\./([^']*)'`).FindAllStringSubmatch(string(file.body), -1) {
				if _, ok := console[consoleAt(found[1])]; !ok {
					t.Errorf("%s imports %s", path, found[1])
				}
			}
		}
	})
	t.Run("a first load announces all its modules, and is at most 150 kB before it is zipped", func(t *testing.T) {
		preloaded := regexp.MustCompile(`<(/[^>]+)>; rel=modulepreload`).FindAllStringSubmatch(console["/"].modules, -1)
		weight := len(console["/"].body) + len(console[consoleAt("console.css")].body)
		for _, module := range preloaded {
			weight += len(console[module[1]].body)
			for _, imported := range staticImport.FindAllSubmatch(console[module[1]].body, -1) {
				if !strings.Contains(console["/"].modules, "<"+consoleAt(string(imported[1]))+">") {
					t.Errorf("not %s", imported[1])
				}
			}
		}
		if weight > 150_000 || len(preloaded) < 10 {
			t.Errorf("%d modules, %d bytes", len(preloaded), weight)
		}
		t.Logf("%d modules, %d bytes", len(preloaded), weight)
	})
	t.Run("every file is served, as what it is", func(t *testing.T) {
		for path, mediaType := range map[string]string{"/": "text/html", consoleAt("console.css"): "text/css", consoleAt("console.js"): "text/javascript"} {
			if got, _, _ := strings.Cut(console[path].mediaType, ";"); got != mediaType {
				t.Errorf("%s is %q", path, got)
			}
		}
		files, err := filepath.Glob("console*.*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if _, ok := console[consoleAt(file)]; !ok && filepath.Ext(file) != ".go" && file != "console.html" && file != "console.d.ts" {
				t.Errorf("%s is not", file)
			}
		}
	})
	t.Run("each id with a type of its own is that element of the page", func(t *testing.T) {
		types, err := os.ReadFile("console.d.ts")
		if err != nil {
			t.Fatal(err)
		}
		page, found := string(console["/"].body), 0
		for _, record := range regexp.MustCompile(`Record<([^<>]*), HTML(\w+)Element>`).FindAllStringSubmatch(string(types), -1) {
			tag := strings.ToLower(record[2])
			if tag == "anchor" {
				tag = "a"
			}
			for _, id := range regexp.MustCompile(`'([^']+)'`).FindAllStringSubmatch(record[1], -1) {
				found++
				if !regexp.MustCompile(`<` + tag + `\s[^>]*\bid="` + id[1] + `"`).MatchString(page) {
					t.Errorf("%s is no <%s>", id[1], tag)
				}
			}
		}
		if found == 0 {
			t.Error("no id has a type")
		}
	})
	t.Run("every id that a script asks for is on the page", func(t *testing.T) {
		page := string(console["/"].body)
		for path, file := range console {
			for _, found := range regexp.MustCompile(`(?:byID|onSubmit)\('([^']+)'`).FindAllStringSubmatch(string(file.body), -1) {
				if !strings.Contains(page, `id="`+found[1]+`"`) {
					t.Errorf("%s: %s", path, found[1])
				}
			}
		}
	})
}

// An account that reads about itself does not see whether it is disabled, so that the
// compiler lets a script leave out more than the server does.
func TestTypesOfConsoleNameTheMembersOfReplies(t *testing.T) {
	t.Parallel()
	types, err := os.ReadFile("console.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	for name, reply := range map[string]any{
		"Account": managedReply{}, "App": appReply{}, "Happening": eventReply{}, "Entry": auditEvent{},
		"FactorState": factorReply{}, "Property": propertyReply{},
		"Role": roleReply{}, "Schema": schemaReply{}, "Session": sessionReply{}, "Settings": settingsReply{}, "SigningKey": credentialReply{},
		"Token": tokenReply{}, "APIKey": keyReply{}, "Org": orgReply{}, "Ending": endingReply{}, "Invitation": invitationReply{},
	} {
		t.Run(name, func(t *testing.T) {
			found := regexp.MustCompile(`interface ` + name + ` (extends Item )?\{([^}]*)\}`).FindStringSubmatch(string(types))
			if found == nil {
				t.Fatal("is no interface")
			}
			typed := make(map[string]bool) // by name: whether it may be missing
			for _, member := range regexp.MustCompile(`(\w+)(\??):`).FindAllStringSubmatch(found[2], -1) {
				typed[member[1]] = member[2] != ""
			}
			if found[1] != "" {
				typed["_id"], typed["object"] = false, false
			}
			for _, field := range reflect.VisibleFields(reflect.TypeOf(reply)) {
				member, options, _ := strings.Cut(field.Tag.Get("json"), ",")
				if member == "" {
					continue // an embedded struct, whose fields come by themselves
				}
				optional, ok := typed[member]
				if !ok || options != "" && !optional {
					t.Errorf("%s: in the types %t, may be missing %t", member, ok, optional)
				}
				delete(typed, member)
			}
			if len(typed) != 0 {
				t.Errorf("no reply has %v", typed)
			}
		})
	}
}

func TestConsoleBrand(t *testing.T) {
	t.Parallel()
	s := startEmpty(t, "-header-prefix", "Acme-", "-claim-namespace", "acme/")
	got := s.consoleCall(t, http.MethodGet, "/console/brand", nil).ok(t)
	want := value{"object": "result", "data": value{"header": "Acme-", "claims": "acme/"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	post := s.consoleCall(t, http.MethodPost, "/console/brand", nil)
	s.refused(t, post, http.StatusMethodNotAllowed, "invalidArgument.method")
}

func TestOtherOriginsAreNotRead(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, path := range []string{"/accounts", "/accounts/login", "/accounts/me/second-factor", "/accounts/me/second-factor/confirm"} {
		for name, header := range map[string]http.Header{
			"a form of another site":           {"Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"text/plain"}},
			"a form of another port":           {"Sec-Fetch-Site": {"same-site"}, "Content-Type": {"text/plain"}},
			"an origin, from an older browser": {"Origin": {"http://elsewhere.example"}},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				got := s.consoleCall(t, http.MethodPost, "/"+s.Org+"/v2"+path, header)
				if got.status != http.StatusForbidden || !strings.Contains(got.text, `"service.accessDenied.csrfTokenMismatch"`) {
					t.Errorf("%d %s", got.status, got.text)
				}
			})
		}
	}
}
