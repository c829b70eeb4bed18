package main

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/scope"
)

// routes returns everything below /{org}/{version}, with what each route needs. It
// sets p.document, which describes them.
func (p *platform) routes() *auth.Mux {
	mux := router{p.guard.Mux(), p.stores.repeats}

	mux.HandleFunc("GET /schemas", auth.Authenticated, reply(listSchemas))

	jwk, pem := bearer.Certs(p.stores.keys)
	mux.Handle("GET /auth/certs/jwk", auth.Public, jwk)
	mux.Handle("GET /auth/certs/pem", auth.Public, pem)

	p.sessionRoutes(mux)
	p.adminRoutes(mux)
	p.tokenRoutes(mux)
	p.scriptRoutes(mux)
	p.oauth.Register(mux.Mux)

	for _, s := range schemas {
		objects := objects{s, p.store}
		all, one := "/"+s.plural, "/"+s.plural+"/{id}"
		mux.Handle("GET "+all, auth.Some("object.read."+s.object), narrowing(replyAs(objects.list)))
		mux.Handle("POST "+all, auth.Some("object.create."+s.object), narrowing(reply(objects.create)))
		mux.Handle("GET "+one, auth.Some("object.read."+s.object+".{id}"), narrowing(reply(objects.get)))
		mux.Handle("PATCH "+one, auth.Some("object.update."+s.object+".{id}"), narrowing(reply(objects.update)))
		mux.HandleFunc("DELETE "+one, auth.Allow("object.delete."+s.object+".{id}"), reply(bodiless(objects.delete)))
		mux.Handle("GET "+one+"/{path...}", auth.Some("object.read."+s.object+".{id}.{path...}"), narrowing(reply(objects.propertyOf)))
	}
	p.document = p.describe(mux.Mux)
	mux.Handle("GET /openapi.json", auth.Public, p.document)
	return mux.Mux
}

// narrowing registers a handler that narrows by the caller's scope itself: sqllist.List for
// reading, and MayWrite for writing.
func narrowing(h http.Handler) auth.PartHandler {
	return func(w http.ResponseWriter, r *http.Request, _ scope.Part) { h.ServeHTTP(w, r) }
}

// adminRoutes need an administrator in addition to the scope.
func (p *platform) adminRoutes(mux router) {
	read, update := auth.Allow("admin.read"), auth.Allow("admin.update")

	apps := apps{p.store, p.stores, p.keys, newShare(1, 1, answerTime), p.pairs, p.apiKeys.mechanism, p.uses}
	mux.HandleFunc("GET /apps", read, reply(administrators(apps.list)))
	mux.HandleFunc("POST /apps", update, reply(administrators(apps.create)))
	mux.HandleFunc("GET /apps/{key}", read, reply(administrators(apps.get)))
	mux.HandleFunc("PATCH /apps/{key}", update, reply(administrators(apps.update)))
	mux.HandleFunc("DELETE /apps/{key}", update, reply(administrators(bodiless(apps.delete))))
	mux.HandleFunc("POST /apps/{key}/keypair", update, reply(administrators(optionalBody(keyPairForm, apps.changeKeys))))
	mux.HandleFunc("POST /apps/{key}/secret", update, reply(administrators(optionalBody(rotationForm, apps.rotate))))
	mux.HandleFunc("GET /apps/{key}/tokens", read, reply(administrators(p.tokens.listApp)))

	roles := roles{p.store}
	mux.HandleFunc("GET /admin/roles", read, reply(administrators(roles.list)))
	mux.HandleFunc("POST /admin/roles", update, reply(administrators(withBody(roleBody, roles.create))))
	mux.HandleFunc("PATCH /admin/roles/{name}", update, reply(administrators(withBody(rolePatch, roles.update))))
	mux.HandleFunc("DELETE /admin/roles/{name}", update, reply(administrators(bodiless(roles.delete))))

	settings := settings{p.store}
	mux.HandleFunc("GET /admin/settings", read, reply(administrators(settings.get)))
	mux.HandleFunc("PATCH /admin/settings", update, reply(administrators(withBody(settingsForm, settings.update))))

	mux.HandleFunc(eventsRoute, eventsNeed, events{p.feed, p.guard}.serve)

	accounts := provisioning{p.store, p.stores, p.sessions, p.apiKeys.mechanism}
	mux.HandleFunc("GET /admin/accounts", read, reply(administrators(accounts.list)))
	mux.HandleFunc("POST /admin/accounts", update, reply(administrators(withBody(provisioningForm, accounts.create))))
	mux.HandleFunc("GET /admin/accounts/{id}", read, reply(administrators(accounts.get)))
	mux.HandleFunc("PATCH /admin/accounts/{id}", update, reply(administrators(withBody(accountPatch, accounts.update))))
	mux.HandleFunc("POST /admin/accounts/{id}/deactivate", update, reply(administrators(bodiless(accounts.deactivate))))
	mux.HandleFunc("POST /admin/accounts/{id}/activate", update, reply(administrators(bodiless(accounts.activate))))
	of := sessionsOf{openSessions{p.sessions}, p.store}
	mux.HandleFunc("GET /admin/accounts/{id}/sessions", read, reply(administrators(of.list)))
	mux.HandleFunc("DELETE /admin/accounts/{id}/sessions", update, reply(administrators(bodiless(of.revokeAll))))
	mux.HandleFunc("DELETE /admin/accounts/{id}/sessions/{session}", update, reply(administrators(bodiless(of.revoke))))
	mux.HandleFunc("POST /admin/accounts/{id}/act", update.By(session.Name), withBodyAs(actForm, accounts.act))

	invitations := invitations{accounts, p.mails}
	mux.HandleFunc("GET /admin/invitations", read, reply(administrators(invitations.list)))
	mux.HandleFunc("POST /admin/invitations", update, reply(administrators(withBody(invitationForm, invitations.create))))
	mux.HandleFunc("DELETE /admin/invitations/{id}", update, reply(administrators(bodiless(invitations.takeBack))))
	mux.HandleFunc("POST /admin/invitations/{id}/resend", update, reply(administrators(bodiless(invitations.resend))))
	mux.HandleFunc("POST /accounts/accept", auth.Public, publicBody(ownPages(p.sessions, withBodyAs(acceptForm, invitations.accept))))

	forgotten := forgotten{p.store, p.sessions, p.mails, p.log}
	mux.HandleFunc("POST /accounts/forgot", auth.Public, publicBody(ownPages(p.sessions, reply(withBody(forgotForm, forgotten.forgot)))))
	mux.HandleFunc("POST /accounts/reset", auth.Public, publicBody(ownPages(p.sessions, reply(withBody(resetForm, forgotten.reset)))))
}

// tokenRoutes are open to every account and app. What a token or an API key may do depends on
// who makes it. Who may list and end them depends on whose they are.
func (p *platform) tokenRoutes(mux router) {
	mux.HandleFunc("POST /apps/{key}/tokens", auth.Authenticated, reply(p.tokens.create))
	mux.HandleFunc("DELETE /apps/{key}/tokens/{jti}", auth.Authenticated, reply(bodiless(p.tokens.revoke)))
	mux.HandleFunc("GET /apps/{key}/subjects/{sub}/tokens", auth.Authenticated, reply(p.tokens.list))
	mux.HandleFunc("DELETE /apps/{key}/subjects/{sub}/tokens", auth.Authenticated, reply(bodiless(p.tokens.revokeAll)))

	mux.HandleFunc("GET /apps/{key}/keys", auth.Authenticated, reply(p.apiKeys.list))
	mux.HandleFunc("POST /apps/{key}/keys", auth.Authenticated, reply(withBody(newKeyForm, p.apiKeys.create)))
	mux.HandleFunc("GET /apps/{key}/keys/{id}", auth.Authenticated, reply(p.apiKeys.get))
	mux.HandleFunc("POST /apps/{key}/keys/{id}/replace", auth.Authenticated, reply(optionalBody(replaceKeyForm, p.apiKeys.replace)))
	mux.HandleFunc("DELETE /apps/{key}/keys/{id}", auth.Authenticated, reply(bodiless(p.apiKeys.revoke)))
}

// scriptRoutes run the functions that take the place of an org's scripts, views and deployments.
func (p *platform) scriptRoutes(mux router) {
	scripts := scripts{p.store, p.tokens}
	mux.HandleFunc("GET /routes", auth.Authenticated, reply(scripts.list))
	mux.HandleFunc("POST /routes/{identifier}", auth.Allow("script.route.{identifier}"), reply(optionalBody(anyArguments, scripts.route)))
	mux.HandleFunc("POST /sys/script_runner", auth.Allow("script.runner"), reply(withBody(runnerBody, scripts.run)))

	views := views{p.store, p.tokens, p.signatures.Claim}
	mux.HandleFunc("GET /views", auth.Authenticated, reply(views.list))
	mux.HandleFunc("GET /views/{name}", auth.Allow("view.execute.{name}"), reply(views.execute))
	mux.HandleFunc("POST /deployments/{id}/execute", auth.Allow("deployment.execute.{id}"), reply(bodiless(views.deploy)))
}
