package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// Provider is an OpenID provider at which the server is registered. Which orgs accept it is said by
// auth.SessionPolicy.Issuers.
type Provider struct {
	Issuer       string // its iss, byte by byte
	ClientID     string
	ClientSecret string

	mu         sync.Mutex
	discovered *oidc.Provider
}

// Identity names somebody for ever. The provider gives a Subject to nobody else. A mail address can
// become another person's.
type Identity struct {
	Org             auth.OrgKey
	Issuer, Subject string
}

// claims are those of an ID token that this server reads, beside the standard ones.
type claims struct {
	AuthTime int64    `json:"auth_time"`
	Methods  []string `json:"amr"`
	Email    string   `json:"email"`
	Verified bool     `json:"email_verified"`
}

// errToken means that the response of the provider proves nothing.
var errToken = errors.New("signin: the provider's response is not valid for this sign-in")

// outbound limits the requests to providers. It does not limit how long the keys of one are kept.
var outbound = &http.Client{Timeout: 5 * time.Second}

// discover reads the configuration of the provider when it is first needed: the provider of one org
// that does not respond must not stop the server.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.discovered != nil {
		return p.discovered, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, outbound), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	p.discovered = found
	return found, nil
}

// config returns the client of the provider. Each org has a callback of its own, so a response cannot
// be taken to another one.
func (p *Provider) config(ctx context.Context, callback string) (*oauth2.Config, *oidc.Provider, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: callback, Scopes: []string{oidc.ScopeOpenID, "email"}}, found, nil
}

// redeem exchanges the code for an ID token, and verifies it against what this browser began.
func (p *Provider) redeem(ctx context.Context, callback, code string, b begun) (*oidc.IDToken, claims, error) {
	var c claims
	config, found, err := p.config(ctx, callback)
	if err != nil {
		return nil, c, err
	}
	response, err := config.Exchange(oidc.ClientContext(ctx, outbound), code, oauth2.VerifierOption(b.Verifier))
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) {
		return nil, c, errToken // the code was used, is another client's, or has another verifier
	} else if err != nil {
		return nil, c, fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	raw, _ := response.Extra("id_token").(string)
	// Verify checks the signature, iss, exp, and that aud has this client.
	id, err := found.Verifier(&oidc.Config{ClientID: p.ClientID}).Verify(oidc.ClientContext(ctx, outbound), raw)
	if err != nil {
		return nil, c, fmt.Errorf("%w: %w", errToken, err)
	}
	// A token for two clients may have been given to the other one. The nonce binds it to this browser.
	if !slices.Equal(id.Audience, []string{p.ClientID}) || !same(id.Nonce, b.Nonce) || id.Subject == "" {
		return nil, c, errToken
	}
	if err := id.Claims(&c); err != nil {
		return nil, c, fmt.Errorf("%w: %w", errToken, err)
	}
	return id, c, nil
}

// proof says when and how the person proved who they are. A provider that sends no auth_time may have
// asked for nothing today: such a session is not fresh (auth.Need.Fresh).
func (p *Provider) proof(id *oidc.IDToken, c claims) session.Proof {
	at := id.IssuedAt.Add(-time.Hour)
	if c.AuthTime > 0 {
		at = time.Unix(c.AuthTime, 0)
	}
	return session.Proof{At: at, Methods: c.Methods[:min(len(c.Methods), 8)], Issuer: p.Issuer}
}
