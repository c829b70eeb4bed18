package session_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
)

func TestManagerKeepsTheContract(t *testing.T) {
	w := newWorld(t, realTime)
	// One cookie for all orgs, so that another org gets it, too.
	manager := &session.Manager{Store: w.stores, Attempts: w.stores, Cookies: session.Cookies{Session: "session"}}
	with := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "__Host-session", Value: value}) }
	}
	open := func() string {
		var token [32]byte
		rand.Read(token[:])
		hash, now := sha256.Sum256(token[:]), time.Now()
		// Long unused, so that each use is written.
		if err := w.memory.Sessions().Create(t.Context(), session.Session{Hash: hash, ID: hex.EncodeToString(hash[:16]), Org: "acme", Account: "ann",
			Created: now, Authenticated: now, Seen: now.Add(-10 * time.Minute), Expires: now.Add(time.Hour)}, 0); err != nil {
			t.Fatal(err)
		}
		return session.Text(token)
	}
	ended := open()
	if _, err := w.memory.Sessions().DeleteAll(t.Context(), "acme", "ann", ""); err != nil {
		t.Fatal(err)
	}
	authtest.CheckMechanism(t, authtest.Candidate{
		Mechanism: manager, Directory: w.directory, Org: "acme",
		Present: func(r *http.Request) { with(open())(r) },
		Refused: map[string]func(*http.Request){
			"a session that has ended": with(ended),
			"one that never was":       with(session.Text([32]byte{1})),
			"no token":                 with("x"),
		},
		Records: func() int { return w.stores.count("Touch") },
		Break: func(broken bool) {
			var err error
			if broken {
				err = errors.New("broken")
			}
			w.stores.set("Get", err)
		},
		Proof: true,
	})
}
