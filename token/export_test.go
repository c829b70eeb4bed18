package token

import "github.com/golang-jwt/jwt/v5"

// Parts of the reader, for tests that hold it against other readers.
var (
	ReadHeader = readHeader
	ReadClaims = readClaims
	Sign       = sign
)

type Extra = extra

func (e Extra) Name() string { return e.name }
func (e Extra) Raw() string  { return e.raw }

// Parts are those of a token, decoded.
type Parts struct {
	Signed, Header, Payload string
	Signature               []byte
}

func Split(raw string) (Parts, error) {
	c, err := split(raw)
	return Parts{c.signed, c.header, c.payload, c.signature}, err
}

// Matches is the RSA step alone.
func Matches(p Parts, key *PublicKey) error {
	return jwt.SigningMethodRS256.Verify(p.Signed, p.Signature, key.Key)
}

// Len is how many tokens are remembered, and of how many bytes.
func (c *Cache) Len() (entries, bytes int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.found), c.bytes
}

func (c *CachedKeys) Len() int { return c.found.Len() }

// Len is how many records are kept, and of how many subjects.
func (m *MemoryLedger) Len() (records, subjects int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.records), len(m.subjects)
}

// Children is how many records are kept as made by a record.
func (m *MemoryLedger) Children(r Record) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.records[recordKey{r.ClientKey, r.ID}].children)
}

// SetParent makes of a record's lineage what no Issue accepts.
func (m *MemoryLedger) SetParent(r Record, parent string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[recordKey{r.ClientKey, r.ID}].parent = m.records[recordKey{r.ClientKey, parent}]
}

const MaxKeys = maxKeys

// The fingerprint of keys that can be factored.
var (
	HasROCA    = hasROCA
	ROCAPrimes = rocaPrimes
)

// Why JSON is refused that strictjson accepts.
var (
	ErrLong      = errLong
	ErrRange     = errRange
	ErrAlgorithm = errAlgorithm
	ErrTyp       = errTyp
	ErrKeyID     = errKeyID
	ErrMember    = errMember
	ErrMissing   = errMissing
	ErrText      = errText
	ErrCount     = errCount
	ErrGrant     = errGrant
)
