// Database is a server over tables that existed before: PostgreSQL, or SQLite to try it.
package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// Yours, as they are. The library's own tables begin with auth_.
const tables = `
CREATE TABLE companies (slug TEXT PRIMARY KEY, closed BOOLEAN NOT NULL DEFAULT FALSE);
CREATE TABLE users (id TEXT PRIMARY KEY, company TEXT NOT NULL REFERENCES companies, email TEXT NOT NULL,
	password TEXT NOT NULL, role TEXT NOT NULL, active BOOLEAN NOT NULL DEFAULT TRUE, UNIQUE (company, email));
INSERT INTO companies (slug) VALUES ('acme')`

var scopes = map[string][]string{"owner": {"object", "admin"}, "member": {"object.read"}} // of each users.role

// directory looks up orgs and people in the tables.
type directory struct{ db *sql.DB }

func (d directory) Org(ctx context.Context, code string) (*auth.Org, error) {
	var o auth.Org
	row := d.db.QueryRowContext(ctx, `SELECT slug, closed FROM companies WHERE slug = $1`, code)
	return found(&o, row.Scan(&o.Code, &o.Disabled))
}

func (d directory) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	a, role, active := auth.Account{}, "", false
	row := d.db.QueryRowContext(ctx, `SELECT id, company, role, active FROM users WHERE company = $1 AND id = $2`, org, id)
	err := row.Scan(&a.ID, &a.Org, &role, &active)
	a.Roles, a.Disabled = []string{role}, !active
	return found(&a, err)
}

func (d directory) App(context.Context, string) (*auth.App, error) { return nil, auth.ErrNotFound } // no API clients yet

func (d directory) Roles(_ context.Context, _ auth.OrgKey, names []string) (roles []auth.Role, _ error) {
	for _, name := range names {
		if scope, ok := scopes[name]; ok {
			roles = append(roles, auth.Role{Name: name, Scope: scope})
		}
	}
	return roles, nil
}

// Password implements session.PasswordStore.
func (d directory) Password(ctx context.Context, org auth.OrgKey, email string) (account, encoded string, err error) {
	row := d.db.QueryRowContext(ctx, `SELECT id, password FROM users WHERE company = $1 AND email = $2`, org, email)
	_, err = found(&account, row.Scan(&account, &encoded))
	return account, encoded, err
}

// found keeps "there is none" apart from "it is not known", which is answered with 503.
func found[T any](record *T, err error) (*T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, auth.ErrNotFound
	}
	return record, err
}

type server struct {
	db        *sql.DB
	store     *sqlstore.Store
	directory *auth.CachedDirectory
	people    *session.Manager
}

func (s *server) login(w http.ResponseWriter, r *http.Request) {
	p, err := s.people.Login(w, r, session.LoginForm{Login: r.PostFormValue("email"), Password: r.PostFormValue("password")})
	if err != nil {
		auth.Fail(w, r, err)
		return
	}
	auth.Reply(w, r, envelope.Result[string]{Data: p.Account})
}

// remove deletes a user with their sessions, tokens, keys and second factor: all of it, or nothing.
func (s *server) remove(_ http.ResponseWriter, r *http.Request) (envelope.Result[bool], error) {
	ctx, org, id := r.Context(), auth.From(r.Context()).Org, r.PathValue("id")
	defer s.directory.Invalidate(org) // this process sees it at once, the others in two seconds
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return envelope.Result[bool]{}, auth.Unavailable(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `DELETE FROM users WHERE company = $1 AND id = $2`, org, id); err != nil {
		return envelope.Result[bool]{}, auth.Unavailable(err)
	}
	in, err := s.store.In(ctx, tx)
	if err == nil {
		err = in.DeleteAccount(ctx, org, id)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err == nil {
		auth.Emit(ctx, auth.Event{Verb: "account.deleted", Account: id}) // for Observe; what the library does, it emits itself
	}
	return envelope.Result[bool]{Data: err == nil}, err
}

func main() {
	source := flag.String("db", "notes.db", "`URL` of PostgreSQL, or a file of SQLite")
	keyFile := flag.String("key", "sealing.key", "`file` of the sealing key: 64 hexadecimal digits")
	listen := flag.String("listen", "localhost:8085", "`address` to listen on")
	baseURL := flag.String("base-url", "http://localhost:8085", "`URL` that clients see")
	proxies := flag.String("proxies", "", "`networks` of the reverse proxies, such as 10.0.0.0/8")
	user := flag.String("add", "", "add the `address` to acme, with the password of $PASSWORD, and exit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	driver, dialect, dsn := "pgx", sqlstore.PostgreSQL, *source
	if !strings.HasPrefix(dsn, "postgres") {
		driver, dialect = "sqlite", sqlstore.SQLite
		dsn = "file:" + dsn + "?_txlock=immediate&_pragma=busy_timeout(250)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	}
	db := must(sql.Open(driver, dsn))
	sealingKey := must(hex.DecodeString(strings.TrimSpace(string(must(os.ReadFile(*keyFile))))))
	store := must(sqlstore.Open(ctx, db, dialect, sqlstore.Options{Prefix: "auth_", Sealer: must(sqlstore.NewSealer(sealingKey))}))
	s := &server{db: db, store: store, directory: auth.Cached(directory{db}, 2*time.Second)}
	s.people = &session.Manager{Store: store.Sessions(), Attempts: store.Attempts(), FactorStore: must(store.Factors()), PasswordStore: directory{db}}
	if *user != "" {
		must(db.ExecContext(ctx, tables))
		must(db.ExecContext(ctx, `INSERT INTO users (id, company, email, password, role) VALUES ('u1', 'acme', $1, $2, 'owner')`,
			*user, must(s.people.Passwords().Hash(ctx, os.Getenv("PASSWORD")))))
		return
	}

	guard := &auth.Guard{
		BaseURL:    *baseURL,
		Directory:  s.directory,
		Roles:      auth.RolesLimit,
		Mechanisms: []auth.Mechanism{s.people},
		Observe: func(_ context.Context, e auth.Event) { // codes and ids, never a secret: count them, and alert
			switch {
			case e.Verb != "":
				log.Printf("verb=%s org=%s account=%s by=%s from=%s", e.Verb, e.Org, e.Account, e.By, e.Address)
			case e.Detail != "":
				log.Printf("denied=%s route=%q org=%s account=%s cause=%q", e.Detail, e.Route, e.Org, e.Account, e.Err)
			}
		},
	}
	if *proxies != "" {
		guard.Proxies = must(auth.ParseProxies("X-Forwarded-For", *proxies))
	}
	mux := guard.Mux()
	mux.HandleFunc("POST /login", auth.Public, s.login)
	mux.HandleFunc("GET /me", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		auth.Reply(w, r, envelope.Result[string]{Data: auth.From(r.Context()).Account})
	})
	mux.Handle("DELETE /users/{id}", auth.Allow("admin.update").Fresh(10*time.Minute), body.None(s.remove))

	site := http.NewServeMux()
	site.Handle("/", mux)
	site.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := db.PingContext(r.Context()); err != nil {
			http.Error(w, "no database", http.StatusServiceUnavailable)
		}
	})
	go store.Run(ctx, func(err error) { log.Print(err) }) // deletes what has expired
	web := &http.Server{Addr: *listen, Handler: http.MaxBytesHandler(site, 1<<20), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() {
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		web.Shutdown(drain)
	}()
	log.Print("listening on ", *listen, ", as ", *baseURL, "/acme/v2")
	if err := web.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
