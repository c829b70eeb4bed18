package suite

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// Sessions is a session.Store, in a subtest with an org of its own.
type Sessions struct {
	*testing.T
	Cast
	Store session.Store
	made  int
}

// NewHash and NewID return a hash and an ID in the form that the Manager makes.
func NewHash() (hash [32]byte) {
	rand.Read(hash[:])
	return hash
}

func NewID() string { return fmt.Sprintf("%x", NewHash())[:32] }

// One returns a session of an account that expires in an hour. It is newer than
// those made before it.
func (t *Sessions) One(account string) session.Session {
	t.made++
	created := t.Time().UTC().Truncate(time.Millisecond).Add(time.Duration(t.made-100) * 7 * time.Millisecond)
	return session.Session{
		Hash: NewHash(), ID: NewID(), Org: t.Org, Account: t.ID(account),
		Created: created, Authenticated: created, Seen: created, Expires: created.Add(time.Hour),
		Address: "192.0.2.7", Agent: "browser/1", Proof: `{"m":["pwd"],"t":"é"}`, Origin: `{"o":"other"}`,
	}
}

func (t *Sessions) Ticket(account string) session.Session {
	return With(t.One(account), func(s *session.Session) { s.Ticket = "code" })
}

func (t *Sessions) Create(limit int, all ...session.Session) {
	t.Helper()
	for _, s := range all {
		Must(t.T, "Create", t.Store.Create(t.Context(), s, limit))
	}
}

// Lives fails unless Get returns each record as it is here.
func (t *Sessions) Lives(all ...session.Session) {
	t.Helper()
	for _, want := range all {
		got, err := t.Store.Get(t.Context(), want.Org, want.Hash)
		Check(t.T, err == nil && sameSession(got, want), "Get = %+v, %v\nwant  %+v", got, err, want)
	}
}

// Ends fails unless Get returns the error want for each hash.
func (t *Sessions) Ends(want error, all ...session.Session) {
	t.Helper()
	for _, s := range all {
		_, err := t.Store.Get(t.Context(), s.Org, s.Hash)
		Expect(t.T, "Get", err, want)
	}
}

// Rehashed returns a record with another hash.
func Rehashed(s session.Session) session.Session {
	s.Hash = NewHash()
	return s
}

// Renew gives a record another hash, and returns it with that one.
func (t *Sessions) Renew(s session.Session) session.Session {
	t.Helper()
	next := Rehashed(s)
	Expect(t.T, "Replace", t.Store.Replace(t.Context(), s.Org, s.Hash, next), nil)
	return next
}

func (t *Sessions) Lists(org auth.OrgKey, account string, want ...session.Session) {
	t.Helper()
	got, err := t.Store.List(t.Context(), org, t.ID(account))
	Check(t.T, err == nil && slices.EqualFunc(got, want, sameSession), "List(%q, %q) = %+v, %v\nwant %+v", org, account, got, err, want)
}

// Deletes fails unless Delete of the hash of a record returns nil, as it does if there is no such record.
func (t *Sessions) Deletes(s session.Session) {
	t.Helper()
	Expect(t.T, "Delete", t.Store.Delete(t.Context(), s.Org, s.Hash), nil)
}

func (t *Sessions) DeletesAll(want int, org auth.OrgKey, account, except string) {
	t.Helper()
	n, err := t.Store.DeleteAll(t.Context(), org, t.ID(account), except)
	Check(t.T, n == want && err == nil, "DeleteAll = %d, %v; want %d", n, err, want)
}

func (t *Sessions) DeletesOrg(want int, org auth.OrgKey) {
	t.Helper()
	n, err := t.Store.DeleteOrg(t.Context(), org)
	Check(t.T, n == want && err == nil, "DeleteOrg = %d, %v; want %d", n, err, want)
}

// sameSession compares times as instants.
func sameSession(a, b session.Session) bool {
	for _, s := range []*session.Session{&a, &b} {
		s.Created, s.Authenticated, s.Seen, s.Expires = s.Created.UTC(), s.Authenticated.UTC(), s.Seen.UTC(), s.Expires.UTC()
	}
	return a == b
}

// Nothing fails unless all verbs treat each hash and each ID as unknown.
func (t *Sessions) Nothing(all ...session.Session) {
	t.Helper()
	for _, s := range all {
		t.Ends(auth.ErrNotFound, s)
		t.AnswersNothing(s)
		t.Deletes(s)
		t.Ends(auth.ErrNotFound, s)
	}
}

// AnswersNothing fails if a verb that changes a record finds this one.
func (t *Sessions) AnswersNothing(s session.Session) {
	t.Helper()
	next := Rehashed(s)
	for _, verb := range []string{"Touch", "Replace", "DeleteID"} {
		Expect(t.T, verb, t.Verbs(t.Context(), s, next, s)[verb](), auth.ErrNotFound)
		t.Ends(auth.ErrNotFound, next)
	}
}

func (t *Sessions) Gone(when string, all ...session.Session) {
	for i, s := range all {
		_, err := t.Store.Get(t.Context(), s.Org, s.Hash)
		Expect(t.T, fmt.Sprintf("%s: Get of hash %d after its end", when, i), err, auth.ErrNotFound, session.ErrEvicted)
	}
	list, err := t.Store.List(t.Context(), all[0].Org, all[0].Account)
	listed := slices.ContainsFunc(list, func(s session.Session) bool { return s.ID == all[0].ID })
	Check(t.T, err == nil && !listed, "%s: List after its end: %+v, %v", when, list, err)
}

// Verbs are all verbs about a session; next is what Replace makes of it, and fresh what Create makes.
func (t *Sessions) Verbs(ctx context.Context, s, next, fresh session.Session) map[string]func() error {
	return map[string]func() error{
		"Get":       func() error { _, err := t.Store.Get(ctx, s.Org, s.Hash); return err },
		"Touch":     func() error { return t.Store.Touch(ctx, s.Org, s.Hash, s.Seen.Add(time.Minute)) },
		"Replace":   func() error { return t.Store.Replace(ctx, s.Org, s.Hash, next) },
		"Delete":    func() error { return t.Store.Delete(ctx, s.Org, s.Hash) },
		"DeleteID":  func() error { return t.Store.DeleteID(ctx, s.Org, s.Account, s.ID) },
		"DeleteAll": func() error { _, err := t.Store.DeleteAll(ctx, s.Org, s.Account, ""); return err },
		"DeleteOrg": func() error { _, err := t.Store.DeleteOrg(ctx, s.Org); return err },
		"List":      func() error { _, err := t.Store.List(ctx, s.Org, s.Account); return err },
		"Create":    func() error { return t.Store.Create(ctx, fresh, 1) },
	}
}
