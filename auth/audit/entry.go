package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Entry is one row of a log. Of the Event it has Verb, Reason, Count, Route, Detail, the ids from Account
// to Session, Address, Agent, Request, Time in whole milliseconds, and Org. In an entry that stands for
// several requests, such as request.refused, Address is the first one of their network: of 256 of IPv4, or
// of a /64 of IPv6.
type Entry struct {
	auth.Event
	N    int64  // 1 for the first entry of an org
	Mail string // a mail address that the verb is about

	// Salt is random. It is empty if there are no personal fields, or if they were erased.
	Salt       string
	Commitment string // to Address, Agent and Mail, as 64 hexadecimal digits; empty if there were none
	Hash       string // of the entry and the one before, as 64 hexadecimal digits
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
	if e.personal() != ([3]string{}) {
		e.Salt = rand.Text()
		e.Commitment = e.commitment()
	}
	e.Hash = e.hash(h.Hash)
	return e.head()
}

func (e *Entry) head() Head { return Head{e.Org, e.N, e.Hash, e.Time} }

func (e *Entry) personal() [3]string { return [3]string{e.address(), e.Agent, e.Mail} }

func (e *Entry) address() string {
	if !e.Address.IsValid() {
		return ""
	}
	return e.Address.String()
}

func (e *Entry) commitment() string {
	mac := hmac.New(sha256.New, []byte(e.Salt))
	p := e.personal()
	mac.Write(encoded(p[:]...))
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

// wire is the JSON of an entry.
type wire struct {
	N          int64     `json:"n"`
	Time       time.Time `json:"time"`
	Verb       string    `json:"verb"`
	Actor      string    `json:"actor,omitempty"`
	Account    string    `json:"account,omitempty"`
	App        string    `json:"app,omitempty"`
	Credential string    `json:"credential,omitempty"`
	Token      string    `json:"token,omitempty"`
	Session    string    `json:"session,omitempty"`
	By         string    `json:"by,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Count      int64     `json:"count,omitempty"`
	Detail     string    `json:"detail,omitempty"`
	Route      string    `json:"route,omitempty"`
	Request    string    `json:"request,omitempty"`
	Address    string    `json:"address,omitempty"`
	Agent      string    `json:"agent,omitempty"`
	Mail       string    `json:"mail,omitempty"`
	Salt       string    `json:"salt,omitempty"`
	Commitment string    `json:"commitment,omitempty"`
	Hash       string    `json:"hash"`
}

// MarshalJSON writes an entry as one object, without its Org and without what is empty.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{e.N, e.Time, e.Verb, e.Actor, e.Account, e.App, e.Credential, e.Token, e.Session, e.By, e.Reason, e.Count,
		e.Detail, e.Route, e.Request, e.address(), e.Agent, e.Mail, e.Salt, e.Commitment, e.Hash})
}

// UnmarshalJSON reads what MarshalJSON writes, and leaves out members that it does not know.
func (e *Entry) UnmarshalJSON(text []byte) error {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	var address netip.Addr
	if err := address.UnmarshalText([]byte(w.Address)); err != nil {
		return err
	}
	*e = Entry{N: w.N, Mail: w.Mail, Salt: w.Salt, Commitment: w.Commitment, Hash: w.Hash, Event: auth.Event{
		Time: w.Time, Verb: w.Verb, Actor: w.Actor, Account: w.Account, App: w.App, Credential: w.Credential, Token: w.Token,
		Session: w.Session, By: w.By, Reason: w.Reason, Count: w.Count, Detail: w.Detail, Route: w.Route, Request: w.Request,
		Address: address, Agent: w.Agent,
	}}
	return nil
}
