// Adopt puts the library in front of an existing service: notes of tenants under subdomains, with
// tables of its own, ids that are UUIDs, and passwords that bcrypt has hashed.
//
//	AUTH_KEY=$(openssl rand -hex 32) go run ./examples/guides/adopt -demo
//	curl -d '{"email":"olga@acme.example","password":"correct horse"}' -H 'Content-Type: application/json' \
//		http://acme.localhost:8080/v1/login
//
// The guide adopt.md explains the steps.
package main

import (
	"context"
	"encoding/hex"
	"flag"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

func main() {
	listen := flag.String("listen", "localhost:8080", "`address` to listen on")
	base := flag.String("base", "http://localhost:8080", "`URL` whose host has the tenants as subdomains")
	database := flag.String("db", os.Getenv("DATABASE_URL"), "`URL` of PostgreSQL, or a file of SQLite (default $DATABASE_URL, or adopt.db)")
	networks := flag.String("proxies", "", "`networks` of the proxies in front, which append to X-Forwarded-For")
	demo := flag.Bool("demo", false, "create the tables first, with two tenants")
	flag.Parse()
	if err := run(*listen, *base, *database, *networks, *demo); err != nil {
		log.Fatal(err)
	}
}

func run(listen, base, database, networks string, demo bool) error {
	ctx := context.Background()
	key, err := hex.DecodeString(os.Getenv("AUTH_KEY"))
	if err != nil {
		return err
	}
	baseURL, err := url.Parse(base)
	if err != nil {
		return err
	}
	var behind auth.Proxies
	if networks != "" {
		if behind, err = auth.ParseProxies("X-Forwarded-For", networks); err != nil {
			return err
		}
	}
	if database == "" {
		database = "adopt.db"
	}
	db, dialect, err := openDB(database)
	if err != nil {
		return err
	}
	defer db.Close()
	if demo {
		if err := createDemo(ctx, db, dialect); err != nil {
			return err
		}
	}
	s, err := newService(ctx, db, dialect, key, behind)
	if err != nil {
		return err
	}
	guard := s.guard(baseURL)
	if err := notes.Check(ctx, db, dialect, guard.Scopes); err != nil {
		return err
	}
	if err := s.addIssuers(ctx); err != nil {
		return err
	}
	go s.store.Run(ctx, func(err error) { log.Print(err) })
	server := &http.Server{Addr: listen, Handler: s.routes(guard), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	return server.ListenAndServe()
}
