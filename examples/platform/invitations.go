package main

import (
	"context"
	"database/sql"
	"net/http"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// invitations serves the invitations to an org.
type invitations struct{ provisioning }

type invitationReply struct {
	envelope.Item
	Email   string   `json:"email"`
	Roles   []string `json:"roles"`
	Inviter string   `json:"inviter"`
	Expires string   `json:"expires"`
}

func (h invitations) list(r *http.Request) (envelope.List[invitationReply], error) {
	open, err := h.sessions.Mail().Invitations(r.Context(), auth.From(r.Context()).Org)
	if err != nil {
		return envelope.List[invitationReply]{}, err
	}
	return ownPage(r, "invitation", each(open, func(i session.Invitation) invitationReply {
		return invitationReply{envelope.Item{ID: i.ID, Object: "invitation"}, i.Address, append([]string{}, i.Roles...), i.Inviter, date(i.Expires)}
	}))
}

var invitationForm = body.Form{
	{Path: "email", Kind: checked(notEmail), Required: true},
	{Path: "roles", Kind: body.Strings}, // member, if there are none
}

// ticketReply has the secret of the link that the invited person opens.
type ticketReply struct {
	Ticket shownOnce `json:"ticket"`
}

// create invites somebody. This server sends no mail: whoever invites passes the ticket on, and may do
// so because they may make the account, too. A service that sends mail mails the ticket to the address,
// and keeps it out of the reply: then an account that was made with it has a verified address.
func (h invitations) create(r *http.Request, values map[string]any) (none envelope.Result[ticketReply], err error) {
	i := session.Invitation{Address: strings.TrimSpace(values["email"].(string)), Roles: slices.Clone(openRoles)}
	setIfGiven(&i.Roles, values, "roles")
	if err := h.validRoles(r.Context(), auth.From(r.Context()).Org, i.Roles, nil); err != nil {
		return none, err
	}
	ticket, err := h.sessions.Mail().Invite(r, i)
	if err != nil {
		return none, inFields(err, map[string]string{"sub": "email"})
	}
	return result(ticketReply{shownOnce(ticket.Reveal())}, nil)
}

func (h invitations) takeBack(r *http.Request) (envelope.Result[bool], error) {
	return done(h.sessions.Mail().TakeBack(r.Context(), auth.From(r.Context()).Org, r.PathValue("id")))
}

var acceptForm = body.Form{
	{Path: "ticket", Kind: body.String, Required: true},
	{Path: "password", Kind: checked(notPassword), Required: true},
	{Path: "name", Kind: checked(notName)},
}

// accept makes the account of an invitation, and signs nobody in. The address and the roles are those
// of the invitation, never those of the request.
func (h invitations) accept(r *http.Request, values map[string]any) (accountReply, error) {
	a := newAccount(auth.TenantFrom(r.Context()).Org.Key(), values)
	join := func(ctx context.Context, i session.Invitation, end func(context.Context, session.Ending) error) error {
		a.Email, a.Roles = i.Address, i.Roles
		encoded, err := h.sessions.Passwords().Hash(ctx, values["password"].(string))
		if err != nil {
			return err
		}
		return h.stores.together(ctx, a.Org, func(tx *sql.Tx, in *sqlstore.In) error {
			if err := addAccount(ctx, tx, *a, encoded); err != nil {
				return err
			}
			sessions, _ := h.stores.ending(in)
			return end(ctx, sessions)
		})
	}
	if err := h.sessions.Mail().Accept(r, values["ticket"].(string), join); err != nil {
		return accountReply{}, err
	}
	return replyOfAccount(a), nil
}
