package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

//go:embed console.html console.css console*.js
var consoleFiles embed.FS

// consolePolicy lets the page load only its own files and call only its own server.
// Markup that an attacker gets into the page could do nothing.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// consoleFile is a file of the console. The files need no build.
type consoleFile struct {
	mediaType string
	body      []byte
	zipped    []byte // by gzip
	tag       string // of the body
	modules   string // what the page imports at once, for the header Link
}

// console holds the files of the page at the root, by path. The page is for people who open the
// server in a browser. These paths hide no org, because no org's code contains a dot.
var console = readConsole()

var consoleTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
}

func readConsole() map[string]consoleFile {
	files := make(map[string]consoleFile)
	entries, err := consoleFiles.ReadDir(".")
	if err != nil {
		panic(err) // the program was built without the files
	}
	for _, entry := range entries {
		body, err := consoleFiles.ReadFile(entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		files["/"+entry.Name()] = consoleFile{
			mediaType: consoleTypes[path.Ext(entry.Name())],
			body:      body,
			zipped:    zip(body),
			tag:       hex.EncodeToString(sum[:16]),
		}
	}
	page := files["/console.html"]
	page.modules = strings.Join(preloads(files), ", ")
	files["/"] = page
	delete(files, "/console.html") // one address for one page
	return files
}

var staticImport = regexp.MustCompile(`from '\.(/[^']+)'`)

// preloads returns the links that announce all modules which the first one imports at
// once. Without them, a browser finds one module by another.
func preloads(files map[string]consoleFile) []string {
	modules := []string{"/console.js"}
	for i := 0; i < len(modules); i++ {
		for _, found := range staticImport.FindAllSubmatch(files[modules[i]].body, -1) {
			if module := string(found[1]); !slices.Contains(modules, module) {
				modules = append(modules, module)
			}
		}
	}
	for i, module := range modules {
		modules[i] = "<" + module + ">; rel=modulepreload"
	}
	return modules
}

func zip(body []byte) []byte {
	var zipped bytes.Buffer
	w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // this level exists, and a buffer takes everything
	w.Write(body)
	w.Close()
	return zipped.Bytes()
}

// takesZipped reports whether a client accepts gzip. With a quality of 0, it refuses it.
func takesZipped(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(coding, ";")
		if strings.TrimSpace(name) == "gzip" {
			return quality == "" || strings.Trim(quality, " q=0.") != ""
		}
	}
	return false
}

// brandReply tells the page how this server names its headers and claims.
type brandReply struct {
	Header string `json:"header"`
	Claims string `json:"claims"`
}

func (p *platform) showBrand(w http.ResponseWriter, r *http.Request) {
	auth.Reply(w, r, envelope.Result[brandReply]{Data: brandReply{p.guard.Brand.Header, p.guard.Brand.Claims}})
}

// asked answers a POST of the page with what answer makes of its body, of at most
// limit bytes. It asks for no credential, so each address has a quota.
func asked[T any](p *platform, limit int64, answer func(*http.Request) (T, error)) http.HandlerFunc {
	return p.only(func(w http.ResponseWriter, r *http.Request) {
		if err := p.asking.take(inOrg{name: quotaName(p.guard.Proxies.Addr(r))}); err != nil {
			p.guard.Fail(w, r, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		data, err := answer(r)
		if err != nil {
			p.guard.Fail(w, r, err)
			return
		}
		auth.Reply(w, r, envelope.Result[T]{Data: data})
	}, http.MethodPost)
}

func (f consoleFile) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Security-Policy", consolePolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	// A browser asks again each time, so that a new server never runs with old scripts.
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	if f.modules != "" {
		h.Set("Link", f.modules) // a browser would learn of them from one another, a round trip each
	}
	body, tag := f.body, f.tag
	if takesZipped(r) {
		h.Set("Content-Encoding", "gzip")
		body, tag = f.zipped, tag+"-gzip" // other bytes
	}
	h.Set("ETag", `"`+tag+`"`)

	// The whole file or 304, and never a range.
	if known := strings.Join(r.Header["If-None-Match"], ","); known == "*" || strings.Contains(known, `"`+tag+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body) // which net/http leaves out for HEAD
}
