package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
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
type forgotten struct {
	store    *store
	sessions *session.Manager
	mails    *mails
	log      *slog.Logger
}

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
			return h.store.changePassword(ctx, org, id, encoded, func(a *account) { a.Changed = changed })
		})
	if err != nil {
		return accountReply{}, err
	}
	a, err := h.store.account(r.Context(), org, id)
	if err != nil {
		return accountReply{}, err
	}
	return replyOfAccount(a), nil
}
