// Package demofile is the file by which the reference server tells the other programs of
// this folder about its demo orgs.
package demofile

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/tenantkit/tenantkit/examples/internal/private"
)

// Facts are what a user of the demo orgs must know.
type Facts struct {
	BaseURL            string `json:"base_url"`
	Org                string `json:"org"`
	ClientKey          string `json:"client_key"`
	ClientSecret       string `json:"client_secret"`
	AccountID          string `json:"account_id"`
	AccountEmail       string `json:"account_email"`
	AccountPassword    string `json:"account_password"`
	TOTPAccountID      string `json:"totp_account_id"`
	TOTPAccountEmail   string `json:"totp_account_email"`
	TOTPPassword       string `json:"totp_account_password"`
	TOTPSecret         string `json:"totp_secret"` // base32
	AdminAccountID     string `json:"admin_account_id"`
	NarrowClientKey    string `json:"narrow_client_key"` // its scope is object.read.c_message
	NarrowClientSecret string `json:"narrow_client_secret"`
	V2ClientKey        string `json:"v2_client_key"` // it must sign by version 2
	V2ClientSecret     string `json:"v2_client_secret"`
	AdminEmail         string `json:"admin_email"`
	AdminPassword      string `json:"admin_password"`
	ReaderAccountID    string `json:"reader_account_id"` // its role has the scope object.read.c_message
	ReaderEmail        string `json:"reader_email"`
	ReaderPassword     string `json:"reader_password"`
	OtherOrg           string `json:"other_org"`
	OtherClientKey     string `json:"other_client_key"`
	OtherClientSecret  string `json:"other_client_secret"`
	OtherAccountID     string `json:"other_account_id"`
	AdminToken         string `json:"admin_token"`
	EphemeralToken     string `json:"ephemeral_token"`
	LimitedToken       string `json:"limited_token"`
	NarrowToken        string `json:"narrow_token"`
	APIKey             string `json:"api_key"` // acts as the account, with the scope object.read.c_message
	APIKeyID           string `json:"api_key_id"`
	PersonEmail        string `json:"person_email"` // of the accounts of one person in both orgs
	PersonPassword     string `json:"person_password"`
	PersonID           string `json:"person_account_id"`
	PersonOtherID      string `json:"person_other_account_id"`
	OtherAdminEmail    string `json:"other_admin_email"`
	OtherAdminPassword string `json:"other_admin_password"`
}

// Read returns the facts in a file. Without a name there are none.
func Read(file string) (f Facts, err error) {
	if file == "" {
		return f, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	return f, nil
}

// URL is that of the first demo org with its version, or "" if there are no facts.
func (f *Facts) URL() string {
	if f.BaseURL == "" {
		return ""
	}
	return f.BaseURL + "/" + f.Org + "/v2"
}

// Write writes the facts to a file that only its owner can read.
func (f *Facts) Write(file string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return private.Write(file, append(text, '\n'), os.Rename)
}
