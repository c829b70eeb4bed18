package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/token"
)

// Tx is a transaction of the application: a *sql.Tx, or what package pgxtx makes of a pgx.Tx.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	Commit() error
}

var _ Tx = (*sql.Tx)(nil)

// In is the part of a Store whose verbs can run in a transaction of the application, so that its
// rows and those of the Store change together or not at all. It lasts as long as the transaction.
//
// It has no Replays, no Attempts, no uses of tokens and no codes. A rollback would give back a
// nonce, a guess, a use or a code after the request was admitted.
//
// Like the transaction, it must not be used concurrently.
type In struct{ store *Store }

// ErrTx means that a transaction is of no use to In. The text says what to do.
var ErrTx = errors.New("sqlstore: In needs another transaction")

// In returns the verbs that run in tx, which the caller commits. The database of tx must be that of
// the Store, tx must be able to write, and its commit must be as durable as Open demands (a
// *auth.SettingError says what is not). Otherwise the error wraps ErrTx.
//
// In PostgreSQL tx must be READ COMMITTED. In asks for that with one statement. A limit is exact
// because each verb that counts waits for a lock and then counts what the other transactions have
// committed, which a snapshot of an earlier time does not have.
//
// In SQLite tx should begin with BEGIN IMMEDIATE, which drivers call _txlock=immediate. A deferred
// transaction gets the write lock from In. If it has read before and others have written since, it
// cannot get the lock, and In refuses it at once. SQLite rolls tx back when the context of a writing
// statement ends, and then runs each further statement by itself: In and its verbs refuse that, too.
// While tx has the lock, a verb of the Store outside of tx waits for it: do not call one before tx ends.
//
// Each verb is one atomic step of tx: if it returns an error, it has changed nothing. After an error
// that wraps auth.ErrUnavailable all further verbs return it: roll tx back. After any other one tx may go
// on. After a savepoint is rolled back to, what was done behind it is undone. Do not change the
// search_path, the role or synchronous_commit of tx after In, which has looked at them.
//
// Locks last until tx ends, and who waits for one waits as long as its own context lasts: other makers of
// tokens for the same app and subject, other changes of the same credential, logins of an account whose
// sessions tx has ended or whose API keys it has changed, and all who change key pairs unless tx used
// Keys.Ensure alone. With Options.Audit, all verbs of the same org wait. So end tx soon, call nothing slow before it ends,
// and call verbs about several accounts or apps in one order everywhere. If two transactions wait for
// each other, the engine ends one. That error reaches the caller unchanged, who alone can repeat the
// whole transaction.
//
// Show a secret or a token that was made in tx after the commit only. If the outcome of the commit is
// unknown, all verbs may be repeated but those that make something: look whether it is there. There is
// nothing to tell the Store after the commit, because it reads the database with each call. What
// remembers its answers, as token.CachedKeys and auth.CachedDirectory do, learns of the change within its
// bound, or at once by its Invalidate.
func (s *Store) In(ctx context.Context, tx Tx) (*In, error) {
	in := s.within(tx)
	if err := in.checkTx(ctx); err != nil {
		return nil, failed("in", err)
	}
	return &In{in}, nil
}

// within returns a Store whose statements run in tx.
func (s *Store) within(tx Tx) *Store {
	return &Store{single: tx, inside: new(application), refusals: s.refusals, dialect: s.dialect, options: s.options, replacer: s.replacer, texts: s.texts, place: s.place, calls: s.calls}
}

// place is where a transaction is, and how. In SQLite it has no isolation to choose.
type place struct {
	name                string // what tells databases apart, as far as a statement can
	isolation, readOnly string
	synchronous         string // whether a commit waits for the disk
}

func (s *Store) findPlace(ctx context.Context) (p place, err error) {
	text := `SELECT coalesce((SELECT file FROM pragma_database_list WHERE name = 'main'), ''), '', 'off', synchronous FROM pragma_synchronous`
	if s.dialect == PostgreSQL {
		text = `SELECT CAST(coalesce(CAST(to_regclass('{ledger}') AS oid), 0) AS text) || ' in ' ||
			(SELECT CAST(oid AS text) FROM pg_database WHERE datname = current_database()) || ' of ' ||
			(SELECT CAST(system_identifier AS text) FROM pg_control_system()), current_setting('transaction_isolation'),
			current_setting('transaction_read_only'), current_setting('synchronous_commit')`
	}
	err = s.find(ctx, text, nil, &p.name, &p.isolation, &p.readOnly, &p.synchronous)
	return p, err
}

func (s *Store) checkTx(ctx context.Context) error {
	p, err := s.findPlace(ctx)
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(p.isolation, "repeatable"), p.isolation == "serializable":
		return fmt.Errorf("%w: it is %s, begin it with sql.TxOptions{Isolation: sql.LevelReadCommitted}", ErrTx, p.isolation)
	case p.readOnly != "off":
		return fmt.Errorf("%w: it is read-only", ErrTx)
	case p.name != s.place:
		return fmt.Errorf("%w: it is not of this Store's database and tables", ErrTx)
	}
	// A crash may undo a commit that does not wait for the disk.
	f := settings{"synchronous": p.synchronous, "synchronous_commit": p.synchronous}
	if err := errors.Join(f.broken(s.options.UnsafeDurability)...); err != nil {
		return fmt.Errorf("%w: %w", ErrTx, err)
	}
	if s.dialect == PostgreSQL {
		return nil
	}
	// A statement that would write takes the lock, even if there is nothing to write.
	_, err = s.exec(ctx, `UPDATE {schema} SET version = version WHERE version < 0`)
	switch {
	case isLocked(SQLite, err):
		return fmt.Errorf("%w: it cannot get the write lock, begin it with BEGIN IMMEDIATE (_txlock=immediate): %w", ErrTx, err)
	case err != nil && strings.Contains(err.Error(), "readonly database"):
		return fmt.Errorf("%w: it is read-only: %w", ErrTx, err)
	}
	return err
}

// Credentials returns the signing secrets, or ErrNoSealer.
func (in *In) Credentials() (*Credentials, error) { return in.store.Credentials() }

// Keys returns the key pairs, or ErrNoSealer. After Generate, Put, Rotate and Delete all others who change
// pairs wait for the end of the transaction; after Ensure those of the same client key alone.
func (in *In) Keys() (*Keys, error) { return in.store.Keys() }

// Ledger returns the ledger without its uses, for bearer.Mechanism.MintIn.
func (in *In) Ledger() token.Issuing { return struct{ token.Issuing }{in.store.Ledger()} }

// APIKeys returns the API keys without their uses, for apikey.Keys.In. Other makers of keys for the
// same account and its logins wait for the end of the transaction.
func (in *In) APIKeys() apikey.Issuing { return struct{ apikey.Issuing }{in.store.APIKeys()} }

// Sessions returns what ends sessions, for session.Sessions.In.
func (in *In) Sessions() session.Ending { return struct{ session.Ending }{in.store.Sessions()} }

// RemoveFactor removes an account's second factor and its recovery codes, or returns ErrNoSealer. End
// its sessions, too: a login that is under way may have used it.
func (in *In) RemoveFactor(ctx context.Context, org auth.OrgKey, account string) error {
	if err := in.store.keepsSecrets(); err != nil {
		return err // an unsealed row would lock the account out of the instances with the Sealer
	}
	// The row stays, so that its version never comes back: a change that began before must fail.
	f := &factors{in.store}
	_, err := in.store.record(ctx, auth.Event{Verb: verbs.FactorRemoved, Org: org, Account: account}, `UPDATE {factors} SET version = version + 1, sealed = $3, recovery = $4 WHERE org = $1 AND account = $2`,
		org, account, f.seal(org, account, session.Factor{}), []byte{})
	return failed("remove a second factor", err)
}

// RevokeAccount is Store.RevokeAccount in the transaction.
func (in *In) RevokeAccount(ctx context.Context, org auth.OrgKey, account string) error {
	return in.store.RevokeAccount(ctx, org, account)
}

// DeleteAccount is Store.DeleteAccount in the transaction.
func (in *In) DeleteAccount(ctx context.Context, org auth.OrgKey, account string) error {
	return in.store.DeleteAccount(ctx, org, account)
}

// DeleteOrg is Store.DeleteOrg in the transaction, as one step: after an error nothing is deleted. For an org
// with more than some thousand sessions or tokens call Store.DeleteOrg after the commit.
func (in *In) DeleteOrg(ctx context.Context, org auth.OrgKey) error {
	return in.store.write(ctx, func(conn) error { return in.store.DeleteOrg(ctx, org) }, auditLock(org), "org\x00"+string(org))
}
