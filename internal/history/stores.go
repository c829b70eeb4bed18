package history

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// Stores are what calls are made to.
type Stores struct {
	Run  string        // tells the objects of a run from those of another
	Skew time.Duration // of the clock of this process

	Replays     signing.Replays
	Ledger      token.Ledger
	Sessions    session.Store
	Attempts    session.Attempts
	Factors     session.FactorStore
	Keys        apikey.Store
	Idempotency idempotency.Store

	// Rotate replaces the key pair of an app, and Signer returns the id of its present one.
	Rotate, Signer func(ctx context.Context, org auth.OrgKey, app string) (kid string, err error)

	// Commit issues r and inserts a row of the application in one transaction, or rolls that back.
	// Row reports whether the row is there.
	Commit func(ctx context.Context, r token.Record, row string, undo bool) error
	Row    func(ctx context.Context, row string) (bool, error)
}

// Do makes a call, and writes its result into o.
func (s *Stores) Do(ctx context.Context, o *Op) {
	err := Kinds[o.Kind].Call(s, ctx, o)
	o.Result = "error"
	for _, w := range words {
		if errors.Is(err, w.err) {
			o.Result = w.word
			break
		}
	}
	if o.Result == Unknown || o.Result == "error" {
		o.Error = err.Error()
	}
}

var words = []struct {
	err  error
	word string
}{
	{nil, "ok"}, {auth.ErrUnavailable, Unknown}, {context.DeadlineExceeded, Unknown}, {context.Canceled, Unknown},
	{signing.ErrReplayed, "replayed"}, {signing.ErrStale, "stale"},
	{token.ErrRevoked, "revoked"}, {token.ErrExhausted, "exhausted"}, {token.ErrTooMany, "too many"}, {apikey.ErrTooMany, "too many"},
	{session.ErrEvicted, "evicted"}, {auth.ErrConflict, "conflict"},
	{token.ErrNotFound, "not found"}, {auth.ErrNotFound, "not found"},
}

// orgs is how many orgs the groups are of. A cluster spreads them.
const orgs = 16

// Org is the org of a group.
func Org(group int64) auth.OrgKey { return auth.OrgKey(fmt.Sprint("acme", group%orgs)) }

// Name returns the name of an app or an account of a group.
func (s *Stores) Name(o *Op, what string) string {
	return fmt.Sprintf("%s-%s-%d", what, s.Run, o.Group)
}

func (s *Stores) sum(o *Op, what string, n int64) [32]byte {
	return sha256.Sum256([]byte(s.Name(o, what+strconv.FormatInt(n, 10))))
}

// ID returns the id of what else the group has.
func (s *Stores) ID(o *Op, what string, n int64) string {
	sum := s.sum(o, what, n)
	return fmt.Sprintf("%x", sum[:16])
}

func base(o *Op) time.Time { return time.UnixMilli(o.At).UTC() }

func (s *Stores) claim(ctx context.Context, o *Op) error {
	keep := 10 * time.Minute
	if o.Group%4 == 3 {
		keep = shortKeep
	}
	return s.Replays.Claim(ctx, signing.Use{ClientKey: s.Name(o, "app"), Nonce: s.ID(o, "nonce", o.A[0])[:16], Signature: s.sum(o, "signature", o.A[1]),
		Signed: base(o), Seen: time.Now().Add(s.Skew), Keep: base(o).Add(keep), Siblings: int(o.A[2]), Window: time.Hour})
}

// Record returns the record of a token of the group.
func (s *Stores) Record(o *Op) token.Record {
	of := family[o.A[0]]
	r := token.Record{ID: s.ID(o, "token", o.A[0]), Org: Org(o.Group), ClientKey: s.Name(o, "app"), Subject: fmt.Sprint("s", of.subject), KeyID: "kid",
		MaxUses: of.uses, Issued: base(o).Truncate(time.Second).Add(time.Duration(o.A[0]) * time.Second)}
	if of.parent >= 0 {
		r.Parent = s.ID(o, "token", of.parent)
	}
	return r
}

func (s *Stores) token(ctx context.Context, o *Op) error {
	r := s.Record(o)
	switch o.Verb {
	case "Issue":
		return s.Ledger.Issue(ctx, r, nil, tokenLimit)
	case "Spend":
		_, err := s.Ledger.Spend(ctx, r)
		return err
	case "Get":
		_, err := s.Ledger.Get(ctx, r.Holder(), r.ID)
		return err
	case "Revoke":
		return s.Ledger.Revoke(ctx, r.Holder(), r.ID)
	}
	of := r.Holder()
	of.Subject = fmt.Sprint("s", o.A[0])
	if o.Verb == "RevokeSubject" {
		n, err := s.Ledger.RevokeSubject(ctx, of)
		o.N = int64(n)
		return err
	}
	page, _, err := s.Ledger.List(ctx, of, token.Position{}, token.MaxPage)
	for _, r := range page {
		s.list(o, "token", int64(len(family)), r.ID)
	}
	return err
}

func (s *Stores) opened(o *Op, id, hash, seen int64) session.Session {
	at := base(o).Add(time.Duration(id) * time.Millisecond)
	return session.Session{Hash: s.sum(o, "hash", hash), ID: s.ID(o, "session", id), Org: Org(o.Group), Account: s.Name(o, "account"),
		Created: at, Authenticated: at, Seen: base(o).Add(time.Duration(seen) * time.Millisecond), Expires: at.Add(time.Hour), Address: "192.0.2.1", Agent: "x"}
}

func (s *Stores) session(ctx context.Context, o *Op) error {
	hash, account := s.sum(o, "hash", o.A[0]), s.Name(o, "account")
	switch o.Verb {
	case "Create":
		return s.Sessions.Create(ctx, s.opened(o, o.A[0], o.A[1], o.A[0]), sessionLimit)
	case "Get":
		got, err := s.Sessions.Get(ctx, Org(o.Group), hash)
		if err == nil {
			o.N = got.Seen.Sub(base(o)).Milliseconds()
		}
		return err
	case "Touch":
		return s.Sessions.Touch(ctx, Org(o.Group), hash, base(o).Add(time.Duration(o.A[1])*time.Millisecond))
	case "Replace":
		return s.Sessions.Replace(ctx, Org(o.Group), hash, s.opened(o, 0, o.A[1], o.A[2]))
	case "Delete":
		return s.Sessions.Delete(ctx, Org(o.Group), hash)
	case "DeleteAll":
		n, err := s.Sessions.DeleteAll(ctx, Org(o.Group), account, "")
		o.N = int64(n)
		return err
	}
	list, err := s.Sessions.List(ctx, Org(o.Group), account)
	for _, l := range list {
		s.list(o, "session", records, l.ID)
	}
	return err
}

// list adds the number of an id to a List.
func (s *Stores) list(o *Op, what string, numbers int64, id string) {
	for n := range numbers {
		if s.ID(o, what, n) == id {
			o.List = append(o.List, n)
		}
	}
}

func (s *Stores) attempt(ctx context.Context, o *Op) (err error) {
	key := fmt.Sprintf("%x", s.sum(o, "attempt", 0))
	record := func(n int64) string { return strings.TrimPrefix(strconv.FormatInt(n, 10), "0") } // of 0 there is none
	if o.Verb == "Swap" {
		done, err := s.Attempts.Swap(ctx, Org(o.Group), key, record(o.A[0]), record(o.A[1]))
		if err == nil && !done {
			err = auth.ErrConflict
		}
		return err
	}
	found, err := s.Attempts.Load(ctx, Org(o.Group), key)
	if err == nil {
		o.N, err = strconv.ParseInt("0"+found, 10, 64)
		o.N <<= 32
	}
	return err
}

func (s *Stores) factor(ctx context.Context, o *Op) error {
	if o.Verb == "Save" {
		return s.Factors.Save(ctx, Org(o.Group), s.Name(o, "account"), session.Factor{Version: o.A[0], Step: o.A[1], Secret: session.FactorSecret(make([]byte, 20))})
	}
	f, err := s.Factors.Factor(ctx, Org(o.Group), s.Name(o, "account"))
	o.N = f.Version<<32 | f.Step
	return err
}

func (s *Stores) key(ctx context.Context, o *Op) error {
	id := s.ID(o, "key", o.A[0])[:13]
	switch o.Verb {
	case "Issue":
		r := apikey.Record{ID: id, Hash: s.sum(o, "secret", o.A[0]), Org: Org(o.Group), Created: base(o)}
		r.Account, r.Uses = s.Name(o, "account"), keyring[o.A[0]].uses
		return s.Keys.Add(ctx, r, keyLimit)
	case "Spend":
		return s.Keys.Use(ctx, id, time.Now().Add(s.Skew), netip.Prefix{})
	case "Revoke":
		return s.Keys.Revoke(ctx, Org(o.Group), id)
	}
	_, err := s.Keys.Get(ctx, id)
	return err
}

func (s *Stores) repeat(ctx context.Context, o *Op) error {
	e := idempotency.Entry{ID: s.sum(o, "request", 0), Org: Org(o.Group), Caller: s.Name(o, "account"), Fence: strconv.FormatInt(o.A[0], 10), Sealed: []byte("sealed")}
	switch o.Verb {
	case "Begin":
		lease := time.Hour
		if shortLease(o) {
			lease = 50 * time.Millisecond
		}
		got, err := s.Idempotency.Begin(ctx, e, idempotency.Options{Lease: lease, Keep: 2 * time.Hour, MaxBytes: 1 << 20})
		switch {
		case err == nil && got.ID != e.ID:
			o.N = -1 // too many
		case err == nil && got.Fence != "":
			o.N, err = strconv.ParseInt(got.Fence, 10, 64)
		}
		return err
	case "Give":
		e.Sealed = nil
	}
	return s.Idempotency.End(ctx, e)
}
