package token

import (
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/weakkey"
)

// Parts of the reader, for tests that compare it with other readers.
var (
	ReadHeader = readHeader
	ReadClaims = readClaims
	Sign       = sign
	Thumbprint = thumbprint
)

// Parts are the decoded parts of a token.
type Parts = compact.Parts

func Split(raw string) (Parts, error) { return split(raw) }

// Matches does only the RSA step.
func Matches(p Parts, key *PublicKey) error {
	return jwt.SigningMethodRS256.Verify(p.Signed, p.Signature, key.Key)
}

// Len returns how many tokens the cache holds, and their cost in bytes.
func (c *Cache) Len() (entries, bytes int) {
	entries, cost := c.seen.Len(c.groups())
	return entries, 1024 * cost
}

func (c *CachedKeys) Len() int { kept, _ := c.found.Len(&c.of); return kept }

// SetNow sets the clock, before first use.
func (c *CachedKeys) SetNow(now func() time.Time) { c.now = now }

// Make is Ensure by a call that found no pair, after another one has made it.
func (m *MemoryKeys) Make(org OrgKey, clientKey string) (*PublicKey, error) {
	return m.make(org, clientKey, nil, m.keep)
}

// Fake gives an app an exposed key that is none, for a count of what the apps of others cost.
func (m *MemoryKeys) Fake(org OrgKey, clientKey string) {
	key := PublicKey{KeyID: clientKey, ClientKey: clientKey, Org: org, Exposed: true}
	m.set(clientKey, &appKeys{pair: &KeyPair{PublicKey: key}})
}

// LedgerLen returns how many records a ledger in memory has, and of how many subjects.
func LedgerLen(l Ledger) (records, subjects int) {
	m := l.(*memoryLedger)
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.records), len(m.subjects)
}

// Fill adds n records of a holder without a look at those that are there.
func Fill(l Ledger, of Holder, n int) {
	for i := range n {
		l.(*memoryLedger).add(&issuedRecord{Record: Record{ID: fmt.Sprint(i), Org: of.Org, ClientKey: of.ClientKey, Subject: of.Subject}})
	}
}

// SetParent gives a record a parent that Issue would not accept.
func SetParent(l Ledger, r Record, parent string) {
	m := l.(*memoryLedger)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[inApp{r.ClientKey, r.ID}].Parent = parent
}

const MaxKeys = maxKeys

// The test for keys that can be factored.
var (
	HasROCA    = weakkey.HasROCA
	ROCAPrimes = weakkey.ROCAPrimes
)

// The reasons to refuse JSON that strictjson accepts.
var (
	ErrLong      = errLong
	ErrRange     = compact.ErrRange
	ErrAlgorithm = errAlgorithm
	ErrTyp       = errTyp
	ErrKeyID     = errKeyID
	ErrMember    = errMember
	ErrMissing   = errMissing
	ErrText      = errText
	ErrCount     = errCount
	ErrGrant     = errGrant
)
