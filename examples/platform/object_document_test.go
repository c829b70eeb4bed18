package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzDocument compares cutDocument with encoding/json. cutDocument must find each
// value of valid JSON, and must not panic on other texts.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, ` { "a" : [1, {"b": "}\"]"}] , "c" : null } `, `{"a":{"b":{"c":"\\"}}}`, `{"a":"\u003c","b":-1.5e3,"c":true}`, `{"\u0061":1,"\\":2}`, `{"\u":1}`,
		``, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":[}`, `[1]`, `{"a":"`, `{"a":"\`, `{a:1}`, `{"a":1`, `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := cutDocument(text)
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		seen := make(map[string]json.RawMessage)
		for _, p := range got {
			seen[p.name] = p.value
		}
		for name, value := range want {
			if !utf8.Valid(text) {
				continue // no database stores such a text
			}
			if !bytes.Equal(seen[name], value) {
				t.Errorf("%q: %s is %q, want %q", text, name, seen[name], value)
			}
		}
	})
}
