// Package cors lets a browser app of another origin call a server behind a Guard
// with a session cookie.
//
// Two separate rules apply. CORS decides which pages may read the replies. It is a
// middleware outside the Guard, because a preflight carries no credential.
// Manager.CrossOrigin decides which pages may send requests that change something.
// The session mechanism checks it. Both rules name the same origin.
//
// The session cookie is SameSite=Lax. A browser sends it only if app and server are
// of one site, as app.example.com and api.example.com are. An app of another site
// signs its users in elsewhere and sends bearer tokens. It needs only the
// middleware, without Allow-Credentials.
//
// The Guard's faults have Cross-Origin-Resource-Policy: same-origin, so that pages
// of other origins cannot embed them as an image or a script. A page that this
// middleware allows is not affected, because fetch uses CORS. If other pages embed
// replies, set another policy in a middleware outside the Guard. The Guard does not
// replace it.
//
// A GET from an untrusted page is executed, and only its reply is kept from the
// page. So no GET may change anything.
package cors

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// allowOrigin lets the pages of one origin call next and read its replies, refusals
// included. It compares the whole origin: a prefix or a suffix would match other
// hosts.
func allowOrigin(origin string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin") // for caches, whatever the origin
		if r.Header.Get("Origin") != origin {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		// A page with a wrong clock needs the server's time. A page that signs also
		// sends Service-Client-Signature, -Timestamp and -Nonce.
		h.Set("Access-Control-Expose-Headers", "Service-Server-Time, WWW-Authenticate, Retry-After")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Service-Client-Key")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}

// NewHandler serves login and a note to pages of its own origin and of the origin
// app.
func NewHandler(baseURL, app string, directory auth.Directory, passwords session.PasswordStore) (http.Handler, error) {
	trusted := http.NewCrossOriginProtection()
	if err := trusted.AddTrustedOrigin(app); err != nil {
		return nil, err
	}
	memory := new(session.Memory)
	sessions := &session.Manager{
		Store:         memory.Sessions(),
		Attempts:      memory.Attempts(),
		PasswordStore: passwords,
		CrossOrigin:   trusted,
	}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    baseURL,
		Directory:  directory,
		Mechanisms: []auth.Mechanism{sessions},
	}
	mux := guard.Mux()
	mux.Handle("POST /login", auth.Public, body.Handle(func(w http.ResponseWriter, r *http.Request, ask login) (envelope.Result[string], error) {
		p, err := sessions.Login(w, r, session.LoginForm{Login: ask.Login, Password: ask.Password})
		return envelope.Result[string]{Data: p.Account}, err
	}))
	mux.HandleFunc("GET /me", auth.Authenticated, account)
	mux.HandleFunc("POST /notes", auth.Authenticated, account)
	return allowOrigin(app, mux), nil
}

type login struct {
	Login    string `json:"login"`
	Password string `json:"password"`
}

func account(w http.ResponseWriter, r *http.Request) {
	auth.Reply(w, r, envelope.Result[string]{Data: auth.From(r.Context()).Account})
}
