package sqlstore

import (
	"encoding/json"
	"net/netip"
	"time"

	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// rules are restrictions in JSON. A nil list is stored as null, because nil and empty
// lists mean different things.
type rules struct {
	Account   string         `json:"account,omitempty"`
	Accounts  []string       `json:"accounts"`
	Scope     []string       `json:"scope"`
	NotBefore *time.Time     `json:"notBefore,omitempty"`
	NotAfter  *time.Time     `json:"notAfter,omitempty"`
	Networks  []netip.Prefix `json:"networks"`
	Disabled  bool           `json:"disabled,omitempty"`

	MinVersion int `json:"minVersion,omitempty"`
}

func rulesText(c signature.Credential) (string, error) {
	r := rules{Account: c.Account, Accounts: c.Accounts, Scope: c.Scope, Networks: c.Networks, Disabled: c.Disabled}
	if !c.NotBefore.IsZero() {
		r.NotBefore = &c.NotBefore
	}
	if !c.NotAfter.IsZero() {
		r.NotAfter = &c.NotAfter
	}
	r.MinVersion = c.MinVersion
	text, err := json.Marshal(r)
	return string(text), err
}

func readRules(text string) (r rules, err error) {
	err = json.Unmarshal([]byte(text), &r)
	return r, err
}

func (r rules) credential(key *signing.Key) *signature.Credential {
	c := &signature.Credential{
		Key: key, Account: r.Account, Accounts: r.Accounts, Scope: r.Scope, Networks: r.Networks, Disabled: r.Disabled,
		MinVersion: r.MinVersion,
	}
	if r.NotBefore != nil {
		c.NotBefore = *r.NotBefore
	}
	if r.NotAfter != nil {
		c.NotAfter = *r.NotAfter
	}
	return c
}
