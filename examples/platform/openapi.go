package main

import (
	"maps"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

// describe returns the document of the routes of a Mux. It says of each route what
// the Mux cannot know.
func (p *platform) describe(mux *auth.Mux) *openapi.Document {
	routes := make(map[string]openapi.Route)
	for _, described := range []map[string]openapi.Route{publicRoutes, accountRoutes, appRoutes, adminRoutes, scriptRoutes, p.oauth.Describe(p.guard)} {
		maps.Copy(routes, described)
	}
	for _, s := range schemas {
		maps.Copy(routes, s.describe())
	}
	for _, r := range mux.Routes() {
		if takesKey(r.Pattern, r.Need) {
			described := routes[r.Pattern]
			described.IdempotencyKey = "optional"
			routes[r.Pattern] = described
		}
	}
	return &openapi.Document{
		Mux:     mux,
		Title:   "tenantkit reference server",
		Version: "2",
		Contact: "https://github.com/tenantkit/tenantkit",
		Description: "A small complete tenant platform. Administrative routes need the role `administrator` beside their scope. " +
			"Unknown fields of bodies are refused.",
		Routes: routes,
	}
}

// describe describes the routes of the objects of a type.
func (s schema) describe() map[string]openapi.Route {
	all, one := "/"+s.plural, "/"+s.plural+"/{id}"
	return map[string]openapi.Route{
		"GET " + all:    {Summary: "List " + s.plural, List: s},
		"POST " + all:   {Summary: "Create a " + s.object, Object: s, Request: formOf(s)},
		"GET " + one:    {Summary: "Read a " + s.object, Object: s},
		"PATCH " + one:  {Summary: "Change a " + s.object, Object: s, Request: changesOf(s)},
		"DELETE " + one: {Summary: "Delete a " + s.object, Object: s, Reply: envelope.Result[bool]{}},

		"GET " + one + "/{path...}": s.describeProperty(),
	}
}

// describeProperty describes the route of one property. A list property has the
// arguments of a list.
func (s schema) describeProperty() openapi.Route {
	route := openapi.Route{Summary: "Read one property of a " + s.object, Object: s, Reply: envelope.Result[any]{}}
	for _, p := range s.Schema().Properties {
		if p.List != nil {
			route.Description = "A list property is a list with the arguments of its items. Any other property is a result."
			route.List, route.Reply = p.List, openapi.AnyOf{openapi.ListOf(p.List), route.Reply}
		}
	}
	return route
}

func ownList[T any](summary, object string) openapi.Route {
	return openapi.Route{Summary: summary, List: &paging.Schema{Object: object}, Reply: envelope.List[T]{}}
}

// jwk is a key in the document that bearer.Certs serves.
type jwk struct {
	KeyType   string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
}

type jwkItem struct {
	envelope.Item
	jwk
}

type jwkSet struct {
	Object  string    `json:"object"`
	Data    []jwkItem `json:"data"`
	HasMore bool      `json:"hasMore"`
	Keys    []jwk     `json:"keys"`
}

var (
	publicRoutes = map[string]openapi.Route{
		"GET /openapi.json":   {Summary: "This document", Reply: map[string]any(nil)},
		"GET /auth/certs/jwk": {Summary: "Public keys as JWK", MediaType: "application/jwk-set+json", Reply: jwkSet{}},
		"GET /auth/certs/pem": {Summary: "Public keys as PEM", MediaType: "application/x-pem-file", Reply: ""},
		"GET /schemas":        ownList[schemaReply]("List the types of objects", "schema"),
	}

	accountRoutes = map[string]openapi.Route{
		"POST /accounts": {Summary: "Register an account", Request: registrationForm, Reply: accountReply{}},
		"POST /accounts/login": {
			Summary:     "Sign in",
			Description: "If a second factor is wanted, send the same body with `location`, or `location` alone with the ticket cookie.",
			Request:     loginForm,
			Reply:       loginReply{},
		},
		"GET /accounts/status":                    {Summary: "Who is signed in", Reply: statusReply{}},
		"GET /accounts/me":                        {Summary: "The caller's account", Reply: meReply{}},
		"POST /accounts/me/logout":                {Summary: "End the session", Reply: envelope.Result[bool]{}},
		"POST /accounts/me/reauthenticate":        {Summary: "Prove the password again", Request: passwordForm, Reply: accountReply{}},
		"POST /accounts/me/password":              {Summary: "Change the password", Request: changeForm, Reply: accountReply{}},
		"GET /accounts/me/second-factor":          {Summary: "What second factor the caller has", Reply: envelope.Result[factorReply]{}},
		"POST /accounts/me/second-factor":         {Summary: "Begin a second factor", Reply: envelope.Result[enrolmentReply]{}},
		"POST /accounts/me/second-factor/confirm": {Summary: "Confirm a second factor", Request: codeForm, Reply: envelope.Result[recoveryReply]{}},
		"POST /accounts/me/second-factor/recovery-codes": {
			Summary:     "Replace the recovery codes",
			Description: "All former recovery codes end.",
			Request:     codeForm,
			Reply:       envelope.Result[recoveryReply]{},
		},
		"DELETE /accounts/me/second-factor": {Summary: "Remove the second factor", Request: codeForm, Reply: envelope.Result[bool]{}},
		"GET /accounts/me/sessions":         ownList[sessionReply]("List the caller's sessions", "session"),
		"DELETE /accounts/me/sessions/{id}": {Summary: "End a session", Reply: envelope.Result[bool]{}},
		"DELETE /accounts/me/sessions":      {Summary: "End the other sessions", Reply: envelope.Result[int]{}},
		"POST /accounts/accept":             {Summary: "Accept an invitation, and sign in", Request: acceptForm, Reply: accountReply{}},
		"POST /accounts/forgot":             {Summary: "Have a ticket mailed, in place of a forgotten password", Request: forgotForm, Reply: envelope.Result[bool]{}},
		"POST /accounts/reset":              {Summary: "Choose another password with a mailed ticket", Request: resetForm, Reply: accountReply{}},
		"GET /accounts/me/orgs":             ownList[orgReply]("List the other orgs of the person", "org"),
		"POST /accounts/enter": {
			Summary:     "Enter this org from another one of the person",
			Description: "The request carries the session cookie of another org of this host, whose session stays. This org decides what it accepts: it may ask for a second factor.",
			Reply:       accountReply{},
		},
		"DELETE /accounts/me/act":          {Summary: "Stop acting for the account", Description: "The session of the actor ends, too.", Reply: envelope.Result[bool]{}},
		"DELETE /accounts/me/devices":      {Summary: "Forget all devices", Reply: envelope.Result[int]{}},
		"GET /accounts/me/devices":         ownList[deviceReply]("List the devices on which a login needs no code", "device"),
		"DELETE /accounts/me/devices/{id}": {Summary: "Forget a device", Reply: envelope.Result[bool]{}},
	}

	appRoutes = map[string]openapi.Route{
		"GET /apps":                       ownList[appReply]("List the apps", "app"),
		"POST /apps":                      {Summary: "Create an app", Request: appBody, Reply: appReply{}},
		"GET /apps/{key}":                 {Summary: "Read an app", Reply: appReply{}},
		"PATCH /apps/{key}":               {Summary: "Change an app", Request: appPatch, Reply: appReply{}},
		"DELETE /apps/{key}":              {Summary: "Delete an app", Reply: envelope.Result[bool]{}},
		"POST /apps/{key}/keypair":        {Summary: "Replace the key pair", Request: keyPairForm, BodyOptional: true, Reply: appReply{}},
		"POST /apps/{key}/secret":         {Summary: "Replace the client secret", Request: rotationForm, BodyOptional: true, Reply: envelope.Result[secretReply]{}},
		"POST /apps/{key}/tokens":         {Summary: "Mint a token", Request: tokenBody, Reply: envelope.Result[mintReply]{}},
		"DELETE /apps/{key}/tokens/{jti}": {Summary: "Revoke a token", Reply: envelope.Result[bool]{}},
		"GET /apps/{key}/tokens": {
			Summary: "List the tokens of an app",
			Description: "The permanent and limited-use tokens that are valid. `maker` is the account that made a token, `makerApp` the " +
				"client key of the signed request, and `parent` the `jti` of the token that made it. A token ends with its parent, " +
				"which is in the same list, perhaps on another page: read all pages to find what a token has made. In the order " +
				"`{\"issued\":1}` a page is found at once, and what is issued meanwhile comes at the end. In other orders the " +
				"server reads all tokens of the app.",
			List:  tokenSchema,
			Reply: envelope.List[tokenReply]{},
		},
		"GET /apps/{key}/subjects/{sub}/tokens": {
			Summary:     "List the tokens of a subject",
			Description: "Only administrators see makers, apps and parents that are not the subject's own.",
			List:        tokenSchema,
			Reply:       envelope.List[tokenReply]{},
		},
		"DELETE /apps/{key}/subjects/{sub}/tokens": {Summary: "Revoke the tokens of a subject", Reply: envelope.Result[int]{}},
		"GET /apps/{key}/keys": {
			Summary: "List the API keys of an app",
			Description: "Those that have expired or are used up are in it until their owner gets another key. `where={\"expires\":{\"$lt\":…}}` " +
				"finds those whose owners should be told. `lastUsed` and `lastAddress` are written at most once an hour. " +
				"Only administrators see the keys of other accounts.",
			List:  keySchema,
			Reply: envelope.List[keyReply]{},
		},
		"POST /apps/{key}/keys": {
			Summary:     "Make an API key",
			Description: "`key` is in no other reply. It acts as the account, through the app, within the scope. Nobody makes one beyond themselves.",
			Request:     newKeyForm,
			Reply:       keyReply{},
		},
		"POST /apps/{key}/keys/{id}/replace": {
			Summary:      "Replace an API key",
			Description:  "The new one may do what the old one may. The old one ends after the overlap, and never later than it would have.",
			Request:      replaceKeyForm,
			BodyOptional: true,
			Reply:        keyReply{},
		},
		"GET /apps/{key}/keys/{id}":    {Summary: "Read an API key", Reply: keyReply{}},
		"DELETE /apps/{key}/keys/{id}": {Summary: "Revoke an API key", Reply: envelope.Result[bool]{}},
	}

	adminRoutes = map[string]openapi.Route{
		"GET /admin/roles":           ownList[roleReply]("List the roles", "role"),
		"POST /admin/roles":          {Summary: "Create a role", Request: roleBody, Reply: roleReply{}},
		"PATCH /admin/roles/{name}":  {Summary: "Change a role", Request: rolePatch, Reply: roleReply{}},
		"DELETE /admin/roles/{name}": {Summary: "Delete a role", Reply: envelope.Result[bool]{}},
		"GET /events": {
			Summary:     "Watch requests as they happen",
			Description: "Server-sent events: `event` with a decision, `dropped` with a count, and `end` with the fault that ended the stream.",
			MediaType:   "text/event-stream",
			Reply:       "",
		},
		"GET /admin/settings":                  {Summary: "Read the org's settings", Reply: settingsReply{}},
		"PATCH /admin/settings":                {Summary: "Change the org's settings", Request: settingsForm, Reply: settingsReply{}},
		"GET /admin/accounts":                  ownList[managedReply]("List the accounts", "account"),
		"POST /admin/accounts":                 {Summary: "Create an account", Request: provisioningForm, Reply: wholeReply{}},
		"GET /admin/accounts/{id}":             {Summary: "Read an account", Reply: wholeReply{}},
		"PATCH /admin/accounts/{id}":           {Summary: "Change an account", Request: accountPatch, Reply: wholeReply{}},
		"POST /admin/accounts/{id}/deactivate": {Summary: "Disable an account", Reply: wholeReply{}},
		"POST /admin/accounts/{id}/activate":   {Summary: "Enable an account", Reply: wholeReply{}},
		"GET /admin/accounts/{id}/sessions":    ownList[sessionReply]("List the sessions of an account", "session"),
		"DELETE /admin/accounts/{id}/sessions": {
			Summary:     "End the sessions of an account",
			Description: "The session of the request itself stays. The number of ended sessions is the data.",
			Reply:       envelope.Result[int]{},
		},
		"DELETE /admin/accounts/{id}/sessions/{session}": {Summary: "End a session of an account", Reply: envelope.Result[bool]{}},
		"POST /admin/accounts/{id}/act": {
			Summary:     "Act for an account",
			Description: "For an hour, the session is that of the account. `reason` is shown to its owner. DELETE /accounts/me/act ends it, and the caller's own session with it.",
			Request:     actForm,
			Reply:       accountReply{},
		},
		"GET /admin/invitations": ownList[invitationReply]("List the open invitations", "invitation"),
		"POST /admin/invitations": {
			Summary:     "Invite somebody",
			Description: "The ticket is mailed to the address. It is for one account, for seven days unless `expires` says otherwise. An earlier invitation of the address ends.",
			Request:     invitationForm,
			Reply:       invitationReply{},
		},
		"DELETE /admin/invitations/{id}": {Summary: "Take an invitation back", Reply: envelope.Result[bool]{}},
		"POST /admin/invitations/{id}/resend": {
			Summary:     "Mail an invitation again",
			Description: "The former ticket ends. The new invitation has another `_id` and expires when the former one would have.",
			Reply:       invitationReply{},
		},
	}

	scriptRoutes = map[string]openapi.Route{
		"GET /routes":               ownList[builtinReply]("List the scripts", "script"),
		"POST /routes/{identifier}": {Summary: "Run a script", Request: anyArguments, BodyOptional: true, Reply: envelope.Result[any]{}},
		"POST /sys/script_runner":   {Summary: "Run the script that the body names", Request: runnerBody, Reply: envelope.Result[any]{}},
		"GET /views":                ownList[builtinReply]("List the views", "view"),
		"GET /views/{name}": {
			Summary:     "Run a view",
			Description: "The view `messages` takes the arguments of a list and replies with one. `message_token` takes none.",
			List:        messages,
			Reply:       openapi.AnyOf{openapi.ListOf(messages), envelope.Result[mintReply]{}},
		},
		"POST /deployments/{id}/execute": {Summary: "Run a deployment", Reply: envelope.Result[any]{}},
	}
)
