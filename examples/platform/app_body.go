package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/signing"
)

// appBody is the form of a new app and its signing key (section 5.3 of the interface).
var appBody = append(body.Form{{Path: "name", Kind: body.String, Required: true}}, appOptions...)

// appPatch is the form of a change. disabled must not be null: a client must say that
// it enables an app.
var appPatch = append(body.Form{
	{Path: "name", Kind: body.String},
	{Path: "disabled", Kind: body.Boolean},
}, appOptions...)

var appOptions = body.Form{
	{Path: "exposeKeys", Kind: body.Boolean, Null: true},
	{Path: "credential.account", Kind: body.String, Null: true},
	{Path: "credential.accounts", Kind: body.Strings, Null: true},
	{Path: "credential.scope", Kind: body.Strings, Null: true},
	{Path: "credential.notBefore", Kind: instant, Null: true},
	{Path: "credential.notAfter", Kind: instant, Null: true},
	{Path: "credential.networks", Kind: body.Strings, Null: true},
	{Path: "credential.minVersion", Kind: body.Integer, Null: true},
	{Path: "credential.publicKey", Kind: body.String},
}

const (
	maxName         = 200 // bytes
	maxRestrictions = 100 // for accounts, and for networks
)

// appChanges is a valid body of an app. What it does not name stays as it is. null
// removes a restriction.
type appChanges struct {
	values    map[string]any
	networks  []netip.Prefix
	publicKey ed25519.PublicKey // nil if the body has none
}

// readApp reads and checks a body. current is the credential that it changes, nil
// for a new app.
func readApp(r *http.Request, current *signature.Credential) (*appChanges, error) {
	fields := appPatch
	if current == nil {
		fields, current = appBody, new(signature.Credential)
	}
	values, err := readValues(r, fields)
	if err != nil {
		return nil, err
	}
	c := &appChanges{values: values}
	wrong := invalid{detail: auth.DetailBody}
	c.checkName(&wrong)
	c.readNetworks(&wrong)
	c.checkTimes(&wrong)
	c.readPublicKey(&wrong)
	c.checkVersion(current, &wrong)
	if err := c.checkAccounts(r, current, &wrong); err != nil {
		return nil, err
	}
	if err := wrong.orNil(); err != nil {
		return nil, err
	}
	chains, _ := values["credential.scope"].([]string)
	return c, auth.TenantFrom(r.Context()).Vet("credential.scope", chains)
}

func (c *appChanges) checkName(wrong *invalid) {
	name, given := c.values["name"].(string)
	if given && (!isVisible(name) || len(name) > maxName || !isLine(name)) {
		wrong.add("name", fmt.Sprintf("must be a line of 1 to %d bytes", maxName))
	}
}

// readNetworks accepts 192.0.2.0/24 and refuses 192.0.2.1/24: the latter may mean
// one address or the whole network.
func (c *appChanges) readNetworks(wrong *invalid) {
	const path = "credential.networks"
	texts, given := c.values[path].([]string)
	if !given {
		return
	}
	if len(texts) == 0 || len(texts) > maxRestrictions {
		wrong.add(path, fmt.Sprintf("must be 1 to %d networks, or null for anywhere", maxRestrictions))
		return
	}
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			wrong.add(path, "must be networks such as 192.0.2.0/24 and 2001:db8::/32")
			return
		}
		c.networks = append(c.networks, network)
	}
}

// readPublicKey reads an Ed25519 public key. It refuses what signing refuses, such as
// a key of small order, and a second spelling of a key.
func (c *appChanges) readPublicKey(wrong *invalid) {
	const path = "credential.publicKey"
	text, given := c.values[path].(string)
	if !given {
		return
	}
	key, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil {
		_, err = signing.NewPublicKey("any", key)
	}
	if err != nil || len(text) != base64.RawURLEncoding.EncodedLen(len(key)) { // the decoder ignores line ends
		wrong.add(path, "must be an Ed25519 public key: 43 characters of base64url")
		return
	}
	c.publicKey = key
}

// checkVersion refuses version 1 for a public key, because only version 2 has
// signatures of such keys.
func (c *appChanges) checkVersion(current *signature.Credential, wrong *invalid) {
	version, given := c.values["credential.minVersion"].(int64)
	switch {
	case given && version != 1 && version != 2:
		wrong.add("credential.minVersion", "must be 1 or 2, or null for 1")
	case given && version == 1 && (c.publicKey != nil || publicKey(current) != nil):
		wrong.add("credential.minVersion", "must be 2 for a public key")
	}
}

// publicKey returns the public key of a credential, nil if it has secrets.
func publicKey(c *signature.Credential) ed25519.PublicKey {
	if c.Key == nil || len(c.Key.PublicKeys()) == 0 {
		return nil
	}
	return c.Key.PublicKeys()[0]
}

// checkTimes compares the times of the body only. If one of them passes an earlier
// setting of the other, nobody can use the credential.
func (c *appChanges) checkTimes(wrong *invalid) {
	from, hasFrom := c.values["credential.notBefore"].(time.Time)
	to, hasTo := c.values["credential.notAfter"].(time.Time)
	if hasFrom && hasTo && to.Before(from) {
		wrong.add("credential.notAfter", "is before notBefore")
	}
}

// checkAccounts refuses accounts that the org does not have. Accounts that the
// credential has already are not looked up: they may be disabled.
func (c *appChanges) checkAccounts(r *http.Request, current *signature.Credential, wrong *invalid) error {
	if own, given := c.values["credential.account"].(string); given && own != current.Account {
		if err := checkAccount(r, "credential.account", own, wrong); err != nil {
			return err
		}
	}
	others, _ := c.values["credential.accounts"].([]string)
	if len(others) > maxRestrictions {
		wrong.add("credential.accounts", fmt.Sprintf("at most %d", maxRestrictions))
		return nil
	}
	for _, id := range others {
		if slices.Contains(current.Accounts, id) {
			continue
		}
		if err := checkAccount(r, "credential.accounts", id, wrong); err != nil {
			return err
		}
	}
	return nil
}

func checkAccount(r *http.Request, path, id string, wrong *invalid) error {
	_, err := auth.TenantFrom(r.Context()).Account(r.Context(), id)
	if auth.IsNotFound(err) {
		wrong.add(path, "no such account")
		return nil
	}
	return err
}

// enables reports whether an app is to be enabled.
func (c *appChanges) enables() bool { return c.values["disabled"] == false }

// restricts reports whether the body has any field of the credential.
func (c *appChanges) restricts() bool {
	for path := range c.values {
		if strings.HasPrefix(path, "credential.") {
			return true
		}
	}
	return false
}

// apply makes the changes to an app.
func (c *appChanges) apply(a *app) {
	setIfGiven(&a.Name, c.values, "name")
	setIfGiven(&a.ExposeKeys, c.values, "exposeKeys")
	setIfGiven(&a.Disabled, c.values, "disabled")
}

// restrict makes the changes to a credential. A public key replaces its secrets or its
// former public key, which end at once.
func (c *appChanges) restrict(to *signature.Credential) {
	setIfGiven(&to.Account, c.values, "credential.account")
	setIfGiven(&to.Accounts, c.values, "credential.accounts")
	setIfGiven(&to.Scope, c.values, "credential.scope")
	setIfGiven(&to.NotBefore, c.values, "credential.notBefore")
	setIfGiven(&to.NotAfter, c.values, "credential.notAfter")
	if _, given := c.values["credential.networks"]; given {
		to.Networks = c.networks
	}
	if version, given := c.values["credential.minVersion"]; given {
		to.MinVersion = 1
		if version == int64(2) {
			to.MinVersion = 2
		}
	}
	if c.publicKey != nil && to.Key != nil {
		to.Key, _ = signing.NewPublicKey(to.Key.ClientKey(), c.publicKey) // readPublicKey has checked it
	}
	if c.publicKey != nil || publicKey(to) != nil {
		to.MinVersion = 2
	}
}
