package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// authenticate finds out which client asks. There is one error for all that can be wrong with its
// credential.
func (m mechanisms) authenticate(ctx context.Context, r *http.Request, t *auth.Tenant, f form) (auth.Principal, error) {
	asserts := f.has("client_assertion", "client_assertion_type")
	ways := 0
	for _, tried := range []bool{len(r.Header["Authorization"]) > 0, f.has("client_secret"), asserts, m.signature.Presented(r) != auth.Absent} {
		if tried {
			ways++
		}
	}
	if ways > 1 || len(r.Header["Authorization"]) > 1 {
		return auth.Principal{}, refuse(auth.DetailAmbiguous, codeRequest, "more than one credential", nil)
	}
	if asserts {
		return m.byAssertion(ctx, r, t, f)
	}
	clientKey, secret, ok := basic(r)
	if f.has("client_secret") {
		clientKey, secret, ok = f["client_id"], signing.Secret(f["client_secret"]), true
	}
	switch {
	case !ok:
		return auth.Principal{}, invalidClient(errors.New("oauth: no client authentication that is supported"))
	case !f.isOf(clientKey):
		t.Claim(auth.Claimed{Mechanism: signature.Name, App: clientKey})
		return auth.Principal{}, invalidClient(errOtherID)
	}
	return m.bySecret(ctx, r, t, clientKey, secret)
}

// takesSecrets reports whether clients may send their secret, as far as the server decides it. A
// secret that is sent protects even less than a signature of version 1.
func (m mechanisms) takesSecrets() bool { return m.signature.Policy.Version <= 1 }

// bySecret authenticates by client_secret_basic or client_secret_post (RFC 6749, section 2.3.1).
func (m mechanisms) bySecret(ctx context.Context, r *http.Request, t *auth.Tenant, clientKey string, secret signing.Secret) (auth.Principal, error) {
	now, signs := t.Now(), false
	client, err := m.signature.Client(ctx, r, t, clientKey, 1, func(k *signing.Key) *signing.Key {
		by := k.Holds(secret, now)
		if signs = k != nil && k.PublicKeys() != nil; signs {
			return k // proves nothing: refused below, after the checks of the credential
		}
		return by
	})
	e, refused := errors.AsType[*auth.Error](err)
	weak := refused && e.Detail == auth.DetailForbidden
	switch {
	case err != nil && !weak:
		return auth.Principal{}, err
	case signs:
		t.Claim(auth.Claimed{Mechanism: signature.Name, App: clientKey})
		return auth.Principal{}, unauthorized("the client has a public key and must sign an assertion")
	case weak:
		return auth.Principal{}, unauthorized("the client may not send its secret")
	}
	return client, nil
}

func unauthorized(description string) error {
	return refuse(auth.DetailForbidden, codeUnauthorized, description, nil)
}

var errOtherID = errors.New("oauth: client_id is another client, or client_assertion_type another type")

// invalidClient returns an error like those of signature.Mechanism.Client.
func invalidClient(cause error) error {
	return &auth.Error{Detail: auth.DetailInvalidCredentials, Err: cause}
}

// basic reads client key and secret. Both are encoded like a parameter of a form before they are
// put together.
func basic(r *http.Request) (clientKey string, secret signing.Secret, ok bool) {
	user, password, ok := r.BasicAuth()
	clientKey, badUser := url.QueryUnescape(user)
	text, badPassword := url.QueryUnescape(password)
	return clientKey, signing.Secret(text), ok && badUser == nil && badPassword == nil
}
