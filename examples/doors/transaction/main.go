// Transaction removes a person: their row, sessions, tokens and keys go in one transaction, or all of them stay.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"

	_ "modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

// leave deletes ada. Whatever fails, before or after the library's part, undoes all of it.
func leave(ctx context.Context, db *sql.DB, store *sqlstore.Store, before func() error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	in, err := store.In(ctx, tx)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM people WHERE org = 'acme' AND id = 'ada'`); err != nil {
		return err
	}
	if err := in.DeleteAccount(ctx, "acme", "ada"); err != nil {
		return err
	}
	if err := before(); err != nil {
		return err
	}
	return tx.Commit()
}

func main() {
	folder, err := os.MkdirTemp("", "transaction")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:"+folder+"/people.db?_txlock=immediate&_pragma=busy_timeout(250)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		log.Fatal(err)
	}
	sealingKey := make([]byte, 32)
	rand.Read(sealingKey) // once, and kept elsewhere than the database
	sealer, err := sqlstore.NewSealer(sealingKey)
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{Sealer: sealer})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE people (org TEXT, id TEXT); INSERT INTO people VALUES ('acme', 'ada')`); err != nil {
		log.Fatal(err)
	}
	credentials, err := store.Credentials()
	if err != nil {
		log.Fatal(err)
	}
	key, _, err := credentials.Create(ctx, "acme", signature.Credential{Account: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	for _, before := range []func() error{
		func() error { return errors.New("the invoice could not be written") },
		func() error { return nil },
	} {
		err := leave(ctx, db, store, before)
		var people int
		db.QueryRow(`SELECT count(*) FROM people`).Scan(&people)
		_, gone := credentials.Credential(ctx, key)
		fmt.Println("error:", err, "| people:", people, "| credential:", gone == nil)
	}
}

// It prints:
// error: the invoice could not be written | people: 1 | credential: true
// error: <nil> | people: 0 | credential: false
