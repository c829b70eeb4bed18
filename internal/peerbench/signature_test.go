package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsv4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-github/v75/github"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stripe/stripe-go/v82/webhook"

	"github.com/tenantkit/tenantkit/signing"
)

const (
	clientKey = "tkDemo7Qp2Lx9VbNc4Zr8W"
	secret    = "b3Jc9PZ6wLr2Yk8sVtQ1mXeDf5Hu7Ga0nBiToC4qKzRyEwMl6JvSxUpAhFdNgI2O"
	other     = "c3Jc9PZ6wLr2Yk8sVtQ1mXeDf5Hu7Ga0nBiToC4qKzRyEwMl6JvSxUpAhFdNgI2O"
	command   = "/connections"
)

var errRefused = errors.New("refused")

func TestSignature(t *testing.T)      { check(t, "Signature", signatures(t)) }
func BenchmarkSignature(b *testing.B) { race(b, signatures(b)) }

// signedInput is a message with a signature, which each peer of the row gets in its own
// form.
type signedInput struct {
	secret  string // that signs it
	at      time.Time
	altered bool // change the message after signing
	flipped bool // change a digit of the signature
	nonce   string
}

func signatures(t testing.TB) []contender {
	honest := signedInput{secret: secret, at: time.Now(), nonce: "Abcdefgh12345678"}
	with := func(change func(*signedInput)) signedInput {
		in := honest
		change(&in)
		return in
	}
	bad := map[string]signedInput{
		"another secret":           with(func(in *signedInput) { in.secret = other }),
		"altered after signing":    with(func(in *signedInput) { in.altered = true }),
		"one digit of the MAC":     with(func(in *signedInput) { in.flipped = true }),
		"signed an hour ago":       with(func(in *signedInput) { in.at = in.at.Add(-time.Hour) }),
		"a nonce of another shape": with(func(in *signedInput) { in.nonce = "short" }),
	}
	of := func(name string, verifier func(testing.TB, signedInput) func() error) contender {
		c := contender{name: name, good: verifier(t, honest), bad: map[string]func() error{}}
		for name, in := range bad {
			c.bad[name] = verifier(t, in)
		}
		return c
	}
	return []contender{
		{name: "HMAC", good: floorHMAC()},
		of(ours, signedRequest),
		of("tenantkit verify", signedCommand),
		of("go-github signature", gitHubSignature),
		of("go-github request", gitHubRequest),
		of("stripe-go webhook", stripeWebhook),
		of("standard-webhooks", standardWebhook),
		of("aws v4", awsAgain),
	}
}

func floorHMAC() func() error {
	type keyed struct {
		hash hash.Hash
		sum  [32]byte
	}
	pool := sync.Pool{New: func() any { return &keyed{hash: hmac.New(sha256.New, []byte(clientKey+secret))} }}
	message := []byte(signedInput{at: time.Now()}.message())
	return func() error {
		k := pool.Get().(*keyed)
		k.hash.Reset()
		k.hash.Write(message)
		k.hash.Sum(k.sum[:0])
		pool.Put(k)
		return nil
	}
}

func (in signedInput) timestamp() string { return strconv.FormatInt(in.at.UnixMilli(), 10) }
func (in signedInput) message() string   { return command + ";GET;" + in.timestamp() }

// received returns the message as the verifier sees it.
func (in signedInput) received() string {
	if in.altered {
		return strings.Replace(in.message(), "connections", "connectionz", 1)
	}
	return in.message()
}

// sent returns the signature as the verifier sees it.
func (in signedInput) sent(signature string) string {
	if !in.flipped {
		return signature
	}
	digit := byte('0')
	if signature[len(signature)-2] == digit {
		digit = '1'
	}
	return signature[:len(signature)-2] + string(digit) + signature[len(signature)-1:]
}

// anyUse is a store that forgets at once.
type anyUse struct{}

func (anyUse) Claim(context.Context, signing.Use) error { return nil }

type oneKey struct{ key *signing.Key }

func (k oneKey) Key(context.Context, string) (*signing.Key, error) { return k.key, nil }

func newKey(t testing.TB) *signing.Key {
	key, err := signing.NewKey(clientKey, signing.Secret(secret))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signedRequest cuts the path to the signed part, as a server must.
func signedRequest(t testing.TB, in signedInput) func() error {
	v, r := newSigned(t, in)
	return func() error {
		signed, err := signing.Command(r, "")
		if err != nil {
			return err
		}
		_, err = v.Verify(r.Context(), r, signed)
		return err
	}
}

// signedCommand gets the cut path.
func signedCommand(t testing.TB, in signedInput) func() error {
	v, r := newSigned(t, in)
	signed := r.URL.Path
	return func() error {
		_, err := v.Verify(r.Context(), r, signed)
		return err
	}
}

// newSigned returns a received request and its verifier.
func newSigned(t testing.TB, in signedInput) (*signing.Verifier, *http.Request) {
	v := &signing.Verifier{Keys: oneKey{newKey(t)}, Replays: anyUse{}}
	names := signing.HeadersFor("")
	path, _, _ := strings.Cut(in.received(), ";")
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header = http.Header{
		names.ClientKey: {clientKey},
		names.Signature: {in.sent(signing.Sign(clientKey, signing.Secret(in.secret), command, "GET", in.timestamp()))},
		names.Timestamp: {in.timestamp()},
		names.Nonce:     {in.nonce},
	}
	return v, r
}

func gitHubHeader(in signedInput) string {
	mac := hmac.New(sha256.New, []byte(in.secret))
	mac.Write([]byte(in.message()))
	return "sha256=" + in.sent(hex.EncodeToString(mac.Sum(nil)))
}

func gitHubSignature(_ testing.TB, in signedInput) func() error {
	header, payload, key := gitHubHeader(in), []byte(in.received()), []byte(secret)
	return func() error { return github.ValidateSignature(header, payload, key) }
}

func gitHubRequest(_ testing.TB, in signedInput) func() error {
	body := bytes.NewReader([]byte(in.received()))
	r := httptest.NewRequest(http.MethodPost, command, body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(github.SHA256SignatureHeader, gitHubHeader(in))
	r.Body = io.NopCloser(body)
	key := []byte(secret)
	return func() error {
		body.Seek(0, io.SeekStart)
		_, err := github.ValidatePayload(r, key)
		return err
	}
}

func stripeWebhook(_ testing.TB, in signedInput) func() error {
	p := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload: []byte(in.message()), Secret: in.secret, Timestamp: in.at,
	})
	payload, header := []byte(in.received()), in.sent(p.Header)
	return func() error { return webhook.ValidatePayload(payload, header, secret) }
}

func standardWebhook(t testing.TB, in signedInput) func() error {
	signer, err := standardwebhooks.NewWebhookRaw([]byte(in.secret))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signer.Sign("msg_1", in.at, []byte(in.message()))
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := standardwebhooks.NewWebhookRaw([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	header.Set(standardwebhooks.HeaderWebhookID, "msg_1")
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(in.at.Unix(), 10))
	// Change the digit before the last two, because base64 ends with padding.
	header.Set(standardwebhooks.HeaderWebhookSignature, in.sent(signature[:len(signature)-1])+signature[len(signature)-1:])
	payload := []byte(in.received())
	return func() error { return verifier.Verify(payload, header) }
}

// awsAgain signs the received request again, because the package has no verifier. The
// client has its own signer, because a signer caches derived keys.
func awsAgain(t testing.TB, in signedInput) func() error {
	const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	sign := func(signer *awsv4.Signer, r *http.Request, secret string) error {
		id := aws.Credentials{AccessKeyID: clientKey, SecretAccessKey: secret}
		return signer.SignHTTP(context.Background(), id, r, emptyHash, "execute-api", "eu-central-1", in.at)
	}
	request := func(path string) *http.Request {
		return httptest.NewRequest(http.MethodGet, "https://api.example.com"+path, nil)
	}
	first := request(command)
	if err := sign(awsv4.NewSigner(), first, in.secret); err != nil {
		t.Fatal(err)
	}
	sent := []byte(in.sent(first.Header.Get("Authorization")))
	path, _, _ := strings.Cut(in.received(), ";")
	r, signer := request(path), awsv4.NewSigner()
	return func() error {
		if err := sign(signer, r, secret); err != nil {
			return err
		}
		if !hmac.Equal([]byte(r.Header.Get("Authorization")), sent) {
			return errRefused
		}
		return nil
	}
}
