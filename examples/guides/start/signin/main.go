// Signin is a server whose people sign in with an OpenID provider, such as Google, Entra or Okta.
package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// errProvider says that the response of the provider proves nothing about who sits at this browser.
var errProvider = &auth.Error{Detail: auth.DetailInvalidCredentials, Err: errors.New("the provider's response is not for this sign-in")}

type server struct {
	people   *session.Manager
	provider *oidc.Provider
	client   oauth2.Config
	issuer   string

	mu       sync.Mutex
	accounts auth.Memory
	bound    map[string]string // org, iss and sub to account: a table with a unique index over the three
}

// begun is what this browser keeps between the two requests. Another browser's response does not fit.
type begun struct{ State, Nonce, Verifier string }

func (s *server) begin(w http.ResponseWriter, r *http.Request) error {
	if err := s.people.SameOrigin(r); err != nil {
		return err
	}
	b := begun{rand.Text(), rand.Text(), oauth2.GenerateVerifier()}
	text, _ := json.Marshal(b)
	keep(w, r, url.QueryEscape(string(text)), 600)
	http.Redirect(w, r, s.client.AuthCodeURL(b.State, oauth2.S256ChallengeOption(b.Verifier), oidc.Nonce(b.Nonce)), http.StatusSeeOther)
	return nil
}

// keep sets the cookie. With the prefix __Host- no other host can set it; a loopback address has no TLS.
func keep(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	loopback := auth.TenantFrom(r.Context()).Loopback()
	http.SetCookie(w, &http.Cookie{Name: cookie(loopback), Value: value, Path: "/", MaxAge: seconds, Secure: !loopback, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

func cookie(loopback bool) string {
	if loopback {
		return "signin"
	}
	return "__Host-signin"
}

func (s *server) callback(w http.ResponseWriter, r *http.Request) error {
	var b begun
	c, err := r.Cookie(cookie(auth.TenantFrom(r.Context()).Loopback()))
	if err != nil {
		return errProvider
	}
	keep(w, r, "", -1) // a sign-in is completed once
	text, _ := url.QueryUnescape(c.Value)
	if json.Unmarshal([]byte(text), &b) != nil || !same(r.URL.Query().Get("state"), b.State) {
		return errProvider
	}
	tokens, err := s.client.Exchange(r.Context(), r.URL.Query().Get("code"), oauth2.VerifierOption(b.Verifier))
	if err != nil {
		return errProvider
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := s.provider.Verifier(&oidc.Config{ClientID: s.client.ClientID}).Verify(r.Context(), raw) // signature, iss, aud, exp
	if err != nil || len(id.Audience) != 1 || !same(id.Nonce, b.Nonce) {
		return errProvider
	}
	var says struct {
		AuthTime int64    `json:"auth_time"`
		Methods  []string `json:"amr"`
	}
	if id.Claims(&says) != nil || len(says.Methods) > 8 {
		return errProvider
	}
	proof := session.Proof{At: time.Unix(says.AuthTime, 0), Methods: says.Methods, Issuer: s.issuer}
	if says.AuthTime == 0 {
		proof.At = id.IssuedAt.Add(-time.Hour) // it may have asked for nothing today: such a session is not fresh
	}
	_, err = s.people.Start(w, r, s.account(auth.TenantFrom(r.Context()).Org.Key(), id), proof)
	if err == nil {
		http.Redirect(w, r, auth.TenantFrom(r.Context()).URL()+"/me", http.StatusSeeOther)
	}
	return err
}

// account returns the account of an identity, which is never a mail address. In this org, whoever the
// provider vouches for joins, with one role.
func (s *server) account(org auth.OrgKey, id *oidc.IDToken) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	identity := string(org) + " " + id.Issuer + " " + id.Subject
	if s.bound[identity] == "" {
		s.bound[identity] = rand.Text()
		s.accounts.PutAccount(auth.Account{ID: s.bound[identity], Org: org, Roles: []string{"member"}})
	}
	return s.bound[identity]
}

func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

func main() {
	issuer := os.Getenv("ISSUER")
	provider, err := oidc.NewProvider(context.Background(), issuer)
	if err != nil {
		log.Fatal(err)
	}
	memory := new(session.Memory)
	s := &server{people: &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts()}, provider: provider, issuer: issuer, bound: map[string]string{}}
	s.client = oauth2.Config{ClientID: os.Getenv("CLIENT_ID"), ClientSecret: os.Getenv("CLIENT_SECRET"), Endpoint: provider.Endpoint(),
		RedirectURL: "http://localhost:8085/acme/v2/callback", Scopes: []string{oidc.ScopeOpenID}}
	s.accounts.PutOrg(auth.Org{Code: "acme", Session: auth.SessionPolicy{Issuers: []string{issuer}}}) // who vouches for acme's people
	s.accounts.PutRole("acme", auth.Role{Name: "member", Scope: []string{"object.read"}})

	mux := (&auth.Guard{BaseURL: "http://localhost:8085", Directory: &s.accounts, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{s.people}}).Mux()
	handle := func(pattern string, do func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, auth.Public, func(w http.ResponseWriter, r *http.Request) {
			if err := do(w, r); err != nil {
				auth.Fail(w, r, err)
			}
		})
	}
	handle("POST /signin", s.begin)
	handle("GET /callback", s.callback)
	mux.HandleFunc("GET /me", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		auth.Reply(w, r, map[string]any{"by": auth.From(r.Context()).Mechanism, "roles": auth.From(r.Context()).Roles})
	})
	log.Print("listening on http://localhost:8085/acme/v2")
	log.Fatal(http.ListenAndServe("localhost:8085", mux))
}
