// Package suites checks stores of this module beyond the contracts that package storetest checks for
// every store: lineage, pages and replaced keys in detail, and key pairs with their rotation.
package suites

import (
	"crypto/rand"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Features has the clock of a store, as storetest.Features has it. nil: that of the system.
type Features struct {
	Now  func() time.Time
	Pass func(d time.Duration)
}

func (Features) account() string { return random() }

func (Features) accountNamed(name string) string { return name }

func (Features) org() auth.OrgKey { return auth.OrgKey("org-" + rand.Text()) } // in both cases of letters

func (f Features) now() time.Time {
	if f.Now == nil {
		return time.Now()
	}
	return f.Now()
}

func (f Features) pass(d time.Duration) {
	if f.Pass == nil {
		time.Sleep(d)
		return
	}
	f.Pass(d)
}
