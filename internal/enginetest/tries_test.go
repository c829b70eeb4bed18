package enginetest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

// counted is a store of tries and sessions that the test can count.
type counted struct {
	name     string
	attempts session.Attempts
	sessions session.Store
	size     func(t *testing.T) int // rows or keys
}

func countedStores(t *testing.T) (all []counted) {
	t.Helper()
	for _, h := range homes(t) {
		s, db := h.store(t), h.open(t)
		all = append(all, counted{h.name, s.Attempts(), s.Sessions(), func(t *testing.T) int {
			t.Helper()
			return h.held(t, db, "attempts", "sessions")
		}})
	}
	redis := startRedis(t)
	s := storesAt(t, redis.addr())
	return append(all, counted{"Redis", s.attempts, s.sessions, func(t *testing.T) int {
		t.Helper()
		return len(redis.keys(t))
	}})
}

// holds expects a number of rows or keys.
func (c counted) holds(t *testing.T, when string, want int) {
	t.Helper()
	if n := c.size(t); n != want {
		t.Errorf("%s: %d rows or keys, want %d", when, n, want)
	}
}

// countUp counts as a Manager does, and returns the new number.
func countUp(ctx context.Context, attempts session.Attempts, key string) (int, error) {
	for {
		old, err := attempts.Load(ctx, "acme", key)
		if err != nil {
			return 0, err
		}
		n, _ := strconv.Atoi(old)
		done, err := attempts.Swap(ctx, "acme", key, old, strconv.Itoa(n+1))
		if done || err != nil {
			return n + 1, err
		}
	}
}

func TestBudgetOfReturnedTries(t *testing.T) {
	for _, c := range countedStores(t) {
		t.Run(c.name, func(t *testing.T) {
			swap := func(old, record string, want bool) {
				t.Helper()
				if done, err := c.attempts.Swap(t.Context(), "acme", "key", old, record); done != want || err != nil {
					t.Errorf("Swap(%q, %q) = %t, %v", old, record, done, err)
				}
			}
			swap("", "", true)
			swap("1", "2", false)
			c.holds(t, "F14 nothing was counted", 0)
			swap("", "1", true)
			swap("1", "", true)
			c.holds(t, "F14 the only attempt was undone", 0)
			succeed(t, 64, func(int) error {
				if _, err := countUp(t.Context(), c.attempts, "key"); err != nil {
					return err
				}
				for {
					old, err := c.attempts.Load(t.Context(), "acme", "key")
					if err != nil {
						return err
					}
					next := ""
					if n, _ := strconv.Atoi(old); n > 1 {
						next = strconv.Itoa(n - 1)
					}
					if done, err := c.attempts.Swap(t.Context(), "acme", "key", old, next); done || err != nil {
						return err
					}
				}
			})
			c.holds(t, "F14 64 count and undo at once", 0)
		})
	}
}

// TestRefusedTriesWriteNothing lets another client hold the lock that a write needs. A Manager
// refuses an attempt inside a delay by what Load returns: see session.TestBudgetOfRefusedLogins.
func TestRefusedTriesWriteNothing(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			attempts := h.store(t).Attempts()
			if _, err := countUp(t.Context(), attempts, "key"); err != nil {
				t.Fatal(err)
			}
			other := must(h.open(t).Conn(t.Context()))(t)
			defer other.Close()
			hold := "BEGIN IMMEDIATE"
			if h.dialect == sqlstore.PostgreSQL {
				hold = "BEGIN; SELECT * FROM " + h.prefix + "attempts FOR UPDATE"
			}
			must(other.ExecContext(t.Context(), hold))(t)
			defer other.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if record, err := attempts.Load(ctx, "acme", "key"); record != "1" || err != nil {
				t.Errorf("F14 Load = %q, %v", record, err)
			}
		})
	}
}

// TestBudgetOfRefusedLogins counts what a refused login leaves. The clock stands still: a delayed
// try stays delayed.
func TestBudgetOfRefusedLogins(t *testing.T) {
	for _, c := range countedStores(t) {
		t.Run(c.name, func(t *testing.T) {
			w := newLogins(c)
			const near, far = "192.0.2.1", "198.51.100."
			for i := range 100 {
				w.login(t, near, fmt.Sprint("near", i), 401)
			}
			c.holds(t, "100 wrong passwords: a name each, and the address", 101)
			for i := range 50 {
				w.login(t, near, fmt.Sprint("further", i), 429)
			}
			c.holds(t, "F14 a delayed address, 50 names", 101)
			w.login(t, near, "ann", 429)
			c.holds(t, "F14 a delayed address, a name that exists", 101)

			for i := range 5 {
				w.login(t, far+fmt.Sprint(i), "slow", 401)
			}
			c.holds(t, "5 wrong passwords for a name, an address each", 107)
			for i := range 50 {
				w.login(t, far+fmt.Sprint(100+i), "slow", 429)
			}
			c.holds(t, "F14 a delayed name, 50 addresses", 107)

			w.login(t, far+"200", "ann", 200)
			c.holds(t, "a login: its session", 107+c.perSession(t))
			if n := w.hashed.Load(); n != 106 {
				t.Errorf("%d hashes, want one for each login that was heard", n)
			}
		})
	}
}

// perSession is the number of rows or keys of one session.
func (c counted) perSession(t *testing.T) int {
	t.Helper()
	before, one := c.size(t), aSession("else")
	one.Org = "else"
	expect(t, "create", c.sessions.Create(t.Context(), one, 0), nil)
	n := c.size(t) - before
	expect(t, "delete", c.sessions.Delete(t.Context(), one.Org, one.Hash), nil)
	return n
}

// logins is a server that handles only logins.
type logins struct {
	mux    *auth.Mux
	hashed atomic.Int64
}

func newLogins(c counted) *logins {
	w, now := new(logins), time.Now()
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	manager := &session.Manager{
		Store: c.sessions, Attempts: c.attempts, PasswordStore: passwords{"ann"}, Hasher: w,
	}
	// Without the methods of auth.People, with which a name has two counts.
	guard := &auth.Guard{BaseURL: "http://127.0.0.1", Directory: struct{ auth.Directory }{directory}, Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{manager}, Timeout: patience,
		Proxies: auth.Proxies{Header: "Address", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}},
		Now:     func() time.Time { return now }}
	w.mux = guard.Mux()
	w.mux.HandleFunc("POST /login", auth.Public, func(rw http.ResponseWriter, r *http.Request) {
		if _, err := manager.Login(rw, r, session.LoginForm{Login: r.Header.Get("Login"), Password: password}); err != nil {
			auth.Fail(rw, r, err)
		}
	})
	return w
}

func (w *logins) Hash(password string) (string, error) { return password + "?", nil }

func (w *logins) Verify(encoded, password string) (ok, rehash bool) {
	w.hashed.Add(1)
	return encoded == password, false
}

func (w *logins) login(t *testing.T, address, name string, status int) {
	t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), "POST", "http://127.0.0.1/acme/v2/login", nil)
	r.Header.Set("Login", name)
	r.Header.Set("Address", address)
	rec := httptest.NewRecorder()
	w.mux.ServeHTTP(rec, r)
	if rec.Code != status {
		t.Errorf("%s from %s: %d %s", name, address, rec.Code, rec.Body)
	}
}
