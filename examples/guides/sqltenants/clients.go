package sqltenants

import (
	"context"
	"database/sql"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
)

// Clients creates API clients, for administrators.
type Clients struct {
	DB          *sql.DB
	Credentials *sqlstore.Credentials
	Keys        *sqlstore.Keys
}

// Create creates an API client of a company. The client acts as one of the
// company's users, and can issue tokens. The secret is shown only here.
func (c Clients) Create(ctx context.Context, company auth.OrgKey, label, user string) (clientKey string, secret signing.Secret, err error) {
	clientKey, secret, err = c.Credentials.Create(ctx, company, signature.Credential{Account: user})
	if err != nil {
		return "", "", err
	}
	if _, err := c.Keys.Generate(ctx, company, clientKey); err != nil {
		return "", "", err
	}
	// Last: a client that is not in the table is unknown, whatever else it has.
	_, err = c.DB.ExecContext(ctx, "INSERT INTO api_clients (client_key, company, label) VALUES ($1, $2, $3)",
		clientKey, company, label)
	if err != nil {
		return "", "", err
	}
	return clientKey, secret, nil
}
