package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
	"github.com/tenantkit/tenantkit/signing"
)

// Example runs the program against a server whose pages hold two notes.
func Example() {
	clientKey, secret := signing.Generate()
	server := httptest.NewServer(newHandler(clientKey, secret))
	defer server.Close()
	os.Setenv("BASE_URL", server.URL+"/acme/v2")
	os.Setenv("CLIENT_KEY", clientKey)
	os.Setenv("CLIENT_SECRET", string(secret))
	main()
	// Output:
	// 1 note 1
	// 2 note 2
	// 3 note 3
	// 4 note 4
	// 5 note 5
}

// TestScript sends the same requests without the library.
func TestScript(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	clientKey, secret := signing.Generate()
	server := httptest.NewServer(newHandler(clientKey, secret))
	defer server.Close()
	script := exec.CommandContext(t.Context(), "sh", "list.sh")
	script.Env = append(os.Environ(), "BASE_URL="+server.URL+"/acme/v2", "CLIENT_KEY="+clientKey, "CLIENT_SECRET="+string(secret))
	out, err := script.CombinedOutput()
	const want = `{"object":"list","data":[{"_id":"1","object":"note","text":"note 1"},{"_id":"2","object":"note","text":"note 2"}],"hasMore":true}`
	if err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}

func newHandler(clientKey string, secret signing.Secret) http.Handler {
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		panic(err)
	}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ada", Org: "acme"})
	guard := &auth.Guard{
		Roles:     auth.RolesLimit,
		BaseURL:   "https://api.example.com",
		Directory: directory,
		Mechanisms: []auth.Mechanism{&signature.Mechanism{
			Credentials: signature.Memory{clientKey: {Key: key, Account: "ada"}},
			Replays:     signing.NewMemory(0),
		}},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Authenticated, listNotes)
	return mux
}

var schema = paging.Schema{Object: "note", Properties: []paging.Property{{Path: "text"}}, Default: 2}

func listNotes(w http.ResponseWriter, r *http.Request) {
	q, err := schema.Parse(r.URL.RawQuery, func(string) bool { return true })
	if err != nil {
		auth.Fail(w, r, err)
		return
	}
	var notes []note
	for i := range 5 {
		id := fmt.Sprint(i + 1)
		notes = append(notes, note{envelope.Item{ID: id, Object: "note"}, "note " + id})
	}
	page, more := mempage.Page(notes, q, func(n note, path string) (any, bool) {
		return map[string]string{"_id": n.ID, "object": n.Object}[path], true
	})
	auth.Reply(w, r, envelope.List[note]{Data: page, HasMore: more})
}
