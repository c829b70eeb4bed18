// Package coming continues a service whose passwords are of bcrypt, and whose
// sessions were kept by scs.
package coming

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// Bcrypt is the Hasher of the passwords that are there. Cost is that of most of them.
type Bcrypt struct{ Cost int }

// Hash implements session.Hasher. Only Migrating calls it: new passwords are encoded by
// another Hasher.
func (b Bcrypt) Hash(password string) (string, error) {
	encoded, err := bcrypt.GenerateFromPassword([]byte(password), b.Cost)
	return string(encoded), err
}

// Verify implements session.Hasher.
func (Bcrypt) Verify(encoded, password string) (ok, rehash bool) {
	return bcrypt.CompareHashAndPassword([]byte(encoded), []byte(password)) == nil, false
}

// NewManager returns a Manager that verifies the passwords of both kinds. A login
// replaces one of bcrypt, because Users is a session.Rehasher.
func NewManager(users *Users, memory *session.Memory) *session.Manager {
	return &session.Manager{
		Store:         memory.Sessions(),
		Attempts:      memory.Attempts(),
		PasswordStore: users,
		Hasher:        session.Migrating(Bcrypt{Cost: bcrypt.DefaultCost}, session.PBKDF2{}),
	}
}

// Policy keeps people signed in as the service did before.
func Policy() auth.SessionPolicy {
	return auth.SessionPolicy{
		Max:          24 * time.Hour,      // Lifetime
		Idle:         2 * time.Hour,       // IdleTimeout
		Persistent:   true,                // Cookie.Persist
		RememberIdle: 30 * 24 * time.Hour, // RememberMe, for those who ask
	}
}

// Login signs a person in. The form has a box to be remembered.
func Login(sessions *session.Manager) http.HandlerFunc {
	return body.None(func(w http.ResponseWriter, r *http.Request) (envelope.Result[bool], error) {
		_, err := sessions.Login(w, r, session.LoginForm{
			Login:    r.PostFormValue("email"),
			Password: r.PostFormValue("password"),
			Code:     r.PostFormValue("code"),
			Remember: r.PostFormValue("remember") == "on",
		})
		return envelope.Result[bool]{Data: true}, err
	})
}

// Old is the part of *scs.SessionManager that TakeOver needs.
type Old interface {
	GetString(ctx context.Context, key string) string
	Destroy(ctx context.Context) error
}

// TakeOver changes a session of scs into one of the Manager. It stands behind scs's
// LoadAndSave, on a route that is auth.Public, with POST.
func TakeOver(sessions *session.Manager, old Old) http.HandlerFunc {
	return body.None(func(w http.ResponseWriter, r *http.Request) (done envelope.Result[bool], err error) {
		if err := sessions.SameOrigin(r); err != nil {
			return done, err
		}
		account := old.GetString(r.Context(), "user")
		// The old session does not say when the person logged in: not lately.
		proof := session.Proof{At: time.Now().Add(-time.Hour), Methods: []string{session.MethodPassword}}
		// First, so that the old session cannot open a second one.
		if err := old.Destroy(r.Context()); err != nil {
			return done, auth.Unavailable(err)
		}
		_, err = sessions.Start(w, r, account, proof)
		return envelope.Result[bool]{Data: true}, err
	})
}
