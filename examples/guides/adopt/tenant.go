package main

import (
	"context"
	"database/sql"
	"net/http"
	"net/netip"
	"regexp"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

var subdomain = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

type newName struct {
	Subdomain string `json:"subdomain"`
}

// rename gives the tenant another subdomain. Second factors, sessions, keys and tokens stay. The
// former one goes on to be served until another tenant takes it.
func (s *service) rename(_ http.ResponseWriter, r *http.Request, ask newName) (any, error) {
	if !subdomain.MatchString(ask.Subdomain) {
		return nil, &auth.Error{Detail: auth.DetailBody, Path: "subdomain"}
	}
	org := auth.From(r.Context()).Org
	tx, err := s.db.BeginTx(r.Context(), nil)
	if err != nil {
		return nil, sqlError(err)
	}
	defer tx.Rollback()
	err = change(r.Context(), tx, auth.ErrNotFound, `
		INSERT INTO former_subdomains (tenant_id, subdomain) SELECT id, subdomain FROM tenants WHERE id = $1
		ON CONFLICT (subdomain) DO UPDATE SET tenant_id = excluded.tenant_id`, org)
	if err != nil {
		return nil, err
	}
	// The column is unique: a subdomain that is taken is 409.
	if err := change(r.Context(), tx, auth.ErrNotFound, `UPDATE tenants SET subdomain = $2 WHERE id = $1`, org, ask.Subdomain); err != nil {
		return nil, err
	}
	defer s.directory.Invalidate(org) // also after an error: the outcome is then unknown
	// The tenant that was served under the name so far is cached under it, too.
	if before, err := s.directory.Org(r.Context(), ask.Subdomain); err == nil {
		defer s.directory.Invalidate(before.Key())
	}
	return ask, sqlError(tx.Commit())
}

type newKey struct {
	Label    string         `json:"label"`
	Scope    []string       `json:"scope"` // required: a key without a scope has no limit of its own
	Networks []netip.Prefix `json:"networks,omitempty"`
}

// createKey makes a signing key for a partner. It acts as its maker, and may do no more than scope.
func (s *service) createKey(_ http.ResponseWriter, r *http.Request, ask newKey) (any, error) {
	by := auth.From(r.Context())
	credential := signature.Credential{Account: by.Account, Scope: ask.Scope, Networks: ask.Networks}
	if err := signature.Within(by, auth.TenantFrom(r.Context()), "", nil, credential); err != nil {
		return nil, err
	}
	var clientKey string
	var secret signing.Secret
	err := s.together(r.Context(), func(tx *sql.Tx, in *sqlstore.In) error {
		credentials, err := in.Credentials()
		if err == nil {
			clientKey, secret, err = credentials.Create(r.Context(), by.Org, credential)
		}
		if err != nil {
			return err
		}
		return change(r.Context(), tx, nil, `INSERT INTO api_clients (client_key, tenant_id, label) VALUES ($1, $2, $3)`, clientKey, by.Org, ask.Label)
	})
	return map[string]string{"clientKey": clientKey, "secret": string(secret)}, err
}

// together runs f in one transaction with the library's tables. A person or a key is in both, or in
// neither.
func (s *service) together(ctx context.Context, f func(*sql.Tx, *sqlstore.In) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return sqlError(err)
	}
	defer tx.Rollback()
	in, err := s.store.In(ctx, tx)
	if err == nil {
		err = f(tx, in)
	}
	if err != nil {
		return err
	}
	return sqlError(tx.Commit())
}

// deleteKey deletes a partner's key.
func (s *service) deleteKey(_ http.ResponseWriter, r *http.Request) (any, error) {
	org, clientKey := auth.From(r.Context()).Org, r.PathValue("key")
	if clientKey == issuer(string(org)) {
		return nil, auth.ErrNotFound
	}
	defer s.directory.Invalidate(org)
	return struct{}{}, s.together(r.Context(), func(tx *sql.Tx, in *sqlstore.In) error {
		credentials, err := in.Credentials()
		if err == nil {
			err = credentials.Delete(r.Context(), org, clientKey) // not found also for a key of another tenant
		}
		if err != nil {
			return err
		}
		return change(r.Context(), tx, auth.ErrNotFound, `DELETE FROM api_clients WHERE client_key = $1 AND tenant_id = $2`, clientKey, org)
	})
}

// removePerson deletes a person with their sessions, tokens, keys and second factor.
func (s *service) removePerson(_ http.ResponseWriter, r *http.Request) (any, error) {
	org, id := auth.From(r.Context()).Org, r.PathValue("id")
	if !isUUID(id) {
		return nil, auth.ErrNotFound
	}
	defer s.directory.Invalidate(org)
	return struct{}{}, s.together(r.Context(), func(tx *sql.Tx, in *sqlstore.In) error {
		const rolesOf = `DELETE FROM user_roles WHERE user_id IN (SELECT id FROM users WHERE id = $1 AND tenant_id = $2)`
		if err := change(r.Context(), tx, nil, rolesOf, id, org); err != nil {
			return err
		}
		if err := change(r.Context(), tx, auth.ErrNotFound, `DELETE FROM users WHERE id = $1 AND tenant_id = $2`, id, org); err != nil {
			return err
		}
		return in.DeleteAccount(r.Context(), org, id)
	})
}

type newToken struct {
	Scope []string `json:"scope"`
}

// createToken makes a token with which its maker's own programs call, for 90 days.
func (s *service) createToken(_ http.ResponseWriter, r *http.Request, ask newToken) (any, error) {
	by := auth.From(r.Context())
	signed, claims, err := s.tokens.Mint(r.Context(), by, auth.TenantFrom(r.Context()), bearer.Wish{
		Claims:    token.Claims{Issuer: issuer(string(by.Org)), Subject: by.Account, Scope: ask.Scope, Expires: time.Now().AddDate(0, 0, 90)},
		Permanent: true,
	})
	return map[string]string{"token": string(signed), "id": claims.ID}, err
}

// revokeTokens ends all tokens of the caller.
func (s *service) revokeTokens(_ http.ResponseWriter, r *http.Request) (any, error) {
	by := auth.From(r.Context())
	_, err := s.tokens.RevokeSubject(r.Context(), token.Holder{Org: by.Org, ClientKey: token.Any, Subject: by.Account})
	return struct{}{}, err
}

// issuer is the API client of a tenant whose key pair signs the tokens of people.
func issuer(tenant string) string { return "tokens." + tenant }

// addIssuers gives each tenant an issuer that has none.
func (s *service) addIssuers(ctx context.Context) error {
	err := s.change(ctx, nil, `INSERT INTO api_clients (client_key, tenant_id, label)
		SELECT 'tokens.' || id, id, 'tokens' FROM tenants WHERE true ON CONFLICT DO NOTHING`)
	if err != nil {
		return err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT id FROM tenants`)
	tenants, err := collect(rows, err, func(id *string) []any { return []any{id} })
	for _, id := range tenants {
		if _, err = s.keys.Ensure(ctx, auth.OrgKey(id), issuer(id)); err != nil {
			return err
		}
	}
	return err
}
