package authtest

import (
	"net/http"
	"net/http/httptest"

	"github.com/tenantkit/tenantkit/signing"
)

// Client returns a client that signs its requests to a test server as clientKey. The mount is the
// part of the path before the signed command: "/acme/v2".
func Client(server *httptest.Server, mount, clientKey string, secret signing.Secret) *http.Client {
	client := server.Client()
	return &http.Client{
		Transport: &signing.Transport{
			BaseURL:   server.URL + mount,
			ClientKey: clientKey,
			Secret:    secret,
			Base:      client.Transport,
		},
		CheckRedirect: client.CheckRedirect,
		Timeout:       client.Timeout,
	}
}
