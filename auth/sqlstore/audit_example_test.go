package sqlstore_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log"

	"github.com/tenantkit/tenantkit/auth/audit"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

// Each verb of a Store with Options.Audit leaves an entry. A signed head goes to a place that the database does
// not reach, here the log.
func ExampleStore_Audit() {
	checkpoint := func(ctx context.Context, store *sqlstore.Store, key ed25519.PrivateKey) error {
		heads, err := store.Audit().Heads(ctx)
		for _, head := range heads {
			log.Print(head.Sign(key))
		}
		return err
	}
	verify := func(ctx context.Context, store *sqlstore.Store, newest string) error {
		head, _, err := audit.ReadCheckpoint(newest)
		if err != nil {
			return err
		}
		return store.Audit().Verify(ctx, head.Org, head)
	}
	fmt.Println(checkpoint != nil, verify != nil)
	// Output: true true
}
