// Replay accepts each signed request once.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tenantkit/tenantkit/signing"
)

type partner struct{ key *signing.Key } // the only one; the verifier compares its id

func (p partner) Key(context.Context, string) (*signing.Key, error) { return p.key, nil }

func main() {
	id, secret := signing.Generate()
	key, _ := signing.NewKey(id, secret)
	door := &signing.Verifier{Keys: partner{key}, Replays: signing.NewMemory(1000), Policy: signing.Policy{SingleUse: true}}
	pay := door.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }))
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for range 2 { // somebody captures the request, and sends it again
			response := httptest.NewRecorder()
			pay.ServeHTTP(response, r)
			fmt.Println(response.Code)
		}
	}))
	client := http.Client{Transport: &signing.Transport{BaseURL: server.URL, ClientKey: id, Secret: secret}}
	_, _ = client.Post(server.URL+"/pay", "", nil)
}

// It prints:
// 201
// 401
