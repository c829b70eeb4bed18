package apikey

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/listing"
	"github.com/tenantkit/tenantkit/internal/recent"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// Name is the name of the mechanism in principals and in auth.Need.By.
const Name = admission.APIKey

// Mechanism authenticates API keys. A request sends one as Authorization: Bearer KEY. In a Guard the
// Mechanism stands beside a bearer.Mechanism and an issuer.Mechanism, in any order: the prefix alone
// says whose credential it is. The fields must not be changed once the Mechanism is in use. Its
// methods are safe for concurrent use.
//
// The principal of a key has its ID as TokenID, and no Authenticated time: whoever has a key can send
// it. So it makes nothing that would outlive it: no key, no session, no signing secret, and only
// tokens of at most 15 minutes. A key with Uses makes nothing.
//
// A key ends with its owner's account, and with its app if it has one. A new password and
// Account.TokensFrom do not end it; sqlstore.Store.RevokeAccount does.
type Mechanism struct {
	Formats []Format // required; several are for live and test, or old and new
	Store   Store    // required

	// Header names a header in which a key may be sent instead, such as X-Api-Key; "": none.
	Header string

	// Stale is how long a record is answered from memory; 0: each request reads the Store. A key that
	// was revoked or restricted through Keys is refused by the next request in this process, and
	// elsewhere at the latest after Stale. About 16 MiB of records are kept. An org has an equal share.
	Stale time.Duration

	PerAccount int // keys of one account; 0: 100

	binding sync.Once
	orgs    recent.Groups
	known   recent.Answers[[32]byte, *known]
}

// maxKnown limits what Mechanism remembers, in KiB.
const maxKnown = 16 << 10

// known is a record whose secret was proven.
type known struct {
	Record
	seen atomic.Int64 // Record.Seen, or a later use that this process has recorded; Unix milliseconds
}

// Name implements auth.Mechanism.
func (m *Mechanism) Name() string { return Name }

// Bind implements auth.Mechanism. A Mechanism may serve several Guards.
func (m *Mechanism) Bind(*auth.Settings) error {
	header := http.CanonicalHeaderKey(m.Header)
	switch {
	case m.Store == nil || len(m.Formats) == 0:
		return errors.New("apikey: Mechanism.Store and Mechanism.Formats are required")
	case header == "Authorization" || header == "Cookie" || strings.ContainsAny(header, " :\r\n"):
		return errors.New("apikey: Mechanism.Header cannot be " + header)
	case m.Stale < 0 || m.PerAccount < 0:
		return errors.New("apikey: Mechanism.Stale and Mechanism.PerAccount must not be negative")
	}
	for i, f := range m.Formats {
		if !f.valid() || slices.Contains(m.Formats[:i], f) {
			return fmt.Errorf("apikey: the prefix %q is not [a-z][a-z0-9]*(_[a-z0-9]+)* of at most %d bytes, or is there twice", f.Prefix, maxPrefix)
		}
	}
	m.binding.Do(func() { m.orgs.Stale, m.orgs.Limit = m.Stale, maxKnown })
	return nil
}

// Owns reports whether a credential begins with one of the prefixes, well-formed or not.
func (m *Mechanism) Owns(_ auth.OrgKey, raw string) bool {
	raw = strings.TrimLeft(raw, " \t")
	return slices.ContainsFunc(m.Formats, func(f Format) bool { return f.begins(raw) })
}

// Presented implements auth.Mechanism. A bearer credential with another prefix is left to the Guard's
// mechanisms for tokens, if it has one.
func (m *Mechanism) Presented(r *http.Request) auth.Presence {
	if m.Header != "" && len(r.Header.Values(m.Header)) > 0 {
		return auth.InHeader
	}
	return admission.PresenceFor(Name, r)
}

// Authenticate implements auth.Mechanism. It records a use last.
//
// Details of its errors are auth.DetailAmbiguous and auth.DetailInvalidToken. Any other error wraps
// auth.ErrUnavailable. Whatever is wrong with a key, the answer is the same.
func (m *Mechanism) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return m.authenticate(ctx, r, t, m.Stale, true)
}

// Readmit implements auth.Readmitter. It reads the Store, and records no use. It also refuses a key
// that has no use left, so the request of its last use is not kept open.
func (m *Mechanism) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return m.authenticate(ctx, r, t, 0, false)
}

// authenticate decides about the key of a request. With use, it records one after every other check.
func (m *Mechanism) authenticate(ctx context.Context, r *http.Request, t *auth.Tenant, stale time.Duration, use bool) (p auth.Principal, err error) {
	raw, err := m.read(r)
	if err != nil {
		return p, err
	}
	now := t.Now()
	k, id, err := m.find(ctx, raw, stale, now)
	if err != nil {
		return p, answer(id, err)
	}
	if p, err = k.principal(ctx, r, t, now); err == nil && use {
		err = m.record(ctx, r, t, k, now)
	}
	if err != nil {
		if k.Org == t.Org.Key() { // another org's observers must not learn whose it is
			t.Claim(auth.Claimed{App: k.App, Account: k.Account})
		}
		return auth.Principal{}, answer(k.ID, err)
	}
	return p, nil
}

// read returns the key that a request sends.
func (m *Mechanism) read(r *http.Request) (string, error) {
	own := r.Header.Values(m.Header) // none has the name ""
	switch {
	case len(own) == 0:
		raw, _, err := admission.Credential(r.Header["Authorization"], nil)
		return raw, err
	case len(own) > 1 || admission.Presented(r.Header["Authorization"]):
		return "", &auth.Error{Detail: auth.DetailAmbiguous}
	}
	return own[0], nil
}

// parse returns what a key of one of the Formats says of its record, or false if a text is none.
func (m *Mechanism) parse(raw string) (sent Record, ok bool) {
	for _, f := range m.Formats {
		if sent, ok = f.parse(raw); ok {
			break
		}
	}
	return sent, ok
}

// find returns the record of a key that a request sends, and in an error the id.
func (m *Mechanism) find(ctx context.Context, raw string, stale time.Duration, now time.Time) (k *known, id string, err error) {
	var all [32]byte // of all of it: only who has the key gets an answer from memory
	if stale > 0 && len(raw) <= maxSize {
		var text [maxSize]byte // a conversion would take memory
		all = sha256.Sum256(text[:copy(text[:], raw)])
		if k, ok := m.known.Find(&m.orgs, now, all); ok {
			return k, k.ID, nil
		}
	}
	sent, ok := m.parse(raw)
	switch {
	case !ok:
		return nil, "", auth.ErrNotFound
	case stale == 0:
		k, err = look(ctx, m.Store, &sent)
	default:
		k, err = m.known.Get(ctx, &m.orgs, now, all, func() (recent.Found[*known], error) {
			k, err := look(ctx, m.Store, &sent)
			if err != nil {
				return recent.Found[*known]{}, err
			}
			return recent.Found[*known]{Value: k, Group: string(k.Org), Cost: 1 + len(k.Stored())/1024}, nil
		})
	}
	return k, sent.ID, err
}

// look returns the stored record of a key that was sent. An unknown id is compared, too, and rejected like a
// wrong secret. A store that decodes the records that it finds takes a little longer for those: an id is public.
func look(ctx context.Context, in Issuing, sent *Record) (*known, error) {
	r, err := in.Get(ctx, sent.ID)
	proven := subtle.ConstantTimeCompare(sent.Hash[:], r.Hash[:]) == 1
	if err == nil && (!proven || r.ID != sent.ID || r.Prefix != sent.Prefix) {
		err = auth.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	k := &known{Record: r}
	k.seen.Store(r.Seen.UnixMilli())
	return k, nil
}

// principal makes all checks of a proven key that record nothing.
func (k *known) principal(ctx context.Context, r *http.Request, t *auth.Tenant, now time.Time) (p auth.Principal, err error) {
	switch {
	case k.Org != t.Org.Key():
		return p, refused(k.ID, errors.New("of another org"))
	case !k.LiveAt(now):
		return p, refused(k.ID, auth.ErrEnded)
	case k.Networks != nil && !face.Admits(k.Networks, t.ClientAddr(r)):
		return p, refused(k.ID, auth.ErrNetwork)
	}
	if k.App != "" {
		if _, err := t.App(ctx, k.App); err != nil {
			return p, err
		}
	}
	account, err := t.Account(ctx, k.Account)
	if err != nil {
		return p, err
	}
	p = t.Principal(Name, k.App, k.Account, slices.Clone(account.Roles), t.CompileRecord("api key", k.ID, k.Scope))
	p.TokenID, p.Expires, p.Networks, p.Limited = k.ID, k.Expires, slices.Clone(k.Networks), k.Uses > 0
	return p, nil
}

// record records the use of a key: always if its uses are counted, and otherwise once an hour.
func (m *Mechanism) record(ctx context.Context, r *http.Request, t *auth.Tenant, k *known, now time.Time) error {
	seen := k.seen.Load()
	due := now.UnixMilli()-seen >= face.Every.Milliseconds() && k.seen.CompareAndSwap(seen, now.UnixMilli())
	if k.Uses == 0 && !due {
		return nil
	}
	err := m.Store.Use(ctx, k.ID, now, face.At(now, t.ClientAddr(r)).From)
	if err != nil && due {
		k.seen.Store(seen) // so that the next request asks the store, too
	}
	if err == nil && due && verbs.Soon(now, k.Expires) && face.IsDaily(time.UnixMilli(seen), now) {
		auth.Emit(ctx, auth.Event{Verb: verbs.EndsSoon, App: k.App, Account: k.Account, Credential: k.ID, Reason: k.Expires.Format(time.DateOnly)})
	}
	return err
}

// answer returns the answer to an error. What does not answer must not read as a wrong key.
func answer(id string, err error) error {
	if _, ok := errors.AsType[*auth.Error](err); ok {
		return err
	}
	if auth.IsNotFound(err) {
		return refused(id, err)
	}
	return auth.Unavailable(err)
}

// refused is one answer for all causes. The cause goes to the Guard's observer, with the id.
func refused(id string, cause error) error {
	return &auth.Error{Detail: auth.DetailInvalidToken, Err: fmt.Errorf("apikey: the key %q is refused: %w", id, cause)}
}

// Invalidate removes all records of an org from memory. Call it after a change that was not made by
// Keys: after RevokeAccount, or after the commit of a transaction.
func (m *Mechanism) Invalidate(org auth.OrgKey) { m.orgs.Forget(string(org)) }

// Challenge implements auth.Mechanism.
func (m *Mechanism) Challenge(_ *auth.Tenant, err error) string { return admission.Challenge(err) }

// Schemes implements openapi.Describer.
func (m *Mechanism) Schemes(*auth.Settings) []listing.Scheme {
	s := []listing.Scheme{{Authorization: "bearer", Format: "API key", Description: "A key that begins with `" + m.Formats[0].Prefix + "_`."}}
	if m.Header != "" {
		s = append(s, listing.Scheme{Name: Name + "_header", Headers: []string{m.Header}, Description: s[0].Description})
	}
	return s
}
