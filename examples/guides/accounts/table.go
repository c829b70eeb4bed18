package accounts

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// Org is the only org. Its ID is in what is stored, and never changes.
var Org = auth.Org{Code: "main", ID: "1", Session: auth.SessionPolicy{Persistent: true}}

// App signs the tokens of all accounts.
const App = "exampleApp000000000001"

// Table stands for the application's table of accounts. It is a Directory of one org.
type Table struct {
	mu   sync.Mutex
	rows map[string]row // by id
}

type row struct {
	auth.Account
	email    string
	password string // encoded; empty: none
}

var (
	_ auth.Directory        = (*Table)(nil)
	_ session.PasswordStore = (*Table)(nil)
)

// Add adds an account. It reports whether the id and the address are new.
func (t *Table) Add(id, email, encoded string, roles ...string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.rows[id]; ok || t.byEmail(email) != "" {
		return false
	}
	if t.rows == nil {
		t.rows = map[string]row{}
	}
	t.rows[id] = row{auth.Account{ID: id, Org: Org.Key(), Roles: roles}, strings.TrimSpace(email), encoded}
	return true
}

// byEmail compares addresses as attempts are counted: without outer spaces, in lower case.
// A name that found an account and was counted apart would have further attempts. In SQL,
// store a column with the result of strings.ToLower: the lower of an engine can differ.
func (t *Table) byEmail(email string) (id string) {
	email = strings.ToLower(strings.TrimSpace(email))
	for id, r := range t.rows {
		if strings.ToLower(r.email) == email {
			return id
		}
	}
	return ""
}

// SetPassword stores an encoded password and the time of the change, in one step. In SQL
// it is one UPDATE.
func (t *Table) SetPassword(id, encoded string, changed time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.rows[id]
	if !ok {
		return auth.ErrNotFound
	}
	r.password = encoded
	r.Changed = changed
	t.rows[id] = r
	return nil
}

// SetEmail stores an address that the account has proved to read. It returns an error if
// another account has it. In SQL a unique index sees to that.
func (t *Table) SetEmail(id, email string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.rows[id]
	if !ok {
		return auth.ErrNotFound
	}
	if other := t.byEmail(email); other != "" && other != id {
		return &auth.Error{Detail: auth.DetailConflict}
	}
	r.email = strings.TrimSpace(email)
	t.rows[id] = r
	return nil
}

// Email returns the address of an account.
func (t *Table) Email(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[id].email
}

// Delete deletes an account.
func (t *Table) Delete(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, id)
}

// Org implements auth.Directory. There is one.
func (t *Table) Org(_ context.Context, code string) (*auth.Org, error) {
	if code != Org.Code {
		return nil, auth.ErrNotFound
	}
	return &Org, nil
}

// App implements auth.Directory.
func (t *Table) App(_ context.Context, clientKey string) (*auth.App, error) {
	if clientKey != App {
		return nil, auth.ErrNotFound
	}
	return &auth.App{ClientKey: App, Org: Org.Key(), Name: "api tokens"}, nil
}

// Account implements auth.Directory.
func (t *Table) Account(_ context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.rows[id]
	if !ok || org != Org.Key() {
		return nil, auth.ErrNotFound
	}
	a := r.Account
	a.Roles = slices.Clone(a.Roles)
	return &a, nil
}

// Roles implements auth.Directory.
func (t *Table) Roles(context.Context, auth.OrgKey, []string) ([]auth.Role, error) { return nil, nil }

// Password implements session.PasswordStore.
func (t *Table) Password(_ context.Context, _ auth.OrgKey, email string) (account, encoded string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := t.byEmail(email)
	if r := t.rows[id]; r.password != "" {
		return id, r.password, nil
	}
	return "", "", auth.ErrNotFound
}
