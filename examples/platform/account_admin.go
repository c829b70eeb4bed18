package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/token"
)

// provisioning serves the routes by which administrators manage the accounts of others.
type provisioning struct{ *platform }

type managedReply struct {
	accountReply
	Disabled   bool   `json:"disabled"`
	TokensFrom string `json:"tokensFrom,omitempty"` // tokens signed earlier are refused
}

// wholeReply is an account as administrators see it by itself.
type wholeReply struct {
	managedReply
	SecondFactor factorReply `json:"secondFactor"`
}

func managed(a *account) managedReply {
	return managedReply{replyOfAccount(a), a.Disabled, date(a.TokensFrom)}
}

func (h provisioning) list(r *http.Request) (envelope.List[managedReply], error) {
	return recordPage(r, h.store, "account", "SELECT record FROM platform_accounts WHERE org = $1 ORDER BY id", managed)
}

func (h provisioning) get(r *http.Request) (wholeReply, error) {
	a, err := h.store.account(r.Context(), auth.From(r.Context()).Org, r.PathValue("id"))
	if err != nil {
		return wholeReply{}, err
	}
	return h.whole(r.Context(), a)
}

func (h provisioning) whole(ctx context.Context, a *account) (wholeReply, error) {
	factor, err := factorOf(ctx, h.sessions, a.Org, a.ID)
	return wholeReply{managed(a), factor}, err
}

var provisioningForm = body.Form{
	{Path: "email", Kind: checked(notEmail), Required: true},
	{Path: "password", Kind: checked(notPassword)},
	{Path: "name", Kind: checked(notName)},
	{Path: "roles", Kind: body.Strings},
}

// create makes an account, and signs nobody in. An account without a password
// cannot sign in: it is for keys and tokens.
func (h provisioning) create(r *http.Request, values map[string]any) (wholeReply, error) {
	p := auth.From(r.Context())
	a := newAccount(p.Org, values)
	encoded, err := "", cmp.Or(h.validRoles(r.Context(), a.Org, a.Roles, nil), mayHaveRoles(p, a.ID, a.Roles))
	if password, given := values["password"].(string); given && err == nil {
		encoded, err = h.sessions.Passwords().Hash(r.Context(), password)
	}
	if err == nil {
		err = h.store.addAccount(r.Context(), *a, encoded)
	}
	if err != nil {
		return wholeReply{}, err
	}
	auth.Emit(r.Context(), auth.Event{Verb: "account.made", Account: a.ID})
	return wholeReply{managedReply: managed(a)}, nil // nobody has a factor yet
}

// validRoles looks up only the roles that are new to the account. A role that it
// has may have been deleted, and the account may still keep or lose it.
func (h provisioning) validRoles(ctx context.Context, org auth.OrgKey, roles, has []string) error {
	if len(roles) > max(maxAccountRoles, len(has)) {
		return wrongBody("roles", fmt.Sprintf("must be at most %d", maxAccountRoles))
	}
	added := without(roles, has)
	known, err := h.store.Roles(ctx, org, added)
	if err != nil {
		return err
	}
	if once := slices.Compact(slices.Sorted(slices.Values(roles))); len(known) != len(added) || len(once) != len(roles) {
		return wrongBody("roles", "must be roles of the org, each once")
	}
	return nil
}

var accountPatch = body.Form{
	{Path: "name", Kind: checked(notName), Null: true},
	{Path: "roles", Kind: body.Strings},
	{Path: "disabled", Kind: body.Boolean},
	{Path: "resetSecondFactor", Kind: body.Boolean},
	{Path: "tokensFrom", Kind: instant},
}

// update changes an account. A change that only takes something from the account needs no more than
// the route's permission. Such changes disable it, remove roles or end its tokens.
func (h provisioning) update(r *http.Request, values map[string]any) (wholeReply, error) {
	org := auth.From(r.Context()).Org
	current, err := h.store.account(r.Context(), org, r.PathValue("id"))
	if err != nil {
		return wholeReply{}, err
	}
	roles, _ := values["roles"].([]string)
	if err := h.validRoles(r.Context(), org, roles, current.Roles); err != nil {
		return wholeReply{}, err
	}
	from, _ := values["tokensFrom"].(time.Time)
	reset := values["resetSecondFactor"] == true
	return h.change(r, strings.Join(slices.Sorted(maps.Keys(values)), " "), reset, func(a *account) error {
		setIfGiven(&a.Name, values, "name")
		setIfGiven(&a.Roles, values, "roles")
		setIfGiven(&a.Disabled, values, "disabled")
		return a.endTokens(from)
	})
}

// disables serves a route that disables or enables an account. In this instance all its credentials end
// at once. In other instances, its sessions and the tokens in a ledger end at once. Its other credentials
// end there when those instances no longer remember the account as enabled. What had ended stays ended.
func (h provisioning) disables(disabled bool, why string) endpoint {
	return does(func(r *http.Request) (wholeReply, error) {
		return h.change(r, why, false, func(a *account) error {
			a.Disabled = disabled
			return nil
		})
	})
}

// change alters the account that the request's path names, if its caller may. If the
// account is then disabled, its sessions, tokens and API keys end in the same transaction. With
// reset, so do its sessions and its second factor. why is for the event.
func (h provisioning) change(r *http.Request, why string, reset bool, alter func(*account) error) (wholeReply, error) {
	ctx, p := r.Context(), auth.From(r.Context())
	defer h.apiKeys.mechanism.Invalidate(p.Org)
	e := auth.Event{Verb: "account.changed", Org: p.Org, Account: r.PathValue("id"), Reason: why}
	var a *account
	err := h.stores.together(ctx, p.Org, func(tx *sql.Tx, in *sqlstore.In) (err error) {
		a, err = changeAccount(ctx, tx, p.Org, e.Account, func(a *account) error {
			before := *a
			if err := alter(a); err != nil {
				return err
			}
			now, former := time.Now(), before.TokensFrom
			if a.Disabled {
				a.Changed = now
			}
			if before.Disabled {
				former = time.Time{} // no token was made with it, and many changes must not move it far ahead
			}
			if a.Disabled || before.Disabled { // when it is activated, too: others signed until the commit that disabled it
				a.TokensFrom = slices.MaxFunc([]time.Time{a.TokensFrom, h.store.found.TokensFrom(former, now)}, time.Time.Compare)
			}
			return mayChangeAccount(p, &before, a, reset)
		})
		if err == nil {
			err = h.store.audited(ctx, tx, e, "")
		}
		if err == nil && (a.Disabled || reset) {
			sessions, ledger := h.stores.ending(in)
			err = shutOut(ctx, a, h.sessions.Sessions().In(sessions), ledger)
		}
		if err == nil && a.Disabled {
			err = endKeys(ctx, in, apikey.Of{Org: a.Org, Account: a.ID})
		}
		if err == nil && reset {
			err = storeFailed(in.RemoveFactor(ctx, a.Org, a.ID))
		}
		return err
	})
	if err != nil {
		return wholeReply{}, err
	}
	auth.Emit(ctx, e)
	if reset {
		auth.Emit(ctx, auth.Event{Verb: "factor.removed", Account: a.ID, Reason: "reset"})
	}
	if a.Disabled || reset {
		auth.Emit(ctx, auth.Event{Verb: "account.revoked", Account: a.ID})
		// Again, because a login that was under way may have opened a session meanwhile,
		// and because Redis takes no part in the transaction.
		if err := shutOut(ctx, a, h.sessions.Sessions(), h.stores.ledger); err != nil {
			return wholeReply{}, err
		}
	}
	return h.whole(ctx, a)
}

// shutOut ends an account's sessions and, if it is disabled, the tokens that the apps of
// its org have issued for it.
func shutOut(ctx context.Context, a *account, sessions session.Sessions, ledger token.Issuing) error {
	if _, err := sessions.RevokeAll(ctx, a.Org, a.ID, ""); err != nil || !a.Disabled {
		return err
	}
	_, err := ledger.RevokeSubject(ctx, token.Holder{Org: a.Org, ClientKey: token.Any, Subject: a.ID})
	return storeFailed(err)
}

// endTokens ends the account's tokens that were signed before a time. The zero time ends none. The
// time only moves forward: an earlier one would make ended tokens valid again.
func (a *account) endTokens(from time.Time) error {
	whole := from.Add(time.Second - 1).Truncate(time.Second)
	switch {
	case from.IsZero():
		return nil
	case from.After(time.Now().Add(time.Minute)): // as far as an iat may be
		return wrongBody("tokensFrom", "is more than a minute ahead")
	case whole.Before(a.TokensFrom):
		return wrongBody("tokensFrom", "only moves forward")
	}
	a.TokensFrom = whole
	return nil
}

// openRoles are the roles that anybody gets by registering.
var openRoles = []string{member}

// mayHaveRoles decides whether the caller may give an account roles. An account can do everything
// that its roles permit, from anywhere and without an end. So the caller must be allowed to pass on
// all of that. Roles that anybody gets by registering need no more than the route.
func mayHaveRoles(p auth.Principal, account string, roles []string) error {
	whole := auth.Everything(account)
	if whole.Roles = without(roles, openRoles); len(whole.Roles) == 0 {
		return p.AsAdministrator(p.HasRole(administrator)).MayMake()
	}
	return mayMake(p, whole)
}

// without returns the roles that others does not have.
func without(roles, others []string) []string {
	return slices.DeleteFunc(slices.Clone(roles), func(role string) bool { return slices.Contains(others, role) })
}

// mayChangeAccount decides whether the caller may change an account from before to after. Whoever
// enables an account or removes its second factor gives access to all that the account can do.
//
// An administrator of one org does not reset the second factor of a person who belongs to several.
func mayChangeAccount(p auth.Principal, before, after *account, reset bool) error {
	if reset && after.Person != "" {
		return auth.ErrForbidden
	}
	if reset || before.Disabled && !after.Disabled {
		return mayMake(p, auth.Everything(after.ID))
	}
	if added := without(after.Roles, before.Roles); len(added) > 0 {
		return mayHaveRoles(p, after.ID, added)
	}
	return nil
}

func (a *account) administers() bool { return !a.Disabled && slices.Contains(a.Roles, administrator) }

// changeAccount alters an account in a transaction of locked, and returns the new state.
// An org always keeps an administrator.
func changeAccount(ctx context.Context, tx *sql.Tx, org auth.OrgKey, id string, change func(*account) error) (*account, error) {
	return alterIn(ctx, tx, accountRow(org, id), func(a *account) error {
		administered := a.administers()
		err := change(a)
		if err == nil && administered && !a.administers() {
			err = othersAdminister(ctx, tx, org, id)
		}
		return err
	})
}

// othersAdminister returns an error if no other account of the org is an enabled administrator.
func othersAdminister(ctx context.Context, tx *sql.Tx, org auth.OrgKey, id string) error {
	others, err := findAll[account](ctx, tx, "SELECT record FROM platform_accounts WHERE org = $1 AND id <> $2", org, id)
	if err != nil || slices.ContainsFunc(others, (*account).administers) {
		return err
	}
	return &auth.Error{Detail: auth.DetailConflict, Reason: "the last administrator of the org"}
}
