// Partner reads a path of an org with golang.org/x/oauth2, and knows nothing of this
// library. BASE_URL is a URL such as https://api.example.com/acme/v2.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

func main() {
	base := os.Getenv("BASE_URL")
	config := clientcredentials.Config{
		ClientID:     os.Getenv("CLIENT_KEY"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		TokenURL:     base + "/oauth/token",
		AuthStyle:    oauth2.AuthStyleInHeader,           // otherwise it tries another style, too, and hides the first error
		Scopes:       strings.Fields(os.Getenv("SCOPE")), // none: everything the credential may do
	}
	client := config.Client(context.Background()) // gets tokens, and new ones in time
	reply, err := client.Get(base + os.Getenv("REQUEST"))
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Body.Close()
	if _, err := io.Copy(os.Stdout, reply.Body); err != nil {
		log.Fatal(err)
	}
	if reply.StatusCode != 200 {
		os.Exit(1)
	}
}
