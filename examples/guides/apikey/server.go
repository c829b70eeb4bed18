// Package apikey is a server whose partners use API keys.
package apikey

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// Formats are the keys of this deployment. The first one is for new keys.
var Formats = []apikey.Format{{Prefix: "acme_live"}, {Prefix: "acme_test"}}

// Server has the routes of a partner, and those of the people who make keys for it.
type Server struct {
	Store      *sqlstore.Store
	Directory  auth.Directory
	Mechanisms []auth.Mechanism                           // how people log in, such as a session.Manager
	Tell       func(ctx context.Context, r apikey.Record) // informs the owner of a key that has leaked

	keys apikey.Keys
}

// Mux returns the routes.
func (s *Server) Mux() *auth.Mux {
	mechanism := &apikey.Mechanism{Formats: Formats, Store: s.Store.APIKeys(), Stale: 2 * time.Second}
	s.keys = mechanism.Keys()
	guard := &auth.Guard{
		BaseURL:    "https://api.example.com",
		Directory:  s.Directory,
		Mechanisms: append(s.Mechanisms, mechanism),
		Roles:      auth.RolesLimit, // else each session may do everything, and is an administrator below
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(w http.ResponseWriter, r *http.Request) {
		auth.Reply(w, r, envelope.Result[string]{Data: "notes of " + auth.From(r.Context()).Account})
	})
	fresh := auth.Allow("admin.update").Fresh(10 * time.Minute)
	mux.Handle("POST /keys", fresh, body.Handle(s.make))
	mux.HandleFunc("GET /keys", auth.Allow("admin.read"), s.list)
	mux.Handle("POST /keys/{id}/replace", fresh, body.Handle(s.replace))
	mux.HandleFunc("DELETE /keys/{id}", auth.Allow("admin.update"), s.revoke)
	mux.Handle("POST /leaks", auth.Public, body.Handle(s.leaked))
	return mux
}

// administrator returns the caller. Its route lets in only those whose role permits admin.update.
func administrator(r *http.Request) auth.Principal {
	return auth.From(r.Context()).AsAdministrator(true)
}

type newKey struct {
	Account string   `json:"account"`
	Name    string   `json:"name"`
	Scope   []string `json:"scope"`
	Days    int      `json:"days"`
}

// shown is a key with its text, the only time that it is shown.
type shown struct {
	ID      string    `json:"id"`
	Key     string    `json:"key"`
	Expires time.Time `json:"expires"`
}

func (s *Server) make(_ http.ResponseWriter, r *http.Request, ask newKey) (envelope.Result[shown], error) {
	tenant := auth.TenantFrom(r.Context())
	key, record, err := s.keys.Make(r.Context(), administrator(r), tenant, apikey.Grant{
		Account: ask.Account, Name: ask.Name, Scope: ask.Scope, Expires: tenant.Now().AddDate(0, 0, ask.Days),
	})
	return envelope.Result[shown]{Data: shown{record.ID, string(key), record.Expires}}, err
}

type replacement struct {
	Overlap int `json:"overlap"` // minutes in which both keys work
	Days    int `json:"days"`
}

func (s *Server) replace(_ http.ResponseWriter, r *http.Request, ask replacement) (envelope.Result[shown], error) {
	tenant := auth.TenantFrom(r.Context())
	now := tenant.Now()
	key, record, err := s.keys.Replace(r.Context(), administrator(r), tenant, r.PathValue("id"),
		now.Add(time.Duration(ask.Overlap)*time.Minute), now.AddDate(0, 0, ask.Days))
	return envelope.Result[shown]{Data: shown{record.ID, string(key), record.Expires}}, err
}

// listed is a key without its secret.
type listed struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Account string    `json:"account"`
	Expires time.Time `json:"expires,omitzero"`
	Seen    time.Time `json:"seen,omitzero"`
	From    string    `json:"from,omitempty"`
}

// list shows a page of the org's keys; with ?ending only those that end within 14 days.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	tenant := auth.TenantFrom(r.Context())
	of := apikey.Of{Org: tenant.Org.Key()}
	if r.URL.Query().Has("ending") {
		of.EndsBefore = tenant.Now().AddDate(0, 0, 14)
	}
	page, next, err := s.Store.APIKeys().List(r.Context(), of, r.URL.Query().Get("after"), 100)
	if err != nil {
		auth.Fail(w, r, err)
		return
	}
	keys := []listed{}
	for _, k := range page {
		from := ""
		if k.From.IsValid() {
			from = k.From.String()
		}
		keys = append(keys, listed{k.ID, k.Name, k.Account, k.Expires, k.Seen, from})
	}
	w.Header().Set("Acme-Next", next)
	auth.Reply(w, r, envelope.Result[[]listed]{Data: keys})
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	if err := s.keys.Revoke(r.Context(), auth.TenantFrom(r.Context()).Org.Key(), r.PathValue("id")); err != nil {
		auth.Fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type report struct {
	Key string `json:"key"`
}

// leaked ends the key of a report. Whoever has found all of a key may end it, without a credential.
func (s *Server) leaked(_ http.ResponseWriter, r *http.Request, found report) (envelope.Result[string], error) {
	record, err := s.keys.RevokeLeaked(r.Context(), found.Key)
	if err != nil {
		return envelope.Result[string]{}, err
	}
	slog.WarnContext(r.Context(), "a leaked API key was revoked", "org", record.Org, "id", record.ID)
	s.Tell(r.Context(), record)
	return envelope.Result[string]{Data: record.ID}, nil
}
