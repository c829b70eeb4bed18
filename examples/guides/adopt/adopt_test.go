package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/signing"
)

func TestWhoMayDoWhat(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		reader, editor, owner := w.login(t, acme, "rita@acme.example"), w.login(t, acme, "ed@acme.example"), w.login(t, acme, "olga@acme.example")
		read := map[string]any{"label": "p", "scope": []string{"object.read.note"}}
		narrow, clientKey, secret := w.partner(t, read)
		here, _, _ := w.partner(t, map[string]any{"label": "p", "scope": []string{"object"}, "networks": []string{"192.0.2.0/24"}})
		elsewhere, _, _ := w.partner(t, map[string]any{"label": "p", "scope": []string{"object"}, "networks": []string{"198.51.100.0/24"}})
		readToken, _ := w.holder(t, editor, "object.read.note")
		nowhere, _, _ := w.partner(t, map[string]any{"label": "p", "scope": []string{"object"}, "networks": []string{""}})
		foreign := w.moved(t, reader, globex)
		nobody := w.at(acme).Browser()

		note := map[string]string{"title": "Dynamite", "body": "sold out"}
		for _, test := range []struct {
			name         string
			client       *http.Client
			method, path string
			body         any
			want         int
		}{
			{"nobody reads nothing", nobody, "GET", acme + "/notes", nil, 401},
			{"a reader reads", reader, "GET", acme + "/notes", nil, 200},
			{"a reader's session cannot create", reader, "POST", acme + "/notes", note, 403},
			{"a reader's session cannot delete", reader, "DELETE", acme + "/notes/" + anvils, nil, 403},
			{"a reader makes no key", reader, "POST", acme + "/keys", read, 403},
			{"a reader renames nothing", reader, "POST", acme + "/rename", map[string]string{"subdomain": "rita"}, 403},
			{"a reader's token is no wider than the reader", reader, "POST", acme + "/tokens", map[string]any{"scope": []string{"object"}}, 403},
			{"a narrowed key reads", narrow, "GET", acme + "/notes", nil, 200},
			{"a narrowed key cannot create", narrow, "POST", acme + "/notes", note, 403},
			{"a narrowed key cannot delete", narrow, "DELETE", acme + "/notes/" + anvils, nil, 403},
			{"a key makes no key", here, "POST", acme + "/keys", read, 403},
			{"a key makes no token", here, "POST", acme + "/tokens", map[string]any{"scope": []string{}}, 403},
			{"a key of this network", here, "POST", acme + "/notes", note, 200},
			{"a key of another network", elsewhere, "GET", acme + "/notes", nil, 401},
			{"a key of no network", nowhere, "GET", acme + "/notes", nil, 401},
			{"a key at another tenant", w.at(globex).Signed(clientKey, secret), "GET", globex + "/notes", nil, 401},
			{"a session at another tenant", foreign, "GET", globex + "/notes", nil, 401},
			{"a token reads", readToken, "GET", acme + "/notes", nil, 200},
			{"a token is limited to its scope", readToken, "POST", acme + "/notes", note, 403},
			{"a token makes no token", readToken, "POST", acme + "/tokens", map[string]any{"scope": []string{}}, 403},
			{"another tenant's note", editor, "DELETE", acme + "/notes/" + doomsday, nil, 404},
			{"an id that is no UUID", editor, "DELETE", acme + "/notes/5b0000000000000000000001", nil, 404},
			{"an id that is nothing", editor, "DELETE", acme + "/notes/anvils", nil, 404},
			{"a tenant that is unknown", nobody, "GET", "https://none.example.test/v1/notes", nil, 404},
			{"a host that is none of ours", nobody, "GET", "https://acme.example.org/v1/notes", nil, 404},
			{"a host without the domain", nobody, "GET", "https://acme/v1/notes", nil, 404},
			{"a version that is not served", nobody, "GET", "https://acme.example.test/v2/notes", nil, 400},
			{"a key beyond what scopes are", owner, "POST", acme + "/keys", map[string]any{"label": "p", "scope": []string{"objekt"}}, 400},
			{"a key without a scope", owner, "POST", acme + "/keys", map[string]any{"label": "p"}, 400},
			{"an editor ends no key", editor, "DELETE", acme + "/keys/" + clientKey, nil, 403},
			{"the owner of another tenant ends no key", w.login(t, globex, "gus@globex.example"), "DELETE", globex + "/keys/" + clientKey, nil, 404},
			{"the issuer of tokens is no partner", owner, "DELETE", acme + "/keys/" + issuer(acmeID), nil, 404},
			{"a key that nobody ended", narrow, "GET", acme + "/notes", nil, 200},
			{"an owner ends a key", owner, "DELETE", acme + "/keys/" + clientKey, nil, 200},
			{"a key that has ended", narrow, "GET", acme + "/notes", nil, 401},
			{"an editor deletes", editor, "DELETE", acme + "/notes/" + anvils, nil, 200},
			{"a note is deleted once", editor, "DELETE", acme + "/notes/" + anvils, nil, 404},
			{"tokens are revoked", editor, "DELETE", acme + "/tokens", nil, 200},
			{"a revoked token", readToken, "GET", acme + "/notes", nil, 401},
			{"a person logs out", editor, "POST", acme + "/logout", nil, 200},
			{"a session that has ended", editor, "GET", acme + "/notes", nil, 401},
		} {
			if status, got := call(t, test.client, test.method, test.path, test.body); status != test.want {
				t.Errorf("%s: %d %v, want %d", test.name, status, got, test.want)
			}
		}
		if n := one[int](t, w.db, "SELECT COUNT(*) FROM notes WHERE id = $1", doomsday); n != 1 {
			t.Error("another tenant's note is gone")
		}
	})
}

func TestRename(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		const renamed = "https://acme-labs.example.test/v1"
		owner := w.login(t, acme, "olga@acme.example")
		enrolled := mustCall(t, owner, "POST", acme+"/factor", nil, 200)
		secret := enrolled["secret"]
		mustCall(t, owner, "POST", acme+"/factor/confirm", map[string]string{"code": totp(t, secret, time.Now())}, 200)
		_, minted := w.holder(t, owner, "object.read")
		made := mustCall(t, owner, "POST", acme+"/keys", map[string]any{"label": "p", "scope": []string{"object.read"}}, 200)
		clientKey, keySecret := made["clientKey"].(string), signing.Secret(made["secret"].(string))

		mustCall(t, owner, "POST", acme+"/rename", map[string]string{"subdomain": "globex"}, 409)
		mustCall(t, owner, "POST", acme+"/rename", map[string]string{"subdomain": "Acme Labs"}, 400)
		mustCall(t, owner, "POST", acme+"/rename", map[string]string{"subdomain": "acme-labs"}, 200)

		// What partners and phones have saved goes on under the former name.
		mustCall(t, owner, "GET", acme+"/notes", nil, 200)
		mustCall(t, w.at(acme).Signed(clientKey, keySecret), "GET", acme+"/notes", nil, 200)
		mustCall(t, w.at(acme).Bearer(minted), "GET", acme+"/notes", nil, 200)
		// Version 2 counts whole seconds. A new store rejects what was signed in its first one.
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		for _, url := range []string{acme, renamed} {
			second := &signing.Transport{BaseURL: url, ClientKey: clientKey, Secret: keySecret, Version: 2, Header: "Acme-", Base: w.at(url).Browser().Transport}
			mustCall(t, &http.Client{Transport: second}, "GET", url+"/notes", nil, 200)
		}

		mustCall(t, w.moved(t, owner, renamed), "GET", renamed+"/notes", nil, 200)
		mustCall(t, w.at(renamed).Signed(clientKey, keySecret), "GET", renamed+"/notes", nil, 200)
		mustCall(t, w.at(renamed).Bearer(minted), "GET", renamed+"/notes", nil, 200)

		again := map[string]string{"email": "olga@acme.example", "password": "correct horse"}
		got := mustCall(t, w.at(renamed).Browser(), "POST", renamed+"/login", again, 403)
		if got["errCode"] != "acme.accessDenied.unverifiedLocation" {
			t.Errorf("the second factor is gone: %v", got)
		}
		again["code"] = totp(t, secret, time.Now().Add(30*time.Second))
		mustCall(t, w.at(renamed).Browser(), "POST", renamed+"/login", again, 200)

		// Another tenant takes the name that has become free. Nothing of acme is valid there.
		gus := w.login(t, globex, "gus@globex.example")
		mustCall(t, gus, "POST", globex+"/rename", map[string]string{"subdomain": "acme"}, 200)
		mustCall(t, w.moved(t, owner, renamed), "GET", renamed+"/notes", nil, 200)
		mustCall(t, w.at(renamed).Bearer(minted), "GET", renamed+"/notes", nil, 200)
		mustCall(t, owner, "GET", acme+"/notes", nil, 401)
		mustCall(t, w.at(acme).Signed(clientKey, keySecret), "GET", acme+"/notes", nil, 401)
		mustCall(t, w.at(acme).Bearer(minted), "GET", acme+"/notes", nil, 401)
	})
}

func TestOldPasswords(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		const query = "SELECT password_hash FROM users WHERE email = 'ed@acme.example'"
		ask := map[string]string{"email": " Ed@Acme.example", "password": "wrong horse"}
		mustCall(t, w.at(acme).Browser(), "POST", acme+"/login", ask, 401)
		if hash := one[string](t, w.db, query); !strings.HasPrefix(hash, "$2a$") {
			t.Errorf("a wrong password changed the hash: %s", hash)
		}
		ask["password"] = "correct horse"
		for range 2 {
			mustCall(t, w.at(acme).Browser(), "POST", acme+"/login", ask, 200)
			if hash := one[string](t, w.db, query); !strings.HasPrefix(hash, "$pbkdf2-sha256$") {
				t.Errorf("the hash is still %s", hash)
			}
		}
		mustCall(t, w.at(globex).Browser(), "POST", globex+"/login", ask, 401) // the same name, at another tenant
		editor := w.login(t, acme, "ed@acme.example")
		w.exec(t, "UPDATE users SET disabled = true WHERE email = 'ed@acme.example'")
		w.directory.Invalidate(acmeID)
		mustCall(t, editor, "GET", acme+"/notes", nil, 401)
	})
}

// The hashes of the demo have the cost that the service gives to session.Migrating.
func TestDemoPasswords(t *testing.T) {
	hashes := regexp.MustCompile(`\$2a\$[^']*`).FindAllString(demo, -1)
	for _, hash := range hashes {
		cost, err := bcrypt.Cost([]byte(hash))
		if ok, _ := (oldHasher{}).Verify(hash, "correct horse"); !ok || err != nil || cost != bcrypt.DefaultCost {
			t.Errorf("%s: %v, cost %d %v", hash, ok, cost, err)
		}
	}
	if len(hashes) != 4 {
		t.Errorf("%d hashes", len(hashes))
	}
}

func TestRemembered(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		for _, remember := range []bool{false, true} {
			ask := fmt.Sprintf(`{"email":"ed@acme.example","password":"correct horse","remember":%v}`, remember)
			reply, err := w.at(acme).Browser().Post(acme+"/login", "application/json", strings.NewReader(ask))
			if err != nil {
				t.Fatal(err)
			}
			reply.Body.Close()
			i := slices.IndexFunc(reply.Cookies(), func(c *http.Cookie) bool { return c.Name == "__Host-session-"+acmeID })
			if i < 0 || reply.Cookies()[i].MaxAge > 29*24*60*60 != remember {
				t.Errorf("remember %v: %v", remember, reply.Cookies())
			}
		}
	})
}

// A session that was left signed in makes nothing that lasts.
func TestMakingNeedsARecentPassword(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		owner := w.login(t, acme, "olga@acme.example")
		w.ahead.Store(int64(11 * time.Minute))
		for path, body := range map[string]any{
			"/factor": nil,
			"/tokens": map[string]any{"scope": []string{"object"}},
			"/keys":   map[string]any{"label": "p", "scope": []string{"object"}},
			"/rename": map[string]string{"subdomain": "mine"},
		} {
			got := mustCall(t, owner, "POST", acme+path, body, 403)
			if got["errCode"] != "acme.accessDenied.reauthenticationRequired" {
				t.Errorf("%s: %v", path, got)
			}
		}
		mustCall(t, owner, "GET", acme+"/notes", nil, 200)
	})
}

// Whoever loses a role loses it everywhere: in sessions, in keys that act for the person, and in tokens.
func TestRolesAreRead(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		note := map[string]string{"title": "Dynamite", "body": "sold out"}
		owner := w.login(t, acme, "olga@acme.example")
		wide, _, _ := w.partner(t, map[string]any{"label": "p", "scope": []string{"object"}})
		held, _ := w.holder(t, owner, "object")
		for _, client := range []*http.Client{owner, wide, held} {
			mustCall(t, client, "POST", acme+"/notes", note, 200)
		}
		w.exec(t, "UPDATE user_roles SET role = 'reader' WHERE role = 'owner'")
		w.directory.Invalidate(acmeID)
		mustCall(t, owner, "POST", acme+"/notes", note, 403)
		mustCall(t, wide, "POST", acme+"/notes", note, 403)
		mustCall(t, wide, "GET", acme+"/notes", nil, 200)

		// Whoever changes roles sets the time, too: a token keeps its scope.
		w.exec(t, "UPDATE users SET changed = $1", time.Now().UnixMilli())
		w.directory.Invalidate(acmeID)
		mustCall(t, held, "GET", acme+"/notes", nil, 401)
		mustCall(t, owner, "GET", acme+"/notes", nil, 401)
	})
}

func TestDatabaseIsDown(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		mustCall(t, w.at(globex).Browser(), "GET", globex+"/notes", nil, 401)
		w.db.Close()
		got := mustCall(t, w.at(acme).Browser(), "GET", acme+"/notes", nil, 503)
		if got["errCode"] != "acme.error.storeUnavailable" {
			t.Error(got)
		}
	})
}

func TestClientsOfPartners(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		_, clientKey, secret := w.partner(t, map[string]any{"label": "p", "scope": []string{"object"}})
		server := httptest.NewServer(w.mux)
		defer server.Close()
		send := func(method, command string, alter func(http.Header)) int {
			r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/v1"+command, strings.NewReader(`{"title":"Rockets","body":"by hand"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "acme.example.test"
			r.Header.Set("Content-Type", "application/json")
			signByHand(r, command, clientKey, string(secret))
			alter(r.Header)
			reply, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			reply.Body.Close()
			if reply.Header.Get("Acme-Server-Time") == "" || reply.Header.Get("Service-Server-Time") != "" {
				t.Errorf("headers of the reply: %v", reply.Header)
			}
			return reply.StatusCode
		}
		asSigned := func(http.Header) {}
		renamed := func(h http.Header) {
			for name := range h {
				if rest, ok := strings.CutPrefix(name, "Acme-"); ok {
					h.Set("Service-"+rest, h.Get(name))
					h.Del(name)
				}
			}
		}
		for _, test := range []struct {
			name, method string
			alter        func(http.Header)
			want         int
		}{
			{"signed by hand", "POST", asSigned, 200},
			{"signed by hand, for a list", "GET", asSigned, 200},
			{"the standard prefix is no credential", "POST", renamed, 401},
			{"another signature", "POST", func(h http.Header) { h.Set("Acme-Client-Signature", strings.Repeat("0", 64)) }, 401},
			{"half of the headers", "POST", func(h http.Header) { h.Del("Acme-Client-Nonce") }, 400},
		} {
			if got := send(test.method, "/notes", test.alter); got != test.want {
				t.Errorf("%s: %d, want %d", test.name, got, test.want)
			}
		}
	})
}

func TestPages(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		reader := w.login(t, acme, "rita@acme.example")
		for query, want := range map[string]string{
			"":                         "Anvils Birdseed Catapults",
			`sort={"title":-1}`:        "Catapults Birdseed Anvils",
			"sort=title&limit=2":       "Anvils Birdseed …",
			"limit=2&skip=2":           "Catapults",
			`where={"title":"Anvils"}`: "Anvils",
			`where={"title":{"$gt":"Anvils"}}&limit=1`: "Birdseed …",
			`where={"_id":"` + doomsday + `"}`:         "",
			`where={"_id":"no UUID"}`:                  "",
		} {
			values, err := url.ParseQuery(query + "&paths[]=title")
			if err != nil {
				t.Fatal(err)
			}
			got := mustCall(t, reader, "GET", acme+"/notes?"+values.Encode(), nil, 200)
			var titles []string
			for _, item := range got["data"].([]any) {
				titles = append(titles, item.(map[string]any)["title"].(string))
			}
			if got["hasMore"] == true {
				titles = append(titles, "…")
			}
			if all := strings.Join(titles, " "); all != want {
				t.Errorf("%s: %s, want %s", query, all, want)
			}
		}
		mustCall(t, reader, "GET", acme+"/notes?where="+url.QueryEscape(`{"tenant":"x"}`), nil, 400)
		mustCall(t, reader, "GET", acme+"/notes?status=open", nil, 400)

		oneTitle, _ := w.holder(t, reader, "object.read.note."+anvils+".title")
		mustCall(t, oneTitle, "GET", acme+"/notes?where="+url.QueryEscape(`{"title":"Birdseed"}`), nil, 400)
		got := mustCall(t, oneTitle, "GET", acme+"/notes?paths[]=title&paths[]=body", nil, 200)
		want := []any{map[string]any{"_id": anvils, "object": "note", "title": "Anvils"}}
		if diff := cmp.Diff(want, got["data"]); diff != "" {
			t.Error(diff)
		}
	})
}

// A page after a cursor reads a range of an index.
func TestPagesUseTheIndex(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		q := paging.Query{Where: paging.Gt("_id", anvils), Limit: 2}
		text, args, err := sqlpage.Statement(q, notes.Table(), sqlpage.RowScope{Tenant: acmeID, AllIDs: true}, w.dialect)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := w.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		explain, last := "EXPLAIN QUERY PLAN ", 4
		if w.dialect == sqlpage.PostgreSQL {
			explain, last = "EXPLAIN ", 1
			if _, err := conn.ExecContext(t.Context(), "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off"); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := conn.QueryContext(t.Context(), explain+text, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var plan string
		for rows.Next() {
			var detail, unused string
			columns := []any{&unused, &unused, &unused, &detail}
			if err := rows.Scan(columns[4-last:]...); err != nil {
				t.Fatal(err)
			}
			plan += detail + "\n"
		}
		if !strings.Contains(plan, "notes_tenant_id__id") || strings.Contains(plan, "Sort") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s", plan)
		}
	})
}

// A new tenant gets an issuer. Another start of the service changes none.
func TestIssuers(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		const initech = "cccccccc-0000-4000-8000-000000000001"
		w.exec(t, "INSERT INTO tenants (id, subdomain) VALUES ($1, 'initech')", initech)
		var ids []string
		for range 2 {
			if err := w.addIssuers(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, tenant := range []string{acmeID, globexID, initech} {
				pair, err := w.keys.Signer(t.Context(), issuer(tenant))
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, pair.KeyID)
			}
		}
		if !slices.Equal(ids[:3], ids[3:]) || ids[0] != pairs()[0].KeyID {
			t.Error(ids)
		}
	})
}

// A text that is no UUID must not read as a failure of the database.
func TestAccountsThatAreNoUUID(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		for _, id := range []string{"", "ann", "urn:uuid:" + anvils, "{" + anvils + "}", strings.ToUpper(anvils)} {
			if _, err := w.service.directory.Account(t.Context(), acmeID, id); !auth.IsNotFound(err) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}

func TestNoRouteIsOpen(t *testing.T) {
	w := newWorld(t, t.TempDir()+"/adopt.db")
	authtest.CheckRoutes(t, w.mux, acme, w.mux.Routes())
}
