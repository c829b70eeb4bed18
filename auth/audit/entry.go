package audit

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Entry is one row of a log. Of the Event it has Verb, Reason, Count, Route, Detail, the ids from Account
// to Session, Address, Agent, Request, Time in whole milliseconds, and Org. In an entry that stands for
// several requests, such as request.refused, Address is the first one of their network: of 256 of IPv4, or
// of a /64 of IPv6. Its JSON is one object, without the Org and what is empty.
type Entry struct {
	auth.Event
	N    int64  `json:"n"`              // 1 for the first entry of an org
	Mail string `json:"mail,omitempty"` // a mail address that the verb is about

	// Salt is random. It is empty if there are no personal fields, or if they were erased.
	Salt       string `json:"salt,omitempty"`
	Commitment string `json:"commitment,omitempty"` // to Address, Agent and Mail, as 64 hexadecimal digits; empty if there were none
	Hash       string `json:"hash"`                 // of the entry and the one before, as 64 hexadecimal digits
}

// Head is where a chain ends. The zero Head of an Org is that before the first entry.
type Head struct {
	Org   auth.OrgKey
	Count int64     // N of the last entry
	Hash  string    // of the last entry
	Time  time.Time // of the last entry
}

// Append makes e the entry after h: it sets N, Org, Salt, Commitment and Hash, and cuts Time to milliseconds.
// It returns the new head.
func (h Head) Append(e *Entry) Head {
	e.Org, e.N, e.Time = h.Org, h.Count+1, time.UnixMilli(e.Time.UnixMilli()).UTC()
	e.Salt, e.Commitment = "", ""
	if e.Address.IsValid() || e.Agent != "" || e.Mail != "" {
		e.Salt = rand.Text()
		e.Commitment = e.commitment()
	}
	e.Hash = e.hash(h.Hash)
	return e.head()
}

func (e *Entry) head() Head { return Head{e.Org, e.N, e.Hash, e.Time} }

func (e *Entry) address() string {
	text, _ := e.Address.MarshalText() // empty if there is none
	return string(text)
}

func (e *Entry) commitment() string {
	mac := hmac.New(sha256.New, []byte(e.Salt))
	mac.Write(encoded(e.address(), e.Agent, e.Mail))
	return hex.EncodeToString(mac.Sum(nil))
}

func (e *Entry) hash(before string) string {
	sum := sha256.Sum256(encoded("tenantkit audit entry 1", before, string(e.Org), strconv.FormatInt(e.N, 10),
		strconv.FormatInt(e.Time.UnixMilli(), 10), e.Verb, e.Actor, e.Account, e.App, e.Credential, e.Token, e.Session, e.By,
		e.Reason, strconv.FormatInt(e.Count, 10), e.Detail, e.Route, e.Request, e.Commitment))
	return hex.EncodeToString(sum[:])
}

// encoded returns the texts, each with its length before it. So no other texts have the same bytes.
func encoded(texts ...string) (all []byte) {
	for _, text := range texts {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(text))), text...)
	}
	return all
}

// sealed is what the entry of a seal says: that the entries up to h were replaced by it.
func (h Head) sealed() string { return strconv.FormatInt(h.Count, 10) + " " + h.Hash }

// Seal returns the entry that replaces all entries up to h. h is in the same chain.
func (h Head) Seal(replaced int64) Entry {
	return Entry{Event: auth.Event{Org: h.Org, Verb: "audit.sealed", Detail: h.sealed(), Count: replaced}}
}

// Sealed returns the head up to which e replaces entries, without its Time, or false if e is not a seal.
func (e *Entry) Sealed() (Head, bool) {
	count, hash, _ := strings.Cut(e.Detail, " ")
	n, err := strconv.ParseInt(count, 10, 64)
	return Head{Org: e.Org, Count: n, Hash: hash}, err == nil && e.Verb == "audit.sealed" && e.Detail == Head{Count: n, Hash: hash}.sealed()
}

// checkpointPrefix begins each line, so that nothing else that the key signs is one.
const checkpointPrefix = "tenantkit-audit-checkpoint-1"

var errCheckpoint = errors.New("audit: the line is not a signed checkpoint")

// Sign returns h as a line of text with an Ed25519 signature: for a log, a file or another place that the
// database does not reach. It has the public key, and no line break.
func (h Head) Sign(key ed25519.PrivateKey) string {
	line := strings.Join([]string{checkpointPrefix, url.PathEscape(string(h.Org)), strconv.FormatInt(h.Count, 10), "h" + h.Hash,
		strconv.FormatInt(h.Time.UnixMilli(), 10), base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))}, " ")
	return line + " " + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(line)))
}

// ReadCheckpoint returns the head of a line of Head.Sign, and the key that has signed it: compare this with
// the key that you know. There is an error if the line is not one of Head.Sign, or was changed.
func ReadCheckpoint(line string) (Head, ed25519.PublicKey, error) {
	line = strings.TrimSpace(line)
	end := max(strings.LastIndexByte(line, ' '), 0)
	fields := strings.Split(line[:end], " ")
	if len(fields) != 6 || fields[0] != checkpointPrefix || !strings.HasPrefix(fields[3], "h") {
		return Head{}, nil, errCheckpoint
	}
	org, orgErr := url.PathUnescape(fields[1])
	count, countErr := strconv.ParseInt(fields[2], 10, 64)
	at, timeErr := strconv.ParseInt(fields[4], 10, 64)
	key, keyErr := base64.RawURLEncoding.Strict().DecodeString(fields[5])
	signature, signErr := base64.RawURLEncoding.Strict().DecodeString(line[end+1:])
	err := errors.Join(orgErr, countErr, timeErr, keyErr, signErr)
	if err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, []byte(line[:end]), signature) {
		return Head{}, nil, errCheckpoint
	}
	return Head{auth.OrgKey(org), count, fields[3][1:], time.UnixMilli(at).UTC()}, key, nil
}
