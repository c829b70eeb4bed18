package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/redacted"
)

// Wrapper encrypts data keys with a key that stays in a KMS. Adopters write it, over the client of
// their KMS.
//
// Wrap encrypts key, and Unwrap returns the key that Wrap was given. Both authenticate bound, up to 200
// visible ASCII characters and spaces: the encryption context of AWS, the additional authenticated data
// of Google Cloud, the associated data of Vault. Unwrap must fail for another bound. Open checks that
// when it makes a data key; the KMS then logs one refusal.
//
// Any error means that the key is not known: Open fails. The errors reach Open's caller, so they must
// hold no secret. Both return when ctx ends, and are safe for concurrent use.
type Wrapper interface {
	Wrap(ctx context.Context, key DataKey, bound string) (wrapped []byte, err error)
	Unwrap(ctx context.Context, wrapped []byte, bound string) (DataKey, error)
}

// DataKey is a key that seals secrets, 32 bytes. It prints REDACTED. A Wrapper converts it to bytes,
// and those that a KMS has unwrapped to it.
type DataKey = redacted.String[dataKey]

type dataKey struct{}

var validName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// NewWrappedSealer returns a Sealer whose key a KMS guards. Each store has a data key of its own for
// each name, such as "2026": 1 to 64 of [A-Za-z0-9._-]. The first Open makes it. The database keeps it,
// wrapped, beside the secrets, and each Open has it unwrapped once. Of any number of instances that open
// a fresh store at the same time, all use one data key. If the KMS does not answer or refuses, Open
// returns an error that wraps auth.ErrUnavailable and that of the Wrapper. Nothing is sealed with
// another key then, or left unsealed. After Open, the KMS may be away.
//
// To replace the data key, or the KMS, or a key of NewSealer, take the steps of NewSealer with two
// Sealers and WithOld. The KMS may renew its own key at any time, as long as it unwraps what it has
// wrapped: what it has not must be replaced before.
func NewWrappedSealer(name string, w Wrapper) (*Sealer, error) {
	switch {
	case w == nil:
		return nil, errors.New("sqlstore: no Wrapper")
	case !validName.MatchString(name):
		return nil, fmt.Errorf("sqlstore: the name %q of a data key is not 1 to 64 of [A-Za-z0-9._-]", name)
	}
	return &Sealer{keys: []sealKey{{name: name, wrapper: w}}}, nil
}

// WithOld returns a Sealer that seals with the current key of s, and also opens with all keys of the
// old Sealers.
func (s *Sealer) WithOld(old ...*Sealer) *Sealer {
	all := &Sealer{keys: slices.Clone(s.keys)}
	for _, o := range old {
		all.keys = append(all.keys, o.keys...)
	}
	return all
}

// unwrapKeys replaces the Sealer by one that has the store's data keys. The one of Options stays as
// it is: it may be that of several stores.
func (s *Store) unwrapKeys(ctx context.Context) error {
	if s.options.Sealer == nil {
		return nil
	}
	opened := s.options.Sealer.WithOld()
	for i, k := range opened.keys {
		if k.wrapper == nil {
			continue
		}
		key, err := s.dataKey(ctx, k, len(opened.keys) > 1)
		if err == nil {
			opened.keys[i], err = newSealKey([]byte(key))
		}
		if err != nil {
			return fmt.Errorf("data key %q: %w", k.name, err)
		}
	}
	s.options.Sealer = opened
	return nil
}

// dataKey returns the data key of k's name. It makes one if there is none.
func (s *Store) dataKey(ctx context.Context, k sealKey, beside bool) (DataKey, error) {
	bound := "tenantkit data key " + k.name + " of " + s.options.Prefix
	var wrapped []byte
	find := func() error {
		return s.find(ctx, `SELECT wrapped FROM {wrapped} WHERE name = $1`, []any{k.name}, &wrapped)
	}
	err := find()
	if errors.Is(err, sql.ErrNoRows) {
		if err = s.makeDataKey(ctx, k, bound, beside); err == nil {
			err = find() // another instance may have been faster: its data key counts
		}
	}
	if err != nil {
		return "", found(err, ErrSealingKey)
	}
	key, err := k.wrapper.Unwrap(ctx, wrapped, bound)
	if err != nil {
		return "", auth.Unavailable(fmt.Errorf("the Wrapper does not unwrap it: %w", err))
	}
	return key, nil
}

// makeDataKey keeps a new data key, unless there is one. In a database that has sealed with another
// key it keeps one only beside another key, which may be that one: a lost row must not be hidden by
// a new one.
func (s *Store) makeDataKey(ctx context.Context, k sealKey, bound string, beside bool) error {
	key := make([]byte, keyLength)
	rand.Read(key)
	wrapped, err := k.wrapper.Wrap(ctx, DataKey(key), bound)
	if err != nil {
		return auth.Unavailable(fmt.Errorf("the Wrapper does not wrap it: %w", err))
	}
	if _, err := k.wrapper.Unwrap(ctx, wrapped, bound+" elsewhere"); err == nil {
		return errors.New("the Wrapper does not authenticate what a key is bound to")
	}
	_, err = s.exec(ctx, `INSERT INTO {wrapped} (name, wrapped) SELECT $1, CAST($2 AS {bytes})
		WHERE CAST($3 AS bigint) = 1 OR NOT EXISTS (SELECT 1 FROM {schema} WHERE probe IS NOT NULL)
		ON CONFLICT (name) DO NOTHING`, k.name, wrapped, number(beside))
	return err
}
