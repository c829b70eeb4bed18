package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
)

//go:embed console.html console.css console*.js
var consoleFiles embed.FS

// consolePolicy lets the page load its own files and call its own server, and
// nothing else: markup that found its way into the page could do nothing.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// consoleFile is a file of the console, which needs no build.
type consoleFile struct {
	mediaType string
	body      []byte
	tag       string
}

// console is the page at the root, for whoever opens the server in a browser,
// with its files, by path. No org's code contains a dot.
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
		panic(err) // the program was built without them
	}
	for _, entry := range entries {
		body, err := consoleFiles.ReadFile(entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		files["/"+entry.Name()] = consoleFile{consoleTypes[path.Ext(entry.Name())], body, `"` + hex.EncodeToString(sum[:16]) + `"`}
	}
	files["/"] = files["/console.html"]
	delete(files, "/console.html") // one address for one page
	return files
}

// brandReply is what the page cannot know: how this server names its headers
// and claims.
type brandReply struct {
	Header string `json:"header"`
	Claims string `json:"claims"`
}

func (p *platform) showBrand(w http.ResponseWriter, _ *http.Request) {
	envelope.Write(w, envelope.Result[brandReply]{Data: brandReply{p.guard.Brand.Header, p.guard.Brand.Claims}})
}

func (f consoleFile) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Security-Policy", consolePolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	// Asked for anew each time, so that a new server is never met by old scripts.
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)

	// The file is whole or unchanged, never a range of it: what net/http answers
	// to a range or a precondition that fails is no fault, or has no body.
	conditional := &http.Request{Method: r.Method, Header: http.Header{}}
	if tags := r.Header["If-None-Match"]; tags != nil {
		conditional.Header["If-None-Match"] = tags
	}
	http.ServeContent(unranged{w}, conditional, "", time.Time{}, bytes.NewReader(f.body))
}

// unranged does not announce ranges, which http.ServeContent does.
type unranged struct{ http.ResponseWriter }

func (w unranged) WriteHeader(status int) {
	w.Header().Del("Accept-Ranges")
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w unranged) Unwrap() http.ResponseWriter { return w.ResponseWriter }
