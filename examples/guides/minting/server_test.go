package minting_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/examples/guides/minting"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// world has the account ann and the administrator root, and a client that signs for
// each.
type world struct {
	authtest.Clients
	clients map[string]*http.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{clients: map[string]*http.Client{}}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutRole("acme", auth.Role{Name: "administrator", Scope: []string{"*"}})
	directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read"}})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
	directory.PutAccount(auth.Account{ID: "root", Org: "acme", Roles: []string{"administrator"}})
	credentials := signature.Memory{}
	var keys token.MemoryKeys
	tokens := &bearer.Mechanism{Keys: &keys, Signers: &keys}
	guard := &auth.Guard{
		Roles:     auth.RolesLimit,
		BaseURL:   "https://api.example.com",
		Directory: directory,
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{Credentials: credentials, Replays: signing.NewMemory(0)},
			tokens,
		},
	}
	mux := guard.Mux()
	minting.Register(mux, tokens)
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(http.ResponseWriter, *http.Request) {})
	w.Clients = authtest.Clients{Handler: mux, URL: "https://api.example.com/acme/v2", Guard: guard}

	for _, account := range []string{"ann", "root"} {
		clientKey, secret := signing.Generate()
		key, err := signing.NewKey(clientKey, secret)
		if err != nil {
			t.Fatal(err)
		}
		directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
		credentials[clientKey] = &signature.Credential{Key: key, Account: account}
		if _, err := keys.Generate(t.Context(), "acme", clientKey); err != nil {
			t.Fatal(err)
		}
		w.clients[account] = w.Signed(clientKey, secret)
	}
	return w
}

func mint(t *testing.T, w *world, client *http.Client, body string) (status int, reply []byte) {
	t.Helper()
	r, err := client.Post(w.URL+"/tokens", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	reply, err = io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, reply
}

// holder returns a client that presents a token.
func (w *world) holder(t *testing.T, reply []byte) *http.Client {
	t.Helper()
	var minted envelope.Result[string]
	if err := envelope.Decode(bytes.NewReader(reply), 1<<20, &minted); err != nil {
		t.Fatal(err)
	}
	return w.Bearer(token.Token(minted.Data))
}

func TestMint(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		name, account, body string
		status              int
		want                string
	}{
		{"for oneself", "ann", `{"subject":"ann","scope":["object.read.c_note"]}`, 200, ""},
		{"for somebody else", "ann", `{"subject":"root","scope":[]}`, 403, auth.DetailDelegation},
		{"for somebody else by an administrator", "root", `{"subject":"ann","scope":["object.read"]}`, 200, ""},
		{"for nobody", "root", `{"subject":"bob","scope":[]}`, 404, auth.DetailNotFound},
		{"a scope that does not parse", "ann", `{"subject":"ann","scope":["object.reed"]}`, 400, auth.DetailInvalidScope},
		{"no JSON", "ann", `subject=ann`, 400, auth.DetailBody},
		{"a body without an end", "ann", strings.Repeat(" ", 65<<10), 413, auth.DetailTooLarge},
	} {
		status, reply := mint(t, w, w.clients[test.account], test.body)
		if status != test.status || !strings.Contains(string(reply), test.want) {
			t.Errorf("%s: %d %s", test.name, status, reply)
		}
	}
}

func TestTokenIsNarrow(t *testing.T) {
	w := newWorld(t)
	_, reply := mint(t, w, w.clients["ann"], `{"subject":"ann","scope":["object.read.c_note"]}`)
	holder := w.holder(t, reply)
	notes, err := holder.Get(w.URL + "/notes")
	if err != nil {
		t.Fatal(err)
	}
	notes.Body.Close()
	if notes.StatusCode != 200 {
		t.Errorf("notes: %d", notes.StatusCode)
	}
	for scope, want := range map[string]int{"object": 403, "object.read.c_note.5b0000000000000000000001": 200} {
		body, err := json.Marshal(map[string]any{"subject": "ann", "scope": []string{scope}})
		if err != nil {
			t.Fatal(err)
		}
		if status, reply := mint(t, w, holder, string(body)); status != want {
			t.Errorf("a token for %s, by the token: %d %s, want %d", scope, status, reply, want)
		}
	}
}
