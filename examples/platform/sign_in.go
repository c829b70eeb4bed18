package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// signIn serves the routes by which people sign in and out.
type signIn struct {
	*platform
	quota *quota // of registrations, by client address, because each hashes a password
}

// ownPages refuses a request from a page of another origin before its body is read. The Guard does
// so for routes that need a session. These need none yet.
func (p *platform) ownPages(_ http.ResponseWriter, r *http.Request) error {
	return p.sessions.SameOrigin(r)
}

var registrationForm = body.Form{
	{Path: "email", Kind: checked(notEmail), Required: true},
	{Path: "password", Kind: checked(notPassword), Required: true},
	{Path: "name", Kind: checked(notName)},
}

// mayRegister counts a registration, before its body is read.
func (h signIn) mayRegister(_ http.ResponseWriter, r *http.Request) error {
	t := auth.TenantFrom(r.Context())
	return h.quota.take(inOrg{t.Org.Key(), quotaName(t.ClientAddr(r))})
}

// register makes an account with the role member, and signs it in.
func (h signIn) register(w http.ResponseWriter, r *http.Request, values map[string]any) (accountReply, error) {
	a := newAccount(auth.TenantFrom(r.Context()).Org.Key(), values)
	encoded, err := h.sessions.Passwords().Hash(r.Context(), values["password"].(string))
	if err == nil {
		err = h.store.addAccount(r.Context(), *a, encoded)
	}
	if err != nil {
		return accountReply{}, err
	}
	return welcome(w, r, h.sessions, a, "registered")
}

// welcome reports an account that was just created, and signs it in.
func welcome(w http.ResponseWriter, r *http.Request, sessions *session.Manager, a *account, how string) (accountReply, error) {
	auth.Emit(r.Context(), auth.Event{Verb: "account.made", Account: a.ID, Reason: how})
	_, err := sessions.Start(w, r, a.ID, session.Proof{At: auth.TenantFrom(r.Context()).Now(), Methods: []string{session.MethodPassword}})
	return replyOfAccount(a), err
}

// newAccount returns the account that a body describes. It is a member unless the
// body says otherwise.
func newAccount(org auth.OrgKey, values map[string]any) *account {
	a := &account{Account: auth.Account{ID: newID(), Org: org, Roles: []string{member}}}
	setIfGiven(&a.Email, values, "email")
	setIfGiven(&a.Name, values, "name")
	setIfGiven(&a.Roles, values, "roles")
	a.Email = strings.TrimSpace(a.Email)
	return a
}

func notEmail(email string) string {
	email = strings.TrimSpace(email)
	name, host, _ := strings.Cut(email, "@")
	return unless(name != "" && host != "" && len(email) <= 254 && isLine(email) && !hasFormat(email), "must be an e-mail address")
}

func notName(name string) string {
	return cmp.Or(
		unless(len(name) <= 256, "must have at most 256 bytes"),
		unless(isLine(name), "must be a line without control characters"),
		unless(name == "" || isVisible(name), "must have something to see"),
	)
}

// The most frequent passwords of 8 characters and more, from the lists of zxcvbn (MIT). An attacker tries
// these first.
//
//go:embed common_passwords.txt
var frequentPasswords string

var tooFrequent = strings.Fields(frequentPasswords)

// notPassword has the limits of the library for a new password, and refuses those that many people have.
func notPassword(password string) string {
	return cmp.Or(
		unless(utf8.RuneCountInString(password) >= 8 && len(password) <= 1024, "must have at least 8 characters and at most 1024 bytes"),
		unless(!slices.Contains(tooFrequent, strings.ToLower(password)), "is one of the passwords that are tried first: choose another"),
	)
}

var loginForm = body.Form{
	{Path: "email", Kind: body.String},
	{Path: "password", Kind: body.String},
	{Path: "location.verificationToken", Kind: body.String},
	{Path: "location.locationName", Kind: body.String}, // of the remembered device
	{Path: "location.singleUse", Kind: body.Boolean},   // false asks to remember the device
}

// loginReply has remembered if the client asked that this device is remembered.
type loginReply struct {
	accountReply
	Remembered *bool `json:"remembered,omitempty"`
}

// login is one step or two. If the account has a second factor, a code is needed.
// The code comes with the ticket of the first step, or with the password again.
func (h signIn) login(w http.ResponseWriter, r *http.Request, values map[string]any) (reply loginReply, err error) {
	email, hasEmail := values["email"].(string)
	password, hasPassword := values["password"].(string)
	code, hasCode := values["location.verificationToken"].(string)
	name, _ := values["location.locationName"].(string)
	asked := values["location.singleUse"] == false // to remember this device
	var p auth.Principal
	switch {
	case hasEmail && hasPassword:
		p, err = h.sessions.Login(w, r, session.LoginForm{Login: email, Password: password, Code: code, RememberDevice: asked, DeviceName: name})
	case hasCode && !hasEmail && !hasPassword:
		p, err = h.sessions.VerifyCode(w, r, session.LoginForm{Code: code, RememberDevice: asked, DeviceName: name})
	default:
		err = required(values, "email", "password")
	}
	if err != nil {
		return reply, err
	}
	reply.accountReply, err = h.store.ownAccount(r.Context(), p)
	if asked && err == nil {
		reply.Remembered, err = h.remembered(r.Context(), p)
	}
	return reply, err
}

// remembered reports whether later logins on this device need no code. The login had a code, if there is a
// factor, or else the device is remembered already.
func (h signIn) remembered(ctx context.Context, p auth.Principal) (*bool, error) {
	factor, err := h.sessions.Factors().State(ctx, p.Org, p.Account)
	is := factor.Active && auth.TenantFrom(ctx).Org.Session.Effective().RememberDevice > 0
	return &is, err
}

// meReply says who acts for the account, if somebody does, and what the request's own credential holds, if it asks.
type meReply struct {
	accountReply
	Actor string   `json:"actor,omitempty"` // the id of an account
	Scope []string `json:"scope,omitzero"`  // chains; none: not asked for, or too many to list
}

// me answers with the account that the request acts as, and with ?scope=true with what its credential holds.
func (h signIn) me(r *http.Request) (meReply, error) {
	p := auth.From(r.Context())
	reply, err := h.actingAs(r.Context(), p)
	if r.URL.Query().Get("scope") == "true" {
		reply.Scope = heldBy(p)
	}
	return reply, err
}

func (h signIn) actingAs(ctx context.Context, p auth.Principal) (meReply, error) {
	a, err := h.store.ownAccount(ctx, p)
	return meReply{accountReply: a, Actor: p.Actor()}, err
}

const maxHeld = 1000 // chains that are listed

// heldBy returns the chains of the scope of a principal, each once.
func heldBy(p auth.Principal) []string {
	held := []string{}
	for chain := range p.Scope.Chains() {
		if held = append(held, chain); len(held) > maxHeld {
			return nil
		}
	}
	slices.Sort(held)
	return slices.Compact(held)
}

// statusReply is the only reply that has neither an object nor a list.
type statusReply struct {
	LoggedIn bool            `json:"loggedin"`
	Account  *meReply        `json:"account,omitempty"`
	Fault    json.RawMessage `json:"fault,omitempty"`
}

// status tells a client whether its credentials are valid. If they are not, it does
// not fail, but answers with their fault.
func (h signIn) status(r *http.Request) (statusReply, error) {
	p, err := h.guard.Check(r, auth.Authenticated)
	refused, ok := errors.AsType[*auth.Error](err)
	switch {
	case err == nil:
		reply, err := h.actingAs(r.Context(), p)
		return statusReply{LoggedIn: true, Account: &reply}, err
	case !ok || refused.Fault().Status >= http.StatusInternalServerError:
		return statusReply{}, err // a store failed, so the caller is not known
	case refused.Detail == auth.DetailNoCredentials:
		return statusReply{}, nil
	}
	return statusReply{Fault: refused.Fault().Encode(h.guard.Brand.Faults)}, nil
}

// stopActing ends the session in which somebody acts for the account. The one of the actor ends with it,
// because its cookie is gone.
func (h signIn) stopActing(w http.ResponseWriter, r *http.Request) (envelope.Result[bool], error) {
	if auth.From(r.Context()).Actor() == "" {
		return envelope.Result[bool]{}, auth.ErrNotFound
	}
	return h.logout(w, r)
}

func (h signIn) logout(w http.ResponseWriter, r *http.Request) (envelope.Result[bool], error) {
	return done(h.sessions.Logout(w, r))
}

var passwordForm = body.Form{{Path: "password", Kind: body.String, Required: true}}

// reauthenticate makes the session fresh, for routes that need a fresh one.
func (h signIn) reauthenticate(w http.ResponseWriter, r *http.Request, values map[string]any) (accountReply, error) {
	a, err := h.store.account(r.Context(), auth.From(r.Context()).Org, auth.From(r.Context()).Account)
	if err == nil {
		_, err = h.sessions.Reauthenticate(w, r, a.Email, values["password"].(string))
	}
	return as(replyOfAccount)(a, err)
}

var changeForm = append(body.Form{{Path: "newPassword", Kind: checked(notPassword), Required: true}}, passwordForm...)

// changePassword gives the account another password, and ends its other sessions.
func (h signIn) changePassword(w http.ResponseWriter, r *http.Request, values map[string]any) (accountReply, error) {
	password, next := values["password"].(string), values["newPassword"].(string)
	p := auth.From(r.Context())
	a, err := h.store.account(r.Context(), p.Org, p.Account)
	if err == nil {
		err = h.sessions.Passwords().Change(w, r, a.Email, password, next, func(ctx context.Context, encoded string, changed time.Time) error {
			return h.store.changePassword(ctx, "password.changed", p.Org, p.Account, encoded, func(a *account) { a.Changed = changed })
		})
	}
	return as(replyOfAccount)(a, err)
}

// openSessions serves the routes that list sessions and end them: of the caller's own account, and those
// of others, for administrators.
type openSessions struct {
	*platform
	of func(r *http.Request) (account, session string, err error) // that the path names
}

func ownSessions(r *http.Request) (account, session string, err error) {
	return auth.From(r.Context()).Account, r.PathValue("id"), nil
}

func (s *store) sessionsOf(r *http.Request) (account, session string, err error) {
	_, err = s.account(r.Context(), auth.From(r.Context()).Org, r.PathValue("id"))
	return r.PathValue("id"), r.PathValue("session"), err
}

type sessionReply struct {
	envelope.Item
	Created string `json:"created"`
	Seen    string `json:"seen"` // at most a twentieth of the idle time late
	Address string `json:"address"`
	Agent   string `json:"agent"`
	Current bool   `json:"current"`
	Reason  string `json:"reason,omitempty"` // why somebody acts for the account in it
}

func (h openSessions) list(r *http.Request) (none envelope.List[sessionReply], err error) {
	account, _, err := h.of(r)
	if err != nil {
		return none, err
	}
	return pageOf(r, "session", func(s session.SessionInfo) sessionReply {
		return sessionReply{
			Item:    envelope.Item{ID: s.ID, Object: "session"},
			Created: date(s.Created),
			Seen:    date(s.Seen),
			Address: s.Address,
			Agent:   s.Agent,
			Current: s.ID == auth.From(r.Context()).SessionID,
			Reason:  s.Proof.Text,
		}
	})(h.sessions.Sessions().List(r.Context(), auth.TenantFrom(r.Context()).Org, account))
}

func (h openSessions) revoke(r *http.Request) (envelope.Result[bool], error) {
	account, id, err := h.of(r)
	if err == nil {
		err = h.sessions.Sessions().Revoke(r.Context(), auth.From(r.Context()).Org, account, id)
	}
	return done(err)
}

// revokeAll answers with the number of ended sessions. The one of the request stays.
func (h openSessions) revokeAll(r *http.Request) (envelope.Result[int], error) {
	p := auth.From(r.Context())
	account, _, err := h.of(r)
	if err != nil {
		return envelope.Result[int]{}, err
	}
	return result(h.sessions.Sessions().RevokeAll(r.Context(), p.Org, account, p.SessionID))
}

var (
	bySession = auth.Authenticated.By(session.Name)

	// freshOrTicket admits a caller who has just signed in, and a caller who has
	// only the ticket to enrol a factor. The Manager checks the ticket.
	freshOrTicket = auth.Optional.By(session.Name).Fresh(stepUp)
	fresh         = bySession.Fresh(stepUp)
)

// stepUp is how long a session is fresh after a password or a code.
const stepUp = 10 * time.Minute

func (p *platform) sessionRoutes(mux router) {
	public := mux.with(publicBody, p.ownPages)
	signIn := signIn{p, newRegisterQuota()}
	public.with(signIn.mayRegister).on("POST /accounts", auth.Public, "Register an account", takesAs(registrationForm, signIn.register))
	public.on("POST /accounts/login", auth.Public, "Sign in", takesAs(loginForm, signIn.login).
		saying("If a second factor is wanted, send the same body with `location`, or `location` alone with the ticket cookie."))
	mux.on("GET /accounts/status", auth.Public, "Who is signed in", reads(signIn.status))
	mux.on("GET /accounts/me", auth.Authenticated, "The caller's account", reads(signIn.me).
		saying("With the argument `scope=true`, `scope` has the chains that the credential holds, unless there are more than 1,000."))
	mux.on("POST /accounts/me/logout", bySession, "End the session", doesAs(signIn.logout))
	mux.on("POST /accounts/me/reauthenticate", bySession, "Prove the password again", takesAs(passwordForm, signIn.reauthenticate))
	mux.on("POST /accounts/me/password", fresh, "Change the password", takesAs(changeForm, signIn.changePassword))

	factor := secondFactor{p}
	mux.on("GET /accounts/me/second-factor", bySession, "What second factor the caller has", reads(factor.state))
	public.on("POST /accounts/me/second-factor", freshOrTicket, "Begin a second factor", does(factor.enrol))
	public.on("POST /accounts/me/second-factor/confirm", freshOrTicket, "Confirm a second factor", takesAs(codeForm, factor.confirm))
	mux.on("POST /accounts/me/second-factor/recovery-codes", fresh, "Replace the recovery codes", takes(codeForm, factor.renewRecovery).
		saying("All previous recovery codes become invalid."))
	mux.on("DELETE /accounts/me/second-factor", fresh, "Remove the second factor", takes(codeForm, factor.remove))

	of := memberships{p}
	mux.on("GET /accounts/me/orgs", bySession, "List the other orgs of the person", reads(of.list).listing(own("org")))
	public.on("POST /accounts/enter", auth.Public, "Enter this org from another one of the person", doesAs(of.enter).
		saying("The request carries the session cookie of another org of this host, whose session stays. This org decides what it accepts: it may ask for a second factor."))
	mux.on("DELETE /accounts/me/act", bySession, "Stop acting for the account", doesAs(signIn.stopActing).
		saying("The session of the actor ends, too."))

	open := openSessions{p, ownSessions}
	mux.on("GET /accounts/me/sessions", bySession, "List the caller's sessions", reads(open.list).listing(own("session")))
	mux.on("DELETE /accounts/me/sessions/{id}", bySession, "End a session", does(open.revoke))
	mux.on("DELETE /accounts/me/sessions", bySession, "End the other sessions", does(open.revokeAll))

	devices := devices{p}
	mux.on("GET /accounts/me/devices", bySession, "List the devices on which a login needs no code", reads(devices.list).listing(own("device")))
	mux.on("DELETE /accounts/me/devices/{id}", bySession, "Forget a device", does(devices.forget))
	mux.on("DELETE /accounts/me/devices", bySession, "Forget all devices", does(devices.forgetAll))
}
