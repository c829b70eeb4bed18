package main

import (
	_ "embed"
	"net/http"
)

//go:embed console.html
var consolePage []byte

// console is the page at the root, for whoever opens the server in a browser.
func console(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.Write(consolePage)
}
