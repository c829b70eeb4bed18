package oauth

import (
	"context"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
)

// introspection is the reply of RFC 7662, section 2.2. Only an active token has more than Active.
type introspection struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope,omitempty"`
	Client    string `json:"client_id,omitempty"`
	Type      string `json:"token_type,omitempty"`
	Expires   int64  `json:"exp,omitempty"`
	IssuedAt  int64  `json:"iat,omitempty"`
	NotBefore int64  `json:"nbf,omitempty"`
	Subject   string `json:"sub,omitempty"`
	Audience  string `json:"aud,omitempty"`
	Issuer    string `json:"iss,omitempty"`
	ID        string `json:"jti,omitempty"`
}

// introspect says whether the Guard would accept a token now. It spends no use. Whatever is wrong
// with the token, the reply is the same.
func introspect(ctx context.Context, a asked) (any, error) {
	t, effective, err := a.bearer.Inspect(ctx, a.form["token"], a.tenant)
	if refused(err) {
		return introspection{}, nil
	}
	if err != nil {
		return nil, err
	}
	c := t.Claims()
	return introspection{
		Active:    true,
		Scope:     scopeText(texts(effective)),
		Client:    c.Issuer,
		Type:      "Bearer",
		Expires:   max(t.Expires().Unix(), 0), // left out: the zero time is long before 1970
		IssuedAt:  max(c.IssuedAt.Unix(), 0),
		NotBefore: max(c.NotBefore.Unix(), 0),
		Subject:   c.Subject,
		Audience:  c.Audience,
		Issuer:    c.Issuer,
		ID:        c.ID,
	}, nil
}

// refused reports whether an error of the bearer mechanism is a decision about the token. Any
// other error says that nobody knows.
func refused(err error) bool {
	_, ok := errors.AsType[*auth.Error](err)
	return ok && !errors.Is(err, auth.ErrUnavailable)
}

// revoke ends a token of the asking client (RFC 7009). For the tokens of others and for what is no
// token, the reply is the same as for a token that it ended.
func revoke(ctx context.Context, a asked) (any, error) {
	done := struct{}{}
	record, err := a.bearer.Record(ctx, a.form["token"], a.tenant)
	switch {
	case err != nil && !refused(err):
		return nil, err
	case err != nil, record.ClientKey != a.client.App:
		return done, nil
	case record.ID == "", a.bearer.Ledger == nil:
		return nil, refuse(auth.DetailOption, codeTokenType, "the token cannot be revoked", nil)
	}
	if err := a.bearer.Revoke(ctx, record.Holder(), record.ID); err != nil && !auth.IsNotFound(err) {
		return nil, err
	}
	return done, nil
}
