package main

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// routes returns everything below /{org}/{version}, with what each route needs. It
// sets p.document, which describes them.
func (p *platform) routes() *auth.Mux {
	mux := router{p.guard.Mux(), p.stores.repeats, p.oauth.Describe(p.guard)}

	mux.HandleFunc("GET /schemas", auth.Authenticated, reply(listSchemas), ownList[schemaReply]("List the types of objects", "schema"))

	jwk, pem := bearer.Certs(p.stores.keys)
	mux.Handle("GET /auth/certs/jwk", auth.Public, jwk,
		openapi.Route{Summary: "Public keys as JWK", MediaType: "application/jwk-set+json", Reply: jwkSet{}})
	mux.Handle("GET /auth/certs/pem", auth.Public, pem,
		openapi.Route{Summary: "Public keys as PEM", MediaType: "application/x-pem-file", Reply: ""})

	p.sessionRoutes(mux)
	p.adminRoutes(mux)
	p.tokenRoutes(mux)
	p.scriptRoutes(mux)
	p.oauth.Register(mux.Mux)

	for _, s := range schemas {
		objects := objects{s, p.store}
		all, one := "/"+s.plural, "/"+s.plural+"/{id}"
		mux.Handle("GET "+all, auth.Some("object.read."+s.object), narrowing(replyAs(objects.list)),
			openapi.Route{Summary: "List " + s.plural, List: s})
		mux.Handle("POST "+all, auth.Some("object.create."+s.object), narrowing(reply(objects.create)),
			openapi.Route{Summary: "Create a " + s.object, Object: s, Request: formOf(s)})
		mux.Handle("GET "+one, auth.Some("object.read."+s.object+".{id}"), narrowing(reply(objects.get)),
			openapi.Route{Summary: "Read a " + s.object, Object: s})
		mux.Handle("PATCH "+one, auth.Some("object.update."+s.object+".{id}"), narrowing(reply(objects.update)),
			openapi.Route{Summary: "Change a " + s.object, Object: s, Request: changesOf(s)})
		mux.HandleFunc("DELETE "+one, auth.Allow("object.delete."+s.object+".{id}"), reply(bodiless(objects.delete)),
			openapi.Route{Summary: "Delete a " + s.object, Object: s, Reply: envelope.Result[bool]{}})
		mux.Handle("GET "+one+"/{path...}", auth.Some("object.read."+s.object+".{id}.{path...}"), narrowing(reply(objects.propertyOf)),
			s.describeProperty())
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
	mux.Handle("GET /openapi.json", auth.Public, p.document, openapi.Route{Summary: "This document", Reply: map[string]any(nil)})
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

	apps := apps{p.store, p.stores, p.keys, newShare(1, 1, answerTime), p.pairs, p.apiKeys.mechanism}
	mux.HandleFunc("GET /apps", read, reply(administrators(apps.list)), ownList[appReply]("List the apps", "app"))
	mux.HandleFunc("POST /apps", update, reply(administrators(apps.create)),
		openapi.Route{Summary: "Create an app", Request: appBody, Reply: appReply{}})
	mux.HandleFunc("GET /apps/{key}", read, reply(administrators(apps.get)), openapi.Route{Summary: "Read an app", Reply: appReply{}})
	mux.HandleFunc("PATCH /apps/{key}", update, reply(administrators(apps.update)),
		openapi.Route{Summary: "Change an app", Request: appPatch, Reply: appReply{}})
	mux.HandleFunc("DELETE /apps/{key}", update, reply(administrators(bodiless(apps.delete))),
		openapi.Route{Summary: "Delete an app", Reply: envelope.Result[bool]{}})
	mux.HandleFunc("POST /apps/{key}/keypair", update, reply(administrators(optionalBody(keyPairForm, apps.changeKeys))),
		openapi.Route{Summary: "Replace the token signing key", Request: keyPairForm, BodyOptional: true, Reply: appReply{}})
	mux.HandleFunc("POST /apps/{key}/secret", update, reply(administrators(optionalBody(rotationForm, apps.rotate))),
		openapi.Route{Summary: "Replace the client secret", Request: rotationForm, BodyOptional: true, Reply: envelope.Result[secretReply]{}})
	mux.HandleFunc("GET /apps/{key}/tokens", read, reply(administrators(p.tokens.listApp)), openapi.Route{
		Summary: "List the tokens of an app",
		Description: "The permanent and limited-use tokens that are valid. `maker` is the account that made a token, `makerApp` the " +
			"client key of the signed request, and `parent` the `jti` of the token that made it. A token ends with its parent, " +
			"which is in the same list, perhaps on another page: read all pages to find what a token has made. `scope` is missing " +
			"from a token that another program has minted. In the order " +
			"`{\"issued\":1}` a page is found at once, and what is issued meanwhile comes at the end. In other orders the " +
			"server reads all tokens of the app.",
		List:  tokenSchema,
		Reply: envelope.List[tokenReply]{},
	})

	mux.HandleFunc("GET /admin/ending", read, reply(administrators(p.tokens.ending)), openapi.Route{
		Summary: "List what ends within 14 days",
		Description: "Tokens with an id, API keys, and signing credentials with `notAfter`, as `kind` says. `sort={\"ends\":1}` has the first " +
			"to end first. What is in use then is also an event `ends.soon`, about once a day. The server reads all of the org.",
		List:  endingSchema,
		Reply: envelope.List[endingReply]{},
	})

	roles := roles{p.store}
	mux.HandleFunc("GET /admin/roles", read, reply(administrators(roles.list)), ownList[roleReply]("List the roles", "role"))
	mux.HandleFunc("POST /admin/roles", update, reply(administrators(withBody(roleBody, roles.create))),
		openapi.Route{Summary: "Create a role", Request: roleBody, Reply: roleReply{}})
	mux.HandleFunc("PATCH /admin/roles/{name}", update, reply(administrators(withBody(rolePatch, roles.update))),
		openapi.Route{Summary: "Change a role", Request: rolePatch, Reply: roleReply{}})
	mux.HandleFunc("DELETE /admin/roles/{name}", update, reply(administrators(bodiless(roles.delete))),
		openapi.Route{Summary: "Delete a role", Reply: envelope.Result[bool]{}})

	settings := settings{p.store}
	mux.HandleFunc("GET /admin/settings", read, reply(administrators(settings.get)),
		openapi.Route{Summary: "Read the org's settings", Reply: settingsReply{}})
	mux.HandleFunc("PATCH /admin/settings", update, reply(administrators(withBody(settingsForm, settings.update))),
		openapi.Route{Summary: "Change the org's settings", Request: settingsForm, Reply: settingsReply{}})

	mux.HandleFunc(eventsRoute, eventsNeed, events{p.feed, p.guard, p.history, p.event}.serve, openapi.Route{
		Summary: "Watch requests and what they do as they happen",
		Description: "Server-sent events: `event` with a decision or a verb, `dropped` with a count, and `end` with the fault that ended the stream. " +
			"The arguments `account`, `app` and `verb` choose events; `verb` may be a kind, such as `login`.",
		MediaType: "text/event-stream",
		Reply:     "",
	})

	audit := auditLog{p.store, p.stores.sql.Audit(), p.auditing}
	mux.HandleFunc("GET /audit", read, reply(administrators(audit.list)), openapi.Route{
		Summary: "List the audit log",
		Description: "The newest entries first, unless `sort` sets another order. `n` is their order, whatever `time` says. `hash` is of the entry " +
			"and the one before, and `commitment` of `address`, `agent` and `mail` with `salt`, which can be erased: `client audit verify` checks all.",
		List: auditList,
	})
	mux.HandleFunc("GET /audit/head", read, reply(administrators(audit.head)),
		openapi.Route{Summary: "Read where the audit log ends", Reply: envelope.Result[headReply]{}})

	accounts := provisioning{p.store, p.stores, p.sessions, p.apiKeys.mechanism}
	mux.HandleFunc("GET /admin/accounts", read, reply(administrators(accounts.list)), ownList[managedReply]("List the accounts", "account"))
	mux.HandleFunc("POST /admin/accounts", update, reply(administrators(withBody(provisioningForm, accounts.create))),
		openapi.Route{Summary: "Create an account", Request: provisioningForm, Reply: wholeReply{}})
	mux.HandleFunc("GET /admin/accounts/{id}", read, reply(administrators(accounts.get)),
		openapi.Route{Summary: "Read an account", Reply: wholeReply{}})
	mux.HandleFunc("PATCH /admin/accounts/{id}", update, reply(administrators(withBody(accountPatch, accounts.update))),
		openapi.Route{Summary: "Change an account", Request: accountPatch, Reply: wholeReply{}})
	mux.HandleFunc("POST /admin/accounts/{id}/deactivate", update, reply(administrators(bodiless(accounts.deactivate))),
		openapi.Route{Summary: "Disable an account", Reply: wholeReply{}})
	mux.HandleFunc("POST /admin/accounts/{id}/activate", update, reply(administrators(bodiless(accounts.activate))),
		openapi.Route{Summary: "Enable an account", Reply: wholeReply{}})
	of := sessionsOf{openSessions{p.sessions}, p.store}
	mux.HandleFunc("GET /admin/accounts/{id}/sessions", read, reply(administrators(of.list)),
		ownList[sessionReply]("List the sessions of an account", "session"))
	mux.HandleFunc("DELETE /admin/accounts/{id}/sessions", update, reply(administrators(bodiless(of.revokeAll))), openapi.Route{
		Summary:     "End the sessions of an account",
		Description: "The session of the request itself stays. The number of ended sessions is the data.",
		Reply:       envelope.Result[int]{},
	})
	mux.HandleFunc("DELETE /admin/accounts/{id}/sessions/{session}", update, reply(administrators(bodiless(of.revoke))),
		openapi.Route{Summary: "End a session of an account", Reply: envelope.Result[bool]{}})
	mux.HandleFunc("POST /admin/accounts/{id}/act", update.By(session.Name), withBodyAs(actForm, accounts.act), openapi.Route{
		Summary:     "Act for an account",
		Description: "For an hour, the session is that of the account. `reason` is shown to its owner. DELETE /accounts/me/act ends it, and the caller's own session with it.",
		Request:     actForm,
		Reply:       accountReply{},
	})

	invitations := invitations{accounts, p.mails}
	mux.HandleFunc("GET /admin/invitations", read, reply(administrators(invitations.list)),
		ownList[invitationReply]("List the open invitations", "invitation"))
	mux.HandleFunc("POST /admin/invitations", update, reply(administrators(withBody(invitationForm, invitations.create))), openapi.Route{
		Summary:     "Invite a person",
		Description: "The ticket is mailed to the address. It is for one account, for seven days unless it has `expires`. It replaces an earlier invitation of the address.",
		Request:     invitationForm,
		Reply:       invitationReply{},
	})
	mux.HandleFunc("DELETE /admin/invitations/{id}", update, reply(administrators(bodiless(invitations.takeBack))),
		openapi.Route{Summary: "Take an invitation back", Reply: envelope.Result[bool]{}})
	mux.HandleFunc("POST /admin/invitations/{id}/resend", update, reply(administrators(bodiless(invitations.resend))), openapi.Route{
		Summary:     "Mail an invitation again",
		Description: "The previous ticket becomes invalid. The new invitation has another `_id` and expires when the previous one would have.",
		Reply:       invitationReply{},
	})
	mux.HandleFunc("POST /accounts/accept", auth.Public, publicBody(ownPages(p.sessions, withBodyAs(acceptForm, invitations.accept))),
		openapi.Route{Summary: "Accept an invitation, and sign in", Request: acceptForm, Reply: accountReply{}})

	forgotten := forgotten{p.store, p.sessions, p.mails, p.log}
	mux.HandleFunc("POST /accounts/forgot", auth.Public, publicBody(ownPages(p.sessions, reply(withBody(forgotForm, forgotten.forgot)))),
		openapi.Route{Summary: "Have a ticket mailed, in place of a forgotten password", Request: forgotForm, Reply: envelope.Result[bool]{}})
	mux.HandleFunc("POST /accounts/reset", auth.Public, publicBody(ownPages(p.sessions, reply(withBody(resetForm, forgotten.reset)))),
		openapi.Route{Summary: "Choose another password with a mailed ticket", Request: resetForm, Reply: accountReply{}})
}

// tokenRoutes are open to every account and app. What a token or an API key may do depends on
// who makes it. Who may list and end them depends on whose they are.
func (p *platform) tokenRoutes(mux router) {
	mux.HandleFunc("POST /apps/{key}/tokens", auth.Authenticated, reply(p.tokens.create),
		openapi.Route{Summary: "Mint a token", Request: tokenBody, Reply: envelope.Result[mintReply]{}})
	mux.HandleFunc("DELETE /apps/{key}/tokens/{jti}", auth.Authenticated, reply(bodiless(p.tokens.revoke)),
		openapi.Route{Summary: "Revoke a token", Reply: envelope.Result[bool]{}})
	mux.HandleFunc("GET /apps/{key}/subjects/{sub}/tokens", auth.Authenticated, reply(p.tokens.list), openapi.Route{
		Summary:     "List the tokens of a subject",
		Description: "Only administrators see creators, apps and parents that are not the subject's own.",
		List:        tokenSchema,
		Reply:       envelope.List[tokenReply]{},
	})
	mux.HandleFunc("DELETE /apps/{key}/subjects/{sub}/tokens", auth.Authenticated, reply(bodiless(p.tokens.revokeAll)),
		openapi.Route{Summary: "Revoke the tokens of a subject", Reply: envelope.Result[int]{}})

	mux.HandleFunc("GET /apps/{key}/keys", auth.Authenticated, reply(p.apiKeys.list), openapi.Route{
		Summary: "List the API keys of an app",
		Description: "Those that have expired or are used up are in it until their owner gets another key. `where={\"expires\":{\"$lt\":…}}` " +
			"finds those whose owners should be told. `lastUsed` and `lastAddress` are written at most once an hour. " +
			"Only administrators see the keys of other accounts.",
		List:  keySchema,
		Reply: envelope.List[keyReply]{},
	})
	mux.HandleFunc("GET /keys", auth.Authenticated, reply(p.apiKeys.list), openapi.Route{
		Summary:     "List the API keys of all apps",
		Description: "As the list of an app. Each names its `app`.",
		List:        keySchema,
		Reply:       envelope.List[keyReply]{},
	})
	mux.HandleFunc("POST /apps/{key}/keys", auth.Authenticated, reply(withBody(newKeyForm, p.apiKeys.create)), openapi.Route{
		Summary:     "Make an API key",
		Description: "`key` is in no other response. It acts as the account, through the app, within the scope. No caller creates one beyond its own rights.",
		Request:     newKeyForm,
		Reply:       keyReply{},
	})
	mux.HandleFunc("GET /apps/{key}/keys/{id}", auth.Authenticated, reply(p.apiKeys.get),
		openapi.Route{Summary: "Read an API key", Reply: keyReply{}})
	mux.HandleFunc("POST /apps/{key}/keys/{id}/replace", auth.Authenticated, reply(optionalBody(replaceKeyForm, p.apiKeys.replace)), openapi.Route{
		Summary:      "Replace an API key",
		Description:  "The new one may do what the old one may. The old one ends after the overlap, and never later than it would have.",
		Request:      replaceKeyForm,
		BodyOptional: true,
		Reply:        keyReply{},
	})
	mux.HandleFunc("DELETE /apps/{key}/keys/{id}", auth.Authenticated, reply(bodiless(p.apiKeys.revoke)),
		openapi.Route{Summary: "Revoke an API key", Reply: envelope.Result[bool]{}})
}

// scriptRoutes run the functions that take the place of an org's scripts, views and deployments.
func (p *platform) scriptRoutes(mux router) {
	scripts := scripts{p.store, p.tokens}
	mux.HandleFunc("GET /routes", auth.Authenticated, reply(scripts.list), ownList[builtinReply]("List the scripts", "script"))
	mux.HandleFunc("POST /routes/{identifier}", auth.Allow("script.route.{identifier}"), reply(optionalBody(anyArguments, scripts.route)),
		openapi.Route{Summary: "Run a script", Request: anyArguments, BodyOptional: true, Reply: envelope.Result[any]{}})
	mux.HandleFunc("POST /sys/script_runner", auth.Allow("script.runner"), reply(withBody(runnerBody, scripts.run)),
		openapi.Route{Summary: "Run the script that the body names", Request: runnerBody, Reply: envelope.Result[any]{}})

	views := views{p.store, p.tokens, p.signatures.Claim}
	mux.HandleFunc("GET /views", auth.Authenticated, reply(views.list), ownList[builtinReply]("List the views", "view"))
	mux.HandleFunc("GET /views/{name}", auth.Allow("view.execute.{name}"), reply(views.execute), openapi.Route{
		Summary:     "Run a view",
		Description: "The view `messages` takes the arguments of a list and returns one. `message_token` takes none.",
		List:        messages,
		Reply:       openapi.AnyOf{openapi.ListOf(messages), envelope.Result[mintReply]{}},
	})
	mux.HandleFunc("POST /deployments/{id}/execute", auth.Allow("deployment.execute.{id}"), reply(bodiless(views.deploy)),
		openapi.Route{Summary: "Run a deployment", Reply: envelope.Result[any]{}})
}
