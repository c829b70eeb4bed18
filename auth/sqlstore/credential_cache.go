package sqlstore

import (
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/recent"
)

// built caches the credentials that were built from rows. Each org has a share.
type built struct {
	once  sync.Once
	orgs  recent.Groups
	found recent.Answers[string, builtRow] // by client key
}

// builtRow is the credential built from one version of a row. formers is the number of
// its former secrets that had not ended. The number identifies them: within one
// version, the secret with the earliest end is always the next to go.
type builtRow struct {
	version string
	formers int
	*signature.Credential
}

// maxBuilt limits what the cache holds, in KiB.
const maxBuilt = 16 << 10

func (b *built) credential(row credentialRow, build func() (*signature.Credential, error)) (*signature.Credential, error) {
	b.once.Do(func() { b.orgs.Stale, b.orgs.Limit = 1, maxBuilt })
	// Entries have no age, so the time is always the same.
	if known, ok := b.found.Find(&b.orgs, time.Time{}, row.clientKey); ok && known.is(row) {
		return known.Credential, nil
	}
	credential, err := build()
	if err == nil {
		b.found.Keep(&b.orgs, 0, time.Time{}, row.clientKey, recent.Found[builtRow]{
			Value: builtRow{row.version, len(row.formers), credential},
			Group: row.org,
			Cost:  2 + len(row.formers) + 8*len(row.rules)/1024, // a chain of one letter takes 24 bytes, and 4 in the row
		})
	}
	return credential, err
}

func (b builtRow) is(row credentialRow) bool {
	return b.version == row.version && b.formers == len(row.formers)
}
