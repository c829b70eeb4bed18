package main

import (
	"context"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

var _ auth.People = (*store)(nil)

// personAccounts selects the accounts of a person.
const personAccounts = `SELECT a.record FROM platform_accounts a JOIN platform_people p ON p.org = a.org AND p.id = a.id
	WHERE p.person = $1`

// AccountOf implements auth.People.
func (s *store) AccountOf(ctx context.Context, org auth.OrgKey, person string) (*auth.Account, error) {
	accounts, err := findAll[auth.Account](ctx, s.db, personAccounts+" AND p.org = $2", person, org)
	if err == nil && len(accounts) == 0 {
		err = auth.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return accounts[0], nil
}

// Accounts implements auth.People.
func (s *store) Accounts(ctx context.Context, person string) (all []auth.Account, err error) {
	accounts, err := findAll[auth.Account](ctx, s.db, personAccounts+" ORDER BY p.org", person)
	for _, a := range accounts {
		all = append(all, *a)
	}
	return all, err
}

// memberships serves the orgs of the person who is signed in.
type memberships struct {
	store    *store
	sessions *session.Manager
}

type orgReply struct {
	envelope.Item        // its _id is the org's code
	Account       string `json:"account"`
	Current       bool   `json:"current"`
}

// list answers with the orgs in which the person has an enabled account. Somebody who acts for the
// account does not learn where else its owner belongs.
func (h memberships) list(r *http.Request) (envelope.List[orgReply], error) {
	ctx, p := r.Context(), auth.From(r.Context())
	a, err := h.store.account(ctx, p.Org, p.Account)
	if err != nil {
		return envelope.List[orgReply]{}, err
	}
	accounts := []auth.Account{a.Account}
	if a.Person != "" && p.Actor() == "" {
		if accounts, err = h.store.Accounts(ctx, a.Person); err != nil {
			return envelope.List[orgReply]{}, err
		}
	}
	var orgs []orgReply
	for _, a := range accounts {
		if !a.Disabled {
			orgs = append(orgs, orgReply{envelope.Item{ID: string(a.Org), Object: "org"}, a.ID, a.Org == p.Org})
		}
	}
	return ownPage(r, "org", orgs)
}

// enter opens a session at another org of the person, and answers with the account there.
func (h memberships) enter(w http.ResponseWriter, r *http.Request) (accountReply, error) {
	return bodiless(func(r *http.Request) (accountReply, error) {
		p, err := h.sessions.Enter(w, r, r.PathValue("code"))
		if err != nil {
			return accountReply{}, err
		}
		return h.store.ownAccount(r.Context(), p)
	})(r)
}

var actForm = body.Form{{Path: "reason", Kind: checked(notReason), Required: true}}

func notReason(reason string) string {
	return unless(isVisible(reason) && isLine(reason) && len(reason) <= 256, "must be a line of 1 to 256 bytes")
}

// act lets an administrator act for an account for an hour. The session of the browser is then that of
// the account, and logout ends it.
func (h provisioning) act(w http.ResponseWriter, r *http.Request, values map[string]any) (accountReply, error) {
	if err := requireAdministrator(r); err != nil {
		return accountReply{}, err
	}
	p, err := h.sessions.Act(w, r, r.PathValue("id"), values["reason"].(string))
	if err != nil {
		return accountReply{}, err
	}
	return h.store.ownAccount(r.Context(), p)
}
