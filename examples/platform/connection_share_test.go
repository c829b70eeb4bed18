package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// inside runs a platform with demo data, and gives the test access to its parts.
func inside(t *testing.T, args ...string) (*server, *platform) {
	t.Helper()
	p := parts(t, io.Discard, args...)
	f, err := p.seed(t.Context(), options{demoMessages: fewMessages})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(p.handler(p.routes()))
	t.Cleanup(h.Close)
	f.BaseURL = h.URL
	return &server{facts: *f, brand: "Service-", faults: "service"}, p
}

// hold takes all connections of routes, as slow queries would, until release is
// called.
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
	for _, pool := range []*sql.DB{s.db, s.objects} {
		for pool.Stats().InUse < routeConnections {
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
	t.Parallel()
	for name, db := range map[string]string{
		"memory": memoryDB,
		"SQLite": sqliteDB + filepath.Join(t.TempDir(), "platform.db"),
	} {
		t.Run(name, func(t *testing.T) {
			s, p := inside(t, "-db", db)
			rows, err := p.store.objects.QueryContext(t.Context(), "SELECT id FROM platform_c_messages")
			if err != nil || !rows.Next() {
				t.Fatal(err)
			}
			defer rows.Close() // a reader of objects stays open all the time
			defer p.store.hold(t)()

			s.do(t, call{path: "/schemas", other: true}).ok(t)
			r, err := http.NewRequest("GET", s.BaseURL+"/"+s.Org+"/v2/schemas", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+s.LimitedToken) // each use is written
			send(t, r).ok(t)
			login := call{method: "POST", path: "/accounts/login", unsigned: true, body: `{"email":"` + s.AccountEmail + `","password":"wrong"}`}
			if got := s.do(t, login); got.status != 401 {
				t.Errorf("a wrong password: %d %s", got.status, got.text)
			}
		})
	}
}

// TestPagesOfOneAccount asks for more pages at once than one account may read,
// while none of them can continue.
func TestPagesOfOneAccount(t *testing.T) {
	t.Parallel()
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

// TestPagesOfOneOrg runs as many slow queries as the accounts of one org may run
// together. A further account waits in vain, and another org does not wait.
func TestPagesOfOneOrg(t *testing.T) {
	t.Parallel()
	s, p := inside(t)
	late := s.account(t, `{"email":"late@acme.example","password":"correct horse","roles":["member"]}`)["_id"].(string)
	token := s.mint(t, "", wish(late, ""))["token"].(string)
	var end []func()
	for n := range queriesPerOrg {
		account := fmt.Sprint("account ", n/queriesEach)
		leave, err := p.store.queries.enter(auth.With(t.Context(), auth.Principal{Org: acme, Account: account}))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := p.store.objects.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end = append(end, func() { conn.Close(); leave() })
	}
	const page = "/c_messages?limit=1"
	got := s.bearing(t, token, "GET", page, "")
	s.refused(t, got, 429, "throttled.unspecified")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
	}
	rename := call{method: "PATCH", path: "/admin/accounts/" + late, body: `{"name":"Later"}`}
	s.refused(t, s.do(t, rename), 429, "throttled.unspecified")
	s.do(t, call{path: page, other: true}).ok(t)
	for _, end := range end {
		end()
	}
	s.do(t, rename).ok(t)
	s.bearing(t, token, "GET", page, "").ok(t)
}

func TestShare(t *testing.T) {
	t.Parallel()
	as := func(t *testing.T, org, account string) context.Context {
		return auth.With(t.Context(), auth.Principal{Org: auth.OrgKey(org), Account: account})
	}
	// refused calls enter for a caller that gets no slot.
	refused := func(t *testing.T, s *share, ctx context.Context) {
		t.Helper()
		began := time.Now()
		if _, err := s.enter(ctx); err == nil || time.Since(began) != s.wait {
			t.Errorf("one more: %v after %v", err, time.Since(began))
		}
	}
	// enter takes n slots.
	enter := func(t *testing.T, s *share, ctx context.Context, n int) (leave []func()) {
		t.Helper()
		for range n {
			one, err := s.enter(ctx)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, one)
		}
		return leave
	}
	for name, fill := range map[string]func(*testing.T, *share) []func(){
		"by one account": func(t *testing.T, s *share) []func() {
			return enter(t, s, as(t, acme, "ann"), 2)
		},
		"by one org": func(t *testing.T, s *share) []func() {
			return append(enter(t, s, as(t, acme, "bob"), 2), enter(t, s, as(t, acme, "cid"), 1)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShare(2, 3, time.Second)
				leave := fill(t, s)
				refused(t, s, as(t, acme, "ann"))
				leave = append(leave, enter(t, s, as(t, "globex", "ann"), 2)...)
				gone, cancel := context.WithCancel(as(t, acme, "ann"))
				cancel()
				if _, err := s.enter(gone); !errors.Is(err, context.Canceled) {
					t.Errorf("one that goes away: %v", err)
				}
				time.AfterFunc(s.wait/2, leave[0])
				third := enter(t, s, as(t, acme, "ann"), 1) // after it has got a slot
				refused(t, s, as(t, acme, "ann"))
				for _, leave := range append(leave[1:], third...) {
					leave()
				}
				if len(s.slots) != 0 {
					t.Errorf("%d accounts and orgs kept", len(s.slots))
				}
			})
		})
	}
}

// TestChangesOfOneAccount changes more objects at once than there are connections, while
// none of the changes can continue. Connections are left for others.
func TestChangesOfOneAccount(t *testing.T) {
	t.Parallel()
	const asked = routeConnections + 10
	s, p := inside(t)
	blocking, err := begin(t.Context(), p.store.objects) // the lock of all who write
	if err != nil {
		t.Fatal(err)
	}
	defer blocking.Rollback()
	before := p.store.objects.Stats().InUse
	answers := make(chan answer, asked)
	for range asked {
		go func() {
			answers <- s.do(t, call{method: "POST", path: "/c_messages", account: s.AccountID, body: `{"c_text":"one of many"}`})
		}()
	}
	for deadline := time.Now().Add(5 * time.Second); p.store.changes.waiting() < asked && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if used := p.store.objects.Stats().InUse - before; used > changesEach {
		t.Errorf("the changes of one account hold %d connections", used)
	}
	if err := blocking.Rollback(); err != nil {
		t.Fatal(err)
	}
	for range asked {
		(<-answers).ok(t)
	}
}

// waiting counts the callers that have a slot of their own or wait for one.
func (s *share) waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for whose, p := range s.slots {
		if whose.name != "" {
			n += p.users
		}
	}
	return n
}
