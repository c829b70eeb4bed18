// Package suite has what the suites of stores share: those of package storetest, which are for every
// store, and those of this module's own engines.
package suite

import (
	"crypto/rand"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Features are storetest.Features, which says what they mean.
type Features struct {
	Now          func() time.Time
	Pass         func(d time.Duration)
	Account, Org func() string
}

// NewAccount returns an account that no subtest has used.
func (f Features) NewAccount() string {
	if f.Account == nil {
		return Random()
	}
	return f.Account()
}

// AccountNamed returns the name, or an account where names have another form.
func (f Features) AccountNamed(name string) string {
	if f.Account == nil {
		return name
	}
	return f.Account()
}

// NewOrg returns an org that no subtest has used.
func (f Features) NewOrg() auth.OrgKey {
	if f.Org == nil {
		return auth.OrgKey("org-" + rand.Text()) // in both cases of letters
	}
	return auth.OrgKey(f.Org())
}

// Time is that of the store.
func (f Features) Time() time.Time {
	if f.Now == nil {
		return time.Now()
	}
	return f.Now()
}

// Wait lets time pass for the store.
func (f Features) Wait(d time.Duration) {
	if f.Pass == nil {
		time.Sleep(d)
		return
	}
	f.Pass(d)
}
