package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
)

const (
	// maxMembers bounds the members and items of a body, over all levels. A million
	// small ones would cost far more than their bytes.
	maxMembers = 1000

	// maxPublicBody is what a route reads of somebody whom nobody knows yet.
	maxPublicBody = 16 << 10
)

// publicBody bounds the bodies of a route that anybody may call. One that says it
// is longer is refused before anything is read of it.
func publicBody(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > maxPublicBody {
			auth.Fail(w, r, &http.MaxBytesError{Limit: maxPublicBody})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxPublicBody)
		next(w, r)
	}
}

// boundedText passes on JSON text until it is not UTF-8, or has too many members:
// what reads behind it is bounded, whatever it builds.
type boundedText struct {
	from io.Reader

	members int  // commas and brackets outside of strings: a few more than members
	quoted  bool // within a string
	escaped bool // behind its backslash

	split  [utf8.UTFMax]byte // the first bytes of a character whose others are to come
	length int               // of split
}

func (t *boundedText) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if refused := t.check(p[:n]); refused != nil {
		return 0, refused
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
	case err == io.EOF && t.length > 0:
		err = notUTF8
	case err != nil && err != io.EOF:
		err = &auth.Error{Detail: auth.DetailBody, Reason: "ends early", Err: err}
	}
	return n, err
}

var (
	notUTF8        = &auth.Error{Detail: auth.DetailBody, Reason: "not UTF-8"}
	tooManyMembers = &auth.Error{Detail: auth.DetailBody, Reason: fmt.Sprintf("more than %d members", maxMembers)}
)

func (t *boundedText) check(text []byte) error {
	if !t.isUTF8(text) {
		return notUTF8
	}
	for _, c := range text {
		switch {
		case t.escaped:
			t.escaped = false
		case c == '"':
			t.quoted = !t.quoted
		case t.quoted:
			t.escaped = c == '\\'
		case c == ',' || c == '{' || c == '[':
			t.members++
		}
	}
	if t.members > maxMembers {
		return tooManyMembers
	}
	return nil
}

// isUTF8 checks the next part of the text. A character may be split between two.
func (t *boundedText) isUTF8(text []byte) bool {
	for t.length > 0 && len(text) > 0 {
		t.split[t.length] = text[0]
		t.length++
		text = text[1:]
		if utf8.FullRune(t.split[:t.length]) {
			if !utf8.Valid(t.split[:t.length]) {
				return false
			}
			t.length = 0
		}
	}
	// Back to the start of the last character, if it is not whole.
	for from := len(text) - 1; from >= 0 && from >= len(text)-utf8.UTFMax; from-- {
		if !utf8.RuneStart(text[from]) {
			continue
		}
		if !utf8.FullRune(text[from:]) {
			t.length = copy(t.split[:], text[from:])
			text = text[:from]
		}
		break
	}
	return utf8.Valid(text)
}
