package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/redacted"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// MailTicket is the secret of a link that the application mails to an account: 43
// characters of base64url, which string(ticket) returns. It is for one purpose, one account and one
// use. It prints REDACTED.
//
// The store holds only its SHA-256, as a record beside the account's sessions. Verbs
// that end all sessions of the account end its tickets, too.
//
// Put the ticket behind a # in the link, so that no log and no Referer has it. The page
// there must send it with POST: mail filters open links by themselves.
type MailTicket = redacted.String[mailTicket]

type mailTicket struct{}

// The purposes of mailed tickets. They are no steps of a login.
const (
	ticketReset   = "reset"
	ticketAddress = "address"
)

const (
	resetLife   = 30 * time.Minute
	addressLife = 24 * time.Hour

	// maxResets is how many tickets for a reset an account may have at once. With one,
	// anybody could end the link that its owner waits for.
	maxResets = 3

	// maxAddresses is 1: a ticket for a mistyped address must not live on beside that for
	// the right one.
	maxAddresses = 1

	// maxAddress is the length of a mail address in bytes.
	maxAddress = 254

	// maxSending limits the calls of send that run at once. An org never has more than are left
	// for others: 64 if it is the only one.
	maxSending = 128

	// sendLimit ends the context of send.
	sendLimit = time.Minute
)

// Mail.SendReset begins the reset of a forgotten password: it makes a ticket for the account
// that logs in under this name, and calls send with it. The ticket is valid for 30
// minutes and for one Mail.ResetPassword. An account has at most three, and loses them when
// its password changes.
//
// The caller learns nothing about the account. Mail.SendReset returns as soon as the request
// is counted. The look-up, the ticket and send follow in a goroutine of their own, only
// if there is an enabled account that has a password. Answer the same in any case:
// auth.Fail for an error, and otherwise that a mail is on its way if the account exists.
//
// send mails the link to the address that the application has for the account. Its
// context outlives the request, for a minute. At most 128 calls run at once, and 64 of an org.
// While a call runs, it tells by its slot that an account exists: put the mail into a queue.
// failed gets the error of a store, what send returns, or an error with the panic of send: log
// it. The two never share a call. A program that exits loses the mails that are not sent yet:
// call Wait before.
//
// Requests are counted by the name and by the address of the client. Mail.SendReset returns
// an error that wraps ErrLocked or auth.ErrUnavailable. Its detail is
// auth.DetailThrottled if too many calls of send run, and auth.DetailCrossOrigin for a
// page of another origin.
func (of Mail) SendReset(r *http.Request, login string,
	send func(ctx context.Context, account string, ticket MailTicket) error, failed func(ctx context.Context, err error)) error {
	m := of.manager
	t, err := m.sameOriginTenant(r)
	if err != nil {
		return err
	}
	switch {
	case m.PasswordStore == nil:
		return errors.New("session: Manager.PasswordStore is required for this")
	case send == nil || failed == nil:
		return errors.New("session: SendReset needs send and failed")
	case login == "" || len(login) > maxLogin:
		return nil // as for an unknown name
	}
	org := t.Org.Key()
	if !m.mails.begin(org) {
		return &auth.Error{Detail: auth.DetailThrottled, Err: errors.New("session: too many mails are being sent")}
	}
	// These counts are apart: nobody must delay the logins of an account by requests for a reset.
	if _, err := m.attemptFrom(r, t, "reset from", freeMails, "reset", normalLogin(login)).begin(r.Context(), m.now()); err != nil {
		m.mails.end(org)
		return err
	}
	// Its time is before the look-up: see authentication.
	s, token := m.newSession(r, t.Org, authentication{Proof: Proof{At: m.stamp()}}, ticketReset, resetLife)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), sendLimit)
	go func() {
		defer m.mails.end(org)
		defer cancel()
		if err := m.mailReset(ctx, t, login, s, token, send); err != nil {
			failed(ctx, err)
		}
	}()
	return nil
}

// mailReset stores the ticket and calls send, if the name has an account. A panic of send is
// an error and does not end the program: the data of one account may cause it.
func (m *Manager) mailReset(ctx context.Context, t *auth.Tenant, login string, s Session, token token,
	send func(ctx context.Context, account string, ticket MailTicket) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("session: panic while a mail was sent: %v\n%s", cause, debug.Stack())
		}
	}()
	bound, cancel := t.Bound(ctx)
	defer cancel()
	id, encoded, err := m.lookUp(bound, t, login)
	if err == nil && (id == "" || encoded == "") { // an account without a password gets none
		return nil
	}
	if err == nil {
		_, err = t.Account(bound, id) // a disabled one is not found
	}
	if err != nil {
		return auth.Unavailable(absent(err, nil))
	}
	s.Account = id
	if err := m.Store.Create(bound, s, maxResets); err != nil {
		return auth.Unavailable(err)
	}
	return send(ctx, id, MailTicket(token.text()))
}

// Wait returns when no call of send of Mail.SendReset runs, or with the error of ctx. Call it
// after http.Server.Shutdown, before the program ends. The context of each send ends a
// minute after its request, so a minute is enough if send returns then.
func (m *Manager) Wait(ctx context.Context) error {
	m.mails.mu.Lock()
	none := m.mails.none
	m.mails.mu.Unlock()
	if none == nil {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mails counts the calls of send that run.
type mails struct {
	mu   sync.Mutex
	n    int
	of   map[auth.OrgKey]int
	none chan struct{} // closed when n becomes 0; nil: n is 0
}

// begin reports whether one more call may run for an org.
func (s *mails) begin(org auth.OrgKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[org] >= maxSending-s.n {
		return false
	}
	if s.n == 0 {
		s.of, s.none = map[auth.OrgKey]int{}, make(chan struct{})
	}
	s.n++
	s.of[org]++
	return true
}

func (s *mails) end(org auth.OrgKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[org]--; s.of[org] == 0 {
		delete(s.of, org)
	}
	if s.n--; s.n == 0 {
		close(s.none)
		s.none = nil
	}
}

// Mail.ResetPassword redeems a ticket of Mail.SendReset: it replaces the password of the ticket's
// account by next. It ends all sessions of the account, its incomplete logins and its
// other tickets. It opens no session: the account logs in with the new password, and
// with its second factor if it has one.
//
// store is that of Passwords.Change, and gets the ticket's account. The ticket is used before
// store is called. If store fails, Mail.ResetPassword returns its error, and the person must ask
// for another ticket.
//
// Mount it on a route that is auth.Public, with POST. It refuses a request of somebody
// who is signed in with another account.
//
// Mail.ResetPassword returns an error that wraps ErrCode if the ticket is not valid or no
// longer so, or auth.ErrUnavailable. After an error that follows store, the password has
// changed: call Sessions.RevokeAll to end the sessions. The error's detail is auth.DetailOption
// for a password that no login accepts, auth.DetailThrottled if too many passwords are
// waiting, auth.DetailLocked if too many of this account are, and auth.DetailCrossOrigin
// for a page of another origin.
func (of Mail) ResetPassword(r *http.Request, ticket, next string,
	store func(ctx context.Context, account, encoded string, changed time.Time) error) error {
	m := of.manager
	t, err := m.sameOriginTenant(r)
	if err = cmp.Or(err, m.checkNext(next)); err != nil {
		return err
	}
	s, err := m.mailed(r, t, ticket, ticketReset)
	if err != nil {
		return err
	}
	// Hashed first, so that a full queue does not cost the ticket. It counts for the
	// account: many requests with one ticket must not take the places of registrations.
	encoded, err := m.hashes().hash(r.Context(), accountParty(t, s.Account), next)
	if err != nil {
		return throttled(err)
	}
	// Again, because the hash may have waited long, and the password must not be that of
	// an account that was changed meanwhile.
	if s, err = m.mailed(r, t, ticket, ticketReset); err != nil {
		return err
	}
	if err := m.redeem(r, s); err != nil {
		return err
	}
	auth.Identify(r, auth.Principal{Org: s.Org, Account: s.Account, Caller: s.Account, Mechanism: Name})
	if _, err = m.storing(func(changed time.Time) error { return store(r.Context(), s.Account, encoded, changed) }); err != nil {
		return err
	}
	auth.Emit(r.Context(), auth.Event{Verb: verbs.PasswordReset, Account: s.Account})
	return m.endOwn(r.Context(), t, s.Account, "", verbs.PasswordReset)
}

// Mail.AddressTicket makes a ticket for the link in a mail to address, by which the account
// proves that it reads this address. It is valid for a day and for one Mail.VerifyAddress. It
// replaces the account's former one: somebody who has mistyped the address asks again.
//
// The application mails it to this address only. It decides who may ask for which
// account and address. If passwords are reset by mail, a verified address is as good as
// the password: a session must have authenticated within the last ten minutes, also one of
// another org whose handler has passed the request on. A request that was admitted with a
// token or a key makes a ticket only if it may do everything that the account may. So does a
// session that its roles limit, for another account than its own. Otherwise the error has
// auth.DetailDelegation.
//
// Requests are counted by account. Mail.AddressTicket returns an error that wraps ErrLocked,
// auth.ErrUnavailable, or auth.ErrNotFound for an account that is unknown or disabled.
// Its detail is auth.DetailReauthenticate for a session that is not fresh,
// auth.DetailOption for an address that is empty, longer than 254 bytes or
// not a line of UTF-8, and auth.DetailCrossOrigin for a page of another origin.
func (of Mail) AddressTicket(r *http.Request, account, address string) (ticket MailTicket, err error) {
	m := of.manager
	t, err := m.sameOriginTenant(r)
	if err != nil {
		return ticket, err
	}
	if !isAddress(address) {
		return ticket, &auth.Error{Detail: auth.DetailOption, Reason: "a mail address is a line of 1 to 254 bytes"}
	}
	// Fresh is also the session of another org whose handler has passed the request on.
	by, outer := auth.From(r.Context()), auth.Enclosing(r.Context())
	if err := cmp.Or(mayStartAs(r, account), m.checkFresh(by), m.checkFresh(outer)); err != nil {
		return ticket, err
	}
	if account == "" {
		return ticket, auth.ErrNotFound // the zero principal's: whatever the directory says
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	if _, err := t.Account(ctx, account); err != nil {
		return ticket, err
	}
	counted := m.attempt(t, freeMails, "verify", account)
	if _, err := counted.begin(ctx, m.now()); err != nil {
		return ticket, err
	}
	s, token := m.newSession(r, t.Org, authentication{account: account, Proof: Proof{At: m.stamp()}}, ticketAddress, addressLife)
	s.Address = address
	if err := m.Store.Create(ctx, s, maxAddresses); err != nil {
		counted.withdraw(ctx, 1)
		return ticket, auth.Unavailable(err)
	}
	return MailTicket(token.text()), nil
}

// isAddress accepts what a store can hold and a mail can be sent to. It does not check
// the form.
func isAddress(text string) bool {
	return text != "" && len(text) <= maxAddress && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Mail.VerifyAddress redeems a ticket of Mail.AddressTicket, and returns the account and the
// address that it was made for. Make it the account's address now. Or, if it was stored
// before, mark it as verified only if it is still that of the account, in one step.
//
// Mount it with POST, on a route for sessions if passwords are reset by mail. Otherwise
// whoever reads a mistyped address takes the account with the link alone. Once the
// address is stored, call Sessions.RevokeAll with the session's ID: a reset that was mailed to the
// former address ends. Mail.VerifyAddress refuses a request of somebody who is signed in with
// another account.
//
// Mail.VerifyAddress returns an error that wraps ErrCode if the ticket is not valid or no
// longer so, or auth.ErrUnavailable. Its detail is auth.DetailCrossOrigin for a page of
// another origin.
func (of Mail) VerifyAddress(r *http.Request, ticket string) (account, address string, err error) {
	m := of.manager
	t, err := m.sameOriginTenant(r)
	if err != nil {
		return "", "", err
	}
	s, err := m.mailed(r, t, ticket, ticketAddress)
	if err != nil {
		return "", "", err
	}
	if err := m.redeem(r, s); err != nil {
		return "", "", err
	}
	auth.Identify(r, auth.Principal{Org: s.Org, Account: s.Account, Caller: s.Account, Mechanism: Name})
	return s.Account, s.Address, nil
}

// mailed returns the record of a mailed ticket, if the request may redeem it. It writes
// nothing.
func (m *Manager) mailed(r *http.Request, t *auth.Tenant, ticket, purpose string) (Session, error) {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	s, err := m.mailTicket(ctx, t, ticket, purpose)
	if err != nil {
		return Session{}, err
	}
	t.Claim(auth.Claimed{Mechanism: Name, Account: s.Account})
	// Whoever is signed in: by what has admitted the request, or on a public route by the cookie that it carries.
	p := auth.From(r.Context())
	account := p.Account
	if account == "" {
		var carried Session
		carried, err = m.carried(ctx, r, t)
		account = carried.Account
	}
	switch {
	case err != nil:
		return Session{}, err
	case p.Actor() != "":
		return Session{}, errActing
	case account != "" && account != s.Account:
		return Session{}, errCode
	}
	return s, s.checkUnchanged(ctx, t)
}

// mailTicket returns the record of a ticket for this purpose.
func (m *Manager) mailTicket(ctx context.Context, t *auth.Tenant, ticket, purpose string) (Session, error) {
	token, ok := parseToken(ticket)
	if !ok {
		return Session{}, errCode
	}
	return m.liveTicket(ctx, t, token.hash(), purpose)
}

// carried returns the session whose cookie the request carries, or the zero Session if there is
// none that has not ended.
func (m *Manager) carried(ctx context.Context, r *http.Request, t *auth.Tenant) (Session, error) {
	hash, ok := m.sessionCookie().hash(r, t)
	if !ok {
		return Session{}, nil
	}
	s, _, _, err := m.current(ctx, t, hash)
	if meansEnded(err) { // though the browser still has the cookie
		return Session{}, nil
	}
	return s, auth.Unavailable(err)
}
