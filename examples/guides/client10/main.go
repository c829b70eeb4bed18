// Client10 prints every note of an org. It signs its requests and asks for one page
// after the other. BASE_URL is a URL such as https://api.example.com/acme/v2.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
	"github.com/tenantkit/tenantkit/signing"
)

type note struct {
	envelope.Item
	Text string `json:"text"`
}

func main() {
	base, key, secret := os.Getenv("BASE_URL"), os.Getenv("CLIENT_KEY"), signing.Secret(os.Getenv("CLIENT_SECRET"))
	client := &http.Client{Transport: &signing.Transport{BaseURL: base, ClientKey: key, Secret: secret}}
	notes := walk.List[note]{Client: client, URL: base + "/notes", Query: paging.Query{Paths: []string{"text"}}}
	for n, err := range notes.All(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n.ID, n.Text)
	}
}
