package enginetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// budgeted are stores whose records and connections a test can count.
type budgeted struct {
	name        string
	shared      shared
	held        func(t *testing.T) int // rows or keys in all stores
	connections func(t *testing.T) int
}

// pooled is the maximum number of connections of openDB's pool. Sequential requests need no more in
// other pools either.
const pooled = 8

func budgetedStores(t *testing.T) []budgeted {
	t.Helper()
	all := []budgeted{budgetedMemory()}
	for _, h := range homes(t) {
		db := h.open(t)
		all = append(all, budgeted{h.name, sharedIn(t, h.storeIn(t, db)), func(t *testing.T) int {
			t.Helper()
			return h.held(t, db, "replays", "ledger", "sessions", "attempts", "factors", "keys", "credentials", "formers")
		}, func(*testing.T) int { return db.Stats().OpenConnections }})
	}
	addr := startRedis(t).addr()
	do := dial(t, addr)
	ask := func(t *testing.T, command ...any) any {
		t.Helper()
		return must(do(t.Context(), command...))(t)
	}
	return append(all, budgeted{"Redis", sharedAt(t, addr),
		func(t *testing.T) int { return int(ask(t, "DBSIZE").(int64)) },
		func(t *testing.T) int { return strings.Count(ask(t, "CLIENT", "LIST").(string), "\n") }})
}

// TestBudgetOfRefusals sends each refused request twenty times and counts what they leave in all
// stores. The clock of sessions and tries stands still: a delayed try stays delayed.
func TestBudgetOfRefusals(t *testing.T) {
	const times = 20
	for _, b := range budgetedStores(t) {
		t.Run(b.name, func(t *testing.T) {
			w := newRefusing(t, b)
			refusals := w.refusals(t)
			goroutines := runtime.NumGoroutine()
			for _, c := range refusals {
				t.Run(c.name, func(t *testing.T) {
					if c.while != nil {
						c.while(true)
						defer c.while(false)
					}
					before, writes := b.held(t), w.writes.Load()
					for i := range times {
						w.refuses(t, c.request(i), c.detail)
					}
					if left := b.held(t) - before; left != c.leaves {
						t.Errorf("%d requests leave %d rows or keys, want %d", times, left, c.leaves)
					}
					if n := int(w.writes.Load() - writes); n != c.writes {
						t.Errorf("%d requests change counts of tries %d times, want %d", times, n, c.writes)
					}
				})
			}
			if !until(func() bool { return runtime.NumGoroutine() <= goroutines }) {
				t.Errorf("%d goroutines before, %d after", goroutines, runtime.NumGoroutine())
			}
			if n := b.connections(t); n > pooled {
				t.Errorf("%d connections are open", n)
			}
			w.accepts(t, w.signed("POST"))
			w.accepts(t, w.bearing(w.limited))
		})
	}
}

// refusal is a way to be refused, and what twenty such requests may leave.
type refusal struct {
	name    string
	request func(i int) *http.Request
	detail  string
	leaves  int
	writes  int            // changes of counts of tries, also those taken back
	while   func(yes bool) // sets a condition during the requests, and removes it
}

// refusing is a world with everything that a refusal needs.
type refusing struct {
	*world
	claim                    int          // number of records that one accepted request leaves
	off, elsewhere, stranger *world       // with a disabled credential, with one bound to a network, of another org
	unknown                  token.Minter // its key is in no store
	limited                  token.Token  // of one use, which no refusal spends
	writes                   *atomic.Int64
}

func newRefusing(t *testing.T, b budgeted) *refusing {
	t.Helper()
	pair, writes := must(token.GeneratePair(2048))(t), new(atomic.Int64)
	b.shared.attempts = writingAttempts{b.shared.attempts, writes}
	// with returns a world with another credential and without a key pair.
	with := func(alter func(c *signature.Credential)) *world {
		s := b.shared
		s.credentials = func(t *testing.T, org string, secret signing.Secret, c *signature.Credential) signature.Credentials {
			alter(c)
			return b.shared.credentials(t, org, secret, c)
		}
		w := newWorld(t, s, pair, new(sabotage))
		w.end(t)
		return w
	}
	w := &refusing{
		off:       with(func(c *signature.Credential) { c.Disabled = true }),
		elsewhere: with(func(c *signature.Credential) { c.Networks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }),
		stranger:  with(func(*signature.Credential) {}),
		world:     newWorld(t, b.shared, pair, new(sabotage)),
		writes:    writes,
	}
	now := time.Now()
	w.now = func() time.Time { return now }
	keys, another := new(token.MemoryKeys), must(token.GeneratePair(2048))(t)
	another.ClientKey, another.Org = w.key, auth.OrgKey(w.org)
	expect(t, "put", keys.Put(t.Context(), another), nil)
	w.unknown = token.Minter{Signers: keys}

	w.accepts(t, w.stranger.signed("POST"))
	w.accepts(t, w.signed("POST"))
	before := b.held(t)
	w.accepts(t, w.signed("POST"))
	w.claim = b.held(t) - before
	if w.claim < 1 || w.claim > 2 {
		t.Fatalf("an accepted request leaves %d rows or keys", w.claim)
	}
	return w
}

func (w *refusing) accepts(t *testing.T, r *http.Request) {
	t.Helper()
	server := w.world
	if !strings.HasPrefix(r.URL.String(), w.tenantURL) {
		server = w.stranger
	}
	if reply := server.send(t, r); reply.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d", r.Method, r.URL, reply.StatusCode)
	}
}

func (w *refusing) refuses(t *testing.T, r *http.Request, detail string) {
	t.Helper()
	server := w.world
	for _, other := range []*world{w.off, w.elsewhere} {
		if strings.HasPrefix(r.URL.String(), other.tenantURL) {
			server = other
		}
	}
	reply := server.send(t, r)
	body := new(strings.Builder)
	if err := reply.Write(body); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body.String(), "."+detail+`"`) {
		t.Errorf("want %s, got:\n%s", detail, body)
	}
}

func (w *refusing) refusals(t *testing.T) []refusal {
	t.Helper()
	all := append(w.ofSignatures(t), w.ofTokens(t)...)
	return slices.Concat(all, w.ofSessions(t), w.ofURLs())
}

func (w *refusing) ofSignatures(t *testing.T) []refusal {
	t.Helper()
	header := func(name, value string) func(int) *http.Request {
		return func(int) *http.Request {
			r := w.signed("POST")
			r.Header.Set(name, value)
			return r
		}
	}
	used := w.signed("POST")
	w.accepts(t, used.Clone(t.Context()))
	again := func(name, value string) *http.Request {
		r := used.Clone(t.Context())
		r.Header.Set(name, value)
		return r
	}
	const key, nonce, mac = "Service-Client-Key", "Service-Client-Nonce", "Service-Client-Signature"
	hourAgo := time.Now().Add(-time.Hour).UnixMilli()
	return []refusal{
		{name: "no credential", request: func(int) *http.Request { return w.request("POST", "/me") }, detail: auth.DetailNoCredentials},
		{name: "a malformed signature", request: header(mac, "none"), detail: auth.DetailMalformedSignature},
		{name: "a wrong signature", request: header(mac, strings.Repeat("0", 64)), detail: auth.DetailInvalidSignature},
		{name: "an unknown key", request: header(key, rand.Text()), detail: auth.DetailInvalidSignature},
		{name: "a key of another org", request: func(int) *http.Request {
			r := w.stranger.signed("POST")
			r.URL.Path, r.RequestURI = "/"+w.org+"/v2/me", "/"+w.org+"/v2/me"
			return r
		}, detail: auth.DetailInvalidSignature},
		{name: "signed an hour ago", request: func(i int) *http.Request { return w.signedAt("POST", hourAgo+int64(i)) }, detail: auth.DetailStaleSignature},
		{name: "an exact replay", request: func(int) *http.Request { return used.Clone(t.Context()) }, detail: auth.DetailReplayed},
		{name: "a used nonce with fresh signatures", request: header(nonce, used.Header.Get(nonce)), detail: auth.DetailReplayed},
		{name: "a used signature with fresh nonces", request: func(int) *http.Request { return again(nonce, freshNonce()) }, detail: auth.DetailReplayed},
		{name: "a disabled credential", request: func(int) *http.Request { return w.off.signed("POST") }, detail: auth.DetailInvalidSignature},
		{name: "a credential from another network", request: func(int) *http.Request { return w.elsewhere.signed("POST") }, detail: auth.DetailInvalidSignature},
		{name: "the credential of a disabled app", request: func(int) *http.Request { return w.signed("POST") },
			detail: auth.DetailInvalidSignature, while: w.appIsDisabled},
		{name: "the credential of a disabled account", request: func(int) *http.Request { return w.signed("POST") },
			detail: auth.DetailInvalidSignature, while: w.accountIs(auth.Account{Disabled: true})},
		{name: "an account that the credential may not act as: the claims", request: header("Service-Client-Account", "second"),
			detail: auth.DetailPrincipal, leaves: 20 * w.claim},
		{name: "arguments that the handler refuses: the claims", request: func(int) *http.Request {
			r := w.signed("POST")
			r.URL.RawQuery = "limit=none"
			return r
		}, detail: auth.DetailQuery, leaves: 20 * w.claim},
	}
}

func (w *refusing) appIsDisabled(yes bool) {
	w.directory.PutApp(auth.App{ClientKey: w.key, Org: auth.OrgKey(w.org), Disabled: yes})
}

// accountIs changes the account of the world.
func (w *refusing) accountIs(a auth.Account) func(yes bool) {
	return func(yes bool) {
		changed := auth.Account{}
		if yes {
			changed = a
		}
		changed.ID, changed.Org, changed.Roles = w.account, auth.OrgKey(w.org), []string{"reader"}
		w.directory.PutAccount(changed)
	}
}

func (w *refusing) ofTokens(t *testing.T) []refusal {
	t.Helper()
	claims := token.Claims{Issuer: w.key, Subject: w.account, Audience: w.tenantURL, Scope: []string{""}}
	ephemeral := func(m token.Minter, c token.Claims) token.Token {
		t.Helper()
		minted, _, err := m.Ephemeral(t.Context(), c, time.Minute)
		return must(minted, err)(t)
	}
	good := ephemeral(w.minter, claims)
	w.accepts(t, w.bearing(good))
	early, foreign, unlisted := w.minter, claims, w.minter
	early.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	foreign.Audience += "x"
	unlisted.Ledger = token.NewMemoryLedger(nil)
	inNoLedger, _, err := unlisted.Permanent(t.Context(), claims)
	if err != nil {
		t.Fatal(err)
	}
	revoked, id := w.mint(t, 0)
	w.accepts(t, w.bearing(revoked))
	expect(t, "revoke", w.shared.ledger.Revoke(t.Context(), w.heldBy(token.Any), id), nil)
	exhausted, _ := w.mint(t, 1)
	w.accepts(t, w.bearing(exhausted))
	w.limited, _ = w.mint(t, 1)

	refused := func(name string, raw token.Token) refusal {
		return refusal{name: name, request: func(int) *http.Request { return w.bearing(raw) }, detail: auth.DetailInvalidToken}
	}
	during := func(name string, raw token.Token, while func(yes bool)) refusal {
		c := refused(name, raw)
		c.while = while
		return c
	}
	expired := refused("an expired token", ephemeral(early, claims))
	expired.detail = auth.DetailTokenExpired
	return []refusal{
		refused("a malformed token", "none"),
		refused("a token of an unknown key", ephemeral(w.unknown, claims)),
		refused("a forged token", good[:len(good)-8]+"AAAAAAAA"),
		expired,
		refused("a token for another audience", ephemeral(w.minter, foreign)),
		refused("a token that is in no ledger", inNoLedger),
		refused("a revoked token", revoked),
		refused("a token that is used up", exhausted),
		during("a token of a disabled app", w.limited, w.appIsDisabled),
		during("a token of a disabled account", w.limited, w.accountIs(auth.Account{Disabled: true})),
		during("a token signed before its account's tokens begin", w.limited,
			w.accountIs(auth.Account{TokensFrom: auth.Cached(nil, 0).TokensFrom(time.Time{}, time.Now())})),
	}
}

// ofURLs sends a token of one use to URLs that are refused before the token is checked.
func (w *refusing) ofURLs() []refusal {
	shown := func(name, method, url, detail string) refusal {
		return refusal{name: name, detail: detail, request: func(int) *http.Request {
			r := w.bearing(w.limited)
			r.Method, r.URL.Path, r.RequestURI = method, url, url
			return r
		}}
	}
	return []refusal{
		shown("nothing is there", "GET", "/"+w.org+"/v2/nowhere", auth.DetailNotFound),
		shown("another method", "DELETE", "/"+w.org+"/v2/me", auth.DetailMethod),
		shown("an unclean path", "GET", "/"+w.org+"/v2//me", auth.DetailPath),
		shown("another version", "GET", "/"+w.org+"/v9/me", auth.DetailVersion),
		shown("an unknown org", "GET", "/nowhere/v2/me", auth.DetailUnknownOrg),
	}
}

func (w *refusing) ofSessions(t *testing.T) []refusal {
	t.Helper()
	live, ended := w.login(t, w.account), w.login(t, w.account)
	w.accepts(t, w.posting("/logout", ended))
	name, _, _ := strings.Cut(live, "=")
	ticket, code := w.login(t, "second"), codeOf([]byte(w.factor), time.Now().Add(24*time.Hour))
	login := func(who, from string) *http.Request {
		r := w.request("POST", "/login")
		r.Header.Set("Login", who)
		r.Header.Set("Password", "wrong")
		r.RemoteAddr = from + ":1"
		return r
	}
	for i := range 5 {
		w.refuses(t, login("slow", fmt.Sprint("198.51.100.", i)), auth.DetailInvalidCredentials)
	}
	const unknown = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	return []refusal{
		{name: "an unknown session", request: func(int) *http.Request { return w.cookie(name + "=" + unknown) }, detail: auth.DetailSessionExpired},
		{name: "a session that was ended", request: func(int) *http.Request { return w.cookie(ended) }, detail: auth.DetailSessionExpired},
		{name: "a page of another origin", request: func(int) *http.Request {
			r := w.posting("/me", live)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			return r
		}, detail: auth.DetailCrossOrigin},
		{name: "a token for another account", request: func(int) *http.Request { return w.posting("/mint", live) }, detail: auth.DetailDelegation},
		{name: "wrong passwords: the address, and each name", request: func(i int) *http.Request {
			return login(fmt.Sprint("nobody", i), "192.0.2.99")
		}, detail: auth.DetailInvalidCredentials, leaves: 21, writes: 40},
		{name: "a delayed name, from other addresses", request: func(i int) *http.Request {
			return login("slow", fmt.Sprint("203.0.113.", i))
		}, detail: auth.DetailLocked},
		{name: "wrong codes for one ticket: it, and the account's codes", request: func(int) *http.Request {
			r := w.posting("/code", ticket)
			r.Header.Set("Code", code)
			return r
		}, detail: auth.DetailInvalidCode, leaves: 2, writes: 5*2 + 1},
	}
}

// budgetedMemory counts the records that calls add to memory and do not remove, because it cannot
// look into the stores.
func budgetedMemory() budgeted {
	s, records := sharedInMemory(), kept{}
	replays := s.replays.(*signing.Memory)
	s.ledger = keptLedger{s.ledger, records}
	s.sessions = keptSessions{s.sessions, records}
	s.attempts = keptAttempts{s.attempts, records}
	return budgeted{"memory", s,
		func(*testing.T) int { return replays.Len() + len(records) }, func(*testing.T) int { return 0 }}
}

// kept maps a name to what is stored under it: the number of tries, or 1.
type kept map[any]int

func (t kept) set(name any, n int) {
	t[name] = n
	if n <= 0 {
		delete(t, name)
	}
}

type keptLedger struct {
	token.Ledger
	kept kept
}

func (l keptLedger) Issue(ctx context.Context, r token.Record, verifying []string, limit int) error {
	l.kept.set("token "+r.ID, 1)
	return l.Ledger.Issue(ctx, r, verifying, limit)
}

type keptSessions struct {
	session.Store
	kept kept
}

func (s keptSessions) Create(ctx context.Context, n session.Session, limit int) error {
	s.kept.set(n.Hash, 1)
	return s.Store.Create(ctx, n, limit)
}

func (s keptSessions) Delete(ctx context.Context, org auth.OrgKey, hash [32]byte) error {
	s.kept.set(hash, 0)
	return s.Store.Delete(ctx, org, hash)
}

// writingAttempts counts the calls that change a count.
type writingAttempts struct {
	session.Attempts
	writes *atomic.Int64
}

func (a writingAttempts) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (bool, error) {
	done, err := a.Attempts.Swap(ctx, org, key, old, record)
	if done {
		a.writes.Add(1)
	}
	return done, err
}

type keptAttempts struct {
	session.Attempts
	kept kept
}

func (a keptAttempts) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (bool, error) {
	done, err := a.Attempts.Swap(ctx, org, key, old, record)
	if done {
		a.kept.set("attempts "+key, len(record))
	}
	return done, err
}
