package signing_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

func ExampleSign() {
	fmt.Println(signing.Sign(
		"tkDemo7Qp2Lx9VbNc4Zr8W",
		"b3Jc9PZ6wLr2Yk8sVtQ1mXeDf5Hu7Ga0nBiToC4qKzRyEwMl6JvSxUpAhFdNgI2O",
		"/connections", "GET", "1790000000000"))
	// Output: 6a2734fc38f61be43c34a8cb6b67b00c3dc04262a64296c7a8b33d29c84af4d2
}

func ExampleGenerate() {
	clientKey, secret := signing.Generate()
	fmt.Println(len(clientKey), len(secret))
	fmt.Println(secret) // seal string(secret), and show it to its owner once
	// Output:
	// 22 64
	// REDACTED
}

func ExampleCommand() {
	r := httptest.NewRequest(http.MethodGet, "/acme/v2/c_names/a%2Fb/?limit=5", nil)
	fmt.Println(signing.Command(r, "/acme/v2"))
	// Output: /c_names/a%2Fb <nil>
}

func ExampleHeadersFor() {
	names := signing.HeadersFor("X-Acme-")
	fmt.Println(names.Signature)
	fmt.Println(names.Version(http.Header{"X-Acme-Client-Key": {"tkDemo7Qp2Lx9VbNc4Zr8W"}}))
	// Output:
	// X-Acme-Client-Signature
	// 0
}

// While a secret is being replaced, both the old and the new one verify.
func ExampleKey_WithFormer() {
	clientKey, former := signing.Generate()
	_, latest := signing.Generate()
	key, err := signing.NewKey(clientKey, latest)
	if err != nil {
		log.Fatal(err)
	}
	if key, err = key.WithFormer(former, time.Now().Add(24*time.Hour)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(key.ClientKey() == clientKey, len(key.Secrets()))
	// Output: true 2
}

// Credentials of another length need UnsafeKey. Read its comment first.
func ExampleUnsafeKey() {
	_, err := signing.NewKey("acme", "hunter2")
	fmt.Println(err != nil)
	key, err := signing.UnsafeKey("acme", "correct horse")
	fmt.Println(key, err)
	// Output:
	// true
	// signing.Key(acme) <nil>
}

// directory is a Keys with one key. A real one looks the key up, and keeps it as long
// as the credential is unchanged.
type directory struct{ key *signing.Key }

func (d directory) Key(_ context.Context, clientKey string) (*signing.Key, error) {
	if clientKey != d.key.ClientKey() {
		return nil, signing.ErrUnknownKey
	}
	return d.key, nil
}

func ExampleVerifier_Handler() {
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		log.Fatal(err)
	}
	verifier := &signing.Verifier{
		Keys:    directory{key},
		Replays: signing.NewMemory(100_000),
		Denied:  func(_ *http.Request, err error) { fmt.Println(err) },
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	server := httptest.NewServer(verifier.Handler(hello))
	defer server.Close()

	res, err := http.Get(server.URL + "/greeting")
	if err != nil {
		log.Fatal(err)
	}
	res.Body.Close()
	fmt.Println(res.Status)

	client := &http.Client{Transport: &signing.Transport{
		BaseURL:   server.URL,
		ClientKey: clientKey,
		Secret:    secret,
	}}
	res, err = client.Get(server.URL + "/greeting")
	if err != nil {
		log.Fatal(err)
	}
	res.Body.Close()
	fmt.Println(res.StatusCode)
	// Output:
	// signing: no signature
	// 401 Unauthorized
	// 200
}

// A server that routes by itself passes the command that it routed by to Verify.
func ExampleVerifier_Verify() {
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		log.Fatal(err)
	}
	verifier := &signing.Verifier{
		Keys:    directory{key},
		Replays: signing.NewMemory(100_000),
		Admit: func(_ context.Context, r *http.Request, k *signing.Key) error {
			if r.Host != "acme.example.com" {
				return fmt.Errorf("%w: key of another org", signing.ErrMismatch)
			}
			return nil
		},
	}

	r := httptest.NewRequest(http.MethodGet, "https://acme.example.com/v2/connections", nil)
	timestamp := fmt.Sprint(time.Now().UnixMilli())
	r.Header.Set("Service-Client-Key", clientKey)
	r.Header.Set("Service-Client-Timestamp", timestamp)
	r.Header.Set("Service-Client-Nonce", "4fT8sQz01LmNb7Yc")
	r.Header.Set("Service-Client-Signature", signing.Sign(clientKey, secret, "/connections", "GET", timestamp))

	command, err := signing.Command(r, "/v2")
	if err != nil {
		log.Fatal(err)
	}
	_, err = verifier.Verify(r.Context(), r, command)
	fmt.Println(err)
	_, err = verifier.Verify(r.Context(), r, command)
	fmt.Println(err)
	// Output:
	// <nil>
	// signing: request was accepted before
}

// A server that takes version 2 alone, from a client that keeps its private key. The
// signature covers the body too, and the handler reads it as usual.
func ExampleNewPublicKey() {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	key, err := signing.NewPublicKey("tkDemo7Qp2Lx9VbNc4Zr8W", public)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	verifier := &signing.Verifier{
		Keys:    directory{key},
		Replays: signing.NewMemory(100_000),
		Policy:  signing.Policy{Version: 2},
		BaseURL: "http://" + server.Listener.Addr().String(),
	}
	server.Config.Handler = verifier.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	server.Start()
	defer server.Close()
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // see Memory

	client := &http.Client{Transport: &signing.Transport{
		BaseURL:   verifier.BaseURL,
		ClientKey: key.ClientKey(),
		Signer:    private,
	}}
	res, err := client.Post(verifier.BaseURL+"/acme/v2/c_notes?draft=1", "application/json", strings.NewReader(`{"c_text":"hi"}`))
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	fmt.Println(res.StatusCode, string(body), err)
	// Output: 200 {"c_text":"hi"} <nil>
}

// A handler that calls Verify writes the challenge of a refusal.
func ExamplePolicy_Challenge() {
	var policy signing.Policy
	fmt.Println(policy.Challenge(nil))
	fmt.Println(policy.Challenge(signing.ErrStale))
	// Output:
	// Signature versions="1 2"
	// Signature error="stale", versions="1 2"
}

// loses loses the first answer.
type loses struct{ tries int }

func (l *loses) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.tries++; l.tries == 1 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: http.NoBody}, nil
}

// A service that knows Idempotency-Key executes both tries once.
func ExampleTransport_repeat() {
	network := &loses{}
	client := &http.Client{Transport: &signing.Transport{
		BaseURL:   "https://api.example.com/acme/v2",
		ClientKey: "tkDemo7Qp2Lx9VbNc4Zr8W",
		Secret:    "b3Jc9PZ6wLr2Yk8sVtQ1mXeDf5Hu7Ga0nBiToC4qKzRyEwMl6JvSxUpAhFdNgI2O",
		Repeat:    true,
		Base:      network,
	}}
	res, err := client.Post("https://api.example.com/acme/v2/payments", "application/json", strings.NewReader(`{"c_amount":7}`))
	if err != nil {
		log.Fatal(err)
	}
	res.Body.Close()
	fmt.Println(res.StatusCode, "after", network.tries, "tries")
	// Output: 201 after 2 tries
}

func ExampleTransport() {
	var clock signing.Clock // for all Transports of this client key
	client := &http.Client{Transport: &signing.Transport{
		Clock:     &clock,
		BaseURL:   "https://api.example.com/acme/v2",
		ClientKey: "tkDemo7Qp2Lx9VbNc4Zr8W",
		Secret:    "b3Jc9PZ6wLr2Yk8sVtQ1mXeDf5Hu7Ga0nBiToC4qKzRyEwMl6JvSxUpAhFdNgI2O",
	}}
	_, err := client.Get("https://api.example.org/acme/v2/connections")
	fmt.Println(err)
	// Output: Get "https://api.example.org/acme/v2/connections": signing: request is outside the base URL
}

// The store of one process, for 500 requests a second of all clients and 250 of any
// one. A request is remembered for 5½ minutes.
func ExampleNewMemory() {
	store := signing.NewMemory(500 * 330)
	store.PerKey = 250 * 330
	fmt.Println(store.Len())
	// Output: 0
}
