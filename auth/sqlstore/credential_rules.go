package sqlstore

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
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

	minVersion int
}

func rulesText(c signature.Credential) (string, error) {
	r := rules{Account: c.Account, Accounts: c.Accounts, Scope: c.Scope, Networks: c.Networks, Disabled: c.Disabled}
	if !c.NotBefore.IsZero() {
		r.NotBefore = &c.NotBefore
	}
	if !c.NotAfter.IsZero() {
		r.NotAfter = &c.NotAfter
	}
	var value any = r
	if c.MinVersion > 1 {
		// An array: an earlier version of this package would ignore another member, and
		// accept what it must refuse. It cannot read an array, and refuses the request.
		value = []any{c.MinVersion, r}
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// readRules reads what rulesText returns.
func readRules(text string) (r rules, err error) {
	if strings.HasPrefix(text, "[") {
		pair := []any{&r.minVersion, &r}
		if err = json.Unmarshal([]byte(text), &pair); err == nil && len(pair) != 2 {
			err = errors.New("restrictions of a later version")
		}
		return r, err
	}
	err = json.Unmarshal([]byte(text), &r)
	return r, err
}

func (r rules) credential(key *signing.Key) *signature.Credential {
	c := &signature.Credential{
		Key: key, Account: r.Account, Accounts: r.Accounts, Scope: r.Scope, Networks: r.Networks, Disabled: r.Disabled,
		MinVersion: r.minVersion,
	}
	if r.NotBefore != nil {
		c.NotBefore = *r.NotBefore
	}
	if r.NotAfter != nil {
		c.NotAfter = *r.NotAfter
	}
	return c
}
