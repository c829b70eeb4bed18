package coming_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/examples/guides/coming"
)

const (
	ann, bob = "ann@example.com", "bob@example.com"
	password = "correct horse"
)

// oldSessions stands for scs.
type oldSessions struct {
	user string
	err  error
}

func (o *oldSessions) GetString(context.Context, string) string { return o.user }

func (o *oldSessions) Destroy(context.Context) error {
	if o.err == nil {
		o.user = ""
	}
	return o.err
}

type server struct {
	t     *testing.T
	users coming.Users
	old   oldSessions
	clock *authtest.Clock
	url   string
}

func newServer(t *testing.T) *server {
	s := &server{t: t, clock: authtest.NewClock(time.UnixMilli(1_790_000_000_000))}
	s.users.Put(ann, must(coming.Bcrypt{Cost: bcrypt.DefaultCost}.Hash(password)))
	s.users.Put(bob, must(session.PBKDF2{}.Hash(password)))
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme", Session: coming.Policy()})
	directory.PutAccount(auth.Account{ID: ann, Org: "acme"})
	directory.PutAccount(auth.Account{ID: bob, Org: "acme"})
	memory := &session.Memory{Now: s.clock.Now}
	sessions := coming.NewManager(&s.users, memory)
	guard := &auth.Guard{BaseURL: "http://localhost", Directory: directory, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{sessions}, Now: s.clock.Now}
	mux := guard.Mux()
	mux.HandleFunc("POST /login", auth.Public, coming.Login(sessions))
	mux.HandleFunc("POST /takeover", auth.Public, coming.TakeOver(sessions, &s.old))
	mux.HandleFunc("GET /me", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		auth.Reply(w, r, envelope.Result[string]{Data: auth.From(r.Context()).Account})
	})
	http := httptest.NewServer(mux)
	t.Cleanup(http.Close)
	s.url = http.URL + "/acme/v2"
	return s
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func browser() *http.Client { return &http.Client{Jar: must(cookiejar.New(nil))} }

func (s *server) login(c *http.Client, pairs ...string) *http.Response {
	s.t.Helper()
	return s.post(c, "/login", append([]string{"password", password}, pairs...)...)
}

func (s *server) post(c *http.Client, path string, pairs ...string) *http.Response {
	s.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	reply, err := c.PostForm(s.url+path, form)
	if err != nil {
		s.t.Fatal(err)
	}
	reply.Body.Close()
	return reply
}

func (s *server) me(c *http.Client) int {
	s.t.Helper()
	reply, err := c.Get(s.url + "/me")
	if err != nil {
		s.t.Fatal(err)
	}
	reply.Body.Close()
	return reply.StatusCode
}

func TestPasswordsOfBcrypt(t *testing.T) {
	s := newServer(t)
	if reply := s.login(browser(), "email", ann, "password", "wrong"); reply.StatusCode != 401 {
		t.Errorf("a wrong password: %d", reply.StatusCode)
	}
	for range 2 {
		for _, email := range []string{ann, bob} {
			if reply := s.login(browser(), "email", email); reply.StatusCode != 200 {
				t.Errorf("%s: %d", email, reply.StatusCode)
			}
		}
	}
	_, encoded, _ := s.users.Password(t.Context(), "acme", ann)
	if !strings.HasPrefix(encoded, "$pbkdf2-sha256$") {
		t.Errorf("after a login it is still %.4s", encoded)
	}
}

// bcrypt reads 72 bytes, and services have cut longer passwords.
func TestLongPasswordsOfBcrypt(t *testing.T) {
	s := newServer(t)
	long := strings.Repeat("x", 80)
	s.users.Put(ann, must(coming.Bcrypt{Cost: bcrypt.MinCost}.Hash(long[:72])))
	for range 2 {
		if reply := s.login(browser(), "email", ann, "password", long); reply.StatusCode != 200 {
			t.Errorf("%d", reply.StatusCode)
		}
	}
	if reply := s.login(browser(), "email", ann, "password", long[:72]); reply.StatusCode != 401 {
		t.Errorf("the new record is of the first 72 bytes: %d", reply.StatusCode)
	}
}

func TestRemembered(t *testing.T) {
	s := newServer(t)
	for remember, lasts := range map[string]time.Duration{"": 24 * time.Hour, "on": 30 * 24 * time.Hour} {
		reply := s.login(browser(), "email", bob, "remember", remember)
		cookies := reply.Cookies()
		if len(cookies) != 1 || cookies[0].MaxAge != int(lasts/time.Second) {
			t.Errorf("remember %q: %v", remember, cookies)
		}
	}
	ordinary, remembered := browser(), browser()
	s.login(ordinary, "email", bob)
	s.login(remembered, "email", bob, "remember", "on")
	s.clock.Advance(3 * time.Hour)
	if a, b := s.me(ordinary), s.me(remembered); a != 401 || b != 200 {
		t.Errorf("after three hours: %d, %d", a, b)
	}
}

func TestTakeOver(t *testing.T) {
	s := newServer(t)
	c := browser()
	if reply := s.post(c, "/takeover"); reply.StatusCode != 401 || s.me(c) != 401 {
		t.Errorf("without a session of scs: %d", reply.StatusCode)
	}
	s.old = oldSessions{user: ann, err: errors.New("the store of scs is down")}
	if reply := s.post(c, "/takeover"); reply.StatusCode != 503 || s.me(c) != 401 {
		t.Errorf("a session that does not end: %d", reply.StatusCode)
	}
	s.old.err = nil
	r := must(http.NewRequestWithContext(t.Context(), "POST", s.url+"/takeover", nil))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	reply := must(c.Do(r))
	reply.Body.Close()
	if reply.StatusCode != 403 || s.old.user != ann {
		t.Errorf("from another site: %d", reply.StatusCode)
	}
	if reply := s.post(c, "/takeover"); reply.StatusCode != 200 || s.me(c) != 200 {
		t.Errorf("%d", reply.StatusCode)
	}
	if reply := s.post(browser(), "/takeover"); reply.StatusCode != 401 {
		t.Errorf("again: %d", reply.StatusCode)
	}
}

// BenchmarkMigrating measures how long a wrong password takes, as medians in
// milliseconds. The times must not tell which names exist. The cases take turns, so that
// other load on the machine slows all of them.
func BenchmarkMigrating(b *testing.B) {
	old, present := coming.Bcrypt{Cost: bcrypt.DefaultCost}, session.PBKDF2{}
	oldEncoding, newEncoding := must(old.Hash(password)), must(present.Hash(password))
	for name, hasher := range map[string]session.Hasher{"Migrating": session.Migrating(old, present), "ByPrefix": byPrefix{old, present}} {
		b.Run(name, func(b *testing.B) {
			cases := map[string]string{
				"unknown": must(hasher.Hash("nobody's password")), "old": oldEncoding, "new": newEncoding,
				"malformed-old": oldEncoding[:40], "malformed-new": newEncoding[:40],
			}
			took := map[string][]time.Duration{}
			for b.Loop() {
				for name, encoded := range cases {
					start := time.Now()
					hasher.Verify(encoded, "wrong")
					took[name] = append(took[name], time.Since(start))
				}
			}
			for name, all := range took {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, name+"-ms")
			}
		})
	}
}

// byPrefix is the Hasher that one writes first. It tells by its time what is stored.
type byPrefix struct{ old, present session.Hasher }

func (h byPrefix) Hash(password string) (string, error) { return h.present.Hash(password) }

func (h byPrefix) Verify(encoded, password string) (ok, rehash bool) {
	if strings.HasPrefix(encoded, "$2") {
		ok, _ = h.old.Verify(encoded, password)
		return ok, ok
	}
	return h.present.Verify(encoded, password)
}
