package main

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/token"
)

type service struct {
	db          *sql.DB
	directory   *auth.CachedDirectory
	store       *sqlstore.Store
	credentials *sqlstore.Credentials
	keys        *sqlstore.Keys
	sessions    *session.Manager
	tokens      *bearer.Mechanism
	pages       *sqlpage.Pages
	repeats     *idempotency.Keys
	behind      auth.Proxies
}

// newService makes the service over its database. The library's tables are in it, too, and begin
// with auth_. key is 32 random bytes, kept apart from the database.
func newService(ctx context.Context, db *sql.DB, dialect sqlstore.Dialect, key []byte, behind auth.Proxies) (*service, error) {
	sealer, err := sqlstore.NewSealer(key)
	if err != nil {
		return nil, err
	}
	store, err := sqlstore.Open(ctx, db, dialect, sqlstore.Options{Prefix: "auth_", Sealer: sealer})
	if err != nil {
		return nil, err // says which setting of the engine to change, and how
	}
	found := &directory{db: db}
	found.cached = auth.Cached(found, 0)
	s := &service{db: db, store: store, directory: found.cached, pages: &sqlpage.Pages{DB: db, Dialect: dialect}, behind: behind}
	if s.credentials, err = store.Credentials(); err != nil {
		return nil, err
	}
	if s.keys, err = store.Keys(); err != nil {
		return nil, err
	}
	repeats, err := store.Idempotency()
	if err != nil {
		return nil, err
	}
	s.repeats = idempotency.New(repeats, idempotency.Options{})
	factors, err := store.Factors()
	if err != nil {
		return nil, err
	}
	deviceKey, err := hkdf.Key(sha256.New, key, nil, "device cookies", 32)
	if err != nil {
		return nil, err
	}
	s.tokens = &bearer.Mechanism{
		Keys: token.Cached(s.keys, 0), Signers: s.keys, Ledger: store.Ledger(), Cache: &token.Cache{},
	}
	s.sessions = &session.Manager{
		Store: store.Sessions(), Attempts: store.Attempts(), FactorStore: factors,
		PasswordStore: passwords{db}, Hasher: session.Migrating(oldHasher{bcrypt.DefaultCost}, session.PBKDF2{}),
		DeviceKey: session.NewDeviceKey(deviceKey),
	}
	return s, nil
}

// guard is for tenants below the host of baseURL.
func (s *service) guard(baseURL *url.URL) *auth.Guard {
	return &auth.Guard{
		BaseURL:   baseURL.String(),
		Directory: s.directory,
		Resolve:   resolve(baseURL),
		Versions:  []string{"v1"},

		OrgIDs:      true,            // the primary key of the tenant
		FormerCodes: true,            // until another tenant takes the subdomain
		Roles:       auth.RolesLimit, // of people and partners
		Ceiling:     true,            // a token has no more than its own scope

		Proxies: s.behind,
		Brand:   auth.Brand{Header: "Acme-", Claims: "acme/", Faults: "acme"},
		Timeout: 5 * time.Second, // a spent use waits until a disk has written
		Mechanisms: []auth.Mechanism{
			s.sessions,
			&signature.Mechanism{Credentials: s.credentials, Replays: s.store.Replays()},
			s.tokens,
		},
	}
}

func (s *service) routes(guard *auth.Guard) *auth.Mux {
	mux := guard.Mux()
	person := auth.Authenticated.By(session.Name)
	fresh := person.Fresh(10 * time.Minute)
	owner := auth.Allow("admin.update").By(session.Name).Fresh(10 * time.Minute)
	for pattern, route := range map[string]struct {
		need auth.Need
		run  http.HandlerFunc
	}{
		"POST /login":          {auth.Public, body.Handle(s.login)},
		"POST /logout":         {auth.Public, body.None(s.logout)},
		"POST /factor":         {person, body.None(s.enrol)},
		"POST /factor/confirm": {person, body.Handle(s.confirm)},
		"POST /tokens":         {fresh, body.Handle(s.createToken)},
		"DELETE /tokens":       {person, body.None(s.revokeTokens)},
		"POST /keys":           {owner, body.Handle(s.createKey)},
		"DELETE /keys/{key}":   {owner, body.None(s.deleteKey)},
		"DELETE /people/{id}":  {owner, body.None(s.removePerson)},
		"POST /rename":         {owner, body.Handle(s.rename)},
		"DELETE /notes/{id}":   {auth.Allow("object.delete.note.{id}"), body.None(s.deleteNote)},
	} {
		mux.HandleFunc(pattern, route.need, inTime(route.run))
	}
	mux.Handle("POST /notes", auth.Allow("object.create.note"), s.repeats.Wrap(inTime(s.createNote)))
	mux.Handle("GET /notes", auth.Some("object.read.note"), auth.PartHandler(s.listNotes))
	return mux
}

// resolve reads the subdomain of https://acme.example.test/v1/notes. The Guard asks the
// directory for it: 404 for an unknown one, and 503 if the database does not respond.
func resolve(baseURL *url.URL) func(context.Context, *http.Request) (auth.Address, error) {
	return func(_ context.Context, r *http.Request) (auth.Address, error) {
		host := (&url.URL{Host: r.Host}).Hostname()
		name, below := strings.CutSuffix(strings.ToLower(host), "."+baseURL.Hostname())
		if !below {
			return auth.Address{}, auth.ErrNotFound
		}
		version, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
		return auth.Address{Org: name, Version: version, Rest: "/" + rest, Authority: name + "." + baseURL.Host}, nil
	}
}

// inTime ends the work for a request that takes long. A login can wait for others to be hashed.
func inTime(run http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
		defer cancel()
		run(w, r.WithContext(ctx))
	}
}

// change runs a statement. It returns none if no row was changed.
func (s *service) change(ctx context.Context, none error, statement string, args ...any) error {
	return change(ctx, s.db, none, statement, args...)
}

// change runs a statement in a *sql.DB or a transaction.
func change(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, none error, statement string, args ...any) error {
	result, err := db.ExecContext(ctx, statement, args...)
	if err != nil {
		return sqlError(err)
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return sqlError(err)
	}
	return none
}
