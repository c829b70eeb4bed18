package sqlstore_test

import (
	"context"
	"crypto"
	"crypto/cipher"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
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
	var wrong *auth.SettingError
	if errors.As(err, &wrong) {
		log.Fatal(wrong.Setting, " is ", wrong.Value, ": ", wrong.Remedy)
	}
	_ = store
}

// goose runs the files beside the application's own, with a table of versions for them:
// goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName("tenantkit_goose")).
func ExampleMigrations() {
	files := sqlstore.Migrations(sqlstore.SQLite, "acme_")
	names, _ := fs.Glob(files, "*")
	text, _ := fs.ReadFile(files, names[0])
	fmt.Printf("%s\n%.53s\n", names, text)
	// Output:
	// [00009_tables.sql]
	// -- +goose Up
	// CREATE TABLE IF NOT EXISTS acme_schema (
}

func ExampleNewSealer() {
	current, old := make([]byte, 32), make([]byte, 32)
	rand.Read(current)
	rand.Read(old)
	sealer, err := sqlstore.NewSealer(current, old)
	fmt.Println(sealer, err)
	// Output: REDACTED <nil>
}

// kms stands for the client of a KMS.
type kms struct{ cipher.AEAD }

func (k kms) Wrap(_ context.Context, key sqlstore.DataKey, bound string) ([]byte, error) {
	return k.Seal(nil, nil, []byte(key), []byte(bound)), nil
}

func (k kms) Unwrap(_ context.Context, wrapped []byte, bound string) (sqlstore.DataKey, error) {
	key, err := k.Open(nil, nil, wrapped, []byte(bound))
	return sqlstore.DataKey(key), err
}

func ExampleNewWrappedSealer() {
	var client kms
	sealer, err := sqlstore.NewWrappedSealer("2026", client)
	fmt.Println(sealer, err)
	// Output: REDACTED <nil>
}

func ExampleDataKey() {
	var unwrapped []byte // by a KMS
	key := sqlstore.DataKey(unwrapped)
	fmt.Println(key, len([]byte(key)))
	// Output: REDACTED 0
}

// The second step from one data key to the next; Store.Reseal is the third.
func ExampleSealer_WithOld() {
	var client kms
	before, _ := sqlstore.NewWrappedSealer("2026", client)
	next, _ := sqlstore.NewWrappedSealer("2027", client)
	options := sqlstore.Options{Sealer: next.WithOld(before)}
	_ = options
}

// The token signing key of an app stays in an HSM.
func ExampleKeys_PutReference() {
	found := map[string]crypto.Signer{} // by a PKCS #11 library
	var db *sql.DB
	var sealer *sqlstore.Sealer
	store, err := sqlstore.Open(ctx, db, sqlstore.PostgreSQL, sqlstore.Options{
		Sealer: sealer,
		Signer: func(_ context.Context, reference string) (crypto.Signer, error) { return found[reference], nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	keys, err := store.Keys()
	if err != nil {
		log.Fatal(err)
	}
	_, err = keys.PutReference(ctx, "acme", "sKfhQKJTXnDrGRjGPQYVkW", "pkcs11:token=tokens;object=acme-1")
	fmt.Println(err)
	// Later, to the next key in the HSM.
	_, err = keys.RotateToReference(ctx, "acme", "sKfhQKJTXnDrGRjGPQYVkW", "pkcs11:token=tokens;object=acme-2", 24*time.Hour)
	fmt.Println(err)
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

// A person leaves: their row, sessions, credentials and tokens go together, or all of them stay.
func ExampleStore_In() {
	var db *sql.DB // the application's, of which store is a part
	leave := func(ctx context.Context, org auth.OrgKey, id string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return auth.Unavailable(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, `DELETE FROM people WHERE org = $1 AND id = $2`, org, id); err != nil {
			return auth.Unavailable(err)
		}
		in, err := store.In(ctx, tx)
		if err == nil {
			err = in.DeleteAccount(ctx, org, id)
		}
		if err != nil {
			return err
		}
		return tx.Commit()
	}
	_ = leave
}

// An app is registered with its credential, its key pair and its first token.
func ExampleIn_Ledger() {
	provision := func(ctx context.Context, tokens *bearer.Mechanism, tx *sql.Tx, by auth.Principal, t *auth.Tenant, app string) (token.Token, error) {
		in, err := store.In(ctx, tx)
		if err != nil {
			return "", err
		}
		keys, err := in.Keys()
		if err != nil {
			return "", err
		}
		if _, err := keys.Ensure(ctx, by.Org, app); err != nil {
			return "", err
		}
		wish := bearer.Wish{Permanent: true, Claims: token.Claims{Issuer: app, Subject: by.Account}}
		signed, _, err := tokens.MintIn(ctx, in.Ledger(), keys, by, t, wish)
		return signed, err // to be shown after the commit
	}
	_ = provision
}

func ExampleStore_DeleteAccount() {
	// After the account was deleted in the Directory, whose rows are in another database.
	if err := store.DeleteAccount(ctx, "acme", "ann"); err != nil {
		log.Fatal(err)
	}
}

// A person asks for their data.
func ExampleStore_ExportAccount() {
	if err := store.ExportAccount(ctx, os.Stdout, "acme", "ann"); err != nil {
		log.Fatal(err)
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
