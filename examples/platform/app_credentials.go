package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
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

// rotationGrace is how long the former secret stays valid, unless the request
// names another time.
const rotationGrace = 24 * time.Hour

var rotationForm = body.Form{{Path: "grace", Kind: seconds(0, year)}}

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

// appBody is the form of a new app and its signing key (section 5.3 of the interface).
var appBody = append(body.Form{{Path: "name", Kind: line(maxName), Required: true}}, appOptions...)

// appPatch is the form of a change. disabled must not be null: a client must say that
// it enables an app.
var appPatch = append(body.Form{
	{Path: "name", Kind: line(maxName)},
	{Path: "disabled", Kind: body.Boolean},
}, appOptions...)

var appOptions = body.Form{
	{Path: "exposeKeys", Kind: body.Boolean, Null: true},
	{Path: "credential.account", Kind: body.String, Null: true},
	{Path: "credential.accounts", Kind: body.Strings, Null: true},
	{Path: "credential.scope", Kind: body.Strings, Null: true},
	{Path: "credential.notBefore", Kind: instant, Null: true},
	{Path: "credential.notAfter", Kind: instant, Null: true},
	{Path: "credential.networks", Kind: networks, Null: true},
	{Path: "credential.minVersion", Kind: between(1, 2), Null: true},
	{Path: "credential.publicKey", Kind: ed25519Key},
}

const (
	maxName         = 200 // bytes
	maxRestrictions = 100 // for accounts, and for networks
)

// networks accepts 192.0.2.0/24 and refuses 192.0.2.1/24: the latter may mean one address
// or the whole network.
var networks = narrowed(body.Strings, func(texts []string) (any, string) {
	if len(texts) == 0 || len(texts) > maxRestrictions {
		return nil, fmt.Sprintf("must be 1 to %d networks, or null for anywhere", maxRestrictions)
	}
	var all []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			return nil, "must be networks such as 192.0.2.0/24 and 2001:db8::/32"
		}
		all = append(all, network)
	}
	return all, ""
})

// ed25519Key is an Ed25519 public key. It refuses what signing refuses, such as a key of
// small order, and a second spelling of a key.
var ed25519Key = body.Kind{Schema: body.String.Schema, Read: func(value string) (any, string) {
	read, _ := body.String.Read(value)
	text, _ := read.(string)
	key, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil {
		_, err = signing.NewPublicKey("any", key)
	}
	if err != nil || len(text) != base64.RawURLEncoding.EncodedLen(len(key)) { // the decoder ignores line ends
		return nil, "must be an Ed25519 public key: 43 characters of base64url"
	}
	return ed25519.PublicKey(key), ""
}}

// appChanges is a valid body of an app. What it does not name stays as it is. null
// removes a restriction.
type appChanges map[string]any

// check returns what is wrong with a body. current is the credential that it changes.
func (c appChanges) check(r *http.Request, current *signature.Credential) error {
	wrong := invalid{detail: auth.DetailBody}
	// Only the times of the body: if one passes an earlier setting of the other, nobody can use
	// the credential.
	from, hasFrom := c["credential.notBefore"].(time.Time)
	to, hasTo := c["credential.notAfter"].(time.Time)
	if hasFrom && hasTo && to.Before(from) {
		wrong.add("credential.notAfter", "is before notBefore")
	}
	if c["credential.minVersion"] == int64(1) && (c.publicKey() != nil || publicKey(current) != nil) {
		wrong.add("credential.minVersion", "must be 2 for a public key") // only version 2 has signatures of such keys
	}
	if err := cmp.Or(c.checkAccounts(r, current, &wrong), wrong.orNil()); err != nil {
		return err
	}
	chains, _ := c["credential.scope"].([]string)
	return auth.TenantFrom(r.Context()).Vet("credential.scope", chains)
}

// publicKey returns the public key of the body, nil if it has none.
func (c appChanges) publicKey() ed25519.PublicKey {
	key, _ := c["credential.publicKey"].(ed25519.PublicKey)
	return key
}

// publicKey returns the public key of a credential, nil if it has secrets.
func publicKey(c *signature.Credential) ed25519.PublicKey {
	if c.Key == nil || len(c.Key.PublicKeys()) == 0 {
		return nil
	}
	return c.Key.PublicKeys()[0]
}

// checkAccounts refuses accounts that the org does not have. Accounts that the
// credential has already are not looked up: they may be disabled.
func (c appChanges) checkAccounts(r *http.Request, current *signature.Credential, wrong *invalid) error {
	var added [][2]string // path and id
	if own, given := c["credential.account"].(string); given && own != current.Account {
		added = append(added, [2]string{"credential.account", own})
	}
	others, _ := c["credential.accounts"].([]string)
	if len(others) > maxRestrictions {
		wrong.add("credential.accounts", fmt.Sprintf("at most %d", maxRestrictions))
		others = nil
	}
	for _, id := range others {
		if !slices.Contains(current.Accounts, id) {
			added = append(added, [2]string{"credential.accounts", id})
		}
	}
	for _, a := range added {
		if _, err := auth.TenantFrom(r.Context()).Account(r.Context(), a[1]); auth.IsNotFound(err) {
			wrong.add(a[0], "no such account")
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (c appChanges) restricts() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(c)), func(path string) bool { return strings.HasPrefix(path, "credential.") })
}

func (c appChanges) apply(a *app) {
	setIfGiven(&a.Name, c, "name")
	setIfGiven(&a.ExposeKeys, c, "exposeKeys")
	setIfGiven(&a.Disabled, c, "disabled")
}

// restrict makes the changes to a credential. A public key replaces its secrets or its
// former public key, which end at once.
func (c appChanges) restrict(to *signature.Credential) {
	setIfGiven(&to.Account, c, "credential.account")
	setIfGiven(&to.Accounts, c, "credential.accounts")
	setIfGiven(&to.Scope, c, "credential.scope")
	setIfGiven(&to.NotBefore, c, "credential.notBefore")
	setIfGiven(&to.NotAfter, c, "credential.notAfter")
	setIfGiven(&to.Networks, c, "credential.networks")
	if version, given := c["credential.minVersion"]; given {
		least, _ := version.(int64)
		to.MinVersion = max(1, int(least)) // null is 1
	}
	if c.publicKey() != nil && to.Key != nil {
		to.Key, _ = signing.NewPublicKey(to.Key.ClientKey(), c.publicKey()) // ed25519Key has checked it
	}
	if c.publicKey() != nil || publicKey(to) != nil {
		to.MinVersion = 2
	}
}
