package sqlstore_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

var (
	ctx   = context.Background()
	store *sqlstore.Store
)

// The program chooses the driver and imports it.
func ExampleOpen() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	sealer, err := sqlstore.NewSealer([]byte(os.Getenv("SEALING_KEY")))
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlstore.Open(ctx, db, sqlstore.PostgreSQL, sqlstore.Options{Prefix: "acme_", Sealer: sealer})
	var wrong *sqlstore.SettingError
	if errors.As(err, &wrong) {
		log.Fatal(wrong.Setting, " is ", wrong.Value, ": ", wrong.Remedy)
	}
	_ = store
}

func ExampleSchema() {
	// Pass the text to the tool that creates the program's other tables.
	text := sqlstore.Schema(sqlstore.SQLite, "acme_")
	fmt.Println(text[:45])
	// Output:
	// CREATE TABLE IF NOT EXISTS acme_schema (
	// 	ver
}

func ExampleNewSealer() {
	current, old := make([]byte, 32), make([]byte, 32)
	rand.Read(current)
	rand.Read(old)
	sealer, err := sqlstore.NewSealer(current, old)
	fmt.Println(sealer, err)
	// Output: REDACTED <nil>
}

func ExampleStore_Replays() {
	verifier := signing.Verifier{Replays: store.Replays()}
	_ = verifier
}

func ExampleStore_Ledger() {
	minter := token.Minter{Ledger: store.Ledger()}
	_ = minter
}

func ExampleKeys_Ensure() {
	keys, err := store.Keys()
	if err != nil {
		log.Fatal(err) // sqlstore.ErrNoSealer
	}
	public, err := keys.Ensure(ctx, "acme", "sKfhQKJTXnDrGRjGPQYVkW") // at the start of each instance
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(public.KeyID)
}

func ExampleStore_Keys() {
	keys, err := store.Keys()
	if err != nil {
		log.Fatal(err) // sqlstore.ErrNoSealer
	}
	// A key that another instance replaced is unknown after two seconds.
	cached := token.Cached(keys, 2*time.Second)
	public, err := keys.Generate(ctx, "acme", "sKfhQKJTXnDrGRjGPQYVkW")
	if err != nil {
		log.Fatal(err)
	}
	_, err = cached.Public(ctx, public.KeyID)
	fmt.Println(err)
	// The next key signs at once. The one before verifies for another week.
	next, err := keys.Rotate(ctx, "acme", "sKfhQKJTXnDrGRjGPQYVkW", 7*24*time.Hour)
	cached.Invalidate("sKfhQKJTXnDrGRjGPQYVkW")
	fmt.Println(next.KeyID, err)
}

func ExampleStore_Credentials() {
	credentials, err := store.Credentials()
	if err != nil {
		log.Fatal(err)
	}
	clientKey, secret, err := credentials.Create(ctx, "acme", signature.Credential{Account: "jane"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(clientKey, string(secret)) // shown once
	// The present secret verifies for another day, until all clients have the new one.
	next, err := credentials.Rotate(ctx, "acme", clientKey, 24*time.Hour)
	fmt.Println(string(next), err)

	// The first hundred of the org, without their secrets.
	list, err := credentials.List(ctx, "acme", "", 100)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range list {
		fmt.Println(c.Key.ClientKey(), c.Account, c.Disabled)
	}
}

func ExampleStore_Sessions() {
	var sessions session.Store = store.Sessions()
	_ = sessions
}

func ExampleStore_Attempts() {
	var attempts session.Attempts = store.Attempts()
	_ = attempts
}

func ExampleStore_Factors() {
	factors, err := store.Factors()
	if errors.Is(err, sqlstore.ErrNoSealer) {
		log.Fatal("second factors are secrets")
	}
	_, err = factors.Factor(ctx, "acme", "jane")
	fmt.Println(err)
}

func ExampleStore_DeleteOrg() {
	if err := store.DeleteOrg(ctx, "northwind"); err != nil {
		log.Print(err) // some of it may be left: call it again
	}
}

func ExampleStore_Run() {
	go store.Run(ctx, func(err error) { log.Print(err) }) // until the program ends
}

func ExampleStore_RevokeAccount() {
	if err := store.RevokeAccount(ctx, "acme", "ann"); err != nil {
		log.Print(err) // nothing has changed, or it is unknown: call it again
	}
}

// A new sealing key is rolled out in two steps; then the old key is removed.
func ExampleStore_Reseal() {
	if err := store.Reseal(ctx); err != nil {
		log.Fatal(err)
	}
}
