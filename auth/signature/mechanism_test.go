package signature_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

func TestValidateNamesWhatIsMissing(t *testing.T) {
	err := new(signature.Mechanism).Bind(new(auth.Settings))
	if err == nil || !strings.Contains(err.Error(), "Credentials") || !strings.Contains(err.Error(), "Replays") {
		t.Errorf("got %v", err)
	}
	negative := &signature.Mechanism{Credentials: signature.Memory{}, Replays: newMap(), Policy: signing.Policy{Tolerance: -1}}
	if err := negative.Bind(new(auth.Settings)); err == nil {
		t.Error("a negative tolerance was taken")
	}
	whole := &signature.Mechanism{Credentials: signature.Memory{}, Replays: newMap()}
	if err := whole.Bind(new(auth.Settings)); err != nil {
		t.Error(err)
	}
}

func TestMemoryHonoursItsContext(t *testing.T) {
	m := signature.Memory{acmeKey: {Key: mustKey(t, acmeKey, acmeSecret)}}
	if c, err := m.Credential(t.Context(), acmeKey); err != nil || c != m[acmeKey] {
		t.Error(c, err)
	}
	if _, err := m.Credential(t.Context(), globexKey); !errors.Is(err, auth.ErrNotFound) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Credential(ctx, acmeKey); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A store that ignores case in keys, or that mixes keys up, would give one credential several
// names.
func TestAStoreThatReturnsAnotherKeyIsUnavailable(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.credentials[globexKey] = w.credentials[acmeKey]
		w.credentials[headless] = nil
	})
	for _, key := range []string{globexKey, headless} {
		q := w.request()
		q.key = key
		want(t, w.send(t, q), 503, "error.storeUnavailable")
	}
}

// A Mechanism has no brand and no clock of its own. It can serve two Guards that differ in them.
func TestSettingsThatContradictTheGuard(t *testing.T) {
	ahead := newWorld(t, func(w *world) { w.guard.Now = func() time.Time { return time.Now().Add(time.Hour) } })
	want(t, ahead.send(t, ahead.request()), 401, "invalidArgument.staleRequestSignature")
	same := newWorld(t, func(w *world) { w.mechanism = ahead.mechanism; w.guard.Mechanisms = []auth.Mechanism{ahead.mechanism} })
	if reply := same.send(t, same.request()); reply.StatusCode != 200 {
		t.Errorf("got %d %s", reply.StatusCode, reply.Text)
	}
	t.Run("the brand", anotherBrand)
}

func anotherBrand(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Brand = auth.Brand{Header: "Acme-", Faults: "acme"} })
	q := w.request()
	want := func(header, body string) {
		t.Helper()
		for _, line := range q.header() {
			q.lines = append(q.lines, strings.Replace(line, "Service-", header, 1))
		}
		q.drop = []string{"Service-Client-Key", "Service-Client-Signature", "Service-Client-Timestamp", "Service-Client-Nonce"}
		reply := w.send(t, q)
		if !strings.Contains(reply.Text, body) || reply.Header.Get("Acme-Server-Time") == "" {
			t.Errorf("%s: got %d %s", header, reply.StatusCode, reply.Text)
		}
	}
	want("Acme-", `"ann"`)
	q = w.request()
	want("Service-", "acme.accessDenied.noCredentialsSupplied")
}

// If the directory fails, nothing is known about a credential, and the request costs no nonce.
func TestADirectoryThatFailsIsUnavailable(t *testing.T) {
	for name, down := range map[string]auth.Directory{"apps": downFor{app: true}, "accounts": downFor{account: "ann"}, "another account": downFor{account: "bob"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				d := down.(downFor)
				d.Directory = w.directory
				w.guard.Directory = d
			})
			q := w.request()
			q.account = "bob"
			want(t, w.send(t, q), 503, "error.storeUnavailable")
			if n := w.mechanism.Replays.(*mapStore).claims; n != 0 || w.handled.Load() != 0 {
				t.Errorf("%d claims, %d handled", n, w.handled.Load())
			}
		})
	}
}

// downFor is a directory that does not answer for some things.
type downFor struct {
	auth.Directory
	app     bool
	account string
}

func (d downFor) App(ctx context.Context, key string) (*auth.App, error) {
	if d.app {
		return nil, http.ErrServerClosed
	}
	return d.Directory.App(ctx, key)
}

func (d downFor) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	if id == d.account {
		return nil, http.ErrServerClosed
	}
	return d.Directory.Account(ctx, org, id)
}

// A request without a method: the Guard passes it, and package signing refuses it.
func TestARequestWithoutAMethod(t *testing.T) {
	w := newWorld(t)
	h := w.guard.Mount(w.guard.Require(auth.Authenticated)(altering{t}))
	r := w.signed(w.request())
	r.Method = ""
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	if recorder.Code != 405 {
		t.Errorf("got %d", recorder.Code)
	}
}

// A new signature cannot give a key another scope, so there is no challenge.
func TestAHandlersRefusalHasNoChallenge(t *testing.T) {
	w := newWorld(t)
	h := w.guard.Mount(w.guard.Require(auth.Authenticated)(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		auth.Fail(rw, r, &auth.Error{Detail: auth.DetailScope})
	})))
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, w.signed(w.request()))
	if recorder.Code != 403 || recorder.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("got %d with the challenge %q", recorder.Code, recorder.Header().Get("WWW-Authenticate"))
	}
}

func TestRolesAreTheRequestsOwn(t *testing.T) {
	w := newWorld(t)
	g := w.guard.Mount(w.guard.Require(auth.Authenticated)(altering{t}))
	for range 2 {
		g.ServeHTTP(httptest.NewRecorder(), w.signed(w.request()))
	}
	account, err := w.directory.Account(t.Context(), "acme", "ann")
	if err != nil || account.Roles[0] != "member" {
		t.Errorf("a handler altered the account's roles: %v, %v", account, err)
	}
}

func TestNetworksOfAnAddress(t *testing.T) {
	// A credential with networks admits nobody without a readable address.
	w := newWorld(t, func(w *world) {
		w.credentials[acmeKey].Networks = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	})
	h := w.guard.Mount(w.guard.Require(auth.Authenticated)(altering{t}))
	r := w.signed(w.request())
	r.RemoteAddr = "@" // a Unix socket
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)
	if recorder.Code != 401 {
		t.Errorf("got %d", recorder.Code)
	}
}

// An IPv4 connection to a socket of both families has a mapped address.
func TestAMappedPeerIsInItsNetwork(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.credentials[acmeKey].Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	h := w.guard.Mount(w.guard.Require(auth.Authenticated)(altering{t}))
	for peer, status := range map[string]int{"192.0.2.7:1": 200, "[::ffff:192.0.2.7]:1": 200, "[::ffff:198.51.100.7]:1": 401} {
		r := w.signed(w.request())
		r.RemoteAddr = peer
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, r)
		if recorder.Code != status {
			t.Errorf("%s: got %d, want %d", peer, recorder.Code, status)
		}
	}
}

func TestASignedRequestIsFresh(t *testing.T) {
	w := newWorld(t)
	h := w.guard.Mount(w.guard.Require(auth.Authenticated.Fresh(time.Minute))(altering{t}))
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, w.signed(w.request()))
	if recorder.Code != 200 {
		t.Errorf("got %d", recorder.Code)
	}
}

// altering writes into the principal that it gets.
type altering struct{ t *testing.T }

func (a altering) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	roles := auth.From(r.Context()).Roles
	if roles[0] != "member" {
		a.t.Errorf("roles %v", roles)
	}
	roles[0] = "administrator"
}

// A middleware outside a Guard may ask which credential a request has.
func TestPresentedOutsideAGuard(t *testing.T) {
	for header, want := range map[string]auth.Presence{
		signing.HeadersFor("").Signature: auth.InHeader, signing.HeadersFor("Acme-").Signature: auth.Absent, "X": auth.Absent} {
		r := httptest.NewRequest("GET", "/acme/v2/notes", nil)
		r.Header[header] = []string{"x"}
		if got := new(signature.Mechanism).Presented(r); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}
