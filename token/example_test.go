package token_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

const environment = "https://api.example.com/acme/v2"

func Example() {
	ctx := context.Background()
	var keys token.MemoryKeys
	if _, err := keys.Generate(ctx, "acme", "notes-app"); err != nil {
		log.Fatal(err)
	}

	minter := token.Minter{Signers: &keys}
	minted, _, err := minter.Ephemeral(ctx, token.Claims{
		Issuer: "notes-app", Subject: "account-1", Audience: environment,
		Scope: []string{"object.read.c_note"},
	}, time.Hour)
	if err != nil {
		log.Fatal(err)
	}

	verifier := token.Verifier{Keys: &keys, Cache: &token.Cache{}}
	verified, err := verifier.Verify(ctx, string(minted), token.Expect{Org: "acme", Audience: environment})
	if err != nil {
		log.Fatal(err)
	}
	set, _ := verified.Scope()
	fmt.Println(minted, "is of", verified.Subject())
	fmt.Println("read a note:", set.Allows(scope.Object(scope.Read, "c_note", "", "")))
	fmt.Println("delete one: ", set.Allows(scope.Object(scope.Delete, "c_note", "", "")))
	// Output:
	// REDACTED is of account-1
	// read a note: true
	// delete one:  false
}

func ExampleMinter_Permanent() {
	ctx := context.Background()
	var keys token.MemoryKeys
	ledger := token.NewMemoryLedger(nil)
	if _, err := keys.Generate(ctx, "acme", "notes-app"); err != nil {
		log.Fatal(err)
	}
	minter := token.Minter{Signers: &keys, Ledger: ledger}
	verifier := token.Verifier{Keys: &keys, Ledger: ledger}

	minted, claims, err := minter.Permanent(ctx, token.Claims{
		Issuer: "notes-app", Subject: "account-1", Audience: environment, Scope: []string{"*"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("scope on the wire: %q\n", claims.Scope)
	if err := ledger.Revoke(ctx, token.Holder{Org: "acme", ClientKey: claims.Issuer, Subject: token.Any}, claims.ID); err != nil {
		log.Fatal(err)
	}
	_, err = verifier.Verify(ctx, string(minted), token.Expect{Org: "acme", Audience: environment})
	fmt.Println(errors.Is(err, token.ErrRevoked))
	// Output:
	// scope on the wire: [""]
	// true
}

func ExampleMinter_Limited() {
	ctx := context.Background()
	var keys token.MemoryKeys
	ledger := token.NewMemoryLedger(nil)
	if _, err := keys.Generate(ctx, "acme", "notes-app"); err != nil {
		log.Fatal(err)
	}
	minter := token.Minter{Signers: &keys, Ledger: ledger}
	minted, _, err := minter.Limited(ctx, token.Claims{
		Issuer: "notes-app", Subject: "account-1", Audience: environment, MaxUses: 1,
		Extra: map[string]json.RawMessage{"invitation": json.RawMessage(`17`)},
	})
	if err != nil {
		log.Fatal(err)
	}
	verifier := token.Verifier{Keys: &keys, Ledger: ledger}
	for range 2 {
		verified, err := verifier.Verify(ctx, string(minted), token.Expect{Org: "acme", Audience: environment})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("invitation", string(verified.Claims().Extra["invitation"]))
	}
	// Output:
	// invitation 17
	// token: invalid: every use is spent
}

func ExampleVerifier_Verify() {
	ctx := context.Background()
	var keys token.MemoryKeys
	disabled := errors.New("account is disabled")
	verifier := token.Verifier{
		Keys:  token.Cached(&keys, 2*time.Second),
		Cache: &token.Cache{Bytes: 256 << 20},
	}
	_, err := verifier.Verify(ctx, "not.a.token", token.Expect{
		Org: "acme", Audience: environment,
		Admit: func(_ context.Context, t *token.Verified) error {
			if t.Subject() == "account-2" {
				return disabled
			}
			return nil
		},
	})
	switch {
	case err == nil:
		fmt.Println("200")
	case errors.Is(err, token.ErrExpired):
		fmt.Println("401, get a new one")
	case errors.Is(err, token.ErrInvalid), errors.Is(err, disabled):
		fmt.Println("401")
	default:
		fmt.Println("503")
	}
	// Output:
	// 401
}

func ExampleCached() {
	ctx := context.Background()
	var store token.MemoryKeys // a service keeps its keys in a database
	first, err := store.Generate(ctx, "acme", "notes-app")
	if err != nil {
		log.Fatal(err)
	}
	keys := token.Cached(&store, 2*time.Second)
	if _, err := keys.Public(ctx, first.KeyID); err != nil {
		log.Fatal(err)
	}

	if _, err := store.Generate(ctx, "acme", "notes-app"); err != nil {
		log.Fatal(err)
	}
	keys.Invalidate("notes-app") // takes effect at once here, and within 2 seconds in other processes
	_, err = keys.Public(ctx, first.KeyID)
	fmt.Println(errors.Is(err, token.ErrNotFound))
	// Output:
	// true
}

func ExampleGeneratePair() {
	var keys token.MemoryKeys
	pair, err := token.GeneratePair(3072)
	if err != nil {
		log.Fatal(err)
	}
	pair.ClientKey, pair.Org = "notes-app", "acme"
	if err := keys.Put(context.Background(), pair); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pair, pair.Key.N.BitLen(), len(pair.KeyID))
	// Output:
	// REDACTED 3072 43
}

func ExampleNewPair() {
	// Any crypto.Signer can be used, such as a key that never leaves its KMS.
	signer, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		log.Fatal(err)
	}
	pair, err := token.NewPair(signer)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pair.Key.Equal(signer.Public()), len(pair.KeyID))
	// Output:
	// true 43
}

func ExampleParsePairPEM() {
	_, err := token.ParsePairPEM([]byte("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"))
	fmt.Println(errors.Is(err, token.ErrBadKey))
	// Output:
	// true
}

func ExampleJWKSet() {
	var keys token.MemoryKeys
	exposed, err := keys.Exposed(context.Background(), "acme")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", token.JWKSet(exposed))
	// Output:
	// {"object":"list","data":[],"hasMore":false,"keys":[]}
}

func ExamplePEM() {
	pair, err := token.GeneratePair(2048)
	if err != nil {
		log.Fatal(err)
	}
	pair.ClientKey = "notes-app"
	text := token.PEM([]token.PublicKey{pair.PublicKey})
	fmt.Printf("%s", text[:len("# app: notes-app\n")])
	block, _ := pem.Decode(text)
	fmt.Println(block.Type)
	// Output:
	// # app: notes-app
	// PUBLIC KEY
}

// Several instances start at once, and each needs the app's key pair.
func ExampleMemoryKeys_Ensure() {
	var keys token.MemoryKeys
	// Each instance ensures the pair at its start. All have the same, and no token ends.
	for range 2 {
		public, err := keys.Ensure(context.Background(), "acme", "notes-app")
		if err != nil {
			panic(err)
		}
		pair, err := keys.Signer(context.Background(), "notes-app")
		fmt.Println(pair.KeyID == public.KeyID, err)
	}
	// Output:
	// true <nil>
	// true <nil>
}

// A former key verifies until the stated end, and then its tokens end with it.
func ExampleMemoryKeys_Rotate() {
	ctx := context.Background()
	var keys token.MemoryKeys
	former, err := keys.Generate(ctx, "acme", "notes-app")
	if err != nil {
		panic(err)
	}
	present, err := keys.Rotate(ctx, "acme", "notes-app", 7*24*time.Hour)
	if err != nil {
		panic(err)
	}
	public, err := keys.Public(ctx, former.KeyID)
	fmt.Println(present.Ends.IsZero(), public.Ends.IsZero(), err)

	// After a leak: all tokens end at once.
	if _, err := keys.Generate(ctx, "acme", "notes-app"); err != nil {
		panic(err)
	}
	_, err = keys.Public(ctx, former.KeyID)
	fmt.Println(err)
	// Output:
	// true false <nil>
	// token: not found
}

// A store of your own refuses an overlap before it changes anything.
func ExampleCheckOverlap() {
	fmt.Println(token.CheckOverlap(24 * time.Hour))
	fmt.Println(token.CheckOverlap(0))
	// Output:
	// <nil>
	// token: an overlap lasts from 1 second to 30 days; for none, use Generate
}

func ExampleRecord_Holder() {
	record := token.Record{ID: "an-id", Org: "acme", ClientKey: "notes-app", Subject: "jane"}
	fmt.Println(record.Holder())
	// Output: {acme notes-app jane}
}

// A page of the tokens of an app begins after a position, such as that of a record that the
// caller has seen. Records goes on to the end.
func ExampleRecords() {
	ctx, ledger := context.Background(), token.NewMemoryLedger(nil)
	for i, subject := range []string{"ann", "bob", "ann"} {
		r := token.Record{ID: fmt.Sprint("id", i), Org: "acme", ClientKey: "app", Subject: subject, KeyID: "key", Issued: time.Unix(1767323045+int64(i), 0)}
		if err := ledger.Issue(ctx, r, nil, 10); err != nil {
			log.Fatal(err)
		}
	}
	app := token.Holder{Org: "acme", ClientKey: "app", Subject: token.Any}
	for r, err := range token.Records(ctx, ledger, app) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.ID, "of", r.Subject)
	}
	seen := token.Position{Issued: time.Unix(1767323045, 0), ID: "id0"}
	page, next, err := ledger.List(ctx, app, seen, 1)
	fmt.Println(page[0].ID, next.IsZero(), err)
	// Output:
	// id0 of ann
	// id1 of bob
	// id2 of ann
	// id1 false <nil>
}

func ExampleTransport() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.Path, r.Header.Get("Authorization"))
	}))
	defer server.Close()

	client := &http.Client{Transport: &token.Transport{
		BaseURL: server.URL + "/acme/v2",
		Token:   token.Token("header.payload.signature"),
	}}
	res, err := client.Get(server.URL + "/acme/v2/connections")
	if err != nil {
		log.Fatal(err)
	}
	res.Body.Close()
	_, err = client.Get(server.URL + "/elsewhere")
	fmt.Println(errors.Is(err, token.ErrOutside))
	// Output:
	// /acme/v2/connections Bearer header.payload.signature
	// true
}

// Another service verifies tokens by the keys that the server publishes for an org.
func ExamplePublishedKeys() {
	ctx, keys := context.Background(), new(token.MemoryKeys)
	key, err := keys.Generate(ctx, "acme", "acmeKey000000000000001")
	if err != nil {
		log.Fatal(err)
	}
	published := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(token.PEM([]token.PublicKey{*key})) }))
	defer published.Close()
	minter := token.Minter{Signers: keys}
	raw, _, err := minter.Ephemeral(ctx, token.Claims{
		Issuer: "acmeKey000000000000001", Subject: "ann", Audience: "https://api.example.com/acme/v2", Scope: []string{"object.read"},
	}, 0)
	if err != nil {
		log.Fatal(err)
	}

	verifier := token.Verifier{
		Keys: &token.PublishedKeys{
			URL:  published.URL + "/acme/v2/auth/certs/pem",
			Base: published.Client().Transport, // only here: the server's certificate is one for tests
		},
		Cache: new(token.Cache),
	}
	verified, err := verifier.Verify(ctx, string(raw), token.Expect{Audience: "https://api.example.com/acme/v2"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verified.Subject())
	// Output: ann
}
