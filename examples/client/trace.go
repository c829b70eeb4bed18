package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
)

// trace is an http.RoundTripper that sends what has been signed. It keeps the id of the
// last request and, with -v, shows requests and replies. Use it from one goroutine.
type trace struct {
	to           io.Writer
	shows        bool
	secretHeader func() string // name of the header with the signature

	requestID string
}

func (t *trace) RoundTrip(r *http.Request) (*http.Response, error) {
	t.show("> %s %s", r.Method, r.URL.Redacted())
	t.headers(">", r.Header)
	began := time.Now()
	reply, err := http.DefaultTransport.RoundTrip(r)
	took := time.Since(began).Round(10 * time.Microsecond)
	if err != nil {
		t.requestID = ""
		t.show("< %v, after %v", err, took)
		return nil, err
	}
	t.requestID = reply.Header.Get("Request-Id")
	t.show("< %s, after %v", reply.Status, took)
	t.headers("<", reply.Header)
	return reply, nil
}

func (t *trace) show(format string, values ...any) {
	if t.shows {
		fmt.Fprintln(t.to, printable(fmt.Sprintf(format, values...)))
	}
}

// headers shows headers by name. A signature is a secret too: whoever reads it in time
// could send the request again.
func (t *trace) headers(mark string, h http.Header) {
	secret := []string{"Authorization", "Cookie", "Set-Cookie", "Signature"}
	if t.secretHeader != nil {
		secret = append(secret, http.CanonicalHeaderKey(t.secretHeader()))
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			if slices.Contains(secret, name) {
				value = "REDACTED"
			}
			t.show("%s %s: %s", mark, name, value)
		}
	}
}
