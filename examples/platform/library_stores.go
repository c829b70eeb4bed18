package main

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/examples/internal/private"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// stores are the stores of the library. They are in the database. With -redis, what
// every request writes is in Redis.
type stores struct {
	replays  signing.Replays
	ledger   token.Ledger
	sessions session.Store
	attempts session.Attempts

	// These hold secrets or their hashes, and stay in the database.
	credentials *sqlstore.Credentials
	keys        *sqlstore.Keys
	apiKeys     apikey.Store
	factors     session.FactorStore

	devices session.DeviceKey
	repeats *idempotency.Keys // in the database, too: Redis could lose what was executed

	own   *store
	sql   *sqlstore.Store
	redis *redis.Client // nil without -redis
	topic string        // of events between instances
}

// together changes records of an org and those of the library in one transaction: both
// change, or neither does.
func (s *stores) together(ctx context.Context, org auth.OrgKey, change func(*sql.Tx, *sqlstore.In) error) error {
	return s.own.locked(ctx, org, func(tx *sql.Tx) error {
		in, err := s.sql.In(ctx, tx)
		if err != nil {
			return storeFailed(err)
		}
		return change(tx, in)
	})
}

// ending returns what ends sessions and tokens in a transaction, or at once in Redis.
func (s *stores) ending(in *sqlstore.In) (session.Ending, token.Issuing) {
	if s.redis != nil {
		return s.sessions, s.ledger
	}
	return in.Sessions(), in.Ledger()
}

func openStores(ctx context.Context, s *store, o options, log *slog.Logger) (*stores, error) {
	key, err := o.keptKey("") // it seals the secrets in the database
	if err != nil {
		return nil, err
	}
	sealer, err := sqlstore.NewSealer(key)
	if err != nil {
		return nil, err
	}
	kept, err := sqlstore.Open(ctx, s.guarded, s.dialect, sqlstore.Options{
		Sealer:           sealer,
		Audit:            o.audit,
		UnsafeDurability: o.db == memoryDB, // the name memory: says as much
	})
	if errors.Is(err, sqlstore.ErrSealingKey) { // the file was lost, or each host has another one
		return nil, fmt.Errorf("-sealing-key-file: not the key that the secrets in the database were sealed with: %w", err)
	} else if err != nil {
		return nil, fmt.Errorf("-db: %w", err)
	}
	s.library = kept
	if err := s.showAudit(ctx, s.db, kept.Audit()); err != nil {
		return nil, fmt.Errorf("-db: %w", err)
	}
	// Reseal seals the secrets of an older key again. A secret that no key opens is of one org, and
	// must not stop the others.
	if err := kept.Reseal(ctx); errors.Is(err, sqlstore.ErrSealed) {
		log.Error("secrets that no key opens", "error", err)
	} else if err != nil {
		return nil, fmt.Errorf("-db: %w", err)
	}
	all := &stores{
		replays:  kept.Replays(),
		ledger:   kept.Ledger(),
		sessions: kept.Sessions(),
		attempts: kept.Attempts(),
		devices:  session.NewDeviceKey(derived(key, "device cookies", sha256.Size)),
		apiKeys:  kept.APIKeys(),
		own:      s,
		sql:      kept,
		topic:    eventsTopic(key),
	}
	if o.db == memoryDB {
		all.replays = signing.NewMemory(1_000_000)
	}
	repeats, err := kept.Idempotency()
	if err == nil {
		all.repeats = idempotency.New(repeats, idempotency.Options{})
		all.credentials, err = kept.Credentials()
	}
	if err == nil {
		all.keys, err = kept.Keys()
	}
	if err == nil {
		all.factors, err = kept.Factors()
	}
	if err == nil && o.redis != "" {
		err = all.moveToRedis(ctx, o.redis)
	}
	return all, err
}

func (s *stores) moveToRedis(ctx context.Context, address string) error {
	settings, err := redis.ParseURL(address)
	if err != nil {
		return errors.New("-redis: not the address of a Redis") // the parser's error may show a password
	}
	settings.ContextTimeoutEnabled = true // the Guard's deadline ends a command
	settings.MaxRetries = -1              // a claim that may have succeeded must not be repeated
	s.redis = redis.NewClient(settings)
	server, err := redisstore.Open(ctx, func(ctx context.Context, args ...any) (any, error) {
		return s.redis.Do(ctx, args...).Result()
	}, redisstore.Options{})
	if err != nil {
		return fmt.Errorf("-redis: %w", err)
	}
	s.replays, s.attempts = server.Replays(), server.Attempts()
	s.ledger, s.sessions = server.Ledger(), server.Sessions()
	return nil
}

// verifying returns the ids of the app's keys that verify: the present one, and then
// the former ones. It returns none if the app has no pair.
func (s *stores) verifying(ctx context.Context, clientKey string) ([]string, error) {
	pair, err := s.keys.Signer(ctx, clientKey)
	switch {
	case errors.Is(err, token.ErrNoKeyPair):
		return nil, nil
	case err != nil:
		return nil, storeFailed(err)
	}
	return append([]string{pair.KeyID}, pair.Former...), nil
}

func (s *stores) close() error {
	if s.redis == nil {
		return nil
	}
	return s.redis.Close()
}

// keptKey returns 32 random bytes from the file of the sealing key, or from one beside it. A database in memory
// has no file: its key is new, and ends with the process.
func (o options) keptKey(beside string) ([]byte, error) {
	file := o.sealingKeyFile
	if name, ok := strings.CutPrefix(o.db, sqliteDB); ok && file == "" {
		file = name + ".key"
	}
	if file == "" {
		return newSealingKey(), nil
	}
	file += beside
	text, err := private.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = private.Write(file, []byte(hex.EncodeToString(newSealingKey())+"\n"), os.Link)
		if err == nil || errors.Is(err, fs.ErrExist) { // if several instances start at once, one of them makes it
			text, err = private.Read(file)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("-sealing-key-file: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("-sealing-key-file: %s is not 64 hexadecimal digits", file) // the content is not shown
	}
	return key, nil
}

// derived returns a key for one use. So all instances have the same one, it survives a
// restart, and there is only the sealing key to keep.
func derived(sealingKey []byte, use string, length int) []byte {
	key, err := hkdf.Key(sha256.New, sealingKey, nil, "tenantkit platform: "+use, length)
	if err != nil {
		panic(err) // a length that HKDF does not have
	}
	return key
}

func newSealingKey() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}
