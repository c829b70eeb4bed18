package main

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/alexedwards/argon2id"
	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// account is an account: what auth knows of it, and the platform's own properties.
type account struct {
	auth.Account
	Email string // unique within the org; case does not count
	Name  string
}

// The roles that the access rules know. Other roles only have chains, such as the demo's reader.
const (
	administrator = "administrator"
	member        = "member"
)

// accountReply is an account as its owner sees it.
type accountReply struct {
	envelope.Item
	Email string   `json:"email"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

func (s *store) ownAccount(ctx context.Context, p auth.Principal) (accountReply, error) {
	return as(replyOfAccount)(s.account(ctx, p.Org, p.Account))
}

func replyOfAccount(a *account) accountReply {
	return accountReply{
		Item:  envelope.Item{ID: a.ID, Object: "account"},
		Email: a.Email,
		Name:  a.Name,
		Roles: append([]string{}, a.Roles...), // [], never null
	}
}

func (s *store) account(ctx context.Context, org auth.OrgKey, id string) (*account, error) {
	return find[account](ctx, s.db, accountRow(org, id))
}

// addAccount adds an account with a new id. An e-mail address that another account has is a
// conflict. So a stranger who registers learns whether somebody has an account.
//
// Addresses are not verified either: the first account that names an address gets it. A service
// that sends mail answers every registration alike. It makes the account when somebody follows the
// link in the mail.
func (s *store) addAccount(ctx context.Context, a account, password string) error {
	return s.locked(ctx, a.Org, func(tx *sql.Tx) error { return s.addAccountIn(ctx, tx, a, password) })
}

func (s *store) addAccountIn(ctx context.Context, tx *sql.Tx, a account, password string) error {
	if err := addAccount(ctx, tx, a, password); err != nil {
		return err
	}
	return s.audited(ctx, tx, auth.Event{Verb: "account.made", Org: a.Org, Account: a.ID, Reason: strings.Join(a.Roles, " ")}, a.Email)
}

func addAccount(ctx context.Context, db writer, a account, password string) error {
	err := execIn(ctx, db, &auth.Error{Detail: auth.DetailConflict, Path: "email"},
		"INSERT INTO platform_accounts (org, id, email, password, record) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
		a.Org, a.ID, strings.ToLower(a.Email), password, asJSON(a))
	if err != nil || a.Person == "" {
		return err
	}
	return execIn(ctx, db, nil, "INSERT INTO platform_people (person, org, id) VALUES ($1, $2, $3)", a.Person, a.Org, a.ID)
}

// Password implements session.PasswordStore. The login name is the e-mail address.
func (s *store) Password(ctx context.Context, org auth.OrgKey, login string) (id, encoded string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT id, password FROM platform_accounts WHERE org = $1 AND email = $2 AND password <> ''",
		org, strings.ToLower(strings.TrimSpace(login))).Scan(&id, &encoded)
	return id, encoded, storeFailed(err)
}

// changePassword stores another password and alters the account, in one step: with the time
// of the change, a login that has read the former password is older than the change.
func (s *store) changePassword(ctx context.Context, verb string, org auth.OrgKey, id, encoded string, change func(*account)) error {
	return s.locked(ctx, org, func(tx *sql.Tx) error {
		_, err := changeAccount(ctx, tx, org, id, func(a *account) error {
			change(a)
			return nil
		})
		if err == nil {
			err = execIn(ctx, tx, auth.ErrNotFound, "UPDATE platform_accounts SET password = $3 WHERE org = $1 AND id = $2", org, id, encoded)
		}
		if err != nil {
			return err
		}
		return s.audited(ctx, tx, auth.Event{Verb: verb, Org: org, Account: id}, "")
	})
}

func (s *store) Rehash(ctx context.Context, org auth.OrgKey, id, old, encoded string) error {
	defer s.found.Invalidate(org)
	return execIn(ctx, s.db, auth.ErrNotFound,
		"UPDATE platform_accounts SET password = $4 WHERE org = $1 AND id = $2 AND password = $3", org, id, old, encoded)
}

// argon2 is the platform's session.Hasher. It uses argon2id with the first
// parameters in OWASP's cheat sheet on password storage.
type argon2 struct{}

var argon2Params = argon2id.Params{
	Memory:      19 * 1024, // KiB
	Iterations:  2,
	Parallelism: 1,
	SaltLength:  16,
	KeyLength:   32,
}

func (argon2) Hash(password string) (string, error) {
	return argon2id.CreateHash(password, &argon2Params)
}

func (argon2) Verify(encoded, password string) (ok, rehash bool) {
	// The parameters in encoded are not limited again: this server has written them.
	ok, params, err := argon2id.CheckHash(password, encoded)
	if err != nil || !ok {
		return false, false
	}
	return true, *params != argon2Params
}

var _ auth.People = (*store)(nil)

// peopleTable has the accounts of people.
const peopleTable = "platform_accounts a JOIN platform_people p ON p.org = a.org AND p.id = a.id"

// AccountOf implements auth.People.
func (s *store) AccountOf(ctx context.Context, org auth.OrgKey, person string) (*auth.Account, error) {
	return find[auth.Account](ctx, s.db, row{table: peopleTable, where: "p.person = $1 AND p.org = $2", args: []any{person, org}})
}

// Accounts implements auth.People.
func (s *store) Accounts(ctx context.Context, person string) ([]auth.Account, error) {
	all, err := findAll[auth.Account](ctx, s.db, "SELECT record FROM "+peopleTable+" WHERE p.person = $1 ORDER BY p.org", person)
	return each(all, valueOf), err
}

// memberships serves the orgs of a person.
type memberships struct{ *platform }

type orgReply struct {
	envelope.Item        // its _id is the org's code
	Name          string `json:"name"` // here no org has another name than its code
	Account       string `json:"account"`
}

// list answers with the other orgs in which the person has an enabled account. Somebody who acts for
// the account does not learn where else its owner belongs.
func (h memberships) list(r *http.Request) (envelope.List[orgReply], error) {
	return pageOf(r, "org", func(a auth.Account) orgReply {
		return orgReply{envelope.Item{ID: string(a.Org), Object: "org"}, string(a.Org), a.ID}
	})(h.others(r.Context()))
}

func (h memberships) others(ctx context.Context) ([]auth.Account, error) {
	p := auth.From(ctx)
	own, err := h.store.account(ctx, p.Org, p.Account)
	if err != nil || own.Person == "" || p.Actor() != "" {
		return nil, err
	}
	all, err := h.store.Accounts(ctx, own.Person)
	return slices.DeleteFunc(all, func(a auth.Account) bool { return a.Disabled || a.Org == p.Org }), err
}

// enter opens a session at the org of the URL for the person of a session at another org, whose cookie
// the request carries. It answers with the account here.
func (h memberships) enter(w http.ResponseWriter, r *http.Request) (accountReply, error) {
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
}

// origins returns the other orgs whose session cookies the request carries.
func (h memberships) origins(r *http.Request) (codes []string) {
	const (
		hostPrefix = "__Host-" // which cookies of a loopback URL lack
		maxOrigins = 8         // in which one request looks for a session
	)
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

var actForm = body.Form{{Path: "reason", Kind: line(256), Required: true}}

// act lets an administrator act for an account for an hour. The session of the browser is then that of
// the account, until stopActing.
func (h provisioning) act(w http.ResponseWriter, r *http.Request, values map[string]any) (accountReply, error) {
	p, err := h.sessions.Act(w, r, r.PathValue("id"), values["reason"].(string))
	if err != nil {
		return accountReply{}, err
	}
	return h.store.ownAccount(r.Context(), p)
}
