package enginetest

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/internal/enginetest/suites"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// shared is what instances of a server share.
type shared struct {
	replays  signing.Replays
	ledger   token.Ledger
	sessions session.Store
	attempts session.Attempts
	factors  session.FactorStore
	keys     suites.KeyStore

	// credentials returns a store that has this credential.
	credentials func(t *testing.T, org string, secret signing.Secret, c *signature.Credential) signature.Credentials
}

func sharedInMemory() shared {
	m, credentials := new(session.Memory), signature.Memory{}
	return shared{
		signing.NewMemory(100_000), token.NewMemoryLedger(nil), m.Sessions(), m.Attempts(), m.Factors(), new(token.MemoryKeys),
		func(_ *testing.T, _ string, _ signing.Secret, c *signature.Credential) signature.Credentials {
			credentials[c.Key.ClientKey()] = c
			return credentials
		},
	}
}

func sharedInSQL(t *testing.T, h home) shared {
	t.Helper()
	return sharedIn(t, h.store(t))
}

func sharedIn(t *testing.T, s *sqlstore.Store) shared {
	t.Helper()
	credentials := must(s.Credentials())(t)
	return shared{
		s.Replays(), s.Ledger(), s.Sessions(), s.Attempts(), must(s.Factors())(t), must(s.Keys())(t),
		func(t *testing.T, org string, secret signing.Secret, c *signature.Credential) signature.Credentials {
			if err := credentials.Put(t.Context(), auth.OrgKey(org), c.Key.ClientKey(), secret, *c); err != nil {
				t.Fatal(err)
			}
			return credentials
		},
	}
}

// sharedInRedis keeps secrets in memory, because Redis does not store them.
func sharedInRedis(t *testing.T) shared {
	t.Helper()
	return sharedAt(t, startRedis(t).addr())
}

func sharedAt(t *testing.T, addr string) shared {
	t.Helper()
	all, s := sharedInMemory(), storesAt(t, addr)
	all.replays, all.ledger, all.sessions, all.attempts = s.replays, s.ledger, s.sessions, s.attempts
	return all
}

// world is a server with its own accounts, credentials and keys, on stores that others may use.
type world struct {
	*sabotage
	shared            shared
	directory         *auth.Memory
	server, calm      http.Handler // calm waits for its stores for the usual time
	manager           *session.Manager
	minter            token.Minter
	bearer            *bearer.Mechanism
	tenantURL         string
	org, key, account string
	secret            signing.Secret
	factor            session.FactorSecret
	ticks             int64
	now               func() time.Time // the Guard's clock

	// The history: accepted credentials and ended ones.
	accepted map[string]int
	over     map[string]bool
}

const password = "correct horse"

// impatience is the time limit of stores when one of them will hang.
const impatience = 50 * time.Millisecond

func newWorld(t *testing.T, s shared, pair *token.KeyPair, spoil *sabotage) *world {
	t.Helper()
	w := &world{
		sabotage: spoil, shared: s,
		org: strings.ToLower(rand.Text()), account: rand.Text(),
		factor:   session.FactorSecret(rand.Text()),
		accepted: make(map[string]int), over: make(map[string]bool), now: time.Now,
	}
	w.tenantURL = "http://127.0.0.1/" + w.org + "/v2"
	w.populate(t, pair)
	w.minter = token.Minter{Signers: spoiledKeys{spoil, s.keys}, Ledger: spoiledLedger{spoil, s.ledger}}
	w.bearer = &bearer.Mechanism{Keys: spoiledKeys{spoil, s.keys}, Signers: w.minter.Signers, Ledger: spoiledLedger{spoil, s.ledger}, Cache: new(token.Cache)}
	w.manager = &session.Manager{
		Store:         spoiledSessions{spoil, s.sessions},
		Attempts:      spoiledAttempts{spoil, s.attempts},
		FactorStore:   spoiledFactors{spoil, s.factors},
		PasswordStore: spoiledPasswords{spoil, passwords{w.account}},
		Hasher:        plain{},
	}
	mechanisms := w.mechanisms(t)
	serve := func(timeout time.Duration) http.Handler {
		return w.serve(&auth.Guard{
			Roles: auth.RolesDoNotLimit, OrgIDs: true,
			BaseURL: "http://127.0.0.1", Directory: spoiledDirectory{spoil, w.directory}, Mechanisms: mechanisms, Timeout: timeout,
			Now: func() time.Time { return w.now() },
		})
	}
	w.calm = serve(10 * time.Second)
	w.server = w.calm
	if spoil.mode == hanging {
		w.server = serve(impatience)
	}
	return w
}

// populate makes the org with two accounts and an app with the key pair. The second account has a
// second factor.
func (w *world) populate(t *testing.T, pair *token.KeyPair) {
	t.Helper()
	w.key, w.secret = signing.Generate()
	w.directory = new(auth.Memory)
	w.directory.PutOrg(auth.Org{Code: w.org, ID: w.org})
	w.directory.PutApp(auth.App{ClientKey: w.key, Org: auth.OrgKey(w.org)})
	w.directory.PutRole(auth.OrgKey(w.org), auth.Role{Name: "reader"})
	for _, id := range []string{w.account, "second"} {
		w.directory.PutAccount(auth.Account{ID: id, Org: auth.OrgKey(w.org), Roles: []string{"reader"}})
	}
	mine := *pair
	mine.ClientKey, mine.Org, mine.Exposed = w.key, auth.OrgKey(w.org), true
	err := errors.Join(
		w.shared.factors.Save(t.Context(), auth.OrgKey(w.org), "second", session.Factor{Secret: w.factor}),
		w.shared.keys.Put(t.Context(), &mine))
	if err != nil {
		t.Fatal(err)
	}
}

// end removes the key pair from the app, because a pair can have only one app.
func (w *world) end(t *testing.T) {
	t.Helper()
	if err := w.shared.keys.Delete(t.Context(), auth.OrgKey(w.org), w.key); err != nil {
		t.Fatal(err)
	}
}

func (w *world) mechanisms(t *testing.T) []auth.Mechanism {
	t.Helper()
	key, err := signing.NewKey(w.key, w.secret)
	if err != nil {
		t.Fatal(err)
	}
	credentials := w.shared.credentials(t, w.org, w.secret, &signature.Credential{Key: key, Account: w.account})
	return []auth.Mechanism{
		&signature.Mechanism{
			Credentials: spoiledCredentials{w.sabotage, credentials},
			Replays:     spoiledReplays{w.sabotage, w.shared.replays},
		},
		w.bearer,
		w.manager,
	}
}

// passwords knows two accounts by their ids, and accepts any other encoding.
type passwords struct{ account string }

func (p passwords) Password(_ context.Context, _ auth.OrgKey, login string) (account, encoded string, err error) {
	if login != p.account && login != "second" {
		return "", "", auth.ErrNotFound
	}
	return login, password, nil
}

func (p passwords) Rehash(context.Context, auth.OrgKey, string, string, string) error { return nil }

// plain is a Hasher that does not hash, because only the stores are tested. Verify always asks
// to encode the password again.
type plain struct{}

func (plain) Hash(password string) (string, error)              { return password, nil }
func (plain) Verify(encoded, password string) (ok, rehash bool) { return encoded == password, true }

func (w *world) serve(guard *auth.Guard) http.Handler {
	mux := guard.Mux()
	// route runs f within the time limit of stores.
	route := func(pattern string, need auth.Need, f func(ctx context.Context, rw http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc(pattern, need, func(rw http.ResponseWriter, r *http.Request) {
			ctx, cancel := auth.TenantFrom(r.Context()).Bound(r.Context())
			defer cancel()
			if err := f(ctx, rw, r); err != nil {
				auth.Fail(rw, r, err)
			}
		})
	}
	jwk, _ := bearer.Certs(spoiledKeys{w.sabotage, w.shared.keys})
	mux.Handle("GET /certs", auth.Public, jwk)
	mux.HandleFunc("GET /me", auth.Authenticated, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /me", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			auth.Fail(rw, r, &auth.Error{Detail: auth.DetailQuery})
		}
	})
	route("POST /login", auth.Public, func(_ context.Context, rw http.ResponseWriter, r *http.Request) error {
		_, err := w.manager.Login(rw, r, session.LoginForm{Login: r.Header.Get("Login"), Password: cmp.Or(r.Header.Get("Password"), password)})
		return err
	})
	route("POST /code", auth.Public, func(_ context.Context, rw http.ResponseWriter, r *http.Request) error {
		_, err := w.manager.VerifyCode(rw, r, session.LoginForm{Code: r.Header.Get("Code")})
		return err
	})
	ofSession := auth.Authenticated.By(session.Name)
	route("POST /mint", auth.Authenticated, func(ctx context.Context, _ http.ResponseWriter, r *http.Request) error {
		forAnother := bearer.Wish{Claims: token.Claims{Issuer: w.key, Subject: "second"}, Permanent: true}
		_, _, err := w.bearer.Mint(ctx, auth.From(ctx), auth.TenantFrom(ctx), forAnother)
		return err
	})
	route("POST /stepup", ofSession, func(_ context.Context, rw http.ResponseWriter, r *http.Request) error {
		_, err := w.manager.Reauthenticate(rw, r, auth.From(r.Context()).Account, password)
		return err
	})
	route("POST /logout", ofSession, func(_ context.Context, rw http.ResponseWriter, r *http.Request) error {
		return w.manager.Logout(rw, r)
	})
	route("POST /another", ofSession, func(ctx context.Context, _ http.ResponseWriter, r *http.Request) error {
		return w.endAnother(ctx, auth.TenantFrom(ctx).Org, auth.From(ctx))
	})
	route("POST /others", ofSession, func(ctx context.Context, _ http.ResponseWriter, _ *http.Request) error {
		p := auth.From(ctx)
		_, err := w.manager.Sessions().RevokeAll(ctx, p.Org, p.Account, p.SessionID)
		return err
	})
	route("POST /everybody", auth.Public, func(ctx context.Context, _ http.ResponseWriter, _ *http.Request) error {
		_, err := w.manager.Sessions().RevokeOrg(ctx, auth.OrgKey(w.org))
		return err
	})
	route("POST /revoke/{jti}", auth.Public, func(ctx context.Context, _ http.ResponseWriter, r *http.Request) error {
		return asUnavailable(w.minter.Ledger.Revoke(ctx, w.heldBy(token.Any), r.PathValue("jti")), token.ErrNotFound)
	})
	route("POST /revoke", auth.Public, func(ctx context.Context, _ http.ResponseWriter, _ *http.Request) error {
		_, err := w.minter.Ledger.RevokeSubject(ctx, w.heldBy(w.account))
		return asUnavailable(err)
	})
	route("POST /renew", auth.Public, func(_ context.Context, _ http.ResponseWriter, r *http.Request) error {
		_, _, err := w.bearer.Renew(r, bearer.Less{Expires: time.Now().Add(time.Hour)}) // less, and so without a grace
		return err
	})
	route("GET /tokens", auth.Public, func(ctx context.Context, _ http.ResponseWriter, _ *http.Request) error {
		page, _, err := w.minter.Ledger.List(ctx, w.heldBy(w.account), token.Position{}, token.MaxPage)
		id := "none"
		if len(page) > 0 {
			id = page[0].ID
		}
		if err == nil {
			_, err = w.minter.Ledger.Get(ctx, w.heldBy(w.account), id)
		}
		return asUnavailable(err, token.ErrNotFound)
	})
	return w.recovering(guard, mux)
}

// endAnother ends the first session of the account that is not the request's session.
func (w *world) endAnother(ctx context.Context, org *auth.Org, p auth.Principal) error {
	list, err := w.manager.Sessions().List(ctx, org, p.Account)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(s session.SessionInfo) bool { return s.ID != p.SessionID })
	if at < 0 {
		return auth.ErrNotFound
	}
	return w.manager.Sessions().Revoke(ctx, p.Org, p.Account, list[at].ID)
}

// asUnavailable maps a store's error as a handler does.
func asUnavailable(err error, known ...error) error {
	if err == nil || slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) }) {
		return nil
	}
	return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
}

// recovering answers a panic of sabotage as a middleware would.
func (w *world) recovering(guard *auth.Guard, h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer func() {
			if cause := recover(); cause == errSabotage {
				guard.Fail(rw, r, &auth.Error{Detail: auth.DetailInternal})
			} else if cause != nil {
				panic(cause)
			}
		}()
		h.ServeHTTP(rw, r)
	})
}

// send sends one request, and checks the reply for I5: a failure of a store gives "unavailable", or
// 500 for a panic, and clears no cookie.
func (w *world) send(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	before := w.done.Load()
	recorder := httptest.NewRecorder()
	w.server.ServeHTTP(recorder, r)
	reply := recorder.Result()
	spoiled := !before && w.done.Load()
	if !spoiled || w.courtesy.Load() && w.mode != panicking {
		return reply
	}
	want := http.StatusServiceUnavailable
	if w.mode == panicking {
		want = http.StatusInternalServerError
	}
	if reply.StatusCode != want {
		t.Errorf("I5 %s %s: status %d when a store failed", r.Method, r.URL.Path, reply.StatusCode)
	}
	for _, c := range reply.Cookies() {
		t.Errorf("I5 %s %s: a refusal sets the cookie %s", r.Method, r.URL.Path, c.Name)
	}
	return reply
}

func (w *world) request(method, path string) *http.Request {
	return httptest.NewRequest(method, w.tenantURL+path, nil)
}

// signed signs a request by section 5.3 of the interface.
func (w *world) signed(method string) *http.Request {
	w.ticks = max(w.ticks+1, time.Now().UnixMilli())
	return w.signedAt(method, w.ticks)
}

func (w *world) signedAt(method string, millis int64) *http.Request {
	timestamp := strconv.FormatInt(millis, 10)
	r := w.request(method, "/me")
	for name, value := range map[string]string{
		"Service-Client-Key":       w.key,
		"Service-Client-Timestamp": timestamp,
		"Service-Client-Nonce":     freshNonce(),
		"Service-Client-Signature": signing.Sign(w.key, w.secret, "/me", method, timestamp),
	} {
		r.Header.Set(name, value)
	}
	return r
}

func freshNonce() string { return rand.Text()[:16] }

func (w *world) bearing(t token.Token) *http.Request {
	r := w.request("GET", "/me")
	r.Header.Set("Authorization", "Bearer "+string(t))
	return r
}

func (w *world) cookie(cookie string) *http.Request {
	r := w.request("GET", "/me")
	r.Header.Set("Cookie", cookie)
	return r
}

func (w *world) posting(path, cookie string) *http.Request {
	r := w.request("POST", path)
	r.Header.Set("Cookie", cookie)
	return r
}

func (w *world) login(t *testing.T, who string) (cookie string) {
	t.Helper()
	r := w.request("POST", "/login")
	r.Header.Set("Login", who)
	return cookieOf(w.send(t, r))
}

// cookieOf returns the cookie of a session or a ticket that a reply sets.
func cookieOf(reply *http.Response) string {
	for _, c := range reply.Cookies() {
		if c.MaxAge >= 0 {
			return c.Name + "=" + c.Value
		}
	}
	return ""
}

// mint returns no token if a store failed.
func (w *world) mint(t *testing.T, uses int64) (token.Token, string) {
	t.Helper()
	wait := 10 * time.Second
	if w.mode == hanging && w.at > 0 {
		wait = impatience
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil && cause != errSabotage {
			panic(cause)
		}
	}()
	c := token.Claims{Issuer: w.key, Subject: w.account, Audience: w.tenantURL, Scope: []string{""}, MaxUses: uses}
	mint := w.minter.Permanent
	if uses > 0 {
		mint = w.minter.Limited
	}
	minted, claims, err := mint(ctx, c)
	// Drivers have their own errors for a call that outlasts its context.
	late := time.Since(begin) >= wait
	if err != nil && !w.done.Load() && !late {
		t.Fatal(err)
	}
	return minted, claims.ID
}

// codeOf computes a code by RFC 6238.
func codeOf(secret []byte, at time.Time) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/30)))
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[offset:])&0x7fffffff%1_000_000)
}

// heldBy is the holder of the tokens that an app of acme has issued for a subject.
func heldBy(clientKey, subject string) token.Holder {
	return token.Holder{Org: "acme", ClientKey: clientKey, Subject: subject}
}

// listed returns the live records of a holder.
func listed(t *testing.T, l token.Ledger, of token.Holder) (all []token.Record) {
	t.Helper()
	for r, err := range token.Records(t.Context(), l, of) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// heldBy is the holder of the tokens that the app of w has issued for a subject.
func (w *world) heldBy(subject string) token.Holder {
	return token.Holder{Org: auth.OrgKey(w.org), ClientKey: w.key, Subject: subject}
}
