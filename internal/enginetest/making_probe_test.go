package enginetest

import (
	"bytes"
	"net/http"
	"strings"
)

// probe is one request that each principal sends, to see the answer.
type probe struct {
	name         string
	method, path string // with placeholders such as {message} and {theirs}
	body         string // JSON
	shows        string // text that an answer must contain to pass
	status       int    // status of an answer that passes; 0: 200
}

// administration is the probe that exactly the administrators pass whose scope allows admin.update.
// It makes nothing.
const administration = "DELETE the tokens of another"

// deletion is the probe that uses up an object.
const deletion = "DELETE another's message"

var probes = []probe{
	{name: "GET /c_messages", method: "GET", path: "/c_messages?limit=1"},
	{name: "GET a message", method: "GET", path: "/c_messages/{message}"},
	{name: "GET a message with paths[]", method: "GET", path: "/c_messages/{message}?paths[]=c_likes", shows: `"c_likes"`},
	{name: "GET c_text of a message", method: "GET", path: "/c_messages/{message}/c_text"},
	{name: "GET c_likes of a message", method: "GET", path: "/c_messages/{message}/c_likes"},
	{name: "POST /c_messages", method: "POST", path: "/c_messages", body: `{"c_text":"made"}`},
	{name: "PATCH a message of the administrator", method: "PATCH", path: "/c_messages/{chief's}", body: `{"c_text":"changed"}`},
	{name: "PATCH a message of the member", method: "PATCH", path: "/c_messages/{hand's}", body: `{"c_text":"changed"}`},
	{name: "PATCH c_likes of a message of the member", method: "PATCH", path: "/c_messages/{hand's}", body: `{"c_likes":1}`},
	{name: "PATCH another's message", method: "PATCH", path: "/c_messages/{message}", body: `{"c_text":"changed"}`},
	{name: deletion, method: "DELETE", path: "/c_messages/{spare}"},
	{name: "GET /c_conversations", method: "GET", path: "/c_conversations?limit=1"},
	{name: "GET /apps", method: "GET", path: "/apps?limit=1"},
	// The server reports errors in the body only to principals that may make an app.
	{name: "POST /apps", method: "POST", path: "/apps", body: `{}`, status: http.StatusBadRequest},
	{name: "GET /admin/accounts", method: "GET", path: "/admin/accounts?limit=1"},
	{name: "run a view", method: "GET", path: "/views/messages?limit=1"},
	{name: "run a route script", method: "POST", path: "/routes/whoami"},
	{name: "run a script", method: "POST", path: "/sys/script_runner", body: `{"script":"whoami"}`},
	{name: "GET the tokens of another", method: "GET", path: "/apps/{home}/subjects/{theirs}/tokens"},
	{name: administration, method: "DELETE", path: "/apps/{home}/subjects/{theirs}/tokens"},
	{name: "GET one's own tokens", method: "GET", path: "/apps/{home}/subjects/{own}/tokens"},
}

// answer is the result of a probe.
type answer uint8

const (
	unasked answer = iota // not sent, because the principal has no access from anywhere
	passed
	denied  // by an access rule, which concerns the account, its roles, grants and skip flags
	refused // by the credential's expiry, network or scope
)

// judge returns the meaning of a reply.
func (p probe) judge(got outcome) answer {
	want := p.status
	if want == 0 {
		want = http.StatusOK
	}
	switch {
	case got.status == want && bytes.Contains(got.body, []byte(p.shows)):
		return passed
	case got.status == want, got.status == http.StatusUnauthorized, got.detail == "accessDenied.scope":
		return refused
	}
	return denied
}

// record holds the results of a principal's probes.
type record struct {
	account string  // the account that it acts as
	reaches [2]bool // has access from 127.0.0.1 and from 127.0.0.2
	from    int     // the first of these with access; -1: neither
	answers map[string]answer
	codes   map[string]string // status and code of the probes that did not pass
}

// isAlive reports whether the principal has access from any address.
func (r *round) isAlive(p *principal) bool {
	return r.reach(p).from >= 0
}

// reach finds from which addresses a principal has access, and as which account.
func (r *round) reach(p *principal) record {
	seen := record{from: -1, answers: make(map[string]answer), codes: make(map[string]string)}
	for from := range r.clients {
		r.tally.count(&r.tally.probes)
		got := r.send(r.t, from, func() wish { return p.wish(r.fleet, "GET", "/accounts/me", "") })
		if got.status != http.StatusOK {
			continue
		}
		seen.reaches[from], seen.account = true, got.id()
		if seen.from < 0 {
			seen.from = from
		}
	}
	return seen
}

// interview lets a principal send all probes, from an address with access.
func (r *round) interview(p *principal) record {
	seen := r.reach(p)
	if seen.from < 0 {
		return seen
	}
	if r.spare == "" {
		r.spare = r.newMessage(r.t, r.theirs())
	}
	fill := strings.NewReplacer("{message}", r.message, "{spare}", r.spare,
		"{chief's}", r.messages[r.chief], "{hand's}", r.messages[r.hand],
		"{home}", r.home.key, "{theirs}", r.theirs(), "{own}", seen.account)
	for _, probe := range probes {
		r.tally.count(&r.tally.probes)
		path := fill.Replace(probe.path)
		got := r.send(r.t, seen.from, func() wish { return p.wish(r.fleet, probe.method, path, probe.body) })
		seen.answers[probe.name] = probe.judge(got)
		if seen.answers[probe.name] != passed {
			seen.codes[probe.name] = got.code()
		}
	}
	if seen.answers[deletion] == passed {
		r.spare = ""
	}
	return seen
}
