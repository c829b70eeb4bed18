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
	NotBefore time.Time      `json:"notBefore,omitzero"`
	NotAfter  time.Time      `json:"notAfter,omitzero"`
	Networks  []netip.Prefix `json:"networks"`
	Disabled  bool           `json:"disabled,omitempty"`

	MinVersion int `json:"minVersion,omitempty"`
}

func rulesText(c signature.Credential) (string, error) {
	text, err := json.Marshal(rules{c.Account, c.Accounts, c.Scope, c.NotBefore, c.NotAfter, c.Networks, c.Disabled, c.MinVersion})
	return string(text), err
}

func readRules(text string) (r rules, err error) {
	err = json.Unmarshal([]byte(text), &r)
	return r, err
}

func (r rules) credential(key *signing.Key) *signature.Credential {
	return &signature.Credential{
		Key: key, Account: r.Account, Accounts: r.Accounts, Scope: r.Scope, NotBefore: r.NotBefore, NotAfter: r.NotAfter,
		Networks: r.Networks, Disabled: r.Disabled, MinVersion: r.MinVersion,
	}
}
