package enginetest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// An org keeps what is stored for it when its code changes, also if another org takes its code.
func TestK19AnOrgChangesItsCode(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) shared{
		"memory":     func(*testing.T) shared { return sharedInMemory() },
		"SQLite":     func(t *testing.T) shared { return sharedInSQL(t, newSQLiteHome(t)) },
		"PostgreSQL": func(t *testing.T) shared { return sharedInSQL(t, newPostgresHome(t)) },
		"Redis":      sharedInRedis,
	} {
		t.Run("K19 "+name, func(t *testing.T) {
			t.Parallel()
			pair, err := token.GeneratePair(2048)
			if err != nil {
				t.Fatal(err)
			}
			changesItsCode(t, newWorld(t, open(t), pair, new(sabotage)))
		})
	}
}

func changesItsCode(t *testing.T, w *world) {
	now := time.Now()
	w.now = func() time.Time { return now }
	cookie := w.login(t, w.account)
	minted, _ := w.mint(t, 0)
	for range 6 { // from the sixth on, the name is delayed
		w.send(t, w.loginWith("second", "wrong"))
	}
	former := w.tenantURL
	w.rename("new-"+w.org[:20], auth.Org{Code: w.org, ID: "another"})

	replies := func(r *http.Request, status int, what string) {
		t.Helper()
		if reply := w.send(t, r); reply.StatusCode != status {
			t.Errorf("%s: status %d, want %d", what, reply.StatusCode, status)
		}
	}
	everything := func(status int, at string) {
		replies(w.signed("GET"), status, "a signed request "+at)
		replies(w.bearing(minted), status, "a token "+at)
		replies(w.cookie(cookie), status, "a session "+at)
	}
	everything(http.StatusOK, "under the new code")
	replies(w.loginWith("second", password), http.StatusTooManyRequests, "a login of a delayed name")
	now = now.Add(time.Hour)
	ticket := w.login(t, "second")
	if !strings.HasPrefix(ticket, "ticket-") {
		t.Error("the second factor is gone")
	}
	code := w.posting("/code", ticket)
	code.Header.Set("Code", codeOf([]byte(w.factor), now))
	replies(code, http.StatusOK, "a code of the second factor")
	if list, err := w.shared.sessions.List(t.Context(), auth.OrgKey(w.org), w.account); err != nil || len(list) != 1 {
		t.Errorf("%d sessions are listed, %v", len(list), err)
	}

	w.tenantURL = former
	now = time.Now()
	everything(http.StatusUnauthorized, "under the former code, which is another org's")
}

// rename gives the world's org another code, and its former code to another org.
func (w *world) rename(code string, other auth.Org) {
	w.directory.PutOrg(auth.Org{Code: code, ID: w.org, FormerCodes: []string{w.org}})
	w.directory.PutOrg(other)
	w.tenantURL = strings.Replace(w.tenantURL, w.org, code, 1)
}

func (w *world) loginWith(login, password string) *http.Request {
	r := w.request("POST", "/login")
	r.Header.Set("Login", login)
	r.Header.Set("Password", password)
	return r
}
