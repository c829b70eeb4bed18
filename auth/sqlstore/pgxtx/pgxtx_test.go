package pgxtx_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/auth/sqlstore/pgxtx"
)

// An application that uses pgxpool removes a person. internal/enginetest runs the adapter.
func Example() {
	var (
		pool  *pgxpool.Pool
		store *sqlstore.Store
	)
	remove := func(r *http.Request, org auth.OrgKey, person string) error {
		ctx := r.Context()
		tx, err := pool.Begin(ctx)
		if err != nil {
			return auth.Unavailable(err)
		}
		defer tx.Rollback(context.WithoutCancel(ctx))
		if _, err := tx.Exec(ctx, `DELETE FROM people WHERE org = $1 AND id = $2`, string(org), person); err != nil {
			return auth.Unavailable(err)
		}
		in, err := store.In(ctx, pgxtx.Of(tx))
		if err != nil {
			return err
		}
		if err := in.DeleteAccount(ctx, org, person); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	fmt.Println(remove != nil)
	// Output: true
}
