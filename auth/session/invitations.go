package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// Invitation asks somebody who reads the mails to Address to join the org with Roles. ID and Inviter are
// set by the Manager.
type Invitation struct {
	ID      string    `json:"-"` // public, for TakeBack; the ticket is another text, and is never listed
	Address string    `json:"-"`
	Roles   []string  `json:"r,omitempty"`
	Inviter string    `json:"b"` // id of the account
	Expires time.Time `json:"-"` // zero: in 7 days; at most in 30
}

const (
	// ticketInvite is the Ticket of the record of an invitation, among those of invitations, which is no
	// account's id: its Address is that of the mail, and its Proof holds the roles and the inviter.
	ticketInvite = "invite"
	invitations  = "@invitations"

	inviteLife     = 7 * 24 * time.Hour
	maxInviteLife  = 30 * 24 * time.Hour
	maxInvitations = 1000 // of an org
)

// Invite makes the ticket of an invitation, for a mail to its Address. It is for one Accept. An earlier
// invitation of the same address ends: to send one again, invite again.
//
// Who joins is an account that can do all that the roles permit. So the principal of the request is judged
// by auth.Principal.MayMake, and Manager.Administrator says who administers the org. A session must have
// authenticated within the last ten minutes. An org has at most 1000 invitations.
//
// Invite returns an error that wraps auth.ErrUnavailable. Its detail is auth.DetailDelegation,
// auth.DetailReauthenticate, auth.DetailThrottled, or auth.DetailOption for an address that is no line of 1
// to 254 bytes, for roles of more than 1 KiB and for another Expires.
func (of Mail) Invite(r *http.Request, i Invitation) (ticket MailTicket, err error) {
	m := of.manager
	t, err := m.sameOriginTenant(r)
	if err != nil {
		return ticket, err
	}
	p, now := auth.From(r.Context()), m.stamp()
	if i.Expires.IsZero() {
		i.Expires = now.Add(inviteLife)
	}
	i.Inviter = p.Account
	about, _ := json.Marshal(i) // strings only
	if !isAddress(i.Address) || len(about) > 1024 || !i.Expires.After(now) || i.Expires.After(now.Add(maxInviteLife)) {
		return ticket, &auth.Error{Detail: auth.DetailOption, Reason: "an invitation has an address, roles of at most 1 KiB, and at most 30 days"}
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	if err := m.checkFresh(p); err != nil {
		return ticket, err
	}
	if err := m.mayMake(ctx, t, p, i.making()); err != nil {
		return ticket, err
	}
	former, err := of.endInvitations(ctx, t.Org.Key(), i.Address)
	if err != nil {
		return ticket, err
	}
	s, token := m.newSession(r, t.Org, authentication{account: invitations, Proof: Proof{At: now}}, ticketInvite, i.Expires.Sub(now))
	s.Address, s.Proof, s.Expires = i.Address, string(about), wholeMillis(i.Expires)
	if err := m.Store.Create(ctx, s, maxInvitations); err != nil {
		return ticket, auth.Unavailable(err)
	}
	e := auth.Event{Verb: verbs.InvitationMade, Credential: s.ID}
	if former {
		e.Verb = verbs.InvitationResent
	}
	auth.Emit(ctx, e)
	return MailTicket(token.text()), nil
}

// endInvitations ends earlier invitations of an address, and reports whether there was one.
func (of Mail) endInvitations(ctx context.Context, org auth.OrgKey, address string) (ended bool, err error) {
	all, err := of.Invitations(ctx, org)
	if err == nil && len(all) >= maxInvitations {
		err = &auth.Error{Detail: auth.DetailThrottled, Err: errors.New("session: too many invitations")}
	}
	for _, i := range all {
		if err == nil && strings.EqualFold(i.Address, address) {
			err = of.manager.Sessions().end(ctx, org, invitations, i.ID)
			ended = ended || err == nil
		}
		err = absent(err, nil) // used meanwhile
	}
	return ended, err
}

// making is what can be done with the account of an invitation.
func (i Invitation) making() auth.Making { return auth.Making{Account: i.Address, Roles: i.Roles} }

// Accept redeems the ticket of an invitation, by join. The holder reads the mails to the Address, so that
// is a verified address of the account that join makes: never one that the request names. Accept opens
// no session.
//
// join makes the account in a transaction of the application, in which it calls end with what ends
// sessions there: sqlstore.In.Sessions. So both happen or neither does. Of any number of concurrent calls
// with one ticket, one end returns nil. If end returns an error, join returns it, and rolls back. With a
// store of another kind, join calls end with nil before it commits: a join that fails then has used
// the ticket up.
//
// The inviter is judged again, as they are now: by the roles of their account, and if it is enabled.
//
// Mount it on a route that is auth.Public, with POST. Accept returns the error of join, or one that wraps
// ErrCode if the ticket is not valid or no longer so, or if the inviter may no longer invite, or
// auth.ErrUnavailable. Its detail is auth.DetailCrossOrigin for a page of another origin.
func (of Mail) Accept(r *http.Request, ticket string,
	join func(ctx context.Context, i Invitation, end func(context.Context, Ending) error) error) error {
	t, err := of.manager.sameOriginTenant(r)
	if err != nil {
		return err
	}
	i, err := of.invitation(r.Context(), t, ticket)
	if err != nil {
		return err
	}
	var ended bool
	end := func(ctx context.Context, store Ending) error {
		err := cmp.Or[Ending](store, of.manager.Store).DeleteID(ctx, t.Org.Key(), invitations, i.ID)
		if auth.IsNotFound(err) {
			return errCode
		}
		ended = err == nil
		return auth.Unavailable(err)
	}
	err = join(r.Context(), i, end)
	if err == nil && !ended {
		err = errors.Join(errors.New("session: join has not ended the ticket of the invitation"), end(r.Context(), nil))
	}
	if err == nil {
		auth.Emit(r.Context(), auth.Event{Verb: verbs.InvitationAccepted, Credential: i.ID})
	}
	return err
}

// invitation returns that of a ticket, if its inviter may still invite.
func (of Mail) invitation(ctx context.Context, t *auth.Tenant, ticket string) (i Invitation, err error) {
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	s, err := of.manager.mailTicket(ctx, t, ticket, ticketInvite)
	if err != nil {
		return i, err
	}
	i = invitationOf(&s)
	account, err := t.Account(ctx, i.Inviter)
	if err != nil {
		return i, absent(err, errCode)
	}
	// The holder of the ticket learns nothing about the inviter.
	by := &Session{Org: s.Org, Account: i.Inviter, Authenticated: s.Created}
	return i, of.manager.stillMayMake(ctx, t, by, account, i.making(), errCode)
}

func invitationOf(s *Session) Invitation {
	i := Invitation{ID: s.ID, Address: s.Address, Expires: s.Expires}
	json.Unmarshal([]byte(s.Proof), &i) // what is not understood has no inviter
	return i
}

// Invitations returns the invitations to an org that are open, the oldest first, without their tickets. It checks
// no permission. The error wraps auth.ErrUnavailable.
func (of Mail) Invitations(ctx context.Context, org auth.OrgKey) ([]Invitation, error) {
	records, err := of.manager.Sessions().records(ctx, org, invitations, func(s *Session) bool { return s.Ticket == ticketInvite })
	list := []Invitation{}
	for _, s := range records {
		list = append(list, invitationOf(&s))
	}
	return list, err
}

// TakeBack takes an invitation back, by its ID. It checks no permission. It returns an error that wraps
// auth.ErrNotFound if there is none, or auth.ErrUnavailable.
func (of Mail) TakeBack(ctx context.Context, org auth.OrgKey, id string) error {
	err := of.manager.Sessions().end(ctx, org, invitations, id)
	if err == nil {
		auth.Emit(ctx, auth.Event{Verb: verbs.InvitationEnded, Org: org, Credential: id, Reason: "revoked"})
	}
	return err
}
