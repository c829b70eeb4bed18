package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

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

// memberships serves the orgs of a person.
type memberships struct {
	store    *store
	sessions *session.Manager
	guard    *auth.Guard
}

type orgReply struct {
	envelope.Item        // its _id is the org's code
	Name          string `json:"name"` // here no org has another name than its code
	Account       string `json:"account"`
}

// list answers with the other orgs in which the person has an enabled account. Somebody who acts for
// the account does not learn where else its owner belongs.
func (h memberships) list(r *http.Request) (envelope.List[orgReply], error) {
	ctx, p := r.Context(), auth.From(r.Context())
	a, err := h.store.account(ctx, p.Org, p.Account)
	if err != nil {
		return envelope.List[orgReply]{}, err
	}
	var accounts []auth.Account
	if a.Person != "" && p.Actor() == "" {
		if accounts, err = h.store.Accounts(ctx, a.Person); err != nil {
			return envelope.List[orgReply]{}, err
		}
	}
	var orgs []orgReply
	for _, a := range accounts {
		if !a.Disabled && a.Org != p.Org {
			orgs = append(orgs, orgReply{envelope.Item{ID: string(a.Org), Object: "org"}, string(a.Org), a.ID})
		}
	}
	return ownPage(r, "org", orgs)
}

// enter opens a session at the org of the URL for the person of a session at another org, whose cookie
// the request carries. It answers with the account here.
func (h memberships) enter(w http.ResponseWriter, r *http.Request) (accountReply, error) {
	return bodiless(func(r *http.Request) (accountReply, error) {
		err := error(&auth.Error{Detail: auth.DetailNoCredentials})
		for _, origin := range h.origins(r) {
			var p auth.Principal
			if p, err = h.enterFrom(w, r, origin); err == nil {
				return h.store.ownAccount(r.Context(), p)
			}
			if refused, ok := errors.AsType[*auth.Error](err); !auth.IsNotFound(err) && (!ok || refused.Fault().Status != http.StatusUnauthorized) {
				break // a session of another org would not be better
			}
		}
		return accountReply{}, err
	})(r)
}

// maxOrigins is how many orgs one request looks for a session in.
const maxOrigins = 8

// origins returns the other orgs whose session cookies the request carries.
func (h memberships) origins(r *http.Request) (codes []string) {
	const hostPrefix = "__Host-" // which cookies of a loopback URL lack
	before, after, _ := strings.Cut(strings.TrimPrefix(h.sessions.Cookies.Session, hostPrefix), "{org}")
	for _, c := range r.Cookies() {
		code, isSession := strings.CutPrefix(strings.TrimPrefix(c.Name, hostPrefix), before)
		code, ends := strings.CutSuffix(code, after)
		if isSession && ends && code != auth.TenantFrom(r.Context()).Org.Code && len(codes) < maxOrigins && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}

// enterFrom takes the request to the Guard as one to the origin, which admits it by its session there.
// What the Guard itself would answer is not sent: its refusals are those of the other org.
func (h memberships) enterFrom(w http.ResponseWriter, r *http.Request, origin string) (p auth.Principal, err error) {
	to := auth.TenantFrom(r.Context())
	there := r.Clone(r.Context())
	there.URL.Path, there.URL.RawPath = "/"+origin+"/"+to.Version+"/accounts/enter", ""
	unseen := &unsent{header: make(http.Header)}
	err = &auth.Error{Detail: auth.DetailNoCredentials}
	entered := h.guard.Require(bySession)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p, err = h.sessions.Enter(w, r, to.Org.Code)
	}))
	h.guard.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		refused := err
		if _, err = h.guard.Check(r, bySession); err == nil {
			err = refused // unless Require admits it
			entered.ServeHTTP(unseen, r)
		}
	})).ServeHTTP(unseen, there)
	if unseen.status >= http.StatusInternalServerError {
		err = auth.ErrUnavailable
	}
	return p, err
}

// unsent is a response that nobody gets.
type unsent struct {
	header http.Header
	status int
}

func (u *unsent) Header() http.Header            { return u.header }
func (u *unsent) WriteHeader(status int)         { u.status = status }
func (u *unsent) Write(text []byte) (int, error) { return len(text), nil }

var actForm = body.Form{{Path: "reason", Kind: checked(notReason), Required: true}}

func notReason(reason string) string {
	return unless(isVisible(reason) && isLine(reason) && len(reason) <= 256, "must be a line of 1 to 256 bytes")
}

// act lets an administrator act for an account for an hour. The session of the browser is then that of
// the account, until stopActing.
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
