package sqltenants

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/token"
)

// OpenStore opens the tables of the library, beside the existing ones. The key is
// 32 random bytes, the same for all instances. Keep it apart from the database and
// its backups.
func OpenStore(ctx context.Context, db *sql.DB, key []byte) (*sqlstore.Store, error) {
	sealer, err := sqlstore.NewSealer(key)
	if err != nil {
		return nil, err
	}
	// The error says which setting of the engine to change, and how.
	return sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{Sealer: sealer})
}

// NewHandler serves the users of every company. Any number of instances may run
// over one database, because no process keeps data that the others need. Each
// instance caches look-ups. So a disabled user, a revoked client or a replaced key
// pair is refused after 2 s at most.
func NewHandler(db *sql.DB, store *sqlstore.Store, baseURL string) (http.Handler, error) {
	credentials, err := store.Credentials()
	if err != nil {
		return nil, err
	}
	keys, err := store.Keys()
	if err != nil {
		return nil, err
	}
	guard := &auth.Guard{
		Roles:     auth.RolesLimit,
		BaseURL:   baseURL,
		Directory: auth.Cached(Directory{db}, 2*time.Second),
		Timeout:   5 * time.Second, // a claim or a spent use waits until a disk has written
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{Credentials: credentials, Replays: store.Replays()},
			&bearer.Mechanism{
				Keys:   token.Cached(keys, 2*time.Second),
				Ledger: store.Ledger(),
				Cache:  &token.Cache{},
			},
		},
	}
	mux := guard.Mux()
	mux.Handle("GET /users", auth.Some("object.read.user"), auth.PartHandler(users{&sqlpage.Pages{DB: db, Dialect: sqlpage.SQLite}}.list))
	return mux, nil
}
