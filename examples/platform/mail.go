package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/examples/internal/private"
)

// mails are files in a folder, for a program that sends or reads them. Without a folder the demo
// prints them to the log, and any other server refuses what needs a mail.
type mails struct {
	dir     string
	baseURL string
	log     *slog.Logger
	printed bool
}

func (o options) newMails(baseURL string, log *slog.Logger) (*mails, error) {
	if o.mailDir != "" {
		if err := os.MkdirAll(o.mailDir, 0o700); err != nil {
			return nil, fmt.Errorf("-mail-dir: %w", err)
		}
	}
	return &mails{dir: o.mailDir, baseURL: baseURL, log: log}, nil
}

// refused returns an error if no mail can be sent. Ask before a ticket is made.
func (m *mails) refused() error {
	if m.dir == "" && !m.printed {
		return &auth.Error{Detail: auth.DetailConflict, Reason: "this server sends no mail"}
	}
	return nil
}

// send mails a link to a page of the console. The ticket is behind the #, so that no request and no log
// of one has it.
func (m *mails) send(org auth.OrgKey, to, subject, page string, ticket session.MailTicket) error {
	link := fmt.Sprintf("%s/#%s/account?%s=%s", m.baseURL, org, page, ticket.Reveal())
	if m.dir == "" {
		m.log.Info("mail", "to", to, "subject", subject, "link", link)
		return nil
	}
	now := time.Now()
	address := mail.Address{Address: to}
	text := fmt.Sprintf("Date: %s\nFrom: <platform@localhost>\nTo: %s\nSubject: %s\nX-Ticket: %s\n"+
		"MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n%s\n",
		now.Format(time.RFC1123Z), &address, subject, ticket.Reveal(), link)
	file := now.UTC().Format("20060102T150405.000000000Z-") + rand.Text() + ".eml" // in the order of the mails
	return private.Write(filepath.Join(m.dir, file), []byte(text), os.Link)
}

// forgotten serves the routes by which somebody replaces a password that they have forgotten.
type forgotten struct{ *platform }

var forgotForm = body.Form{{Path: "email", Kind: checked(notEmail), Required: true}}

// forgot mails a ticket, and answers the same whether there is an account or not.
func (h forgotten) forgot(r *http.Request, values map[string]any) (envelope.Result[bool], error) {
	if err := h.mails.refused(); err != nil {
		return done(err)
	}
	org := auth.TenantFrom(r.Context()).Org.Key()
	send := func(ctx context.Context, id string, ticket session.MailTicket) error {
		a, err := h.store.account(ctx, org, id)
		if err != nil {
			return err
		}
		return h.mails.send(org, a.Email, "Choose another password for "+string(org), "reset", ticket)
	}
	return done(h.sessions.Mail().SendReset(r, values["email"].(string), send, func(_ context.Context, err error) {
		h.log.Error("mail", "cause", err)
	}))
}

var resetForm = body.Form{
	{Path: "ticket", Kind: body.String, Required: true},
	{Path: "password", Kind: checked(notPassword), Required: true},
}

// reset replaces the password of the ticket's account, ends its sessions, and signs nobody in.
func (h forgotten) reset(r *http.Request, values map[string]any) (accountReply, error) {
	org, id := auth.TenantFrom(r.Context()).Org.Key(), ""
	err := h.sessions.Mail().ResetPassword(r, values["ticket"].(string), values["password"].(string),
		func(ctx context.Context, of, encoded string, changed time.Time) error {
			id = of
			return h.store.changePassword(ctx, "password.reset", org, id, encoded, func(a *account) { a.Changed = changed })
		})
	if err != nil {
		return accountReply{}, err
	}
	return as(replyOfAccount)(h.store.account(r.Context(), org, id))
}

// invitations serves the invitations to an org.
type invitations struct{ provisioning }

type invitationReply struct {
	envelope.Item
	Email   string   `json:"email"`
	Roles   []string `json:"roles"`
	Maker   string   `json:"maker"`
	Expires string   `json:"expires"`
}

func replyOfInvitation(i session.Invitation) invitationReply {
	return invitationReply{envelope.Item{ID: i.ID, Object: "invitation"}, i.Address, append([]string{}, i.Roles...), i.Inviter, date(i.Expires)}
}

func (h invitations) list(r *http.Request) (envelope.List[invitationReply], error) {
	return pageOf(r, "invitation", replyOfInvitation)(h.sessions.Mail().Invitations(r.Context(), auth.From(r.Context()).Org))
}

var invitationForm = body.Form{
	{Path: "email", Kind: checked(notEmail), Required: true},
	{Path: "roles", Kind: body.Strings}, // member, if there are none
	{Path: "expires", Kind: instant},    // seven days from now, if it is left out
}

func (h invitations) create(r *http.Request, values map[string]any) (invitationReply, error) {
	i := session.Invitation{Address: strings.TrimSpace(values["email"].(string)), Roles: slices.Clone(openRoles)}
	setIfGiven(&i.Roles, values, "roles")
	setIfGiven(&i.Expires, values, "expires")
	return h.send(r, i)
}

// resend mails another ticket, which expires when the former one would have. The former one ends. Who sends
// it again is its maker from then on, and may have made it.
func (h invitations) resend(r *http.Request) (invitationReply, error) {
	i, err := h.find(r, func(i session.Invitation) bool { return i.ID == r.PathValue("id") })
	if err != nil {
		return invitationReply{}, err
	}
	return h.send(r, i)
}

// send mails the ticket to the address. It is in no reply: so who comes with it reads the mails there.
func (h invitations) send(r *http.Request, i session.Invitation) (invitationReply, error) {
	org := auth.From(r.Context()).Org
	if err := cmp.Or(h.mails.refused(), h.validRoles(r.Context(), org, i.Roles, nil)); err != nil {
		return invitationReply{}, err
	}
	ticket, err := h.sessions.Mail().Invite(r, i)
	if err != nil {
		return invitationReply{}, inFields(err, map[string]string{"sub": "email"})
	}
	made, err := h.find(r, func(open session.Invitation) bool { return strings.EqualFold(open.Address, i.Address) })
	if err == nil {
		err = h.mails.send(org, i.Address, "Join "+string(org), "join", ticket)
	}
	return replyOfInvitation(made), err
}

func (h invitations) find(r *http.Request, wanted func(session.Invitation) bool) (session.Invitation, error) {
	open, err := h.sessions.Mail().Invitations(r.Context(), auth.From(r.Context()).Org)
	if err != nil {
		return session.Invitation{}, err
	}
	if n := slices.IndexFunc(open, wanted); n >= 0 {
		return open[n], nil
	}
	return session.Invitation{}, auth.ErrNotFound
}

func (h invitations) takeBack(r *http.Request) (envelope.Result[bool], error) {
	return done(h.sessions.Mail().TakeBack(r.Context(), auth.From(r.Context()).Org, r.PathValue("id")))
}

var acceptForm = body.Form{
	{Path: "ticket", Kind: body.String, Required: true},
	{Path: "password", Kind: checked(notPassword), Required: true},
	{Path: "name", Kind: checked(notName)},
}

// accept makes the account of an invitation, and signs it in. The address and the roles are those
// of the invitation, never those of the request.
func (h invitations) accept(w http.ResponseWriter, r *http.Request, values map[string]any) (accountReply, error) {
	a := newAccount(auth.TenantFrom(r.Context()).Org.Key(), values)
	join := func(ctx context.Context, i session.Invitation, end func(context.Context, session.Ending) error) error {
		a.Email, a.Roles = i.Address, i.Roles
		encoded, err := h.sessions.Passwords().Hash(ctx, values["password"].(string))
		if err != nil {
			return err
		}
		return h.stores.together(ctx, a.Org, func(tx *sql.Tx, in *sqlstore.In) error {
			err := h.store.addAccountIn(ctx, tx, *a, encoded)
			if err == nil {
				err = h.store.audited(ctx, tx, auth.Event{Verb: "invitation.accepted", Org: a.Org, Account: a.ID}, a.Email)
			}
			if err != nil {
				return err
			}
			sessions, _ := h.stores.ending(in)
			return end(ctx, sessions)
		})
	}
	if err := h.sessions.Mail().Accept(r, values["ticket"].(string), join); err != nil {
		return accountReply{}, err
	}
	return welcome(w, r, h.sessions, a, "invited")
}
