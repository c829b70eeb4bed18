package storetest

import (
	"crypto/ed25519"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/signing"
)

// Credentials checks the contract of signature.Credentials. In each subtest open
// returns a store with the credential c and its secret, beside any others. The
// client key is c.Key.ClientKey(). A store that keeps secrets makes its own Key. If the
// Key has public keys, secret is empty.
func Credentials(t *testing.T, open func(t *testing.T, secret signing.Secret, c *signature.Credential) signature.Credentials, f Features) {
	suite.Run(t, suite.Tests[func(*testing.T, *credentials)]{
		{"restrictions come back as they were", testRestrictions},
		{"without restrictions there are none", testUnrestricted},
		{"the key holds the secret, and no other one", testKeyVerifies},
		{"public keys come back as they were, without a secret", testPublicKeys},
		{"a use is recorded once an hour, and creates no credential", testCredentialSeen},
		{"an unknown client key is not found", testUnknownClientKey},
		{"a look-up whose context has ended finds no absence", testCredentialsContext},
	}, func(t *testing.T, test func(*testing.T, *credentials)) {
		test(t, &credentials{open: open, f: suite.Features(f)})
	})
}

type credentials struct {
	open func(t *testing.T, secret signing.Secret, c *signature.Credential) signature.Credentials
	f    suite.Features
}

// with opens a store with a new credential.
func (c *credentials) with(t *testing.T, restrictions signature.Credential) (store signature.Credentials, clientKey string, secret signing.Secret) {
	t.Helper()
	clientKey, secret = signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	suite.Must(t, "NewKey", err)
	restrictions.Key = key
	return c.open(t, secret, &restrictions), clientKey, secret
}

func find(t *testing.T, store signature.Credentials, clientKey string) *signature.Credential {
	t.Helper()
	found, err := store.Credential(t.Context(), clientKey)
	suite.Must(t, "Credential", err)
	suite.Same(t, "client key", found.Key.ClientKey(), clientKey)
	return found
}

func testRestrictions(t *testing.T, c *credentials) {
	now := c.f.Time()
	want := signature.Credential{
		Account:   c.f.AccountNamed("account é 😀 '\"\\"),
		Accounts:  []string{c.f.AccountNamed("second"), c.f.AccountNamed(""), c.f.AccountNamed("third%")},
		Scope:     []string{"object.read.c_note", "admin"},
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(time.Hour),
		Networks:  []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")},
		Disabled:  true,

		MinVersion: 2,

		Name: "nightly build", Maker: c.f.AccountNamed("maker"), Created: now.Add(-time.Minute).UTC().Truncate(time.Millisecond),
	}
	store, clientKey, _ := c.with(t, want)
	got := find(t, store, clientKey)
	same := got.Account == want.Account && slices.Equal(got.Accounts, want.Accounts) && slices.Equal(got.Scope, want.Scope) && slices.Equal(got.Networks, want.Networks) &&
		got.NotBefore.Equal(want.NotBefore) && got.NotAfter.Equal(want.NotAfter) && got.Disabled == want.Disabled && got.MinVersion == want.MinVersion
	suite.Check(t, same, "restrictions %+v, want %+v", got, want)
}

// testCredentialSeen is for a store that is a signature.Seeing.
func testCredentialSeen(t *testing.T, c *credentials) {
	store, clientKey, _ := c.with(t, signature.Credential{})
	seeing, ok := store.(signature.Seeing)
	if !ok {
		t.Skip("it records no use")
	}
	at := c.f.Time().UTC().Truncate(time.Millisecond)
	found := find(t, store, clientKey)
	suite.Check(t, found.Seen.IsZero() && !found.From.IsValid(), "a new one: %v from %v", found.Seen, found.From)
	suite.Seen(t, at, func(use face.Use) { seeing.See(t.Context(), clientKey, use.Seen, use.From.Addr()) },
		func() face.Use { return find(t, store, clientKey).Use })
	unknown, _ := signing.Generate()
	seeing.See(t.Context(), unknown, at, netip.Addr{})
	_, err := store.Credential(t.Context(), unknown)
	suite.Check(t, auth.IsNotFound(err), "an unknown one: %v", err)
}

func testUnrestricted(t *testing.T, c *credentials) {
	store, clientKey, _ := c.with(t, signature.Credential{})
	got := find(t, store, clientKey)
	none := got.Account == "" && got.Accounts == nil && got.Scope == nil && got.Networks == nil && got.NotBefore.IsZero() && got.NotAfter.IsZero() && !got.Disabled
	suite.Check(t, none && got.MinVersion <= 1, "restrictions %+v, want none", got)
	// An empty Networks admits nobody, and an empty Scope permits nothing. Nil does not
	// restrict.
	store, clientKey, _ = c.with(t, signature.Credential{Networks: []netip.Prefix{}, Scope: []string{}})
	got = find(t, store, clientKey)
	suite.Check(t, got.Networks != nil && got.Scope != nil, "no network or no chain at all came back as any")
}

func testKeyVerifies(t *testing.T, c *credentials) {
	store, clientKey, secret := c.with(t, signature.Credential{})
	_, other := signing.Generate()
	key := find(t, store, clientKey).Key
	right, wrong := key.Holds(secret, c.f.Time()) != nil, key.Holds(other, c.f.Time()) != nil
	suite.Check(t, right && !wrong && len(key.Secrets()) == 1, "%d secrets, the right one: %t, another: %t", len(key.Secrets()), right, wrong)
}

func testPublicKeys(t *testing.T, c *credentials) {
	clientKey, _ := signing.Generate()
	var public []ed25519.PublicKey
	for range 2 {
		key, _, err := ed25519.GenerateKey(nil)
		suite.Must(t, "GenerateKey", err)
		public = append(public, key)
	}
	key, err := signing.NewPublicKey(clientKey, public...)
	suite.Must(t, "NewPublicKey", err)
	found := find(t, c.open(t, "", &signature.Credential{Key: key, MinVersion: 2, Disabled: true}), clientKey)
	same := slices.EqualFunc(found.Key.PublicKeys(), public, func(a, b ed25519.PublicKey) bool { return a.Equal(b) })
	ok := same && len(found.Key.Secrets()) == 0 && found.MinVersion == 2 && found.Disabled
	suite.Check(t, ok, "%d secrets, public keys as they were: %t, restrictions %+v", len(found.Key.Secrets()), same, found)
}

func testUnknownClientKey(t *testing.T, c *credentials) {
	store, clientKey, _ := c.with(t, signature.Credential{})
	for _, unknown := range []string{
		"", strings.ToLower(clientKey), strings.ToUpper(clientKey), clientKey + " ", clientKey[1:], "%", "' OR '1'='1", "\x00", "\xff", "é",
		strings.Repeat("k", 10<<10),
	} {
		if unknown == clientKey {
			continue
		}
		found, err := store.Credential(t.Context(), unknown)
		suite.Check(t, found == nil && errors.Is(err, auth.ErrNotFound), "%.40q: %v, %v, want auth.ErrNotFound", unknown, found, err)
	}
}

func testCredentialsContext(t *testing.T, c *credentials) {
	store, clientKey, _ := c.with(t, signature.Credential{})
	_, err := store.Credential(suite.Ended(t), clientKey)
	suite.Check(t, !errors.Is(err, auth.ErrNotFound), "error %v, want that of the context", err)
}
