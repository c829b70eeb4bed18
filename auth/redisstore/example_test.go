package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

var (
	ctx   = context.Background()
	do    redisstore.Do     // made from a client, as in the package comment
	store *redisstore.Store // from Open
)

// All instances of a service open the same server.
func Example() {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	store, err := redisstore.Open(ctx, do, redisstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ledger := store.Ledger()
	signatures := signing.Verifier{Replays: store.Replays()}
	tokens := token.Verifier{Ledger: ledger}
	minter := token.Minter{Ledger: ledger}
	_, _, _ = signatures, tokens, minter
}

// Open refuses a server that drops records when it is full, or would lose them in a restart.
func ExampleOpen() {
	do := (&server{info: evicting, config: everysec}).do
	_, err := redisstore.Open(ctx, do, redisstore.Options{})
	var wrong *auth.SettingError
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Setting, wrong.Value)
		fmt.Println(wrong.Remedy)
	}
	// Output:
	// maxmemory-policy allkeys-lru
	// run CONFIG SET maxmemory-policy noeviction and set it in the server's configuration, or set UnsafeEviction
}

func ExampleStore_RevokeAccount() {
	// The credentials are in the database: see sqlstore.Store.RevokeAccount.
	if err := store.RevokeAccount(ctx, "acme", "ann"); err != nil {
		log.Print(err) // call it again
	}
}

func ExampleStore_Replays() {
	store, err := redisstore.Open(ctx, do, redisstore.Options{PerKey: 50_000})
	if err != nil {
		log.Fatal(err)
	}
	verifier := signing.Verifier{Replays: store.Replays()}
	_ = verifier // add its Keys and use it in the handler of a service
}

func ExampleStore_Ledger() {
	ledger := store.Ledger()
	ended, err := ledger.RevokeSubject(ctx, token.Holder{Org: "acme", ClientKey: "acmeKey000000000000001", Subject: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ended, "tokens were revoked")
}

func ExampleStore_Sessions() {
	sessions := store.Sessions()
	ended, err := sessions.DeleteAll(ctx, "acme", "ann", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ended, "sessions were ended")
}

func ExampleStore_Attempts() {
	var attempts session.Attempts = store.Attempts()
	const key = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	record, err := attempts.Load(ctx, "acme", key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(record)
}

// server is a fake Redis, with the commands that Open sends.
type server struct {
	info    string
	config  func(setting string) (any, error)
	scripts bool // whether it knows scripts that nobody has sent it
	calls   []string
}

const fit = "# Server\r\nredis_version:7.0.15\r\n\r\n# Memory\r\nmaxmemory_policy:noeviction\r\n# Persistence\r\naof_enabled:1\r\n" +
	"# Replication\r\nrole:master\r\n# Cluster\r\ncluster_enabled:0\r\n"

const evicting = "maxmemory_policy:allkeys-lru\r\naof_enabled:1\r\nrole:master\r\ncluster_enabled:0\r\n"

func everysec(setting string) (any, error) {
	return []any{setting, configuredValue(setting, "everysec")}, nil
}

// configuredValue returns the setting of a server that syncs so.
func configuredValue(setting, sync string) string {
	return map[string]string{"appendfsync": sync, "appendonly": "yes", "no-appendfsync-on-rewrite": "no"}[setting]
}

func (s *server) do(_ context.Context, args ...any) (any, error) {
	s.calls = append(s.calls, args[0].(string))
	switch args[0] {
	case "INFO":
		return s.info, nil
	case "CONFIG":
		return s.config(args[2].(string))
	case "EVALSHA":
		if !s.scripts {
			return nil, errors.New("NOSCRIPT No matching script. Please use EVAL.")
		}
	}
	return int64(0), nil
}
