package sqlstore

import (
	"sync"

	"github.com/tenantkit/tenantkit/auth/signature"
)

// built caches the credentials that were built from rows.
type built struct {
	mu    sync.RWMutex
	found map[string]builtRow // by client key
	bytes int                 // the cost of all of them
}

// builtRow is the credential built from one version of a row. formers is the number of
// its former secrets that had not ended. The number identifies them: within one
// version, the secret with the earliest end is always the next to go.
type builtRow struct {
	version string
	formers int
	cost    int
	*signature.Credential
}

// The cache holds up to 8,192 small credentials, or fewer large ones. One that is larger
// than a 64th of it is built by each call: no org fills the cache with a few of them.
const (
	maxBuilt  = 16 << 20
	ownBytes  = 2000 // of a credential without restrictions, about
	perLetter = 8    // of a text of restrictions: the shortest chains cost most
)

func (b *built) credential(row credentialRow, build func() (*signature.Credential, error)) (*signature.Credential, error) {
	b.mu.RLock()
	known := b.found[row.clientKey]
	b.mu.RUnlock()
	if known.is(row) {
		return known.Credential, nil
	}
	credential, err := build()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// A concurrent call may have stored one first. All callers get the same pointer.
	if known := b.found[row.clientKey]; known.is(row) {
		return known.Credential, nil
	}
	cost := ownBytes + perLetter*len(row.rules)
	if cost > maxBuilt/64 {
		return credential, nil
	}
	if b.found == nil {
		b.found = map[string]builtRow{}
	}
	b.drop(row.clientKey)
	for key := range b.found {
		if b.bytes+cost <= maxBuilt {
			break
		}
		b.drop(key)
	}
	b.found[row.clientKey] = builtRow{row.version, len(row.formers), cost, credential}
	b.bytes += cost
	return credential, nil
}

func (b *built) drop(clientKey string) {
	b.bytes -= b.found[clientKey].cost
	delete(b.found, clientKey)
}

func (b builtRow) is(row credentialRow) bool {
	return b.Credential != nil && b.version == row.version && b.formers == len(row.formers)
}
