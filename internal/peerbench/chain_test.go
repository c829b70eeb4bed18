package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/authn"
	jwtmiddleware "github.com/auth0/go-jwt-middleware/v2"
	"github.com/auth0/go-jwt-middleware/v2/validator"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// chain is a server with two routes, one of which refuses the credential.
type chain struct {
	admits, refuses http.Handler
	request         *http.Request // with the credential
	credential      string        // the header that holds it
	wrong           string        // a wrong value of that header
	next            func(http.Header)
}

// chainKind is a way to guard a handler, and to find the account in it.
type chainKind struct {
	name    string
	account func(*http.Request) string
	build   func(t testing.TB, end http.Handler) chain
}

func chainKinds(floor chainKind, signed func(testing.TB, http.Handler) chain) []chainKind {
	principal := func(r *http.Request) string { return auth.From(r.Context()).Account }
	return []chainKind{
		floor,
		{ours, principal, bearerChain},
		{"tenantkit signature", principal, signed},
		{"tenantkit session", principal, sessionChain},
		{"authn-go", authnAccount, authnChain},
		{"go-jwt-middleware", auth0Account, auth0Chain},
		{"scs", accountInContext, scsChain},
		{"gorilla cookie", accountInContext, gorillaChain},
	}
}

// contender returns a peer that sends the credential of a chain, with the inputs that
// it must refuse. client connects it to a handler.
func (c chain) contender(name string, credential func() http.Header, client func(http.Handler) func(http.Header) error) contender {
	admits, refuses := client(c.admits), client(c.refuses)
	return contender{name: name, good: func() error { return admits(credential()) }, bad: map[string]func() error{
		"no credential":                     func() error { return admits(c.without("")) },
		"a wrong credential":                func() error { return admits(c.without(c.wrong)) },
		"a credential the route is not for": func() error { return refuses(credential()) },
	}}
}

// again renews the header of the request in place and returns it.
func (c chain) again() http.Header { return c.renewed(c.request.Header) }

// another returns a renewed copy of the header, for concurrent requests.
func (c chain) another() http.Header { return c.renewed(c.request.Header.Clone()) }

func (c chain) renewed(h http.Header) http.Header {
	if c.next != nil {
		c.next(h)
	}
	return h
}

// without returns the header with another credential, or with none.
func (c chain) without(credential string) http.Header {
	h := c.request.Header.Clone()
	h.Del(c.credential)
	if credential != "" {
		h.Set(c.credential, credential)
	}
	return h
}

func accountInContext(r *http.Request) string {
	account, _ := r.Context().Value(accountKey{}).(string)
	return account
}

func get(name, value string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, audience+"/connections", nil)
	r.Header.Set(name, value)
	return r
}

func withAccount(r *http.Request, account string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), accountKey{}, account))
}

func plainChain(_ testing.TB, end http.Handler) chain {
	return chain{admits: end, refuses: end, request: get("Accept", "*/*"), credential: "Accept"}
}

func floorChain(_ testing.TB, end http.Handler) chain {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { end.ServeHTTP(w, withAccount(r, subject)) })
	return chain{admits: h, refuses: h, request: get("Accept", "*/*"), credential: "Accept"}
}

// guarded returns two routes behind guards. The credential is not enough for the second one, whose need may name
// another mechanism.
func guarded(m auth.Mechanism, end http.Handler, short auth.Need, others ...auth.Mechanism) (admits, refuses http.Handler) {
	route := func(n auth.Need, others ...auth.Mechanism) http.Handler {
		guard := &auth.Guard{BaseURL: baseURL, Directory: newDirectory(0), Roles: auth.RolesDoNotLimit, Mechanisms: append([]auth.Mechanism{m}, others...)}
		mux := guard.Mux()
		mux.Handle("GET /connections", n, end)
		return mux
	}
	return route(auth.Allow("object.read.c_note")), route(short, others...)
}

// unused is a mechanism whose credentials no request has.
type unused struct {
	auth.Mechanism
	name string
}

func (u unused) Name() string                        { return u.name }
func (unused) Bind(*auth.Settings) error             { return nil }
func (unused) Presented(*http.Request) auth.Presence { return auth.Absent }

func bearerChain(t testing.TB, end http.Handler) chain {
	keys := &token.MemoryKeys{}
	if err := keys.Put(t.Context(), appPair(t)); err != nil {
		t.Fatal(err)
	}
	m := &bearer.Mechanism{Keys: keys, Cache: &token.Cache{}}
	admits, refuses := guarded(m, end, auth.Allow("object.read.c_other"))
	return bearerRequest(t, admits, refuses)
}

func bearerRequest(t testing.TB, admits, refuses http.Handler) chain {
	const header = "Authorization"
	return chain{admits: admits, refuses: refuses, credential: header,
		request: get(header, "Bearer "+goodToken(t)), wrong: "Bearer " + badTokens(t)["expired"]}
}

// signer makes signed requests, each signed at its own millisecond. The times are ahead
// of the clock, because a request signed before its store was made is stale.
type signer struct {
	names signing.Headers
	start int64
}

func (s signer) sign(i int) (timestamp, nonce, signature string) {
	timestamp, nonce = strconv.FormatInt(s.start+int64(i), 10), "nonce"+strconv.Itoa(10000000000+i)
	return timestamp, nonce, signing.Sign(clientKey, secret, command, http.MethodGet, timestamp)
}

func (s signer) put(h http.Header, timestamp, nonce, signature string) {
	h[s.names.Timestamp][0], h[s.names.Nonce][0], h[s.names.Signature][0] = timestamp, nonce, signature
}

// signatureChain calls next for the credential of each request.
func signatureChain(t testing.TB, end http.Handler, next func(*signature.Mechanism, signer) func(http.Header)) chain {
	m := &signature.Mechanism{
		Credentials: signature.Memory{clientKey: {Key: newKey(t), Account: subject}},
		Policy:      signing.Policy{FutureTolerance: 10 * time.Minute},
	}
	s := signer{signing.HeadersFor(""), time.Now().Add(5 * time.Minute).UnixMilli()}
	c := chain{request: get(s.names.ClientKey, clientKey), credential: s.names.Signature, next: next(m, s)}
	for _, name := range []string{s.names.Timestamp, s.names.Nonce, s.names.Signature} {
		c.request.Header[name] = []string{""}
	}
	timestamp, _, _ := s.sign(0)
	c.wrong = signing.Sign(clientKey, other, command, http.MethodGet, timestamp)
	c.admits, c.refuses = guarded(m, end, auth.Authenticated.By(session.Name), unused{name: session.Name})
	return c
}

// signedBefore signs a batch of requests. It makes a new store before a request of the
// batch is sent again.
func signedBefore(t testing.TB, end http.Handler) chain {
	const batch = 1 << 15
	return signatureChain(t, end, func(m *signature.Mechanism, s signer) func(http.Header) {
		var timestamps, nonces, signatures [batch]string
		for i := range batch {
			timestamps[i], nonces[i], signatures[i] = s.sign(i)
		}
		m.Replays = newReplays(batch)
		i := 0
		return func(h http.Header) {
			if i == batch {
				m.Replays = newReplays(batch)
				i = 0
			}
			s.put(h, timestamps[i], nonces[i], signatures[i])
			i++
		}
	})
}

// signedNow signs each request when it is sent, as concurrent clients must.
func signedNow(t testing.TB, end http.Handler) chain {
	return signatureChain(t, end, func(m *signature.Mechanism, s signer) func(http.Header) {
		var sent atomic.Int64
		m.Replays = newReplays(1 << 20)
		return func(h http.Header) {
			timestamp, nonce, signature := s.sign(int(sent.Add(1)))
			s.put(h, timestamp, nonce, signature)
		}
	})
}

// newReplays returns a store that one client may fill.
func newReplays(requests int) *signing.Memory {
	store := signing.NewMemory(requests)
	store.PerKey = requests
	return store
}

// sessionChain accepts a session that it opens.
func sessionChain(t testing.TB, end http.Handler) chain {
	manager := &session.Manager{Store: new(session.Memory).Sessions(), Attempts: new(session.Memory).Attempts()}
	opened := httptest.NewRecorder()
	start := &auth.Guard{BaseURL: baseURL, Directory: newDirectory(0), Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{manager}}
	start.Mount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := manager.Start(w, r, subject, session.Proof{At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	})).ServeHTTP(opened, httptest.NewRequest(http.MethodGet, audience+"/start", nil))
	admits, refuses := guarded(manager, end, auth.Authenticated.By("bearer"), unused{name: "bearer"})
	return cookieRequest(admits, refuses, opened.Result().Cookies()[0])
}

func cookieRequest(admits, refuses http.Handler, c *http.Cookie) chain {
	return chain{admits: admits, refuses: refuses, credential: "Cookie",
		request: get("Cookie", c.Name+"="+c.Value), wrong: c.Name + "=6dM" + c.Value[3:]}
}

// authnChain makes authn-go do the least: one look-up of a token.
func authnChain(t testing.TB, end http.Handler) chain {
	c := bearerRequest(t, nil, nil)
	good, _ := authn.BearerToken(c.request)
	accounts := map[string]string{strings.Clone(good): subject} // the same pointer would compare at once
	h := authn.NewMiddleware(func(_ context.Context, r *http.Request) (any, error) {
		raw, _ := authn.BearerToken(r)
		account, ok := accounts[raw]
		if !ok {
			return nil, authn.Errorf("unknown token")
		}
		return account, nil
	}).Wrap(end)
	c.admits, c.refuses = h, h
	return c
}

func authnAccount(r *http.Request) string {
	account, _ := authn.GetInfo(r.Context()).(string)
	return account
}

func auth0Chain(t testing.TB, end http.Handler) chain {
	v := newAuth0(t, &rsaKeys[0]().PublicKey)
	h := jwtmiddleware.New(v.ValidateToken).CheckJWT(end)
	return bearerRequest(t, h, h)
}

func scsChain(t testing.TB, end http.Handler) chain {
	m, token := scsManager(t, 30*time.Minute)
	h := m.LoadAndSave(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account := m.GetString(r.Context(), accountField)
		if account == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		end.ServeHTTP(w, withAccount(r, account))
	}))
	return cookieRequest(h, h, &http.Cookie{Name: m.Cookie.Name, Value: token})
}

func gorillaChain(t testing.TB, end http.Handler) chain {
	store := gorillaStore()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account, err := gorillaAccount(store, r)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		end.ServeHTTP(w, withAccount(r, account))
	})
	return cookieRequest(h, h, gorillaSession(t, 0).cookie)
}

func auth0Account(r *http.Request) string {
	claims, ok := r.Context().Value(jwtmiddleware.ContextKey{}).(*validator.ValidatedClaims)
	if !ok {
		return ""
	}
	return claims.RegisteredClaims.Subject
}
