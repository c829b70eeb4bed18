// Quickstart is a complete server with one protected list route.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
	"github.com/tenantkit/tenantkit/signing"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8081", "listen `address`")
	flag.Parse()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	baseURL := "http://" + listener.Addr().String()
	clientKey, secret := signing.Generate()
	handler, err := newHandler(baseURL, clientKey, secret)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Try:\n\n  go run ./examples/client list -url %s/acme/v2 -key %s -secret %s /notes\n", baseURL, clientKey, string(secret))
	log.Fatal((&http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}).Serve(listener))
}

func newHandler(baseURL, clientKey string, secret signing.Secret) (http.Handler, error) {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ada", Org: "acme"})

	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		return nil, err
	}
	guard := &auth.Guard{
		BaseURL:   baseURL,
		Directory: directory,
		Mechanisms: []auth.Mechanism{&signature.Mechanism{
			Credentials: signature.Memory{clientKey: {Key: key, Account: "ada"}},
			Replays:     signing.NewMemory(1_000_000),
		}},
	}
	mux := guard.Mux() // serves /{org}/v2/…
	mux.HandleFunc("GET /notes", auth.Authenticated, listNotes)
	return mux, nil
}

type note struct {
	envelope.Item
	Text string `json:"text"`
}

func (n note) at(path string) (any, bool) {
	return map[string]string{"_id": n.ID, "object": n.Object}[path], true
}

var notes = map[string][]note{"acme": {{envelope.Item{ID: "1", Object: "note"}, "Water the plants"}, {envelope.Item{ID: "2", Object: "note"}, "Call back"}}} // by org

func listNotes(w http.ResponseWriter, r *http.Request) {
	q, err := (&paging.Schema{Object: "note"}).Parse(r.URL.RawQuery, nil) // by _id and object only
	if err != nil {
		auth.Fail(w, r, err)
		return
	}
	page, more := mempage.Page(notes[auth.From(r.Context()).Org], q, note.at)
	auth.Reply(w, r, envelope.List[note]{Data: page, HasMore: more})
}
