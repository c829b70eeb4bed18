package signing_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// A verifier calls Claim with each request whose signature is right.
func ExampleNewMemory() {
	replays := signing.NewMemory(100_000)
	replays.PerKey = 20_000 // instead of 10,000

	now := time.Now()
	use := signing.Use{
		ClientKey: "acmeClientKey000000001",
		Nonce:     "8fPqL2mZ0aYx4RtK",
		Signature: [32]byte{0xc0, 0xff, 0xee},
		Signed:    now,
		Seen:      now,
		Keep:      now.Add(6 * time.Minute),
	}
	fmt.Println(replays.Claim(context.Background(), use))
	err := replays.Claim(context.Background(), use)
	fmt.Println(errors.Is(err, signing.ErrReplayed), replays.Len())
	// Output:
	// <nil>
	// true 1
}

// Any store with a conditional write will do, here one in memory. With Redis,
// the function is one command: SET key value NX GET PXAT keep.
func ExampleSetOnce() {
	var mu sync.Mutex
	values := make(map[string]string)
	replays := signing.SetOnce(func(_ context.Context, key, value string, keep time.Time) (string, bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if prior, ok := values[key]; ok {
			return prior, false, nil
		}
		values[key] = value // until keep at least
		return "", true, nil
	})

	now := time.Now()
	use := signing.Use{
		ClientKey: "acmeClientKey000000001",
		Nonce:     "8fPqL2mZ0aYx4RtK",
		Signature: [32]byte{0xc0, 0xff, 0xee},
		Signed:    now,
		Seen:      now,
		Keep:      now.Add(6 * time.Minute),
		Siblings:  2,
		Window:    2 * time.Second,
	}
	fmt.Println("first:", replays.Claim(context.Background(), use))
	fmt.Println("again:", replays.Claim(context.Background(), use))
	use.Nonce = "Q7wE5rT1yU9iO3pA"
	fmt.Println("sibling:", replays.Claim(context.Background(), use))
	use.Nonce = "Z6xC4vB2nM8kJ0hG"
	fmt.Println("third:", replays.Claim(context.Background(), use))
	// Output:
	// first: <nil>
	// again: signing: request was accepted before
	// sibling: <nil>
	// third: signing: request was accepted before
}
