package session

import (
	"cmp"
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
)

// hashing runs a Hasher for all callers, and limits how much CPU they take. A few hashes run at
// once, a limited number waits, and more get an error. Nobody can fill the queue alone:
//
//   - A name has 5 places. Each is kept until the result of the attempt is counted. An address
//     has a quarter of all places.
//   - An org never has more places than it leaves free, so at most half. One place for each org
//     is beside these: an org without a place gets one while fewer orgs than that have any.
//   - The first place of each address is counted apart from all others, and there are as many. A
//     few addresses with many names or orgs therefore leave these to everybody else.
//   - Free slots go to the waiting orgs in turn, and within an org to its addresses in turn.
//
// Whoever has a place keeps it. Nothing is kept about callers that are not in the queue.
//
// Its methods are safe for concurrent use.
type hashing struct {
	hasher   Hasher
	parallel int // how many run at once
	places   int // how many first and how many further places there are beside the first of each org

	mu      sync.Mutex
	queue   []*place // includes those that run
	running int

	dummy dummy
}

// dummy is the encoding of a password that nobody knows, which stands in for those of unknown accounts.
type dummy struct {
	mu      sync.Mutex
	encoded string
}

// of returns what a Hasher has made once. If it could not, the next call tries again.
func (d *dummy) of(h Hasher) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if d.encoded == "" {
		d.encoded, err = h.Hash(rand.Text())
	}
	return d.encoded, err
}

// newHashing returns a hashing by PBKDF2 unless there is a Hasher. As many run at once as the program may
// use CPUs, and there are 32 places for each of these.
func newHashing(hasher Hasher) *hashing {
	parallel := runtime.GOMAXPROCS(0)
	return &hashing{hasher: cmp.Or[Hasher](hasher, PBKDF2{}), parallel: parallel, places: 32 * parallel}
}

// perName is how many places a name can hold in the queue. It equals freeLogins.
const perName = freeLogins

// party is whom a password is hashed for. An empty name or address is not limited.
type party struct {
	org           auth.OrgKey
	name, address string
}

// nearness is 0 for another org, 1 for another address in this org, and 2 for the same
// address.
func (p party) nearness(q party) int {
	switch {
	case p.org != q.org:
		return 0
	case p.address != q.address:
		return 1
	}
	return 2
}

// place is one entry in the queue.
type place struct {
	in      *hashing
	by      party
	first   bool          // its address had none
	waits   chan struct{} // nil unless it waits for a slot; closed once it has one
	hasSlot bool
}

// errQueueFull means that as many hashes wait as may, in all or for this party;
// errNameFull, which wraps it, for this name.
var (
	errQueueFull = errors.New("session: too many passwords are waiting to be hashed")
	errNameFull  = fmt.Errorf("%w for one name", errQueueFull)
)

// enter takes a place in the queue, or returns errQueueFull. It does not wait, so that
// it can come before any costly step. The caller must call leave.
func (h *hashing) enter(by party) (*place, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names, addresses := 0, 0
	for _, p := range h.queue {
		if p.by.org == by.org && p.by.name == by.name {
			names++
		}
		if p.by.address == by.address {
			addresses++
		}
	}
	first := by.address != "" && addresses == 0
	switch {
	case by.name != "" && names >= perName:
		return nil, errNameFull
	case by.address != "" && addresses >= max(1, h.places/4):
		return nil, errQueueFull
	case !h.leaves(by.org, first):
		return nil, errQueueFull
	}
	p := &place{in: h, by: by, first: first}
	h.queue = append(h.queue, p)
	return p, nil
}

// leaves reports whether one more place is left for an org, among those that are first for their
// address or among the others.
func (h *hashing) leaves(org auth.OrgKey, first bool) bool {
	all, orgs := 0, map[auth.OrgKey]int{}
	for _, p := range h.queue {
		if p.first == first {
			all++
			orgs[p.by.org]++
		}
	}
	own, shared := orgs[org], all-len(orgs) // without the first place of each org
	return own == 0 && len(orgs) < h.places || own > 0 && own-1 < h.places-shared
}

// next gives free slots to the calls that have waited longest. It then moves calls of
// the same org to the end, and those of the same address behind them. Orgs and
// addresses therefore take turns.
func (h *hashing) next() {
	for h.running < h.parallel {
		i := slices.IndexFunc(h.queue, func(p *place) bool { return p.waits != nil })
		if i < 0 {
			return
		}
		served := h.queue[i]
		h.running++
		close(served.waits)
		served.waits, served.hasSlot = nil, true
		slices.SortStableFunc(h.queue, func(p, q *place) int {
			return cmp.Compare(p.by.nearness(served.by), q.by.nearness(served.by))
		})
	}
}

// start waits for a slot, or returns the error of ctx. It is called once.
func (p *place) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	slot := make(chan struct{})
	p.in.mu.Lock()
	p.waits = slot
	p.in.next()
	p.in.mu.Unlock()
	select {
	case <-slot:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release frees the slot, and keeps the place until leave. perName therefore also
// limits the attempts of a name whose result is not counted yet.
func (p *place) release() {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	p.waits = nil
	if p.hasSlot {
		p.hasSlot = false
		p.in.running--
		p.in.next()
	}
}

// leave frees the place and the slot. It may be called again.
func (p *place) leave() {
	p.release()
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	p.in.queue = slices.DeleteFunc(p.in.queue, func(q *place) bool { return q == p })
}

// verify calls Verify of the Hasher and releases the slot. An empty encoded stands for
// an unknown account or one without a password. It takes a verification as well, and
// matches no password.
//
// It returns the errors of start, or that of the Hasher.
func (p *place) verify(ctx context.Context, encoded, password string) (ok, rehash bool, err error) {
	defer p.release()
	if err := p.start(ctx); err != nil {
		return false, false, err
	}
	// Made for every account, known or not: the time it takes the first time says
	// nothing about the account.
	dummy, err := p.in.dummy.of(p.in.hasher)
	if err != nil {
		return false, false, err
	}
	known := encoded != ""
	ok, rehash = p.in.hasher.Verify(cmp.Or(encoded, dummy), password)
	return ok && known, rehash && ok && known, nil
}

// hash calls Hash of the Hasher. It returns the errors of enter and start, or that of
// the Hasher.
func (h *hashing) hash(ctx context.Context, by party, password string) (string, error) {
	p, err := h.enter(by)
	if err != nil {
		return "", err
	}
	defer p.leave()
	if err := p.start(ctx); err != nil {
		return "", err
	}
	return h.hasher.Hash(password)
}

// Hasher encodes and verifies passwords. Both methods are slow on purpose. They take
// the same time for each encoding that a Hasher makes. The Manager limits how many run
// at once.
//
// Implementations are safe for concurrent use.
type Hasher interface {
	// Hash encodes the password with a new salt. The text also holds the parameters, so
	// that Verify needs nothing else.
	Hash(password string) (encoded string, err error)

	// Verify reports whether encoded was made from the password. If it was, rehash
	// reports whether the password should be encoded again as Hash does now. An
	// encoding that it does not understand matches no password. It compares in constant
	// time.
	Verify(encoded, password string) (ok, rehash bool)
}

// PBKDF2 is a Hasher by PBKDF2-HMAC-SHA256 (RFC 8018, section 5.2), with salts of 16
// bytes and hashes of 32. Encoded passwords are PHC strings, in which salt and hash are
// base64 without padding:
//
//	$pbkdf2-sha256$i=600000$salt$hash
//
// A password is hashed as the bytes it is given in, at any length. Two passwords that
// differ only in NUL bytes at the end are the same to HMAC.
type PBKDF2 struct {
	Iterations int // of new encodings; passwords with fewer are encoded again. 0: 600,000
}

var _ Hasher = PBKDF2{}

const (
	defaultIterations = 600_000

	// maxIterations limits what an encoding may ask for, unless Iterations is higher.
	// It takes a few seconds. An encoding that was tampered with or damaged cannot take
	// a day.
	maxIterations = 10_000_000

	saltLength = 16
	hashLength = sha256.Size
)

func (h PBKDF2) iterations() int { return cmp.Or(max(h.Iterations, 0), defaultIterations) }

// Hash implements Hasher.
func (h PBKDF2) Hash(password string) (string, error) {
	salt := make([]byte, saltLength)
	rand.Read(salt) // never fails
	hash, err := pbkdf2.Key(sha256.New, password, salt, h.iterations(), hashLength)
	if err != nil {
		return "", fmt.Errorf("session: hashing a password: %w", err)
	}
	return pbkdf2Text(h.iterations(), salt, hash), nil
}

// Verify implements Hasher.
func (h PBKDF2) Verify(encoded, password string) (ok, rehash bool) {
	iterations, salt, want, ok := parsePBKDF2(encoded)
	if !ok || iterations > max(maxIterations, h.iterations()) {
		return false, false
	}
	hash, err := pbkdf2.Key(sha256.New, password, salt, iterations, hashLength)
	if err != nil || subtle.ConstantTimeCompare(hash, want) != 1 {
		return false, false
	}
	return true, iterations < h.iterations()
}

const pbkdf2Prefix = "$pbkdf2-sha256$i="

func pbkdf2Text(iterations int, salt, hash []byte) string {
	return pbkdf2Prefix + strconv.Itoa(iterations) +
		"$" + base64.RawStdEncoding.EncodeToString(salt) +
		"$" + base64.RawStdEncoding.EncodeToString(hash)
}

// parsePBKDF2 reads an encoded password. Each has exactly one spelling, that of pbkdf2Text, so what
// cannot be decoded need not be noticed before.
func parsePBKDF2(encoded string) (iterations int, salt, hash []byte, ok bool) {
	const longest = 128 // bytes; ours have 94
	fields := strings.Split(strings.TrimPrefix(encoded, pbkdf2Prefix), "$")
	if len(encoded) > longest || len(fields) != 3 {
		return 0, nil, nil, false
	}
	iterations, _ = strconv.Atoi(fields[0])
	salt, _ = base64.RawStdEncoding.DecodeString(fields[1])
	hash, _ = base64.RawStdEncoding.DecodeString(fields[2])
	ok = iterations > 0 && len(salt) == saltLength && len(hash) == hashLength && pbkdf2Text(iterations, salt, hash) == encoded
	return iterations, salt, hash, ok
}
