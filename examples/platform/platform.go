package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/oauth"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/token"
)

// platform has the parts. The handlers of each group of routes are a type that embeds it.
type platform struct {
	store      *store
	stores     *stores
	keys       *token.CachedKeys
	tokens     *tokens
	apiKeys    apiKeys
	mails      *mails
	sessions   *session.Manager
	guard      *auth.Guard
	signatures *signature.Mechanism
	oauth      *oauth.Server
	asking     *quota            // of questions outside of the orgs, by client address
	pairs      *quota            // of token signing keys, by org
	metadata   http.Handler      // of OAuth
	document   *openapi.Document // of routes
	ready      *readiness
	feed       *feed
	history    *history
	auditing   bool // there is an audit log
	others     *others
	log        *slog.Logger
}

// newPlatform opens the stores. The caller must close the platform.
func newPlatform(ctx context.Context, o options, baseURL string, log *slog.Logger) (*platform, error) {
	store, err := openStore(ctx, o.db)
	if err != nil {
		return nil, err
	}
	p := &platform{store: store, log: log, feed: newFeed(), history: newHistory(), auditing: o.audit,
		asking: newAskQuota(), pairs: newPairQuota()}
	if p.stores, err = openStores(ctx, store, o, log); err != nil {
		return nil, errors.Join(err, store.close())
	}
	p.others = newOthers(p.feed, p.stores.medium(o))
	if p.mails, err = o.newMails(baseURL, log); err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.ready = &readiness{stores: []func(context.Context) error{store.takesWrites, p.stores.takesWrites, secondsFrom(time.Now(), o.policy)}}
	p.keys = token.Cached(p.stores.keys, staleness)
	p.sessions = &session.Manager{
		Store:         p.stores.sessions,
		Attempts:      p.stores.attempts,
		FactorStore:   p.stores.factors,
		PasswordStore: p.store.forGuard(),
		Hasher:        argon2{},
		DeviceKey:     p.stores.devices,
		Cookies:       o.cookies,
		SHA256Codes:   o.sha256Codes,
		Administrator: func(p auth.Principal) bool { return p.HasRole(administrator) },
	}
	p.signatures = &signature.Mechanism{
		Credentials: p.stores.credentials,
		Replays:     p.stores.replays,
		Policy:      o.policy,
	}
	p.tokens = &tokens{p, &bearer.Mechanism{
		Keys:    p.keys,
		Signers: p.stores.keys,
		Ledger:  p.stores.ledger,
		Cache:   new(token.Cache),
	}, newMintQuota()}
	p.apiKeys = apiKeys{p, &apikey.Mechanism{Formats: []apikey.Format{{Prefix: o.keyPrefix}}, Store: p.stores.apiKeys, Stale: staleness}}
	p.guard = &auth.Guard{
		Roles:      auth.RolesDoNotLimit,
		BaseURL:    baseURL,
		Directory:  store.found,
		Mechanisms: o.beside(p.signatures, p.tokens.mechanism, p.apiKeys.mechanism, p.sessions),
		Proxies:    o.proxies,
		Brand:      o.brand,
		ErrorPage:  o.docsURL,
		Ceiling:    o.ceiling,
		Observe:    p.observe,
		RequestID:  func(r *http.Request) string { return entryOf(r.Context()).id },
		Timeout:    o.storeTimeout,
	}
	if err := p.guard.Validate(); err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.oauth = &oauth.Server{Permit: func(_ context.Context, client auth.Principal) error { return p.tokens.quota.take(callerOf(client)) }}
	p.metadata = p.oauth.Metadata(p.guard)
	return p, nil
}

// staleness is how long an instance may miss what another one has changed of the records that the
// Guard looks up, of API keys, and of the public keys that verify tokens. It sees its own changes at
// once: see store.locked and apps.together.
const staleness = 2 * time.Second

func (p *platform) close() error {
	p.others.close()
	return errors.Join(p.stores.close(), p.store.close())
}

func (p *platform) handler(routes http.Handler) http.Handler {
	h := p.recovered(p.site(routes))
	h = logged(p.log, h)
	h = http.MaxBytesHandler(h, maxBody)
	return p.guard.ServerTime(h)
}

// site serves the paths outside of the orgs, and leaves the rest to the Guard. It
// does not use http.ServeMux, which would redirect paths that the Guard must
// refuse. A signature covers the path as it was sent.
func (p *platform) site(routes http.Handler) http.Handler {
	pages := map[string]http.HandlerFunc{
		"/healthz":       p.reading(healthz),
		"/readyz":        p.reading(p.readyz),
		"/openapi.json":  p.reading(p.document.ServeHTTP), // no org's code contains a dot
		"/console/brand": p.reading(p.showBrand),
		"/console/scope": asked(p, maxQuestion, scopeQuestion, decideScope),
		"/console/qr":    asked(p, maxDrawing, drawingForm, drawOTPAuth),
	}
	for path, file := range console {
		pages[path] = p.reading(file.serve)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Pages of other origins embed no reply. CORS is for pages that use fetch: see guides/cors.
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		path := r.URL.EscapedPath()
		page, found := pages[path]
		switch {
		case found:
			page(w, r)
		case strings.HasPrefix(path, "/.well-known/"):
			p.metadata.ServeHTTP(w, r)
		default:
			routes.ServeHTTP(w, r)
		}
	})
}

func (p *platform) reading(h http.HandlerFunc) http.HandlerFunc {
	return p.only(h, http.MethodGet, http.MethodHead)
}

func (p *platform) only(h http.HandlerFunc, methods ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(methods, r.Method) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			p.guard.Fail(w, r, &auth.Error{Detail: auth.DetailMethod})
			return
		}
		h(w, r)
	}
}
