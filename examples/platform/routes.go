package main

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// routes returns everything below /{org}/{version}, with what each route needs. It
// sets p.document, which describes them.
func (p *platform) routes() *auth.Mux {
	mux := router{Mux: p.guard.Mux(), keys: p.stores.repeats, described: p.oauth.Describe(p.guard)}
	mux.on("GET /schemas", auth.Authenticated, "List the types of objects", reads(listSchemas).listing(own("schema")))
	jwk, pem := bearer.Certs(p.stores.keys)
	mux.on("GET /auth/certs/jwk", auth.Public, "Public keys as JWK", endpoint{jwk, openapi.Route{MediaType: "application/jwk-set+json", Reply: jwkSet{}}})
	mux.on("GET /auth/certs/pem", auth.Public, "Public keys as PEM", endpoint{pem, openapi.Route{MediaType: "application/x-pem-file", Reply: ""}})
	p.sessionRoutes(mux)
	p.adminRoutes(mux)
	p.mailRoutes(mux)
	p.tokenRoutes(mux)
	p.scriptRoutes(mux)
	p.oauth.Register(mux.Mux)
	for _, s := range schemas {
		objects{s, p.store}.register(mux)
	}
	p.document = &openapi.Document{
		Mux:     mux.Mux,
		Title:   "tenantkit reference server",
		Version: "2",
		Contact: "https://github.com/tenantkit/tenantkit",
		Description: "A small complete tenant platform. Administrative routes need the role `administrator` beside their scope. " +
			"Unknown fields of bodies are rejected.",
		Routes: mux.described,
	}
	mux.on("GET /openapi.json", auth.Public, "This document", endpoint{p.document, openapi.Route{Reply: map[string]any(nil)}})
	return mux.Mux
}

// narrowing is the endpoint of a handler that narrows by the caller's scope itself: sqllist.List for
// reading, and MayWrite for writing.
func narrowing(h http.Handler, described openapi.Route) endpoint {
	return endpoint{auth.PartHandler(func(w http.ResponseWriter, r *http.Request, _ scope.Part) { h.ServeHTTP(w, r) }), described}
}

func (h objects) register(mux router) {
	all, one, of := "/"+h.plural, "/"+h.plural+"/{id}", h.schema
	mux.on("GET "+all, auth.Some("object.read."+h.object), "List "+h.plural, narrowing(replyAs(h.list), openapi.Route{List: of}))
	mux.on("POST "+all, auth.Some("object.create."+h.object), "Create a "+h.object,
		narrowing(reply(h.create), openapi.Route{Object: of, Request: formOf(of)}))
	mux.on("GET "+one, auth.Some("object.read."+h.object+".{id}"), "Read a "+h.object, narrowing(reply(h.get), openapi.Route{Object: of}))
	mux.on("PATCH "+one, auth.Some("object.update."+h.object+".{id}"), "Change a "+h.object,
		narrowing(reply(h.update), openapi.Route{Object: of, Request: changesOf(of)}))
	mux.on("DELETE "+one, auth.Allow("object.delete."+h.object+".{id}"), "Delete a "+h.object,
		endpoint{does(h.delete).Handler, openapi.Route{Object: of, Reply: envelope.Result[bool]{}}})
	mux.on("GET "+one+"/{path...}", auth.Some("object.read."+h.object+".{id}.{path...}"), "Read one property of a "+h.object,
		narrowing(reply(h.propertyOf), of.describeProperty()))
}

var adminRead, adminUpdate = auth.Allow("admin.read"), auth.Allow("admin.update")

// adminRoutes need an administrator in addition to the scope.
func (p *platform) adminRoutes(mux router) {
	admin := mux.with(administrators)
	apps := apps{p, newShare(1, 1, answerTime)}
	admin.on("GET /apps", adminRead, "List the apps", reads(apps.list).listing(own("app")))
	admin.on("POST /apps", adminUpdate, "Create an app", takesAs(appBody, apps.create))
	admin.on("GET /apps/{key}", adminRead, "Read an app", reads(apps.get))
	admin.on("PATCH /apps/{key}", adminUpdate, "Change an app", takes(appPatch, apps.update))
	admin.on("DELETE /apps/{key}", adminUpdate, "Delete an app", does(apps.delete))
	admin.on("POST /apps/{key}/keypair", adminUpdate, "Replace the token signing key", mayTake(keyPairForm, apps.changeKeys))
	admin.on("POST /apps/{key}/secret", adminUpdate, "Replace the client secret", mayTake(rotationForm, apps.rotate))
	admin.on("GET /apps/{key}/tokens", adminRead, "List the tokens of an app", reads(p.tokens.listApp).listing(tokenSchema).
		saying("The permanent and limited-use tokens that are valid. `maker` is the account that made a token, `makerApp` the "+
			"client key of the signed request, and `parent` the `jti` of the token that made it. A token ends with its parent, "+
			"which is in the same list, perhaps on another page: read all pages to find what a token has made. `scope` is missing "+
			"from a token that another program has minted. The roles of the subject, and `roles`, add to it. In the order "+
			"`{\"issued\":1}` a page is found at once, and what is issued meanwhile comes at the end. In other orders the "+
			"server reads all tokens of the app."))
	admin.on("GET /admin/ending", adminRead, "List what ends within 14 days", reads(p.tokens.ending).listing(endingSchema).
		saying("Tokens with an id, API keys, and signing credentials with `notAfter`, as `kind` says. `sort={\"ends\":1}` has the first "+
			"to end first. What is in use then is also an event `ends.soon`, about once a day. The server reads all of the org."))

	roles := roles{p}
	admin.on("GET /admin/roles", adminRead, "List the roles", reads(roles.list).listing(own("role")))
	admin.on("POST /admin/roles", adminUpdate, "Create a role", takes(roleBody, roles.create))
	admin.on("PATCH /admin/roles/{name}", adminUpdate, "Change a role", takes(rolePatch, roles.update))
	admin.on("DELETE /admin/roles/{name}", adminUpdate, "Delete a role", does(roles.delete))

	settings := settings{p}
	admin.on("GET /admin/settings", adminRead, "Read the org's settings", reads(settings.get))
	admin.on("PATCH /admin/settings", adminUpdate, "Change the org's settings", takes(settingsForm, settings.update))

	admin.on("GET /events", adminRead, "Watch requests and what they do as they happen",
		endpoint{http.HandlerFunc(events{p}.serve), openapi.Route{MediaType: "text/event-stream", Reply: ""}}.
			saying("Server-sent events: `event` with a decision or a verb, `dropped` with a count, and `end` with the fault that ended the stream. "+
				"The arguments `account`, `app` and `verb` choose events; `verb` may be a kind, such as `login`."))

	audit := auditLog{p, &sqlpage.Pages{DB: p.store.db, Dialect: p.store.dialect}}
	logged := admin.with(audit.kept)
	logged.on("GET /audit", adminRead, "List the audit log", endpoint{reply(audit.list), openapi.Route{List: auditList}}.
		saying("The newest entries first, unless `sort` sets another order. `n` is their order, whatever `time` says. `hash` is of the entry "+
			"and the one before, and `commitment` of `address`, `agent` and `mail` with `salt`, which can be erased: `client audit verify` checks all."))
	logged.on("GET /audit/head", adminRead, "Read where the audit log ends", reads(audit.head))

	accounts := provisioning{p}
	admin.on("GET /admin/accounts", adminRead, "List the accounts", reads(accounts.list).listing(own("account")))
	admin.on("POST /admin/accounts", adminUpdate, "Create an account", takes(provisioningForm, accounts.create))
	admin.on("GET /admin/accounts/{id}", adminRead, "Read an account", reads(accounts.get))
	admin.on("PATCH /admin/accounts/{id}", adminUpdate, "Change an account", takes(accountPatch, accounts.update))
	admin.on("POST /admin/accounts/{id}/deactivate", adminUpdate, "Disable an account", accounts.disables(true, "disabled"))
	admin.on("POST /admin/accounts/{id}/activate", adminUpdate, "Enable an account", accounts.disables(false, "enabled"))
	of := openSessions{p, p.store.sessionsOf}
	admin.on("GET /admin/accounts/{id}/sessions", adminRead, "List the sessions of an account", reads(of.list).listing(own("session")))
	admin.on("DELETE /admin/accounts/{id}/sessions", adminUpdate, "End the sessions of an account", does(of.revokeAll).
		saying("The session of the request itself stays. The number of ended sessions is the data."))
	admin.on("DELETE /admin/accounts/{id}/sessions/{session}", adminUpdate, "End a session of an account", does(of.revoke))
	admin.on("POST /admin/accounts/{id}/act", adminUpdate.By(session.Name), "Act for an account", takesAs(actForm, accounts.act).
		saying("For an hour, the session is that of the account. `reason` is shown to its owner. DELETE /accounts/me/act ends it, and the caller's own session with it."))
}

// mailRoutes send tickets to addresses, and take them back from whoever reads the mails there.
func (p *platform) mailRoutes(mux router) {
	public := mux.with(publicBody, p.ownPages)
	mux = mux.with(administrators)
	invitations := invitations{provisioning{p}}
	mux.on("GET /admin/invitations", adminRead, "List the open invitations", reads(invitations.list).listing(own("invitation")))
	mux.on("POST /admin/invitations", adminUpdate, "Invite a person", takes(invitationForm, invitations.create).
		saying("The ticket is mailed to the address. It is for one account, for seven days unless it has `expires`. It replaces an earlier invitation of the address."))
	mux.on("DELETE /admin/invitations/{id}", adminUpdate, "Take an invitation back", does(invitations.takeBack))
	mux.on("POST /admin/invitations/{id}/resend", adminUpdate, "Mail an invitation again", does(invitations.resend).
		saying("The previous ticket becomes invalid. The new invitation has another `_id` and expires when the previous one would have."))
	public.on("POST /accounts/accept", auth.Public, "Accept an invitation, and sign in", takesAs(acceptForm, invitations.accept))

	forgotten := forgotten{p}
	public.on("POST /accounts/forgot", auth.Public, "Have a ticket mailed, in place of a forgotten password", takes(forgotForm, forgotten.forgot))
	public.on("POST /accounts/reset", auth.Public, "Choose another password with a mailed ticket", takes(resetForm, forgotten.reset))
}

// tokenRoutes are open to every account and app. What a token or an API key may do depends on
// who makes it. Who may list and end them depends on whose they are.
func (p *platform) tokenRoutes(mux router) {
	mux.on("POST /apps/{key}/tokens", auth.Authenticated, "Mint a token", takes(tokenBody, p.tokens.create))
	mux.on("DELETE /apps/{key}/tokens/{jti}", auth.Authenticated, "Revoke a token", does(p.tokens.revoke))
	mux.on("GET /apps/{key}/subjects/{sub}/tokens", auth.Authenticated, "List the tokens of a subject", reads(p.tokens.list).listing(tokenSchema).
		saying("Only administrators see creators, apps and parents that are not the subject's own."))
	mux.on("DELETE /apps/{key}/subjects/{sub}/tokens", auth.Authenticated, "Revoke the tokens of a subject", does(p.tokens.revokeAll))

	mux.on("GET /apps/{key}/keys", auth.Authenticated, "List the API keys of an app", reads(p.apiKeys.list).listing(keySchema).
		saying("Those that have expired or are used up are in it until their owner gets another key. `where={\"expires\":{\"$lt\":…}}` "+
			"finds those whose owners should be told. `lastUsed` and `lastAddress` are written at most once an hour. "+
			"Only administrators see the keys of other accounts."))
	mux.on("GET /keys", auth.Authenticated, "List the API keys of all apps", reads(p.apiKeys.list).listing(keySchema).
		saying("As the list of an app. Each names its `app`."))
	mux.on("POST /apps/{key}/keys", auth.Authenticated, "Make an API key", takes(newKeyForm, p.apiKeys.create).
		saying("`key` is in no other response. It acts as the account, through the app, within the scope. No caller creates one beyond its own rights."))
	mux.on("GET /apps/{key}/keys/{id}", auth.Authenticated, "Read an API key", reads(p.apiKeys.get))
	mux.on("POST /apps/{key}/keys/{id}/replace", auth.Authenticated, "Replace an API key", mayTake(replaceKeyForm, p.apiKeys.replace).
		saying("The new one may do what the old one may. The old one ends after the overlap, and never later than it would have."))
	mux.on("DELETE /apps/{key}/keys/{id}", auth.Authenticated, "Revoke an API key", does(p.apiKeys.revoke))
}

// scriptRoutes run the functions that take the place of an org's scripts, views and deployments.
func (p *platform) scriptRoutes(mux router) {
	scripts := scripts{p}
	mux.on("GET /routes", auth.Authenticated, "List the scripts", reads(scripts.list).listing(own("script")))
	mux.on("POST /routes/{identifier}", auth.Allow("script.route.{identifier}"), "Run a script", mayTake(anyArguments, scripts.route))
	mux.on("POST /sys/script_runner", auth.Allow("script.runner"), "Run the script that the body names", takes(runnerBody, scripts.run))

	views := views{p}
	mux.on("GET /views", auth.Authenticated, "List the views", reads(views.list).listing(own("view")))
	view := openapi.Route{List: messages, Reply: openapi.AnyOf{openapi.ListOf(messages), envelope.Result[mintReply]{}}}
	mux.on("GET /views/{name}", auth.Allow("view.execute.{name}"), "Run a view", endpoint{reply(views.execute), view}.
		saying("The view `messages` takes the arguments of a list and returns one. `message_token` takes none."))
	mux.on("POST /deployments/{id}/execute", auth.Allow("deployment.execute.{id}"), "Run a deployment", does(views.deploy))
}
