package enginetest

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Nobody passes on more than they hold. Random principals make tokens, API keys, apps, secrets, accounts
// and roles, and what they made makes more. Each principal gets the same probes as its maker. It must
// be refused where its maker is refused: before the maker's expiry, after it, and from another
// network.
//
// Requests that end or narrow something are never refused. What a token or an app made ends with
// it.

var (
	makingSeed   = flag.Uint64("making.seed", 5, "seed of TestMaking")
	makingRounds = flag.Int("making.rounds", enoughRounds, "rounds of TestMaking over each engine, 30 at least with LONG=1")
)

// sideBySide is how many rounds run concurrently. They spend most of their time waiting for an
// expiry.
const sideBySide = 12

func TestMaking(t *testing.T) {
	leftToTheGate(t)
	if raceEnabled {
		t.Skip("the process it starts is built without the race detector")
	}
	t.Parallel()
	if os.Getenv("LONG") == "1" {
		*makingRounds = max(*makingRounds, 30)
	}
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaking(t, newFleet(t, 1, homesOfFleets[name](t)))
			m.run(t)
			m.tally.report(t)
		})
	}
}

// making is the server under test, and what all rounds share.
type making struct {
	fleet   *fleet
	clients [2]*http.Client // send from 127.0.0.1 and from 127.0.0.2
	routes  knownRoutes
	tally   *tally
	spaces  chan *workspace

	message  string     // an object of an account that no principal acts as
	settings sync.Mutex // held while the org's settings are changed
}

// knownRoutes are the parts of the contract that a server may lack.
type knownRoutes struct {
	scopes, accounts, roles, settings, keys bool
}

// workspace is what one round at a time uses, because key pairs and passwords take long to make.
type workspace struct {
	home, away  app               // apps with key pairs
	chief, hand string            // accounts: an administrator and an ordinary member
	emails      map[string]string // by account
	messages    map[string]string // an object of each account, by account
	spare       string            // an object of another account, to delete; empty: none is left
}

type app struct{ key, secret string }

func newMaking(t *testing.T, f *fleet) *making {
	t.Helper()
	m := &making{fleet: f, tally: newTally(), spaces: make(chan *workspace, sideBySide)}
	for i := range m.clients {
		m.clients[i] = clientFrom(t, fmt.Sprintf("127.0.0.%d", i+1))
	}
	m.message = m.newMessage(t, m.theirs())
	m.routes = m.findRoutes(t)
	var all sync.WaitGroup
	for i := range sideBySide {
		all.Go(func() { m.spaces <- m.newWorkspace(t, i) })
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return m
}

// clientFrom returns a client that sends from a loopback address.
func clientFrom(t *testing.T, address string) *http.Client {
	t.Helper()
	local := &net.TCPAddr{IP: net.ParseIP(address)}
	l, err := net.ListenTCP("tcp", local)
	if err != nil {
		t.Skipf("this system has no %s: %v", address, err)
	}
	l.Close()
	dialer := &net.Dialer{LocalAddr: local}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 2 * sideBySide}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: patience, Transport: transport}
}

// run plays the rounds. Each has its own random numbers, so it does the same whatever runs
// concurrently.
func (m *making) run(t *testing.T) {
	t.Logf("-making.seed %d -making.rounds %d", *makingSeed, *makingRounds)
	var all sync.WaitGroup
	for number := range *makingRounds {
		space := <-m.spaces
		all.Go(func() {
			defer func() { m.spaces <- space }()
			source := rand.NewPCG(*makingSeed, uint64(number))
			r := &round{making: m, workspace: space, t: t, random: random{rand.New(source)}, number: number}
			defer r.leave()
			r.run()
		})
	}
	all.Wait()
}

// send sends a request until the server has time for it. Each try is a new request, because a
// signature is valid for one.
func (m *making) send(t *testing.T, from int, newWish func() wish) outcome {
	var got outcome
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		got = m.fleet.sendBy(t, m.clients[from], 0, newWish())
		if got.status != http.StatusTooManyRequests && got.status != http.StatusServiceUnavailable {
			break
		}
	}
	if got.status >= http.StatusInternalServerError {
		t.Errorf("%s: %d %s", newWish().path, got.status, got.body)
	}
	return got
}

// administer sends a request of the demo app, whose key acts as the administrator without limits.
func (m *making) administer(t *testing.T, method, path string, body any) outcome {
	return m.send(t, 0, func() wish { return m.fleet.signed(method, path, written(body)) })
}

// must is administer for requests that are never refused. A refusal ends the round.
func (m *making) must(t *testing.T, method, path string, body any) outcome {
	got := m.administer(t, method, path, body)
	if got.status != http.StatusOK {
		t.Errorf("the administrator: %s %s %s: %d %s", method, path, written(body), got.status, got.body)
		runtime.Goexit()
	}
	return got
}

// written returns a body as JSON, and an empty text for nil.
func written(body any) string {
	if body == nil {
		return ""
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// code returns the status of a refusal and its errCode without the namespace.
func (o outcome) code() string { return strings.TrimSpace(fmt.Sprintf("%d %s", o.status, o.detail)) }

// id returns the id of an object in a reply.
func (o outcome) id() string { return o.text("_id") }

// text returns a member of a reply, or "".
func (o outcome) text(name string) string {
	text, _ := o.member(name).(string)
	return text
}

func (o outcome) member(name string) any {
	var reply map[string]any
	json.Unmarshal(o.body, &reply) // a reply of another form has no such member
	return reply[name]
}

// result returns the member "data" of an accepted request's reply.
func (o outcome) result() map[string]any {
	var reply struct{ Data map[string]any }
	json.Unmarshal(o.body, &reply) // a reply of another form has no data
	return reply.Data
}

// theirs is the account that no principal acts as.
func (m *making) theirs() string { return m.fleet.facts["totp_account_id"] }

// newMessage makes an object of an account.
func (m *making) newMessage(t *testing.T, author string) (id string) {
	message := map[string]any{"c_text": "new", "c_author": author, "c_likes": 1}
	return m.must(t, "POST", "/c_messages", message).id()
}

// findRoutes finds out which parts the server lacks.
func (m *making) findRoutes(t *testing.T) (known knownRoutes) {
	there := func(method, path string, body any) bool {
		status := m.administer(t, method, path, body).status
		return status != http.StatusNotFound && status != http.StatusMethodNotAllowed
	}
	scoped := map[string]any{"name": "scoped", "credential": map[string]any{"scope": []string{"object.read"}}}
	got := m.administer(t, "POST", "/apps", scoped)
	known.scopes = got.status == http.StatusOK
	known.accounts = there("PATCH", "/admin/accounts/"+m.theirs(), map[string]any{})
	known.roles = there("GET", "/admin/roles", nil)
	known.settings = there("GET", "/admin/settings", nil)
	known.keys = there("GET", "/apps/"+m.fleet.facts["client_key"]+"/keys", nil)
	t.Logf("the server has %+v", known)
	return known
}

func (m *making) newWorkspace(t *testing.T, number int) *workspace {
	w := &workspace{emails: make(map[string]string), messages: make(map[string]string)}
	w.home, w.away = m.newApp(t, unbound(m.theirs())), m.newApp(t, unbound(m.theirs()))
	for _, a := range []app{w.home, w.away} {
		m.must(t, "POST", "/apps/"+a.key+"/keypair", nil)
	}
	for to, roles := range map[*string][]string{&w.chief: {administrator, member}, &w.hand: {member}} {
		email := fmt.Sprintf("%s%d@acme.example", roles[0], number)
		account := map[string]any{"email": email, "password": password, "roles": roles}
		*to = m.must(t, "POST", "/admin/accounts", account).id()
		w.emails[*to] = email
		w.messages[*to] = m.newMessage(t, *to)
	}
	return w
}

// newApp makes an app. Making its key pair is another request.
func (m *making) newApp(t *testing.T, c credential) app {
	got := m.must(t, "POST", "/apps", map[string]any{"name": "made", "credential": c.body(m.routes)})
	return app{got.id(), got.text("secret")}
}

// The roles of the demo orgs.
const (
	administrator = "administrator"
	member        = "member"
)

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
