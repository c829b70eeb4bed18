package main

import (
	"context"
	"database/sql"
	"net/http"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// passwords are in the table of users.
type passwords struct{ db *sql.DB }

// Password implements session.PasswordStore.
func (p passwords) Password(ctx context.Context, org auth.OrgKey, login string) (account, encoded string, err error) {
	row := p.db.QueryRowContext(ctx, `SELECT id, password_hash FROM users WHERE tenant_id = $1 AND email = $2`,
		org, strings.ToLower(strings.TrimSpace(login)))
	_, err = found(&account, row.Scan(&account, &encoded))
	return account, encoded, err
}

// Rehash implements session.Rehasher: a login replaces an old hash.
func (p passwords) Rehash(ctx context.Context, org auth.OrgKey, account, old, encoded string) error {
	_, err := p.db.ExecContext(ctx, `UPDATE users SET password_hash = $4 WHERE tenant_id = $1 AND id = $2 AND password_hash = $3`,
		org, account, old, encoded)
	return err
}

// oldHasher made the hashes that the table has. session.Migrating lets it verify them.
type oldHasher struct{ cost int }

func (h oldHasher) Hash(password string) (string, error) {
	encoded, err := bcrypt.GenerateFromPassword([]byte(password), h.cost)
	return string(encoded), err
}

func (oldHasher) Verify(encoded, password string) (ok, rehash bool) {
	return bcrypt.CompareHashAndPassword([]byte(encoded), []byte(password)) == nil, false
}

type self struct {
	Account string   `json:"account"`
	Roles   []string `json:"roles"`
}

type credentials struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Code     string `json:"code,omitempty"` // of the second factor
	Remember bool   `json:"remember,omitempty"`
}

func (s *service) login(w http.ResponseWriter, r *http.Request, ask credentials) (any, error) {
	p, err := s.sessions.Login(w, r, session.LoginForm{Login: ask.Email, Password: ask.Password, Code: ask.Code, Remember: ask.Remember})
	return self{p.Account, p.Roles}, err
}

func (s *service) logout(w http.ResponseWriter, r *http.Request) (any, error) {
	return struct{}{}, s.sessions.Logout(w, r)
}

// enrol and confirm set up a second factor.
func (s *service) enrol(_ http.ResponseWriter, r *http.Request) (any, error) {
	e, err := s.sessions.Factors().Enrol(r)
	if err != nil {
		return nil, err
	}
	var email string // which the authenticator shows: the account is a UUID
	err = s.db.QueryRowContext(r.Context(), `SELECT email FROM users WHERE id = $1`, e.Account).Scan(&email)
	return map[string]string{"secret": e.Base32(), "uri": s.sessions.Factors().OTPAuth("Acme Notes", email, e.Secret)}, sqlError(err)
}

type code struct {
	Code string `json:"code"`
}

func (s *service) confirm(w http.ResponseWriter, r *http.Request, ask code) (any, error) {
	codes, err := s.sessions.Factors().Confirm(w, r, ask.Code)
	return map[string][]string{"recovery": codes}, err
}
