package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rsc.io/qr"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/examples/internal/explain"
	"github.com/tenantkit/tenantkit/scope"
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
	caching   string // Cache-Control
	body      []byte
	zipped    []byte // by gzip
	tag       string // of the body
	modules   string // what the page imports at once, for the header Link
}

// console holds the files of the page at the root, by path. The page is for people who open the
// server in a browser.
var console = readConsole()

// The caching of the page and of all its other files. Their paths have a hash of all of them, so that a
// browser never asks for one again, and a new server never runs with old scripts. Their modules import each
// other by relative paths, so none of them is rewritten.
const (
	askEachTime = "no-cache"
	forAYear    = "public, max-age=31536000, immutable"
)

var consoleTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
}

func readConsole() map[string]consoleFile {
	files := make(map[string]consoleFile)
	entries, _ := consoleFiles.ReadDir(".") // which reads the program itself, and does not fail
	bodies, all := make(map[string][]byte), sha256.New()
	for _, entry := range entries {
		body, _ := consoleFiles.ReadFile(entry.Name())
		bodies[entry.Name()] = body
		fmt.Fprintf(all, "%s %d\n%s", entry.Name(), len(body), body)
	}
	folder := "/console/" + hex.EncodeToString(all.Sum(nil)[:8]) + "/"
	page := bytes.ReplaceAll(bodies[consolePage], []byte(`="/console.`), []byte(`="`+folder+"console."))
	delete(bodies, consolePage)
	for name, body := range bodies {
		files[folder+name] = newConsoleFile(name, body, forAYear)
	}
	root := newConsoleFile(consolePage, page, askEachTime)
	root.modules = strings.Join(preloads(files, folder), ", ")
	files["/"] = root
	return files
}

const consolePage = "console.html"

func newConsoleFile(name string, body []byte, caching string) consoleFile {
	var zipped bytes.Buffer
	w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // this level exists, and a buffer takes everything
	w.Write(body)
	w.Close()
	sum := sha256.Sum256(body)
	return consoleFile{consoleTypes[path.Ext(name)], caching, body, zipped.Bytes(), hex.EncodeToString(sum[:16]), ""}
}

var staticImport = regexp.MustCompile(`from '\./([^']+)'`)

// preloads returns the links that announce all modules which the first one imports at
// once. Without them, a browser finds one module by another.
func preloads(files map[string]consoleFile, folder string) []string {
	modules := []string{folder + "console.js"}
	for i := 0; i < len(modules); i++ {
		for _, found := range staticImport.FindAllSubmatch(files[modules[i]].body, -1) {
			if module := folder + string(found[1]); !slices.Contains(modules, module) {
				modules = append(modules, module)
			}
		}
	}
	for i, module := range modules {
		modules[i] = "<" + module + ">; rel=modulepreload"
	}
	return modules
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
func asked[T any](p *platform, limit int64, f body.Form, answer func(map[string]any) (T, error)) http.HandlerFunc {
	return p.only(func(w http.ResponseWriter, r *http.Request) {
		if err := p.asking.take(inOrg{name: quotaName(p.guard.Proxies.Addr(r))}); err != nil {
			p.guard.Fail(w, r, err)
			return
		}
		values, _, err := f.Read(r, limit)
		var data T
		if err == nil {
			data, err = answer(values)
		}
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
	h.Set("Cache-Control", f.caching)
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

// The scope tester of the console. It runs on the server and not in the page, so
// that there is one implementation of scopes. It is public: it decides about the
// caller's own chains, uses no secret and reads no store.

const (
	maxQuestion = 16 << 10 // bytes of a body
	maxGrants   = 100
)

var scopeQuestion = body.Form{
	{Path: "grants", Kind: body.Strings}, // as on the wire: "" is everything
	{Path: "need", Kind: body.String},
}

type scopeReply struct {
	explain.Decision
	Part     bool           `json:"part"`             // whether any part of the need is permitted: then lists and writes are limited to that part
	Source   string         `json:"source,omitempty"` // of the chain: "grant 2"
	Warnings []scopeWarning `json:"warnings"`
}

// scopeWarning is about a grant that parses but grants nothing.
type scopeWarning struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

func decideScope(values map[string]any) (scopeReply, error) {
	grants, _ := values["grants"].([]string)
	if len(grants) > maxGrants {
		return scopeReply{}, &auth.Error{Detail: auth.DetailBody, Path: "grants", Reason: fmt.Sprintf("at most %d", maxGrants)}
	}
	wrong := invalid{detail: auth.DetailInvalidScope}
	set, warnings := compileGrants(grants, &wrong)
	asked, _ := values["need"].(string)
	need, err := scope.ParseNeed(asked)
	if err != nil {
		wrong.add("need", syntaxReason(err))
	}
	if err := wrong.orNil(); err != nil {
		return scopeReply{}, err
	}
	return replyOn(set, need, warnings), nil
}

// compileGrants makes one set of grants. Each grant has a source of its own, so
// that an explanation can name the one that decided.
func compileGrants(grants []string, wrong *invalid) (all scope.Set, warnings []scopeWarning) {
	warnings = []scopeWarning{} // never null
	for i, chain := range grants {
		source := fmt.Sprintf("grant %d", i+1)
		set, err := scope.Compile(source, chain)
		if err != nil {
			wrong.add(fmt.Sprintf("grants[%d]", i), syntaxReason(err))
			continue
		}
		if err := scope.Vet(chain); err != nil {
			warnings = append(warnings, scopeWarning{source, syntaxReason(err)})
		}
		all = all.Union(set)
	}
	return all, warnings
}

func syntaxReason(err error) string {
	problem, ok := errors.AsType[*scope.SyntaxError](err)
	if !ok {
		return "does not parse"
	}
	return problem.Reason()
}

func replyOn(set scope.Set, need scope.Need, warnings []scopeWarning) scopeReply {
	reason := set.Explain(need)
	return scopeReply{explain.Of(reason, need), set.Overlaps(need), reason.Source, warnings}
}

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

func drawOTPAuth(values map[string]any) (map[string][]byte, error) {
	code, err := qr.Encode(values["text"].(string), qr.M)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"png": code.PNG()}, nil // JSON has it in base64
}

// notOTPAuth refuses all but the URI of a time-based second factor: a public route that
// draws any text would serve those who put links into codes.
func notOTPAuth(uri string) string {
	escaped := !strings.ContainsFunc(uri, func(c rune) bool { return c <= ' ' || c > '~' })
	return cmp.Or(
		unless(len(uri) <= maxOTPAuth, fmt.Sprintf("must have at most %d bytes", maxOTPAuth)),
		unless(escaped && strings.HasPrefix(uri, otpauthTOTP), "must be a URI that begins with "+otpauthTOTP),
	)
}
