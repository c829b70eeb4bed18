package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
)

// authenticate finds out which client asks. There is one error for all that can be wrong with its
// credential.
func (s *Server) authenticate(ctx context.Context, r *http.Request, t *auth.Tenant, f form) (auth.Principal, error) {
	ways := 0
	for _, tried := range []bool{
		len(r.Header["Authorization"]) > 0,
		f.has("client_secret"),
		f.has("client_assertion", "client_assertion_type"),
		s.Signature.Presented(r) != auth.Absent,
	} {
		if tried {
			ways++
		}
	}
	if ways > 1 || len(r.Header["Authorization"]) > 1 {
		return auth.Principal{}, refuse(auth.DetailAmbiguous, codeRequest, "more than one credential", nil)
	}
	client, err := s.bySecret(ctx, r, t)
	if err != nil {
		return auth.Principal{}, err
	}
	if id := f["client_id"]; id != "" && id != client.App {
		return auth.Principal{}, invalidClient(errors.New("client_id is another client"))
	}
	return client, nil
}

// bySecret authenticates by client_secret_basic (RFC 6749, section 2.3.1).
func (s *Server) bySecret(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	clientKey, secret, ok := basic(r)
	if !ok {
		return auth.Principal{}, invalidClient(errors.New("no client authentication that is supported"))
	}
	now := t.Now()
	client, _, err := s.Signature.Client(ctx, r, t, clientKey, func(k *signing.Key) *signing.Key {
		return k.Holds(secret, now)
	})
	if err != nil && !errors.Is(err, auth.ErrUnavailable) {
		err = invalidClient(err)
	}
	return client, err
}

func invalidClient(cause error) error {
	return refuse(auth.DetailInvalidCredentials, codeClient, "client authentication failed", cause)
}

// basic reads client key and secret. Both are encoded like a parameter of a form before they are
// put together.
func basic(r *http.Request) (clientKey string, secret signing.Secret, ok bool) {
	user, password, ok := r.BasicAuth()
	clientKey, badUser := url.QueryUnescape(user)
	text, badPassword := url.QueryUnescape(password)
	return clientKey, signing.Secret(text), ok && badUser == nil && badPassword == nil
}

// triesBasic reports whether the client has tried to authenticate by the scheme Basic.
func triesBasic(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Basic")
}
