// Command instance is one instance over some stores, for tests of another version of the library
// beside this one. It takes the engine and its address, and reads commands, one a line. It answers
// each with "ok", or with an error.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

func main() {
	engine, at := os.Args[1], os.Args[2]
	var ledger token.Ledger
	ctx := context.Background()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		err := errors.New("not open")
		switch {
		case words[0] == "open":
			ledger, err = open(ctx, engine, at)
		case ledger == nil:
		case words[0] == "issue":
			err = ledger.Issue(ctx, record(words[1:]...), nil, 100)
		case words[0] == "spend":
			_, err = ledger.Spend(ctx, record(words[1:]...))
		case words[0] == "revoke":
			r := record(words[1:]...)
			err = ledger.Revoke(ctx, r.Holder(), r.ID)
		}
		answer := "ok"
		if err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(answer)
	}
}

// record returns the record of an id, and of its parent if there is one.
func record(ids ...string) token.Record {
	r := token.Record{ID: ids[0], Org: "acme", ClientKey: "app", Subject: "ann", KeyID: "key", Issued: time.Now().Truncate(time.Second)}
	if len(ids) > 1 {
		r.Parent = ids[1]
	}
	return r
}

func open(ctx context.Context, engine, at string) (token.Ledger, error) {
	if engine == "Redis" {
		client := redis.NewClient(&redis.Options{Addr: at, ContextTimeoutEnabled: true, MaxRetries: -1})
		store, err := redisstore.Open(ctx, func(ctx context.Context, args ...any) (any, error) { return client.Do(ctx, args...).Result() },
			redisstore.Options{})
		if err != nil {
			return nil, err
		}
		return store.Ledger(), nil
	}
	driver, dialect := "pgx", sqlstore.PostgreSQL
	if engine == "SQLite" {
		driver, dialect = "sqlite", sqlstore.SQLite
	}
	db, err := sql.Open(driver, at)
	if err != nil {
		return nil, err
	}
	store, err := sqlstore.Open(ctx, db, dialect, sqlstore.Options{})
	if err != nil {
		db.Close()
		return nil, err
	}
	return store.Ledger(), nil
}
