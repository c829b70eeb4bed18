package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

var accountPatch = envelope.Form{
	{Path: "name", Kind: envelope.String, Null: true},
	{Path: "roles", Kind: envelope.Strings},
	{Path: "disabled", Kind: envelope.Boolean},
	{Path: "resetSecondFactor", Kind: envelope.Boolean},
	{Path: "tokensFrom", Kind: readInstant},
}

// maxAhead is how far tokensFrom may be ahead: as far as an iat may.
const maxAhead = time.Minute

// update changes an account. What only takes something from it (disabling it,
// fewer roles, the end of its tokens) needs the route's permission and no more.
func (h provisioning) update(r *http.Request) (managedReply, error) {
	values, err := readValues(r, accountPatch)
	if err != nil {
		return managedReply{}, err
	}
	org := auth.From(r.Context()).Org
	current, err := h.store.account(r.Context(), org, r.PathValue("id"))
	if err != nil {
		return managedReply{}, err
	}
	wrong := invalid{detail: auth.DetailBody}
	name, _ := values["name"].(string)
	validName(&wrong, name)
	roles, _ := values["roles"].([]string)
	if err := h.validRoles(r.Context(), &wrong, org, roles, current.Roles); err != nil {
		return managedReply{}, err
	}
	from, _ := values["tokensFrom"].(time.Time)
	if from.After(time.Now().Add(maxAhead)) {
		wrong.add("tokensFrom", "is more than a minute ahead")
	}
	if err := wrong.orNil(); err != nil {
		return managedReply{}, err
	}
	reset := values["resetSecondFactor"] == true
	a, err := h.change(r, reset, func(a *account) error {
		setIfGiven(&a.Name, values, "name")
		setIfGiven(&a.Roles, values, "roles")
		setIfGiven(&a.Disabled, values, "disabled")
		return a.endTokens(from)
	})
	if err != nil {
		return managedReply{}, err
	}
	if reset {
		err = h.resetFactor(r.Context(), a)
	}
	return managed(a), err
}

// deactivate shuts an account out: here at once, and in other instances its sessions
// and the tokens that are in a ledger at once, whatever else names it once they no
// longer remember it as enabled.
func (h provisioning) deactivate(r *http.Request) (managedReply, error) {
	return h.disable(r, true)
}

// activate lets an account in again. What had ended stays ended.
func (h provisioning) activate(r *http.Request) (managedReply, error) {
	return h.disable(r, false)
}

func (h provisioning) disable(r *http.Request, disabled bool) (managedReply, error) {
	a, err := h.change(r, false, func(a *account) error {
		a.Disabled = disabled
		return nil
	})
	if err != nil {
		return managedReply{}, err
	}
	return managed(a), nil
}

// change alters the account that the request's path names, if its caller may, and
// ends what a disabled account leaves behind.
func (h provisioning) change(r *http.Request, takesOver bool, alter func(*account) error) (*account, error) {
	ctx, p := r.Context(), auth.From(r.Context())
	a, err := h.store.changeAccount(ctx, p.Org, r.PathValue("id"), func(a *account) error {
		before := *a
		if err := alter(a); err != nil {
			return err
		}
		if a.Disabled {
			a.Changed = time.Now()
			a.TokensFrom = later(a.TokensFrom, auth.TokensFromNow(a.Changed, directoryStale))
		}
		return mayChangeAccount(p, &before, a, takesOver)
	})
	if err != nil || !a.Disabled {
		return a, err
	}
	return a, h.shutOut(ctx, a)
}

// shutOut ends an account's sessions, and the tokens that the apps of its org have
// issued for it.
func (h provisioning) shutOut(ctx context.Context, a *account) error {
	_, err := h.sessions.RevokeAll(ctx, a.Org, a.ID, "")
	apps, failed := h.store.listApps(ctx, a.Org)
	err = errors.Join(err, failed)
	for _, app := range apps {
		_, failed := h.ledger.RevokeSubject(ctx, app.ClientKey, a.ID)
		err = errors.Join(err, storeFailed(failed))
	}
	return err
}

// resetFactor takes the second factor from an account, with the sessions that it
// opened.
func (h provisioning) resetFactor(ctx context.Context, a *account) error {
	for {
		f, err := h.factors.Factor(ctx, a.Org, a.ID)
		if err != nil {
			return storeFailed(err)
		}
		err = h.factors.Save(ctx, a.Org, a.ID, session.Factor{Version: f.Version})
		if errors.Is(err, session.ErrConflict) {
			continue // changed meanwhile
		}
		if err != nil {
			return storeFailed(err)
		}
		_, err = h.sessions.RevokeAll(ctx, a.Org, a.ID, "")
		return err
	}
}

// endTokens ends the account's tokens that were signed before a time, the zero
// time for none. It only moves forward: an earlier time would bring some back.
func (a *account) endTokens(from time.Time) error {
	if from.IsZero() {
		return nil
	}
	whole := from.Truncate(time.Second)
	if whole.Before(from) {
		whole = whole.Add(time.Second)
	}
	if whole.Before(a.TokensFrom) {
		wrong := invalid{detail: auth.DetailBody}
		wrong.add("tokensFrom", "only moves forward")
		return wrong.orNil()
	}
	a.TokensFrom = whole
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// openRoles are what registration gives to anybody who asks.
var openRoles = []string{member}

// mayHaveRoles decides whether the caller may give an account roles. An account can
// do everything that its roles permit, without end and from anywhere; but what
// anybody gets by registering needs no more than the route.
func mayHaveRoles(p auth.Principal, account string, roles []string) error {
	whole := auth.Everything(account)
	for _, role := range roles {
		if !slices.Contains(openRoles, role) {
			whole.Roles = append(whole.Roles, role)
		}
	}
	if len(whole.Roles) == 0 {
		return p.MayMake(p.HasRole(administrator))
	}
	return mayMake(p, whole)
}

// mayChangeAccount decides whether the caller may make an account what it is
// after: to enable it, or to take its second factor from it, is to make all that
// it can do.
func mayChangeAccount(p auth.Principal, before, after *account, takesOver bool) error {
	if takesOver || before.Disabled && !after.Disabled {
		return mayMake(p, auth.Everything(after.ID))
	}
	var added []string
	for _, role := range after.Roles {
		if !slices.Contains(before.Roles, role) {
			added = append(added, role)
		}
	}
	if len(added) == 0 {
		return nil
	}
	return mayHaveRoles(p, after.ID, added)
}

func (a *account) administers() bool { return !a.Disabled && slices.Contains(a.Roles, administrator) }

// changeAccount alters an account and returns it as it is then. Accounts of one org
// are changed one after the other, also by other instances: an org keeps an
// administrator.
func (s *store) changeAccount(ctx context.Context, org, id string, change func(*account) error) (*account, error) {
	// Changes of one org wait for each other, with a connection each.
	leave, err := s.queries.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	tx, err := begin(ctx, s.db.DB)
	if err != nil {
		return nil, storeFailed(err)
	}
	defer tx.Rollback()
	// The org's row is the lock.
	if _, err := tx.ExecContext(ctx, "UPDATE platform_orgs SET record = record WHERE code = $1", org); err != nil {
		return nil, storeFailed(err)
	}
	var text []byte
	a := new(account)
	err = tx.QueryRowContext(ctx, "SELECT record FROM platform_accounts WHERE org = $1 AND id = $2", org, id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, auth.ErrNotFound
	}
	if err = errors.Join(err, json.Unmarshal(text, a)); err != nil {
		return nil, storeFailed(err)
	}
	administered := a.administers()
	if err := change(a); err != nil {
		return nil, err
	}
	if administered && !a.administers() {
		if err := othersAdminister(ctx, tx, org, id); err != nil {
			return nil, err
		}
	}
	defer s.found.Invalidate(org) // see exec
	_, err = tx.ExecContext(ctx, "UPDATE platform_accounts SET record = $3 WHERE org = $1 AND id = $2", org, id, record(a))
	if err = errors.Join(err, tx.Commit()); err != nil {
		return nil, storeFailed(err)
	}
	return a, nil
}

// othersAdminister refuses to leave an org without an administrator.
func othersAdminister(ctx context.Context, tx *sql.Tx, org, id string) error {
	rows, err := tx.QueryContext(ctx, "SELECT record FROM platform_accounts WHERE org = $1 AND id <> $2", org, id)
	if err != nil {
		return storeFailed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text []byte
		var a account
		if err := errors.Join(rows.Scan(&text), json.Unmarshal(text, &a)); err != nil {
			return storeFailed(err)
		}
		if a.administers() {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return storeFailed(err)
	}
	return &auth.Error{Detail: auth.DetailConflict, Reason: "the last administrator of the org"}
}
