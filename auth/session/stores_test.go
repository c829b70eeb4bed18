package session_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// counter is a fast Hasher that counts its calls. An encoded password is the password.
type counter struct {
	hashed, verified atomic.Int64
	hold             func() // runs within each Verify
	rehash           bool
}

func (c *counter) Hash(password string) (string, error) {
	c.hashed.Add(1)
	return password, nil
}

func (c *counter) Verify(encoded, password string) (ok, rehash bool) {
	c.verified.Add(1)
	if c.hold != nil {
		c.hold()
	}
	return encoded == password, c.rehash
}

// stores are all stores of a Manager. They count the calls of each verb, and fail if a
// test says so.
type stores struct {
	session.Store
	session.Attempts
	session.FactorStore
	passwords map[string]string // by org/login

	mu     sync.Mutex
	fail   map[string]error  // by verb
	before map[string]func() // runs before the verb does its work
	calls  map[string]int
	writes int // calls that change sessions or attempts
}

func (s *stores) at(verb string) error {
	s.mu.Lock()
	s.calls[verb]++
	before, err := s.before[verb], s.fail[verb]
	s.mu.Unlock()
	if before != nil {
		before()
	}
	return err
}

func (s *stores) wrote() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
}

func (s *stores) count(verb string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[verb]
}

// set makes a verb fail, or work again.
func (s *stores) set(verb string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[verb] = err
}

func (s *stores) Create(ctx context.Context, r session.Session, limit int) error {
	if err := s.at("Create"); err != nil {
		return err
	}
	s.wrote()
	return s.Store.Create(ctx, r, limit)
}

func (s *stores) Get(ctx context.Context, org auth.OrgKey, hash [32]byte) (session.Session, error) {
	if err := s.at("Get"); err != nil {
		return session.Session{}, err
	}
	return s.Store.Get(ctx, org, hash)
}

func (s *stores) Touch(ctx context.Context, org auth.OrgKey, hash [32]byte, seen time.Time) error {
	if err := s.at("Touch"); err != nil {
		return err
	}
	return s.Store.Touch(ctx, org, hash, seen)
}

func (s *stores) Replace(ctx context.Context, org auth.OrgKey, old [32]byte, r session.Session) error {
	if err := s.at("Replace"); err != nil {
		return err
	}
	return s.Store.Replace(ctx, org, old, r)
}

func (s *stores) Delete(ctx context.Context, org auth.OrgKey, hash [32]byte) error {
	if err := s.at("Delete"); err != nil {
		return err
	}
	s.wrote()
	return s.Store.Delete(ctx, org, hash)
}

func (s *stores) DeleteID(ctx context.Context, org auth.OrgKey, account, id string) error {
	if err := s.at("DeleteID"); err != nil {
		return err
	}
	s.wrote()
	return s.Store.DeleteID(ctx, org, account, id)
}

func (s *stores) DeleteAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error) {
	if err := s.at("DeleteAll"); err != nil {
		return 0, err
	}
	return s.Store.DeleteAll(ctx, org, account, except)
}

func (s *stores) DeleteOrg(ctx context.Context, org auth.OrgKey) (int, error) {
	if err := s.at("DeleteOrg"); err != nil {
		return 0, err
	}
	return s.Store.DeleteOrg(ctx, org)
}

func (s *stores) List(ctx context.Context, org auth.OrgKey, account string) ([]session.Session, error) {
	if err := s.at("List"); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, org, account)
}

// Load and Swap are calls of Try, which a Swap counts if it adds an attempt.
func (s *stores) Load(ctx context.Context, org auth.OrgKey, key string) (string, error) {
	s.mu.Lock()
	err := s.fail["Try"]
	s.mu.Unlock()
	if err != nil {
		return "", err
	}
	return s.Attempts.Load(ctx, org, key)
}

func (s *stores) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (bool, error) {
	done, err := s.Attempts.Swap(ctx, org, key, old, record)
	if !done || err != nil {
		return done, err
	}
	s.wrote()
	var before, after int
	fmt.Sscan(old, &before)
	if fmt.Sscan(record, &after); after > before {
		s.at("Try")
	}
	return done, err
}

func (s *stores) Factor(ctx context.Context, org auth.OrgKey, account string) (session.Factor, error) {
	if err := s.at("Factor"); err != nil {
		return session.Factor{}, err
	}
	return s.FactorStore.Factor(ctx, org, account)
}

func (s *stores) Save(ctx context.Context, org auth.OrgKey, account string, f session.Factor) error {
	if err := s.at("Save"); err != nil {
		return err
	}
	return s.FactorStore.Save(ctx, org, account, f)
}

func (s *stores) Password(_ context.Context, org auth.OrgKey, login string) (account, encoded string, err error) {
	if err := s.at("Password"); err != nil {
		return "", "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if encoded, ok := s.passwords[string(org)+"/"+login]; ok {
		return login, encoded, nil
	}
	return "", "", auth.ErrNotFound
}

// put gives an account a password.
func (s *stores) put(org, account, encoded string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passwords[org+"/"+account] = encoded
}

// hanging is a store that does not answer until ctx ends.
type hanging struct{ session.Store }

func (hanging) Get(ctx context.Context, _ auth.OrgKey, _ [32]byte) (session.Session, error) {
	<-ctx.Done()
	return session.Session{}, ctx.Err()
}

func (hanging) List(ctx context.Context, _ auth.OrgKey, _ string) ([]session.Session, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hanging) DeleteID(ctx context.Context, _ auth.OrgKey, _, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func (hanging) DeleteAll(ctx context.Context, _ auth.OrgKey, _, _ string) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func (hanging) DeleteOrg(ctx context.Context, _ auth.OrgKey) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func (hanging) Delete(ctx context.Context, _ auth.OrgKey, _ [32]byte) error {
	<-ctx.Done()
	return ctx.Err()
}

// outage is a directory that can fail for accounts.
type outage struct {
	auth.Directory
	down bool
}

func (o *outage) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	if o.down {
		return nil, http.ErrServerClosed
	}
	return o.Directory.Account(ctx, org, id)
}
