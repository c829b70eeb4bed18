package sqlstore

import (
	"sync"

	"github.com/tenantkit/tenantkit/auth/signature"
)

// built caches the credentials that were built from rows.
type built struct {
	mu    sync.RWMutex
	found map[string]builtRow // by client key
}

// builtRow is the credential built from one version of a row. formers is the number of
// its former secrets that had not ended. The number identifies them: within one
// version, the secret with the earliest end is always the next to go.
type builtRow struct {
	version string
	formers int
	*signature.Credential
}

const maxBuilt = 8192

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
	if b.found == nil {
		b.found = map[string]builtRow{}
	}
	for key := range b.found {
		if len(b.found) < maxBuilt {
			break
		}
		delete(b.found, key)
	}
	b.found[row.clientKey] = builtRow{row.version, len(row.formers), credential}
	return credential, nil
}

func (b builtRow) is(row credentialRow) bool {
	return b.Credential != nil && b.version == row.version && b.formers == len(row.formers)
}
