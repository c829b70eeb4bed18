package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

// signIn serves the routes by which people come in and go.
type signIn struct {
	store    *store
	sessions *session.Manager
	guard    *auth.Guard
	quota    *quota // of registrations, by client address: each hashes a password
	proxies  proxies
}

// The lengths of a password, in bytes. The library bounds what is hashed, too.
const (
	minPassword = 8
	maxPassword = 1024
)

// ownPages refuses what a page of another origin sends before its body is read.
// The Guard does so for a session's routes; those of this file need none yet.
func ownPages(sessions *session.Manager, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := sessions.SameOrigin(r); err != nil {
			auth.Fail(w, r, err)
			return
		}
		next(w, r)
	}
}

var registrationForm = envelope.Form{
	{Path: "email", Kind: envelope.String},
	{Path: "password", Kind: envelope.String},
	{Path: "name", Kind: envelope.String},
}

// register makes an account, as a member, and signs it in.
func (h signIn) register(w http.ResponseWriter, r *http.Request) (accountReply, error) {
	if err := h.quota.take(inOrg{auth.TenantFrom(r.Context()).Org.Code, quotaName(h.proxies.addr(r))}); err != nil {
		return accountReply{}, err
	}
	values, err := readValues(r, registrationForm)
	if err != nil {
		return accountReply{}, err
	}
	a := account{Account: auth.Account{ID: newID(), Org: auth.TenantFrom(r.Context()).Org.Code, Roles: []string{member}}}
	a.Email, _ = values["email"].(string)
	a.Name, _ = values["name"].(string)
	password, _ := values["password"].(string)
	if err := validRegistration(&a, password); err != nil {
		return accountReply{}, err
	}
	encoded, err := h.sessions.Hash(r.Context(), password)
	if err != nil {
		return accountReply{}, err
	}
	if err := h.store.addAccount(r.Context(), a, encoded); err != nil {
		return accountReply{}, err
	}
	if _, err := h.sessions.Start(w, r, a.ID); err != nil {
		return accountReply{}, err
	}
	return replyOfAccount(&a), nil
}

func validRegistration(a *account, password string) error {
	wrong := invalid{detail: auth.DetailBody}
	validAccount(&wrong, a)
	validPassword(&wrong, "password", password)
	return wrong.orNil()
}

func validAccount(wrong *invalid, a *account) {
	a.Email = strings.TrimSpace(a.Email)
	if name, host, ok := strings.Cut(a.Email, "@"); !ok || name == "" || host == "" || len(a.Email) > 254 || !isLine(a.Email) || hasFormat(a.Email) {
		wrong.add("email", "must be an e-mail address")
	}
	validName(wrong, a.Name)
}

func validName(wrong *invalid, name string) {
	switch {
	case len(name) > 256:
		wrong.add("name", "must have at most 256 bytes")
	case !isLine(name):
		wrong.add("name", "must be a line without control characters")
	case name != "" && !isVisible(name):
		wrong.add("name", "must have something to see")
	}
}

func validPassword(wrong *invalid, path, password string) {
	if len(password) < minPassword || len(password) > maxPassword {
		wrong.add(path, "must have 8 to 1024 bytes")
	}
}

var loginForm = envelope.Form{
	{Path: "email", Kind: envelope.String},
	{Path: "password", Kind: envelope.String},
	{Path: "location.verificationToken", Kind: envelope.String},
	{Path: "location.locationName", Kind: envelope.String}, // taken, and unused
	{Path: "location.singleUse", Kind: envelope.Boolean},
}

// login is one step or two: the second factor is asked for where there is one,
// and completes the ticket of the first step or comes with the password again.
func (h signIn) login(w http.ResponseWriter, r *http.Request) (accountReply, error) {
	values, err := readValues(r, loginForm)
	if err == nil {
		err = mustBeSingleUse(values)
	}
	if err != nil {
		return accountReply{}, err
	}
	email, hasEmail := values["email"].(string)
	password, hasPassword := values["password"].(string)
	code, hasCode := values["location.verificationToken"].(string)
	var p auth.Principal
	switch {
	case hasEmail && hasPassword:
		p, err = h.sessions.Login(w, r, email, password, code)
	case hasCode && !hasEmail && !hasPassword:
		p, err = h.sessions.Verify(w, r, code)
	default:
		err = required(values, "email", "password")
	}
	if err != nil {
		return accountReply{}, err
	}
	return h.reply(r.Context(), p)
}

// mustBeSingleUse refuses to remember a location: each login of an account with a
// second factor takes a code of its own. To pass over the wish would promise that
// the next one does not.
func mustBeSingleUse(values map[string]any) error {
	const path = "location.singleUse"
	wrong := invalid{detail: auth.DetailBody}
	if values[path] == false {
		wrong.add(path, "must be true: no location is remembered")
	}
	return wrong.orNil()
}

func (h signIn) reply(ctx context.Context, p auth.Principal) (accountReply, error) {
	a, err := h.store.account(ctx, p.Org, p.Account)
	if err != nil {
		return accountReply{}, err
	}
	return replyOfAccount(a), nil
}

// statusReply is the one reply that has neither an object nor a list.
type statusReply struct {
	LoggedIn bool            `json:"loggedin"`
	Account  *accountReply   `json:"account,omitempty"`
	Fault    json.RawMessage `json:"fault,omitempty"`
}

// status tells a client what its credentials are good for. It answers with the
// fault of those that fail, instead of failing.
func (h signIn) status(r *http.Request) (statusReply, error) {
	p, err := h.guard.Check(r, auth.Authenticated)
	refused, ok := errors.AsType[*auth.Error](err)
	switch {
	case err == nil:
		reply, err := h.reply(r.Context(), p)
		return statusReply{LoggedIn: true, Account: &reply}, err
	case !ok || refused.Fault().Status >= http.StatusInternalServerError:
		return statusReply{}, err // a store failed: nothing is known of who this is
	case refused.Detail == auth.DetailNoCredentials:
		return statusReply{}, nil
	}
	return statusReply{Fault: refused.Fault().Encode(h.guard.Brand.Faults)}, nil
}

func (h signIn) logout(w http.ResponseWriter, r *http.Request) (none envelope.Result[bool], err error) {
	if err := noFields(r); err != nil {
		return none, err
	}
	err = h.sessions.Logout(w, r)
	return envelope.Result[bool]{Data: err == nil}, err
}

var passwordForm = envelope.Form{{Path: "password", Kind: envelope.String, Required: true}}

// reauthenticate makes the session fresh for routes that ask for it.
func (h signIn) reauthenticate(w http.ResponseWriter, r *http.Request) (accountReply, error) {
	values, err := readValues(r, passwordForm)
	if err != nil {
		return accountReply{}, err
	}
	password, _ := values["password"].(string)
	a, err := h.store.account(r.Context(), auth.From(r.Context()).Org, auth.From(r.Context()).Account)
	if err != nil {
		return accountReply{}, err
	}
	if _, err := h.sessions.Reauthenticate(w, r, a.Email, password); err != nil {
		return accountReply{}, err
	}
	return replyOfAccount(a), nil
}

var changeForm = append(envelope.Form{{Path: "newPassword", Kind: envelope.String, Required: true}}, passwordForm...)

// changePassword gives the account another password, and ends its other sessions.
func (h signIn) changePassword(w http.ResponseWriter, r *http.Request) (accountReply, error) {
	values, err := readValues(r, changeForm)
	if err != nil {
		return accountReply{}, err
	}
	password, next := values["password"].(string), values["newPassword"].(string)
	wrong := invalid{detail: auth.DetailBody}
	validPassword(&wrong, "newPassword", next)
	if err := wrong.orNil(); err != nil {
		return accountReply{}, err
	}
	p := auth.From(r.Context())
	a, err := h.store.account(r.Context(), p.Org, p.Account)
	if err != nil {
		return accountReply{}, err
	}
	err = h.sessions.ChangePassword(w, r, a.Email, password, next, func(ctx context.Context, encoded string) error {
		return h.store.changePassword(ctx, p.Org, p.Account, encoded)
	})
	if err != nil {
		return accountReply{}, err
	}
	return replyOfAccount(a), nil
}
