package main

import (
	"database/sql"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/token"
)

// from is a client behind the proxy.
type from struct {
	http.RoundTripper
	addr string
}

func (f from) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header["X-Forwarded-For"] = []string{f.addr}
	return f.RoundTripper.RoundTrip(r)
}

func behindProxy(c *http.Client, addr string) *http.Client {
	copied := *c
	copied.Transport = from{c.Transport, addr}
	return &copied
}

// Without Proxies all clients of a proxy are one: whoever guesses delays everybody, and a key
// that is limited to networks works for everybody or for nobody.
func TestAddressesBehindAProxy(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		key, _, _ := w.partner(t, map[string]any{"label": "p", "scope": []string{"object"}, "networks": []string{"198.51.100.0/24"}})
		for addr, want := range map[string]int{"198.51.100.7": 200, "198.51.100.7, 192.0.2.1": 200, "203.0.113.9": 401,
			"198.51.100.7, 203.0.113.9": 401, "nonsense": 401} {
			if status, got := call(t, behindProxy(key, addr), "GET", acme+"/notes", nil); status != want {
				t.Errorf("%s: %d %v, want %d", addr, status, got, want)
			}
		}
		right := map[string]string{"email": "ed@acme.example", "password": "correct horse"}
		delayed := false
		for n := 0; n < 300 && !delayed; n++ { // names that nobody has, so that only the address is counted
			guess := map[string]string{"email": "nobody" + strings.Repeat("x", n) + "@acme.example", "password": "wrong horse"}
			if status, _ := call(t, behindProxy(w.at(acme).Browser(), "203.0.113.9"), "POST", acme+"/login", guess); status == 429 {
				status, _ = call(t, behindProxy(w.at(acme).Browser(), "203.0.113.9"), "POST", acme+"/login", right)
				delayed = status == 429 // unless the delay of a second was over
			}
		}
		if !delayed {
			t.Error("the guesser is not delayed")
		}
		mustCall(t, behindProxy(w.at(acme).Browser(), "198.51.100.7"), "POST", acme+"/login", right, 200)
	})
}

// A key is deleted with its row, by its own tenant. One of the two alone is no key.
func TestDeletingAKey(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		key, clientKey, _ := w.partner(t, map[string]any{"label": "p", "scope": []string{"object"}})
		owner := w.login(t, acme, "olga@acme.example")
		mustCall(t, w.login(t, globex, "gus@globex.example"), "DELETE", globex+"/keys/"+clientKey, nil, 404)
		mustCall(t, key, "GET", acme+"/notes", nil, 200)
		mustCall(t, owner, "DELETE", acme+"/keys/"+clientKey, nil, 200)
		mustCall(t, key, "GET", acme+"/notes", nil, 401)
		if n := one[int](t, w.db, "SELECT COUNT(*) FROM api_clients WHERE client_key = $1", clientKey); n != 0 {
			t.Error("its row is left")
		}
		mustCall(t, owner, "DELETE", acme+"/keys/"+clientKey, nil, 404)
		clientKey, _, err := w.credentials.Create(t.Context(), acmeID, signature.Credential{}) // without its row
		if err != nil {
			t.Fatal(err)
		}
		mustCall(t, owner, "DELETE", acme+"/keys/"+clientKey, nil, 404)
		if _, err := w.credentials.Credential(t.Context(), clientKey); err != nil {
			t.Errorf("half was deleted: %v", err)
		}
		mustCall(t, owner, "DELETE", acme+"/keys/"+issuer(acmeID), nil, 404)
		w.holder(t, owner, "object") // its issuer is there
	})
}

// A person is removed with everything that lets them in, or with nothing of it.
func TestRemovingAPerson(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		owner, editor := w.login(t, acme, "olga@acme.example"), w.login(t, acme, "ed@acme.example")
		held, _ := w.holder(t, editor, "object")
		id := one[string](t, w.db, "SELECT id FROM users WHERE email = 'ed@acme.example'")
		in := func(want int) {
			t.Helper()
			mustCall(t, editor, "GET", acme+"/notes", nil, want)
			mustCall(t, held, "GET", acme+"/notes", nil, want)
		}
		mustCall(t, editor, "DELETE", acme+"/people/"+id, nil, 403)
		mustCall(t, w.login(t, globex, "gus@globex.example"), "DELETE", globex+"/people/"+id, nil, 404)
		mustCall(t, owner, "DELETE", acme+"/people/nobody", nil, 404)
		in(200)
		w.exec(t, "CREATE TABLE holds (id "+map[bool]string{true: "uuid", false: "TEXT"}[w.dialect == sqlstore.PostgreSQL]+" REFERENCES users)")
		w.exec(t, "INSERT INTO holds (id) VALUES ($1)", id)
		mustCall(t, owner, "DELETE", acme+"/people/"+id, nil, 409) // a row of the application's is in the way
		in(200)
		w.exec(t, "DROP TABLE holds")
		mustCall(t, owner, "DELETE", acme+"/people/"+id, nil, 200)
		in(401)
		for _, table := range []string{"sessions WHERE account", "ledger WHERE subject"} {
			if n := one[int](t, w.db, "SELECT COUNT(*) FROM auth_v9_"+table+" = $1", id); n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
		mustCall(t, owner, "DELETE", acme+"/people/"+id, nil, 404)
	})
}

func TestTheAuthenticatorShowsTheAddress(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		made := mustCall(t, w.login(t, acme, "ed@acme.example"), "POST", acme+"/factor", nil, 200)
		uri, err := url.Parse(made["uri"].(string))
		if err != nil || uri.Path != "/Acme Notes:ed@acme.example" {
			t.Errorf("%v %v", made["uri"], err)
		}
	})
}

const edID = "aaaaaaaa-0000-4000-8000-000000000012"

// A payment writes a row and ends what the person has given to programs, in one transaction.
func TestAPaymentInOneTransaction(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		pay := func(id string, fails error) error {
			return w.together(t.Context(), func(tx *sql.Tx, in *sqlstore.In) error {
				err := change(t.Context(), tx, nil, "INSERT INTO notes (id, tenant_id, title, body) VALUES ($1, $2, 'Invoice', 'paid')", id, acmeID)
				if err == nil {
					err = in.RevokeAccount(t.Context(), acmeID, edID)
				}
				return errors.Join(err, fails)
			})
		}
		editor := w.login(t, acme, "ed@acme.example")
		held, _ := w.holder(t, editor, "object")
		other, _ := w.holder(t, w.login(t, acme, "olga@acme.example"), "object")
		const invoice = "aaaaaaaa-0000-4000-8000-000000000201"

		if err := pay(invoice, errors.New("the bank does not answer")); err == nil {
			t.Fatal("paid")
		}
		mustCall(t, held, "GET", acme+"/notes", nil, 200)
		mustCall(t, editor, "GET", acme+"/notes", nil, 200)
		if n := one[int](t, w.db, "SELECT COUNT(*) FROM notes WHERE id = $1", invoice); n != 0 {
			t.Error("a row of a payment that has failed")
		}
		if err := pay(invoice, nil); err != nil {
			t.Fatal(err)
		}
		mustCall(t, held, "GET", acme+"/notes", nil, 401)
		mustCall(t, editor, "GET", acme+"/notes", nil, 401)
		mustCall(t, other, "GET", acme+"/notes", nil, 200)

		of := token.Holder{Org: acmeID, ClientKey: issuer(acmeID), Subject: edID}
		left, _, err := w.tokens.Ledger.List(t.Context(), of, token.Position{}, 10)
		if err != nil || len(left) > 0 {
			t.Errorf("%d tokens are left, %v", len(left), err)
		}
	})
}

// A person who works for two tenants is two accounts. Each has a session, a password and a second
// factor of its own: what happens at one tenant changes nothing at the other.
func TestAPersonAtTwoTenants(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		w.exec(t, "INSERT INTO users (id, tenant_id, email, password_hash) SELECT 'bbbbbbbb-0000-4000-8000-000000000012', $1, email, password_hash FROM users WHERE email = 'ed@acme.example'", globexID)
		w.exec(t, "INSERT INTO user_roles (user_id, role) VALUES ('bbbbbbbb-0000-4000-8000-000000000012', 'reader')")
		here, there := w.login(t, acme, "ed@acme.example"), w.login(t, globex, "ed@acme.example")
		note := map[string]string{"title": "Dynamite", "body": "sold out"}
		mustCall(t, here, "POST", acme+"/notes", note, 200)
		mustCall(t, there, "POST", globex+"/notes", note, 403) // the role that it has there

		mustCall(t, w.moved(t, here, globex), "GET", globex+"/notes", nil, 401) // a switch is another login
		secret := mustCall(t, here, "POST", acme+"/factor", nil, 200)["secret"]
		mustCall(t, here, "POST", acme+"/factor/confirm", map[string]string{"code": totp(t, secret, time.Now())}, 200)
		again := map[string]string{"email": "ed@acme.example", "password": "correct horse"}
		mustCall(t, w.at(acme).Browser(), "POST", acme+"/login", again, 403)
		mustCall(t, w.at(globex).Browser(), "POST", globex+"/login", again, 200) // a factor is one tenant's

		mustCall(t, here, "POST", acme+"/logout", nil, 200)
		mustCall(t, here, "GET", acme+"/notes", nil, 401)
		mustCall(t, there, "GET", globex+"/notes", nil, 200)
		w.exec(t, "UPDATE users SET disabled = true WHERE tenant_id = $1 AND email = 'ed@acme.example'", acmeID)
		w.directory.Invalidate(acmeID)
		mustCall(t, w.at(acme).Browser(), "POST", acme+"/login", again, 401)
		mustCall(t, there, "GET", globex+"/notes", nil, 200)
	})
}

// Two instances start over one database, and both find tenants without a key pair. The first tokens
// of each are valid at both.
func TestFirstTokensOfTwoInstances(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		for _, id := range []string{acmeID, globexID} {
			if err := w.keys.Delete(t.Context(), auth.OrgKey(id), issuer(id)); err != nil {
				t.Fatal(err)
			}
		}
		instances := []*world{w, instance(t, w.source, w.key)}
		var tokens [6]token.Token
		var started sync.WaitGroup
		for i := range tokens {
			at := instances[i%len(instances)]
			editor := at.login(t, acme, "ed@acme.example")
			started.Go(func() {
				if err := at.addIssuers(t.Context()); err != nil {
					t.Error(err)
				}
				status, made := call(t, editor, "POST", acme+"/tokens", map[string]any{"scope": []string{"object.read.note"}})
				if status != 200 {
					t.Errorf("%d %v", status, made)
					return
				}
				tokens[i] = token.Token(made["token"].(string))
			})
		}
		started.Wait()
		for i, minted := range tokens {
			for n, at := range instances {
				if status, got := call(t, at.at(acme).Bearer(minted), "GET", acme+"/notes", nil); status != 200 {
					t.Errorf("token %d at instance %d: %d %v", i, n, status, got)
				}
			}
		}
	})
}

// A device of a dispatcher holds a token that only reads, and exchanges it for tokens of 15 minutes.
// The dispatcher's roles are wide. Without Guard.Ceiling the device could make nothing, because each
// token would have their chains, too.
func TestADeviceExchangesItsToken(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		exchange := body.Handle(func(_ http.ResponseWriter, r *http.Request, ask newToken) (any, error) {
			by := auth.From(r.Context())
			signed, _, err := w.tokens.Mint(r.Context(), by, auth.TenantFrom(r.Context()),
				bearer.Wish{Claims: token.Claims{Subject: by.Account, Scope: ask.Scope}})
			return map[string]string{"token": string(signed)}, err
		})
		w.mux.Handle("POST /exchange", auth.Authenticated.By(bearer.Name), exchange)
		dispatcher := w.login(t, acme, "ed@acme.example")
		device, _ := w.holder(t, dispatcher, "object.read.note")
		read := map[string]any{"scope": []string{"object.read.note"}}
		short := w.at(acme).Bearer(token.Token(mustCall(t, device, "POST", acme+"/exchange", read, 200)["token"].(string)))
		mustCall(t, short, "GET", acme+"/notes", nil, 200)
		mustCall(t, short, "POST", acme+"/notes", map[string]string{"title": "Dynamite", "body": "sold out"}, 403)
		mustCall(t, device, "POST", acme+"/exchange", map[string]any{"scope": []string{"object"}}, 403)

		mustCall(t, dispatcher, "DELETE", acme+"/tokens", nil, 200)
		mustCall(t, device, "POST", acme+"/exchange", read, 401)
		mustCall(t, short, "GET", acme+"/notes", nil, 200) // it is in no ledger, and lasts to its end
		w.ahead.Store(int64(15*time.Minute + time.Second))
		mustCall(t, short, "GET", acme+"/notes", nil, 401)
	})
}
