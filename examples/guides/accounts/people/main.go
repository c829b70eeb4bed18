// People is a server of two companies, between which a person walks. It shows invitations, remembered
// devices, and acting for somebody.
//
//	go run ./examples/guides/accounts/people
//	curl -c jar -d login=ann@example.com -d password='correct horse' http://localhost:8080/acme/v2/login
//	curl -b jar -c jar -d org=globex http://localhost:8080/acme/v2/enter
//	curl -b jar http://localhost:8080/globex/v2/me
//
// The guide accounts.md explains the routes. Everything is in memory, and mails go to the terminal.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

func main() {
	listen := flag.String("listen", "localhost:8080", "`address` to listen on")
	flag.Parse()
	key := make([]byte, 32)
	rand.Read(key) // never fails; from your secrets, the same on all instances
	server := New("http://"+*listen, demo(session.PBKDF2{}), session.NewDeviceKey(key), func(_ context.Context, address, text string) error {
		_, err := fmt.Printf("To: %s\n\n%s\n", address, text)
		return err
	})
	log.Printf("ann@example.com has the password %q, at http://%s/acme/v2", demoPassword, *listen)
	log.Fatal((&http.Server{Addr: *listen, Handler: server, ReadHeaderTimeout: 10 * time.Second}).ListenAndServe())
}

const demoPassword = "correct horse"

// demo returns a table with two companies. ann administers acme, and is a member of globex.
func demo(hasher session.Hasher) *Table {
	t := new(Table)
	t.PutOrg(auth.Org{Code: "acme"})
	t.PutOrg(auth.Org{Code: "globex", Session: auth.SessionPolicy{
		EnterWith:     []string{session.MethodPassword}, // a code is proved here again
		EndWithOrigin: true,
	}})
	for _, org := range []auth.OrgKey{"acme", "globex"} {
		t.PutRole(org, auth.Role{Name: "administrator", Scope: []string{"admin", "object"}})
		t.PutRole(org, auth.Role{Name: "member", Scope: []string{"object"}})
	}
	encoded, err := hasher.Hash(demoPassword)
	if err != nil {
		panic(err) // the password is a constant
	}
	t.Add(auth.Account{ID: "ann", Org: "acme", Person: "p1", Roles: []string{"administrator"}}, "ann@example.com", encoded)
	t.Add(auth.Account{ID: "7", Org: "globex", Person: "p1", Roles: []string{"member"}}, "ann@example.com", encoded)
	t.Add(auth.Account{ID: "bob", Org: "acme", Roles: []string{"member"}}, "bob@example.com", encoded)
	t.Add(auth.Account{ID: "root", Org: "globex", Roles: []string{"administrator"}}, "root@example.com", encoded)
	return t
}
