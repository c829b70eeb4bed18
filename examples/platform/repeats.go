package main

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/scope"
)

// router registers routes. Each POST and PATCH may have an Idempotency-Key, except those that anybody
// may send: without a caller there is nobody to whom a key belongs.
type router struct {
	*auth.Mux
	keys      *idempotency.Keys
	described map[string]openapi.Route
}

// keptWhole are the routes whose responses are kept. Those of all others may hold a secret, such as that of
// a new app, a token or a recovery code: of them a reference is kept.
var keptWhole = []string{
	"POST /admin/accounts", "PATCH /admin/accounts/{id}", "POST /admin/accounts/{id}/activate", "POST /admin/accounts/{id}/deactivate",
	"POST /admin/invitations", "POST /admin/invitations/{id}/resend",
	"POST /admin/roles", "PATCH /admin/roles/{name}", "PATCH /admin/settings", "PATCH /apps/{key}",
}

func takesKey(pattern string, n auth.Need) bool {
	return (strings.HasPrefix(pattern, "POST ") || strings.HasPrefix(pattern, "PATCH ")) && !n.Describe().Public
}

func keepsWhole(pattern string) bool {
	return slices.Contains(keptWhole, pattern) || slices.ContainsFunc(schemas, func(s schema) bool {
		return pattern == "POST /"+s.plural || pattern == "PATCH /"+s.plural+"/{id}"
	})
}

func (m router) Handle(pattern string, n auth.Need, h http.Handler, described openapi.Route) {
	if takesKey(pattern, n) {
		described.IdempotencyKey = "optional"
		h = refusalsHaveNoEffect(h)
		if keepsWhole(pattern) {
			h = m.keys.Wrap(h)
		} else {
			h = m.keys.Wrap(h, idempotency.Reference)
		}
	}
	m.described[pattern] = described
	m.Mux.Handle(pattern, n, h)
}

func (m router) HandleFunc(pattern string, n auth.Need, h http.HandlerFunc, described openapi.Route) {
	m.Handle(pattern, n, h, described)
}

// refusalsHaveNoEffect lets a client correct what was refused before anything was written, and keep its key.
func refusalsHaveNoEffect(h http.Handler) http.Handler {
	if part, ok := h.(auth.PartHandler); ok {
		return auth.PartHandler(func(w http.ResponseWriter, r *http.Request, p scope.Part) { part(refusals{w, r}, r, p) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(refusals{w, r}, r) })
}

type refusals struct {
	http.ResponseWriter
	request *http.Request
}

func (w refusals) WriteHeader(status int) {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusTooManyRequests:
		idempotency.NoEffect(w.request.Context())
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w refusals) Unwrap() http.ResponseWriter { return w.ResponseWriter }
