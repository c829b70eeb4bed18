package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// letter is a mechanism for tests: its header names the account, or a failure.
type letter struct {
	name     string
	presence auth.Presence
	ran      *int // counts authentications
}

func (m letter) header() string { return "Letter-" + m.name }

func (m letter) Name() string { return m.name }

func (letter) Bind(*auth.Settings) error { return nil }

func (m letter) Presented(r *http.Request) auth.Presence {
	if r.Header.Get(m.header()) == "" {
		return auth.Absent
	}
	return m.presence
}

func (m letter) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	if m.ran != nil {
		*m.ran++
	}
	switch id := r.Header.Get(m.header()); id {
	case "forged":
		return auth.Principal{}, &auth.Error{Detail: auth.DetailInvalidCredentials, Err: errors.New("forged letter")}
	case "storeless":
		return auth.Principal{}, auth.ErrUnavailable
	case "foreign":
		return auth.Principal{Org: "globex", Account: "eve", Mechanism: m.name}, nil
	case "expired":
		return auth.Principal{Org: "acme", Account: "eve", Mechanism: m.name}, &auth.Error{Detail: auth.DetailSessionExpired}
	case "panicking":
		panic("a bug in a store")
	case "polling":
		for ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		return auth.Principal{}, ctx.Err()
	case "hanging":
		<-ctx.Done()
		return auth.Principal{}, ctx.Err()
	default:
		account, err := t.Account(ctx, id)
		if errors.Is(err, auth.ErrNotFound) {
			err = &auth.Error{Detail: auth.DetailInvalidCredentials, Err: err}
		}
		if err != nil {
			return auth.Principal{}, err
		}
		return auth.Principal{Org: auth.OrgKey(t.Org.Code), Account: account.ID, Caller: account.ID,
			Mechanism: m.name, Scope: scope.Unscoped(), Granted: scope.Unscoped()}, nil
	}
}

func (m letter) Challenge(_ *auth.Tenant, err error) string {
	if err != nil {
		return m.name + ` error="invalid"`
	}
	return m.name
}

// directory holds the orgs acme and globex with an account each, and a disabled org.
func directory() *auth.Memory {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "acme"})
	d.PutOrg(auth.Org{Code: "globex"})
	d.PutOrg(auth.Org{Code: "closed", Disabled: true})
	d.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}})
	d.PutAccount(auth.Account{ID: "off", Org: "acme", Disabled: true})
	d.PutAccount(auth.Account{ID: "gus", Org: "globex"})
	d.PutApp(auth.App{ClientKey: "acmekey", Org: "acme"})
	d.PutApp(auth.App{ClientKey: "globexkey", Org: "globex"})
	return d
}

func guard() *auth.Guard {
	return &auth.Guard{
		Roles:      auth.RolesDoNotLimit,
		BaseURL:    "https://api.example.test",
		Directory:  directory(),
		Mechanisms: []auth.Mechanism{letter{name: "Wax", presence: auth.InHeader}},
	}
}

// knows adds mechanisms that no request presents, for needs that name them.
func knows(g *auth.Guard, names ...string) *auth.Guard {
	for _, name := range names {
		if !slices.ContainsFunc(g.Mechanisms, func(m auth.Mechanism) bool { return m.Name() == name }) {
			g.Mechanisms = append(g.Mechanisms, letter{name: name})
		}
	}
	return g
}

// whoami answers with the principal's account.
var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	auth.Reply(w, r, envelope.Result[string]{Data: auth.From(r.Context()).Account})
})

// part is a handler behind Some that does not narrow.
func part(h http.Handler) auth.PartHandler {
	return func(w http.ResponseWriter, r *http.Request, _ scope.Part) { h.ServeHTTP(w, r) }
}

// do sends a request with header pairs straight to a handler.
func do(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// errCode returns the errCode of a fault, "" for another body.
func errCode(t testing.TB, body []byte) string {
	t.Helper()
	var fault struct{ Object, ErrCode string }
	if err := json.Unmarshal(body, &fault); err != nil {
		t.Fatalf("body is not JSON: %q", body)
	}
	if fault.Object != "fault" {
		return ""
	}
	return fault.ErrCode
}
