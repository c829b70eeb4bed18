package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestANoteIsAddedOnce repeats a request, as a client does that has lost the response.
func TestANoteIsAddedOnce(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		editor := w.login(t, acme, "ed@acme.example")
		var first string
		for i := range 3 {
			r, err := http.NewRequest(http.MethodPost, acme+"/notes", strings.NewReader(`{"title":"once","body":"more"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", "note-1")
			res, err := editor.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if i == 0 {
				first = string(body)
			}
			if err != nil || res.StatusCode != 200 || string(body) != first || (res.Header.Get("Idempotent-Replayed") == "true") != (i > 0) {
				t.Errorf("request %d: %d %s %v", i, res.StatusCode, body, err)
			}
		}
		if n := one[int](t, w.db, "SELECT COUNT(*) FROM notes WHERE title = 'once'"); n != 1 {
			t.Errorf("%d notes", n)
		}
	})
}
