// Package apikey is a mechanism of an adopter: API keys in a header.
package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Name is the name of the mechanism in principals and in auth.Need.By.
const Name = "apikey"

// Key is the text that a client sends. It is shown once, and prints REDACTED.
type Key string

func (Key) Format(f fmt.State, _ rune)   { io.WriteString(f, "REDACTED") }
func (Key) LogValue() slog.Value         { return slog.StringValue("REDACTED") }
func (Key) MarshalText() ([]byte, error) { return []byte("REDACTED"), nil }

// A key is the prefix, 16 characters of a public id, 40 of a secret with 200 random bits,
// and 8 of a checksum. A secret scanner finds it by acme_[a-z2-7]{56}[0-9a-f]{8}.
const (
	prefix    = "acme_"
	idEnd     = len(prefix) + 16
	secretEnd = idEnd + 40
	keyEnd    = secretEnd + 8
)

var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")

// Record is what the server keeps of a key. A plain hash is enough for 200 random bits.
type Record struct {
	ID       string // public
	Hash     [32]byte
	Org      auth.OrgKey
	Account  string
	Scope    []string  // chains; none: the key permits nothing
	Expires  time.Time // zero: never
	Disabled bool
}

// New returns a key of an account, and its record. A route that calls it must check first
// that its caller may make the key: see Principal.MayMake.
func New(org auth.OrgKey, account string, chains []string, expires time.Time) (Key, Record) {
	var random [35]byte
	rand.Read(random[:]) // never fails
	text := prefix + alphabet.EncodeToString(random[:])
	key := Key(text + checksum(text))
	return key, Record{ID: key.id(), Hash: key.hash(), Org: org, Account: account, Scope: chains, Expires: expires}
}

func checksum(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }
func (k Key) id() string          { return string(k[len(prefix):idEnd]) }
func (k Key) hash() [32]byte      { return sha256.Sum256([]byte(k)) }

// valid reports whether the text can be a key. A typo costs no look-up.
func (k Key) valid() bool {
	return len(k) == keyEnd && strings.HasPrefix(string(k), prefix) && string(k[secretEnd:]) == checksum(string(k[:secretEnd]))
}

// Store finds records. It is safe for concurrent use, and returns when ctx ends.
type Store interface {
	// Record returns the record with this id, or auth.ErrNotFound. Any other error means
	// that the store did not answer.
	Record(ctx context.Context, id string) (Record, error)
}

// Mechanism authenticates the API key of the header Acme-Key, with the Guard's prefix.
type Mechanism struct {
	Store Store // required
}

// Name implements auth.Mechanism.
func (m *Mechanism) Name() string { return Name }

// Bind implements auth.Mechanism. Guard.Validate calls it.
func (m *Mechanism) Bind(*auth.Settings) error {
	if m.Store == nil {
		return errors.New("apikey: Mechanism.Store is required")
	}
	return nil
}

func sent(r *http.Request, t *auth.Tenant) []string {
	return r.Header.Values(t.Settings().Brand.Header + "Key")
}

// Presented implements auth.Mechanism.
func (m *Mechanism) Presented(r *http.Request) auth.Presence {
	t := auth.TenantFrom(r.Context())
	if t == nil || len(sent(r, t)) == 0 { // nil outside a Guard
		return auth.Absent
	}
	return auth.Header // also if it is malformed: Authenticate refuses it
}

// Authenticate implements auth.Mechanism.
func (m *Mechanism) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	values := sent(r, t)
	if len(values) != 1 {
		return auth.Principal{}, &auth.Error{Detail: auth.DetailAmbiguous}
	}
	key := Key(values[0])
	if !key.valid() {
		return auth.Principal{}, refused("malformed")
	}
	record, err := m.Store.Record(ctx, key.id())
	hash := key.hash()
	switch {
	case auth.IsNotFound(err):
		return auth.Principal{}, refused("unknown")
	case err != nil:
		return auth.Principal{}, auth.Unavailable(err) // an outage must not read as a wrong key
	case subtle.ConstantTimeCompare(hash[:], record.Hash[:]) != 1:
		return auth.Principal{}, refused("of another secret")
	case record.Org != t.Org.Key():
		return auth.Principal{}, refused("of another org")
	case record.Disabled, !record.Expires.IsZero() && !t.Now().Before(record.Expires):
		return auth.Principal{}, refused("disabled or ended")
	}
	account, err := t.Account(ctx, record.Account)
	switch {
	case auth.IsNotFound(err):
		return auth.Principal{}, refused("of a deleted or disabled account")
	case err != nil:
		return auth.Principal{}, err
	}
	scope := t.CompileRecord("api key", record.ID, record.Scope)
	return auth.Principal{
		Org: t.Org.Key(), Account: account.ID, Caller: account.ID, Mechanism: Name, Roles: slices.Clone(account.Roles),
		Scope: scope, Granted: scope, Expires: record.Expires,
		// No Authenticated: whoever has the key can send it. So it makes only what ends.
	}, nil
}

// Readmit implements auth.Readmitter, for streams. Authenticate records nothing.
func (m *Mechanism) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return m.Authenticate(ctx, r, t)
}

// refused is one answer for all reasons. The reason goes to the Guard's observer.
func refused(reason string) error {
	return &auth.Error{Detail: auth.DetailInvalidToken, Err: errors.New("apikey: a key that is " + reason)}
}

// Challenge implements auth.Mechanism.
func (m *Mechanism) Challenge(*auth.Tenant, error) string { return "Key" }

// Scheme implements auth.Describer.
func (m *Mechanism) Scheme(s *auth.Settings) auth.Scheme {
	return auth.Scheme{Mechanism: Name, Headers: []string{s.Brand.Header + "Key"}}
}
