package enginetest

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/enginetest/suites"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// sabotage spoils one of all the calls to a set of stores.
type sabotage struct {
	mode  mode
	at    int64 // number of the spoiled call, from 1; 0: none
	calls atomic.Int64
	verbs sync.Map    // methods called, by name
	done  atomic.Bool // whether a call was spoiled

	// courtesy reports that the spoiled call was one whose failure may stay unnoticed. If a try is
	// not taken back, the account loses a try, and nobody gains access.
	courtesy atomic.Bool
}

// mode is what happens to the call.
type mode string

const (
	failBefore mode = "an error, nothing done"
	failAfter  mode = "an error, after it was done"
	panicking  mode = "a panic"
	hanging    mode = "no answer"
)

var (
	errSabotage = errors.New("sabotage")
	modes       = []mode{failBefore, failAfter, panicking, hanging}
)

func (s *sabotage) around(ctx context.Context, verb string, call func() error) error {
	s.verbs.Store(verb, true)
	if s.calls.Add(1) != s.at {
		return call()
	}
	s.done.Store(true)
	switch s.mode {
	case failAfter:
		call()
	case panicking:
		panic(errSabotage)
	case hanging:
		<-ctx.Done()
		return ctx.Err()
	}
	return errSabotage
}

// politely is around for calls of courtesy.
func (s *sabotage) politely(ctx context.Context, verb string, call func() error) error {
	before := s.done.Load()
	defer func() { s.courtesy.CompareAndSwap(false, !before && s.done.Load()) }()
	return s.around(ctx, verb, call)
}

// result is around for calls that return a value.
func result[T any](ctx context.Context, s *sabotage, verb string, call func() (T, error)) (T, error) {
	var value T
	err := s.around(ctx, verb, func() (err error) {
		value, err = call()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// spoilable are the interfaces whose methods the days of TestSabotage must all call.
var spoilable = []reflect.Type{
	reflect.TypeFor[signing.Replays](),
	reflect.TypeFor[token.Ledger](), reflect.TypeFor[token.Keys](), reflect.TypeFor[token.Signers](), reflect.TypeFor[token.Exposed](),
	reflect.TypeFor[signature.Credentials](),
	reflect.TypeFor[session.Store](), reflect.TypeFor[session.Attempts](), reflect.TypeFor[session.FactorStore](),
	reflect.TypeFor[session.PasswordStore](), reflect.TypeFor[session.Rehasher](),
	reflect.TypeFor[auth.Directory](),
}

// coverEachMethod fails for methods that no call has used.
func (s *sabotage) coverEachMethod(t *testing.T) {
	t.Helper()
	var want, got []string
	for _, kind := range spoilable {
		for i := range kind.NumMethod() {
			want = append(want, kind.String()+"."+kind.Method(i).Name)
		}
	}
	s.verbs.Range(func(verb, _ any) bool {
		got = append(got, verb.(string))
		return true
	})
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("K06 methods that are spoiled (-want +got):\n%s", diff)
	}
}

// Stores of each kind, under sabotage. None embeds its interface: an additional method does not
// compile until it is spoiled, too.
type (
	spoiledReplays struct {
		*sabotage
		of signing.Replays
	}
	spoiledLedger struct {
		*sabotage
		of token.Ledger
	}
	spoiledKeys struct {
		*sabotage
		of suites.KeyStore
	}
	spoiledCredentials struct {
		*sabotage
		of signature.Credentials
	}
	spoiledSessions struct {
		*sabotage
		of session.Store
	}
	spoiledAttempts struct {
		*sabotage
		of session.Attempts
	}
	spoiledFactors struct {
		*sabotage
		of session.FactorStore
	}
	spoiledPasswords struct {
		*sabotage
		of passwords
	}
	spoiledDirectory struct {
		*sabotage
		of auth.Directory
	}
)

func (s spoiledReplays) Claim(ctx context.Context, u signing.Use) error {
	return s.around(ctx, "signing.Replays.Claim", func() error { return s.of.Claim(ctx, u) })
}

func (s spoiledLedger) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	return result(ctx, s.sabotage, "token.Ledger.Spend", func() (token.Lineage, error) { return s.of.Spend(ctx, r) })
}

func (s spoiledLedger) Issue(ctx context.Context, r token.Record, verifying []string, limit int) error {
	return s.around(ctx, "token.Ledger.Issue", func() error { return s.of.Issue(ctx, r, verifying, limit) })
}

func (s spoiledLedger) Renew(ctx context.Context, r, next token.Record, grace time.Duration) error {
	return s.around(ctx, "token.Ledger.Renew", func() error { return s.of.Renew(ctx, r, next, grace) })
}

func (s spoiledLedger) Get(ctx context.Context, of token.Holder, id string) (token.Record, error) {
	return result(ctx, s.sabotage, "token.Ledger.Get", func() (token.Record, error) { return s.of.Get(ctx, of, id) })
}

func (s spoiledLedger) Revoke(ctx context.Context, of token.Holder, id string) error {
	return s.around(ctx, "token.Ledger.Revoke", func() error { return s.of.Revoke(ctx, of, id) })
}

func (s spoiledLedger) RevokeSubject(ctx context.Context, of token.Holder) (int, error) {
	return result(ctx, s.sabotage, "token.Ledger.RevokeSubject", func() (int, error) { return s.of.RevokeSubject(ctx, of) })
}

func (s spoiledLedger) List(ctx context.Context, of token.Holder, after token.Position, limit int) (page []token.Record, next token.Position, err error) {
	err = s.around(ctx, "token.Ledger.List", func() error {
		page, next, err = s.of.List(ctx, of, after, limit)
		return err
	})
	if err != nil {
		return nil, token.Position{}, err
	}
	return page, next, nil
}

func (s spoiledKeys) Public(ctx context.Context, kid string) (*token.PublicKey, error) {
	return result(ctx, s.sabotage, "token.Keys.Public", func() (*token.PublicKey, error) { return s.of.Public(ctx, kid) })
}

func (s spoiledKeys) Signer(ctx context.Context, clientKey string) (*token.KeyPair, error) {
	return result(ctx, s.sabotage, "token.Signers.Signer", func() (*token.KeyPair, error) { return s.of.Signer(ctx, clientKey) })
}

func (s spoiledKeys) Exposed(ctx context.Context, org auth.OrgKey) ([]token.PublicKey, error) {
	return result(ctx, s.sabotage, "token.Exposed.Exposed", func() ([]token.PublicKey, error) { return s.of.Exposed(ctx, org) })
}

func (s spoiledCredentials) Credential(ctx context.Context, clientKey string) (*signature.Credential, error) {
	return result(ctx, s.sabotage, "signature.Credentials.Credential", func() (*signature.Credential, error) { return s.of.Credential(ctx, clientKey) })
}

func (s spoiledSessions) Create(ctx context.Context, r session.Session, limit int) error {
	return s.around(ctx, "session.Store.Create", func() error { return s.of.Create(ctx, r, limit) })
}

func (s spoiledSessions) Get(ctx context.Context, org auth.OrgKey, hash [32]byte) (session.Session, error) {
	return result(ctx, s.sabotage, "session.Store.Get", func() (session.Session, error) { return s.of.Get(ctx, org, hash) })
}

func (s spoiledSessions) Touch(ctx context.Context, org auth.OrgKey, hash [32]byte, seen time.Time) error {
	return s.around(ctx, "session.Store.Touch", func() error { return s.of.Touch(ctx, org, hash, seen) })
}

func (s spoiledSessions) Replace(ctx context.Context, org auth.OrgKey, old [32]byte, r session.Session) error {
	return s.around(ctx, "session.Store.Replace", func() error { return s.of.Replace(ctx, org, old, r) })
}

func (s spoiledSessions) Delete(ctx context.Context, org auth.OrgKey, hash [32]byte) error {
	return s.around(ctx, "session.Store.Delete", func() error { return s.of.Delete(ctx, org, hash) })
}

func (s spoiledSessions) DeleteID(ctx context.Context, org auth.OrgKey, account, id string) error {
	return s.around(ctx, "session.Store.DeleteID", func() error { return s.of.DeleteID(ctx, org, account, id) })
}

func (s spoiledSessions) DeleteAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error) {
	return result(ctx, s.sabotage, "session.Store.DeleteAll", func() (int, error) { return s.of.DeleteAll(ctx, org, account, except) })
}

func (s spoiledSessions) DeleteOrg(ctx context.Context, org auth.OrgKey) (int, error) {
	return result(ctx, s.sabotage, "session.Store.DeleteOrg", func() (int, error) { return s.of.DeleteOrg(ctx, org) })
}

func (s spoiledSessions) List(ctx context.Context, org auth.OrgKey, account string) ([]session.Session, error) {
	return result(ctx, s.sabotage, "session.Store.List", func() ([]session.Session, error) { return s.of.List(ctx, org, account) })
}

func (s spoiledAttempts) Load(ctx context.Context, org auth.OrgKey, key string) (record string, err error) {
	err = s.counted()(ctx, "session.Attempts.Load", func() error {
		record, err = s.of.Load(ctx, org, key)
		return err
	})
	return record, err
}

func (s spoiledAttempts) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (done bool, err error) {
	err = s.counted()(ctx, "session.Attempts.Swap", func() error {
		done, err = s.of.Swap(ctx, org, key, old, record)
		return err
	})
	return done && err == nil, err
}

// counted returns around, or politely for a call that takes a try back. Only who calls tells the one
// from the other.
func (s spoiledAttempts) counted() func(context.Context, string, func() error) error {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "session.attempt.withdraw") {
			return s.politely
		}
		if !more {
			return s.around
		}
	}
}

func (s spoiledFactors) Factor(ctx context.Context, org auth.OrgKey, account string) (session.Factor, error) {
	return result(ctx, s.sabotage, "session.FactorStore.Factor", func() (session.Factor, error) { return s.of.Factor(ctx, org, account) })
}

func (s spoiledFactors) Save(ctx context.Context, org auth.OrgKey, account string, f session.Factor) error {
	return s.around(ctx, "session.FactorStore.Save", func() error { return s.of.Save(ctx, org, account, f) })
}

func (s spoiledPasswords) Password(ctx context.Context, org auth.OrgKey, login string) (account, encoded string, err error) {
	err = s.around(ctx, "session.PasswordStore.Password", func() (err error) {
		account, encoded, err = s.of.Password(ctx, org, login)
		return err
	})
	return account, encoded, err
}

func (s spoiledPasswords) Rehash(ctx context.Context, org auth.OrgKey, account, old, encoded string) error {
	return s.politely(ctx, "session.Rehasher.Rehash", func() error { return s.of.Rehash(ctx, org, account, old, encoded) })
}

func (s spoiledDirectory) Org(ctx context.Context, code string) (*auth.Org, error) {
	return result(ctx, s.sabotage, "auth.Directory.Org", func() (*auth.Org, error) { return s.of.Org(ctx, code) })
}

func (s spoiledDirectory) App(ctx context.Context, clientKey string) (*auth.App, error) {
	return result(ctx, s.sabotage, "auth.Directory.App", func() (*auth.App, error) { return s.of.App(ctx, clientKey) })
}

func (s spoiledDirectory) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	return result(ctx, s.sabotage, "auth.Directory.Account", func() (*auth.Account, error) { return s.of.Account(ctx, org, id) })
}

func (s spoiledDirectory) Roles(ctx context.Context, org auth.OrgKey, names []string) ([]auth.Role, error) {
	return result(ctx, s.sabotage, "auth.Directory.Roles", func() ([]auth.Role, error) { return s.of.Roles(ctx, org, names) })
}
