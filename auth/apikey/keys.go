package apikey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// Keys makes keys and ends them. Its changes hold for the next request in this process: see
// Mechanism.Stale. Mechanism.Keys returns one. Its methods are safe for concurrent use.
type Keys struct {
	mechanism *Mechanism
	store     Issuing
	later     bool // its changes are done when the application commits
}

// Keys returns what makes and ends the keys of the Mechanism's Store.
func (m *Mechanism) Keys() Keys { return Keys{m, m.Store, false} }

// In returns Keys with the store of a transaction of the application, such as that of sqlstore.In. A
// key is valid once the transaction has been committed: show it then, and call Mechanism.Invalidate. No event is
// emitted: see auth.Emit.
func (k Keys) In(store Issuing) Keys { return Keys{k.mechanism, store, true} }

// emit reports a verb about a key.
func (k Keys) emit(ctx context.Context, verb, why string, r *Record) {
	if !k.later {
		auth.Emit(ctx, auth.Event{Verb: verb, Reason: why, Org: r.Org, App: r.App, Account: r.Account, Credential: r.ID})
	}
}

const maxNetworks = 64

// Make decides whether a principal may make a key in the tenant's org, and makes it. The Key is
// returned only here. The owner is judged by auth.Principal.MayMake, like scope, end, networks and app:
// only an administrator makes a key for another account. The application says by
// auth.Principal.AsAdministrator whether the principal is one.
//
// Details of its errors are auth.DetailDelegation, DetailOption,
// DetailInvalidScope, DetailNotFound with the Path sub for an unknown owner, DetailUnknownApp and
// DetailTooManyTokens. Any other error wraps auth.ErrUnavailable.
func (k Keys) Make(ctx context.Context, by auth.Principal, t *auth.Tenant, g Grant) (Key, Record, error) {
	g.Prefix, g.Account, g.App = cmp.Or(g.Prefix, k.mechanism.Formats[0].Prefix), cmp.Or(g.Account, by.Account), cmp.Or(g.App, by.App)
	return k.issue(ctx, by, t, g, func(r *Record) error { return k.store.Add(ctx, *r, k.limit()) })
}

// limit returns how many keys an account has at most.
func (k Keys) limit() int { return cmp.Or(k.mechanism.PerAccount, 100) }

// issue decides about a grant, and makes a key that store stores.
func (k Keys) issue(ctx context.Context, by auth.Principal, t *auth.Tenant, g Grant, store func(*Record) error) (Key, Record, error) {
	g.Scope, g.Networks, g.Expires = slices.Clone(g.Scope), slices.Clone(g.Networks), milli(g.Expires)
	now := t.Now()
	if err := k.permit(ctx, by, t, &g, now); err != nil {
		return "", Record{}, err
	}
	key, r := Format{g.Prefix}.Generate()
	r.Grant, r.Org, r.Maker, r.Created = g, t.Org.Key(), cmp.Or(by.Caller, by.Account), milli(now)
	if err := fault(store(&r)); err != nil {
		return "", Record{}, err
	}
	k.emit(ctx, verbs.APIKeyMade, "", &r)
	return key, r, nil
}

// permit decides whether a principal may make a key with a grant.
func (k Keys) permit(ctx context.Context, by auth.Principal, t *auth.Tenant, g *Grant, now time.Time) error {
	if !slices.Contains(k.mechanism.Formats, Format{g.Prefix}) {
		return &auth.Error{Detail: auth.DetailOption, Path: "prefix"}
	}
	if err := g.vet(t, now); err != nil {
		return err
	}
	if err := within(by, t, g); err != nil {
		return err
	}
	// Only now, so that nobody learns which accounts and apps exist who may make nothing for them.
	if _, err := t.Account(ctx, g.Account); err != nil {
		return admission.Missing(auth.DetailNotFound, "sub", err)
	}
	if g.App == "" {
		return nil
	}
	_, err := t.App(ctx, g.App)
	return admission.Missing(auth.DetailUnknownApp, "", err)
}

// vet refuses a grant that no key can have.
func (g *Grant) vet(t *auth.Tenant, now time.Time) error {
	invalid := func(n netip.Prefix) bool { return !n.IsValid() || n.Addr().Is4In6() || n != n.Masked() }
	for _, wrong := range []struct {
		is           bool
		path, reason string
	}{
		{!face.IsName(g.Name), "name", fmt.Sprintf("a printable line of at most %d bytes", face.MaxName)},
		{compact.TooLong(g.Scope), "scope", "at most 8 KiB"},
		{len(g.Networks) > maxNetworks, "networks", fmt.Sprintf("at most %d", maxNetworks)},
		{slices.ContainsFunc(g.Networks, invalid), "networks", "a network has no bits behind its mask"},
		{g.Uses < 0, "uses", "must not be negative"},
		{!g.Expires.IsZero() && !g.Expires.After(now) || g.Expires.Year() > 9999, "expires", "must be in the future"},
	} {
		if wrong.is {
			return &auth.Error{Detail: auth.DetailOption, Path: wrong.path, Reason: wrong.reason}
		}
	}
	return t.Vet("scope", g.Scope)
}

func within(by auth.Principal, t *auth.Tenant, g *Grant) error {
	if by.Org != t.Org.Key() {
		return admission.Beyond("sub")
	}
	return by.MayMake(g.making(t))
}

func (g *Grant) making(t *auth.Tenant) auth.Making {
	scope, _ := t.Compile("api key", g.Scope) // without the chains that permit nothing
	return auth.Making{Account: g.Account, App: g.App, Scope: scope, Expires: g.Expires, Networks: g.Networks}
}

// Get returns the record of a key of the org, or auth.ErrNotFound.
func (k Keys) Get(ctx context.Context, org auth.OrgKey, id string) (Record, error) {
	r, err := k.store.Get(ctx, id)
	if err == nil && r.Org != org {
		err = auth.ErrNotFound
	}
	return r, fault(err)
}

// Replace makes a key with the grant of another one and a new end, zero for none. The old key ends at
// until, and never later than it would have; until in the past ends it at once, which is right after a
// leak. Nothing else changes the old key, which may be in use. Whether the principal may make the new
// one is decided as in Make.
//
// The errors are those of Make, auth.ErrNotFound if the org has no such live key, and auth.ErrConflict
// if it was replaced already or has changed meanwhile. A key with Uses cannot be replaced: its uses
// could not be counted exactly. So long as old keys live on, an account may have twice as many.
func (k Keys) Replace(ctx context.Context, by auth.Principal, t *auth.Tenant, id string, until, expires time.Time) (Key, Record, error) {
	before, err := k.Get(ctx, t.Org.Key(), id)
	switch now := t.Now(); {
	case err != nil:
		return "", Record{}, err
	case before.Uses > 0:
		return "", Record{}, &auth.Error{Detail: auth.DetailOption, Path: "uses", Reason: "a key with limited uses cannot be replaced"}
	case until.UTC().Year() > 9999:
		return "", Record{}, &auth.Error{Detail: auth.DetailOption, Path: "until", Reason: "must be before the year 10000"}
	case before.Successor != "":
		return "", Record{}, auth.ErrConflict
	case !before.LiveAt(now):
		return "", Record{}, auth.ErrNotFound
	case until.Before(now):
		until = now
	}
	g := before.Grant
	g.Expires = expires
	key, r, err := k.issue(ctx, by, t, g, func(r *Record) error {
		after := before
		after.Successor, after.Expires = r.ID, clock.FirstEnd(before.Expires, milli(until))
		return k.swap(ctx, before, after, r)
	})
	if err == nil {
		k.emit(ctx, verbs.APIKeyReplaced, "", &before)
	}
	return key, r, err
}

// Restrict changes what a key may do: alter changes Name, Scope, Networks, Expires or Disabled of a
// copy of its record. Everybody may narrow or disable a key who is let in by the route. What widens it,
// enabling included, is decided as in Make. If alter fails, Restrict returns its error unchanged.
//
// The errors are those of Make, auth.ErrNotFound if the org has no such key, and auth.ErrConflict if
// it has changed meanwhile.
func (k Keys) Restrict(ctx context.Context, by auth.Principal, t *auth.Tenant, id string, alter func(*Record) error) error {
	before, err := k.Get(ctx, t.Org.Key(), id)
	if err != nil {
		return err
	}
	altered := before
	altered.Scope, altered.Networks = slices.Clone(before.Scope), slices.Clone(before.Networks)
	if err := alter(&altered); err != nil {
		return err
	}
	after := before // of which nothing else can be altered
	after.Name, after.Scope, after.Networks, after.Expires, after.Disabled = altered.Name, altered.Scope, altered.Networks, milli(altered.Expires), altered.Disabled
	g := after.Grant
	if g.Expires.Equal(before.Expires) {
		g.Expires = time.Time{} // what stays need not be what could be granted now
	}
	if slices.Equal(g.Scope, before.Scope) {
		g.Scope = nil
	}
	if err := g.vet(t, t.Now()); err != nil {
		return err
	}
	if !after.narrows(&before, t) {
		err = within(by, t, &after.Grant)
	}
	if err == nil {
		err = fault(k.swap(ctx, before, after, nil))
	}
	if err == nil {
		k.emit(ctx, verbs.APIKeyRestricted, "", &after)
	}
	return err
}

// narrows reports whether a key can do nothing with r that it cannot do with before.
func (r *Record) narrows(before *Record, t *auth.Tenant) bool {
	m := before.making(t)
	holder := auth.Principal{Account: m.Account, App: m.App, Granted: m.Scope, Expires: m.Expires, Networks: m.Networks,
		Authenticated: time.Unix(1, 0)} // any time: it stands for the key itself, and not for who sends it
	// A key that is disabled and widened in one step would be as wide when somebody else enables it.
	return (r.Disabled || !before.Disabled) && holder.MayMake(r.making(t)) == nil
}

func (k Keys) swap(ctx context.Context, before, after Record, successor *Record) error {
	defer k.mechanism.Invalidate(before.Org) // after an error, too: the change may have been made
	return k.store.Swap(ctx, before, after, successor, 2*k.limit())
}

// Revoke ends a key of the org, whoever owns it. It returns auth.ErrNotFound if there is none.
func (k Keys) Revoke(ctx context.Context, org auth.OrgKey, id string) error {
	r, err := k.Get(ctx, org, id) // whose it is
	if err != nil {
		return err
	}
	return k.revoke(ctx, &r, "revoked")
}

func (k Keys) revoke(ctx context.Context, r *Record, why string) error {
	defer k.mechanism.Invalidate(r.Org)
	err := fault(k.store.Revoke(ctx, r.Org, r.ID))
	if err == nil {
		k.emit(ctx, verbs.APIKeyEnded, why, r)
	}
	return err
}

// RevokeLeaked ends the key in a report of a leak, and returns its record, so that its owner can be
// told. It needs no other permission: who knows all of a key could use it. The error is auth.ErrNotFound
// for a string that is not a key, and for a key that is unknown or was revoked before.
func (k Keys) RevokeLeaked(ctx context.Context, text string) (Record, error) {
	sent, ok := k.mechanism.parse(text)
	if !ok {
		return Record{}, auth.ErrNotFound
	}
	found, err := look(ctx, k.store, &sent)
	if err != nil {
		return Record{}, fault(err)
	}
	return found.Record, k.revoke(ctx, &found.Record, "leaked")
}

// fault returns the error for auth.Fail of an error of a store.
func fault(err error) error {
	switch {
	case errors.Is(err, ErrTooMany):
		return &auth.Error{Detail: auth.DetailTooManyTokens, Err: err}
	case err == nil, auth.IsNotFound(err), errors.Is(err, auth.ErrConflict) && !errors.Is(err, auth.ErrUnavailable):
		return err
	}
	return auth.Unavailable(err)
}
