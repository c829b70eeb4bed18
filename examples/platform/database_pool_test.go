package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

func TestStatementsAreKeptAndBounded(t *testing.T) {
	t.Parallel()
	p, err := openPool("sqlite", memorySource(), 4)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	// Concurrent clients use more texts than the pool keeps.
	var all sync.WaitGroup
	for client := range 8 {
		all.Go(func() {
			for n := range 3 * keptStatements {
				want, got := client*n, 0
				text := fmt.Sprintf("SELECT $1 + 0 * %d", n)
				rows, err := p.QueryContext(t.Context(), text, want)
				if err != nil {
					t.Error(err)
					return
				}
				if !rows.Next() || rows.Scan(&got) != nil || rows.Close() != nil || got != want {
					t.Errorf("%s: got %d, want %d", text, got, want)
				}
				if err := p.QueryRowContext(t.Context(), "SELECT $1", n).Scan(&got); err != nil || got != n {
					t.Errorf("got %d, want %d: %v", got, n, err)
				}
			}
		})
	}
	all.Wait()
	if len(p.kept) != keptStatements {
		t.Errorf("%d are kept, want %d", len(p.kept), keptStatements)
	}
	var none int
	if err := p.QueryRowContext(t.Context(), "no SQL").Scan(&none); err == nil || err == sql.ErrNoRows {
		t.Errorf("no SQL: %v", err)
	}
}

// TestWhatTheGuardAsksTheDatabaseFor takes all of the Guard's connections away. A
// request that needs a statement then gets no answer. capacity.md states which ones
// do, for -db memory:.
func TestWhatTheGuardAsksTheDatabaseFor(t *testing.T) {
	t.Parallel()
	s, p := inside(t)
	b := s.browser(t)
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	request := func(prepare func(*http.Request)) *http.Request {
		r, err := http.NewRequest("GET", s.BaseURL+"/"+s.Org+"/v2/c_messages?limit=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		prepare(r)
		return r
	}
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	answered := func(prepare func(*http.Request), within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		reply, err := http.DefaultClient.Do(request(prepare).WithContext(ctx))
		if err != nil {
			return false
		}
		defer reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	}
	for _, test := range []struct {
		name  string
		with  func(*http.Request)
		needs bool
	}{
		{"a bearer token that is ephemeral", bearer(s.EphemeralToken), false},
		{"a bearer token with a use count", bearer(s.LimitedToken), true},
		{"a signature", func(r *http.Request) { s.sign(r, "/c_messages", s.ClientKey, s.ClientSecret) }, true},
		{"a session", func(r *http.Request) {
			for _, c := range b.jar.Cookies(r.URL) {
				r.AddCookie(c)
			}
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			held := func(within time.Duration) bool {
				if !answered(test.with, patience) { // the cache is fresh
					t.Fatal("refused")
				}
				for range guardConnections {
					conn, err := p.store.guarded.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
				}
				return answered(test.with, within)
			}
			if test.needs {
				if held(100 * time.Millisecond) {
					t.Error("answered without the database")
				}
				return
			}
			// On a busy machine the cache may have become stale.
			for range 20 {
				if held(directoryStale) {
					return
				}
			}
			t.Error("not answered without the database")
		})
	}
}
