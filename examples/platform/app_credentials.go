package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/signing"
)

// credentialReply is a signing key with its restrictions. null means no
// restriction, as in the body that sets them.
type credentialReply struct {
	Account   *string        `json:"account"`
	Accounts  []string       `json:"accounts"`
	Scope     []string       `json:"scope"`
	NotBefore *string        `json:"notBefore"`
	NotAfter  *string        `json:"notAfter"`
	Networks  []netip.Prefix `json:"networks"`

	MinVersion int      `json:"minVersion"`
	PublicKey  *string  `json:"publicKey"`  // null: it has secrets
	Secrets    int      `json:"secrets"`    // the number of secrets that verify
	Ends       []string `json:"secretEnds"` // of the former ones among them, the next first

	face
	Created *string `json:"created"` // null: unknown
}

func replyOfCredential(c *signature.Credential) *credentialReply {
	ends := []string{} // never null
	for _, end := range slices.SortedFunc(slices.Values(c.Key.Secrets()), time.Time.Compare) {
		if !end.IsZero() {
			ends = append(ends, date(end))
		}
	}
	return &credentialReply{
		Account:   orNull(c.Account),
		Accounts:  append([]string{}, c.Accounts...),
		Scope:     c.Scope,
		NotBefore: orNull(date(c.NotBefore)),
		NotAfter:  orNull(date(c.NotAfter)),
		Networks:  c.Networks,

		MinVersion: max(1, c.MinVersion),
		PublicKey:  orNull(base64.RawURLEncoding.EncodeToString(publicKey(c))),
		Secrets:    len(c.Key.Secrets()),
		Ends:       ends,

		face:    faceOf(c.Name, c.Maker, c.Seen, c.From),
		Created: orNull(date(c.Created)),
	}
}

type secretReply struct {
	Secret shownOnce `json:"secret"`
}

const (
	// rotationGrace is how long the former secret stays valid, unless the request
	// names another time.
	rotationGrace = 24 * time.Hour

	maxGrace = 365 * 24 * 60 * 60 // seconds
)

var rotationForm = body.Form{{Path: "grace", Kind: seconds(0, maxGrace)}}

// rotate gives an app another secret and returns it. The caller can then sign as the app.
func (h apps) rotate(r *http.Request, values map[string]any) (envelope.Result[secretReply], error) {
	grace := rotationGrace
	setIfGiven(&grace, values, "grace")
	var secret signing.Secret
	_, err := h.together(r, "credential.replaced", func(ctx context.Context, c *appChange) error {
		current, err := c.credentials.Credential(ctx, c.app.ClientKey)
		if err != nil {
			return storeFailed(err)
		}
		if err := mayGive(ctx, c.app.ClientKey, nil, *current); err != nil {
			return err
		}
		if publicKey(current) != nil {
			return &auth.Error{Detail: auth.DetailConflict, Reason: "the app has a public key: change that"}
		}
		secret, err = c.credentials.Rotate(ctx, c.app.Org, c.app.ClientKey, grace)
		return storeFailed(err)
	})
	return result(secretReply{shownOnce(secret)}, err)
}

// restrict changes the restrictions of a credential, and its public key. Whoever gives it
// a public key can then sign as the app: that counts as making it.
func (c *appChange) restrict(ctx context.Context, changes appChanges) error {
	if !changes.restricts() {
		return nil
	}
	var refused error
	err := c.credentials.Restrict(ctx, c.app.Org, c.app.ClientKey, func(to *signature.Credential) error {
		before := new(*to)
		changes.restrict(to)
		refused = inFields(mayGive(ctx, c.app.ClientKey, before, *to), credentialFields)
		return refused
	})
	return cmp.Or(refused, storeFailed(err))
}

// mayGive decides whether the caller may give an app the credential after in place
// of before. To narrow a credential needs no more than the route.
func mayGive(ctx context.Context, clientKey string, before *signature.Credential, after signature.Credential) error {
	p, tenant := auth.From(ctx), auth.TenantFrom(ctx)
	if before != nil && after.Narrows(before, tenant, clientKey) {
		return nil
	}
	return cmp.Or(signature.Within(p.AsAdministrator(p.HasRole(administrator)), tenant, clientKey, before, after), mustBeFresh(p))
}

var credentialFields = map[string]string{
	"sub":      "credential.account",
	"scope":    "credential.scope",
	"expires":  "credential.notAfter",
	"networks": "credential.networks",
}
