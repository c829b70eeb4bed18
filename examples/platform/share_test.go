package main

import (
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// inside runs a platform with demo data whose parts the test can reach.
func inside(t *testing.T, args ...string) (*server, *platform) {
	t.Helper()
	p := parts(t, io.Discard, args...)
	f, err := p.seed(t.Context(), auth.SessionPolicy{})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(p.handler(p.routes()))
	t.Cleanup(h.Close)
	f.BaseURL = h.URL
	return &server{facts: *f, brand: "Service-", faults: "service"}, p
}

// hold takes all connections that routes have, as slow queries would, until
// release is called.
func (s *store) hold(t *testing.T) (release func()) {
	t.Helper()
	var held []*sql.Conn
	release = func() {
		for _, conn := range held {
			conn.Close()
		}
		held = nil
	}
	t.Cleanup(func() { release() })
	for _, pool := range s.pools() {
		for pool != s.guarded && pool.Stats().InUse < routeConnections {
			conn, err := pool.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, conn)
		}
	}
	return release
}

func TestTheGuardHasItsOwnConnections(t *testing.T) {
	for name, db := range map[string]string{
		"memory": memoryDB,
		"SQLite": sqliteDB + filepath.Join(t.TempDir(), "platform.db"),
	} {
		t.Run(name, func(t *testing.T) {
			s, p := inside(t, "-db", db)
			rows, err := p.store.objects.QueryContext(t.Context(), "SELECT id FROM platform_objects")
			if err != nil || !rows.Next() {
				t.Fatal(err)
			}
			defer rows.Close() // somebody reads objects, all the time
			defer p.store.hold(t)()

			s.do(t, call{path: "/schemas", other: true}).ok(t)
			r, err := http.NewRequest("GET", s.BaseURL+"/"+s.Org+"/v2/schemas", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+s.LimitedToken) // a use of it is written
			send(t, r).ok(t)
			login := call{method: "POST", path: "/accounts/login", unsigned: true, body: `{"email":"` + s.AccountEmail + `","password":"wrong"}`}
			if got := s.do(t, login); got.status != 401 {
				t.Errorf("a wrong password: %d %s", got.status, got.text)
			}
		})
	}
}

// TestPagesOfOneAccount asks for more pages at once than one account may read,
// while none of them gets on.
func TestPagesOfOneAccount(t *testing.T) {
	const asked = queriesEach + 6
	s, p := inside(t)
	release := p.store.hold(t)
	answers, other := make(chan answer, asked), make(chan answer, 1)
	for range asked {
		go func() { answers <- s.do(t, call{path: "/c_messages?limit=1", account: s.AccountID}) }()
	}
	go func() { other <- s.do(t, call{path: "/c_messages?limit=1", account: s.TOTPAccountID}) }()
	for range asked - queriesEach {
		got := <-answers
		s.refused(t, got, 429, "throttled.unspecified")
		if got.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
		}
	}
	release()
	for range queriesEach {
		(<-answers).ok(t)
	}
	(<-other).ok(t)
	s.do(t, call{path: "/c_messages?limit=1", account: s.AccountID}).ok(t)
}

func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShare(2, time.Second)
		ann := auth.With(t.Context(), auth.Principal{Org: acme, Account: "ann"})
		first, err := s.enter(ann)
		second, _ := s.enter(ann)
		if err != nil || first == nil || second == nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := s.enter(ann); err == nil || time.Since(began) != time.Second {
			t.Errorf("a third: %v after %v", err, time.Since(began))
		}
		time.AfterFunc(time.Second/2, first)
		third, err := s.enter(ann)
		if err != nil {
			t.Fatalf("one that waits for a place: %v", err)
		}
		second()
		third()
		if len(s.places) != 0 {
			t.Errorf("%d accounts kept", len(s.places))
		}
	})
}
