package token_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/token"
)

func TestNothingIsFetched(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var dials atomic.Int32
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			c.Close()
		}
	}()
	dial := func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, errors.New("no dialling")
	}
	resolver, transport := net.DefaultResolver, http.DefaultTransport
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: dial}
	http.DefaultTransport = &http.Transport{DialContext: dial}
	defer func() { net.DefaultResolver, http.DefaultTransport = resolver, transport }()

	w := newWorld(t)
	url := "http://" + listener.Addr().String() + "/keys"
	key := `{"kty":"RSA","n":"` + b64(rsaKeys[2]().N.Bytes()) + `","e":"AQAB","kid":"` + kid(t, 2) + `"}`
	for name, member := range map[string]string{
		"T04 jku":             `"jku":"` + url + `"`,
		"T04 x5u":             `"x5u":"` + url + `"`,
		"T04 jku by name":     `"jku":"http://keys.example.com/keys"`,
		"T04 jwk":             `"jwk":` + key,
		"T04 x5c":             `"x5c":["` + b64([]byte("certificate")) + `"]`,
		"T04 x5t":             `"x5t#S256":"` + kid(t, 2) + `"`,
		"T04 jku with crit":   `"jku":"` + url + `","crit":["jku"]`,
		"T04 jwk with no kid": `"jwk":{}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, k := range []int{0, 2} {
				head := `{"alg":"RS256","kid":"` + kid(t, k) + `",` + member + `}`
				refused(t, w, forge(t, k, head, payload(t, w.claims())), token.ErrInvalid)
			}
		})
	}
	t.Run("claims that are addresses", func(t *testing.T) {
		accepted(t, w, w.token(t, "jku", url, "jwks_uri", url, "x", map[string]string{"$ref": url}))
		refused(t, w, w.token(t, "iss", url), token.ErrInvalid)
	})
	if n := dials.Load(); n != 0 {
		t.Errorf("%d dials, want none", n)
	}
}
