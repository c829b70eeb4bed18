package main

import "slices"

const (
	modAuth0   = "github.com/auth0/go-jwt-middleware/v2"
	modAuthn   = "connectrpc.com/authn"
	modAWS     = "github.com/aws/aws-sdk-go-v2"
	modBun     = "github.com/uptrace/bun"
	modCasbin  = "github.com/casbin/casbin/v2"
	modCedar   = "github.com/cedar-policy/cedar-go"
	modFosite  = "github.com/ory/fosite"
	modGitHub  = "github.com/google/go-github/v75"
	modGorm    = "gorm.io/gorm"
	modGorilla = "github.com/gorilla/sessions"
	modJose    = "github.com/go-jose/go-jose/v4"
	modHTTPSig = "github.com/remitly-oss/httpsig-go"
	modHTTPSgn = "github.com/yaronf/httpsign"
	modJWT     = "github.com/golang-jwt/jwt/v5"
	modJWX     = "github.com/lestrrat-go/jwx/v3"
	modKataras = "github.com/kataras/jwt"
	modLRU     = "github.com/hashicorp/golang-lru/v2"
	modMinio   = "github.com/minio/pkg/v3"
	modNATS    = "github.com/nats-io/nats-server/v2"
	modOtter   = "github.com/maypok86/otter/v2"
	modSCS     = "github.com/alexedwards/scs/v2"
	modSQLite  = "modernc.org/sqlite"
	modStd     = "github.com/standard-webhooks/standard-webhooks/libraries"
	modStripe  = "github.com/stripe/stripe-go/v82"
	modTTL     = "github.com/jellydator/ttlcache/v3"
)

// rows are the tables of the report, in order. The tests compare them with the
// benchmarks.
var rows = slices.Concat([]row{
	{
		name: "Signature", title: "Request signature, verified without a store",
		text: "One signed GET with a few headers. Peers that sign bodies get the same 30 bytes as a body. Keys are 64 bytes, in memory.",
		peers: []peer{
			{name: "HMAC", floor: true, note: "one HMAC-SHA256 of the message, with pooled state"},
			{name: ours, note: "checks the path, cuts it to the signed part, and verifies"},
			{name: "tenantkit verify", note: "Verifier.Verify alone, for a caller whose router cuts the path"},
			{name: "go-github signature", module: modGitHub, accepts: []string{"signed an hour ago", "a nonce of another shape"},
				note: "ValidateSignature of bytes in memory"},
			{name: "go-github request", module: modGitHub, accepts: []string{"signed an hour ago", "a nonce of another shape"},
				note: "ValidatePayload, which reads the body"},
			{name: "stripe-go webhook", module: modStripe, accepts: []string{"a nonce of another shape"}},
			{name: "standard-webhooks", module: modStd, accepts: []string{"a nonce of another shape"}},
			{name: "aws v4", module: modAWS, accepts: []string{"signed an hour ago", "a nonce of another shape"},
				note: "has no verifier: signs the request again and compares the signatures; these cover the headers, too"},
		},
	},
	{
		name: "MessageSignature", title: "HTTP Message Signature (RFC 9421), verified without a store",
		text: "One POST with a body of 30 bytes and its Content-Digest, signed by HMAC-SHA256. All peers get the same headers, " +
			"and are set to require the same components, parameters and times, as far as they can.",
		peers: []peer{
			{name: "HMAC, and SHA-256 of the body", floor: true, note: "one HMAC-SHA256 of the base, with pooled state, and one SHA-256 of the body"},
			{name: ours, note: "Verifier.Verify, which reads the body and puts it back"},
			{name: "httpsign", module: modHTTPSgn, accepts: []string{"a digest of md5 beside", "a nonce of another shape"},
				note: "VerifyRequest and ValidateContentDigestHeader"},
			{name: "httpsig-go", module: modHTTPSig, accepts: []string{"a digest of md5 beside", "a nonce of another shape", "another tag"}},
		},
	},
	{
		name: "Replay", title: "Replay claim in memory",
		text: "Records a new request, by its nonce and its signature, in a store that already holds many. " +
			"The time includes making the request, and a share of the growth of the store.",
		because: "Most of the time is waiting for memory: a third to look the request up, and more to make room for it by moving other entries. " +
			"The allocations are tables that grow by a third.",
		peers: []peer{
			{name: "cache misses", floor: true, note: "makes the request and reads twice, one read after the other, at random from as much memory as ours takes"},
			{name: ours},
			{name: "otter", module: modOtter, accepts: []string{"an accepted one once the store is full"},
				note: "two caches; no bound per client, no siblings"},
			{name: "ttlcache", module: modTTL, accepts: []string{"an accepted one once the store is full"},
				note: "two caches; no bound per client, no siblings"},
			{name: "golang-lru expirable", module: modLRU, accepts: []string{"an accepted one once the store is full"},
				note: "two caches; no limit per client, no siblings; no atomic check-and-set, so two concurrent claims may both pass"},
		},
	},
	{
		name: "BearerFirst", title: "Bearer token, first sight",
		text:  "An RS256 token of 2048 bits, from text to checked claims (issuer, audience, times).",
		peers: bearerPeers(peer{name: "RSA", floor: true, note: "crypto/rsa alone"}),
	},
	{
		name: "BearerAgain", title: "Bearer token, seen before",
		text: "The same token again. Ours remembers it and checks again what can change; the others remember nothing and verify again. " +
			"A map of tokens in front of them would cost the floor. Times, revocation and limits would still be missing.",
		peers: bearerPeers(peer{name: "map", floor: true, note: "one look-up by the whole token"}),
	},
},
	scopeRows(), scopeTextRows(),
	[]row{
		{
			name: "ScopeRoute", title: "A route's need with a path value",
			text: "Checks whether a request, routed and authenticated before, may read the object that its path names. Its principal holds " +
				"1000 chains, each of which names one object.",
			peers: []peer{
				{name: "map", floor: true, note: "one look-up of a finished text"},
				{name: ours, note: "Guard.Require of object.read.c_message.{id}, around an empty handler"},
				{name: "tenantkit authenticated", accepts: []string{"another instance", "a star", "a longer id"},
					note: "Guard.Require of a principal alone: the cost of Require without a need"},
				{name: "map of texts", note: "appends the path value to the rest of the text, then one look-up; no wildcards"},
				{name: "NATS sublist", module: modNATS, note: "appends the path value to the rest of the text; gsl.SimpleSublist, which caches no answers"},
			},
		},
		{
			name: "ScopeCompile", title: "Compile 1000 chains",
			text: "From a list of texts to a compiled form, for the peers of the scope check that compile.",
			peers: []peer{
				{name: "map", floor: true, note: "each text put into a map"},
				{name: ours},
				{name: "NATS sublist", module: modNATS},
				{name: "casbin", module: modCasbin, accepts: []string{"an empty segment"}, note: "AddPolicies; gets parts and parses nothing"},
				{name: "cedar-go", module: modCedar, note: "parses a language that can express far more"},
			},
		},
		{
			name: "Session", title: "Session check in memory",
			text:    "A request with a session cookie, until the account is known. It records the use of the session, unless a note says otherwise.",
			because: "A sixth of the time is SHA-256 of the cookie. A tenth is the look-up of the account, which scs and gorilla/sessions do not do.",
			peers: []peer{
				{name: "map", floor: true, note: "cookie parsed, SHA-256, one look-up, the account in a context"},
				{name: ours, note: "Manager.Authenticate: also looks up the account; the Guard records the use"},
				{name: "tenantkit guard", note: "the whole Guard: also checks the org and the origin, and records the use once in idle/20"},
				{name: "scs", module: modSCS, accepts: []string{"an account that was disabled"},
					note: "with an idle timeout, which it writes at each request"},
				{name: "scs without idle timeout", module: modSCS,
					accepts: []string{"an account that was disabled", "a session unused for too long"}, note: "loads, and writes nothing"},
				{name: "gorilla cookie", module: modGorilla,
					accepts: []string{"an account that was disabled", "a session that was ended", "a session unused for too long"},
					note:    "the cookie holds the session, signed and not encrypted; no idle timeout"},
			},
		},
		{
			name: "APIKey", title: "API key, seen before",
			text: "A request with an API key, until the account and its scope are known. The record of the key is in memory. " +
				"Ours also checks the checksum, and compiles the scope.",
			peers: []peer{
				{name: "SHA-256 look-up", floor: true, note: "written by hand: one look-up by the id, SHA-256, a comparison in constant time, the account in a context"},
				{name: ours, note: "Mechanism.Authenticate with Stale: also looks up the account"},
				{name: "tenantkit guard", note: "the whole Guard: also finds the org of the URL, and limits the time of its look-ups"},
			},
		},
		{
			name: "Guard", title: "Guard and need, whole chain",
			text: "An http.Handler around an empty handler, from the request to the principal in its context. Ours also finds the org of the URL, " +
				"routes, sets the header with the server's time, and limits the time of its look-ups.",
			because: "A third of the time is the mechanism. A quarter is memory: the record of the call, with the copy of the request that carries it. " +
				"The rest is checking the path and finding the route. authn-go passes on the result of its function.",
			peers: chainPeers(
				peer{name: "context value", floor: true, note: "a middleware that sets one value"},
				peer{name: "authn-go", module: modAuthn, accepts: []string{"a credential the route is not for"},
					note: "the least that can be asked of it: a bearer token looked up in a map"},
				"a new signed request each time; includes its claim in a memory store that grows to 32768"),
		},
		{
			name: "Loopback", title: "A request over loopback",
			text: "An http.Server and an http.Client in one process, eight concurrent connections, a reply of two bytes. " +
				"The time is that of the whole run divided by its requests: the inverse of the throughput.",
			because: "Most of this time is not the library's; its allocations are those of the row above.",
			peers: append(chainPeers(
				peer{name: "plain handler", floor: true, note: "needs no credential and gets none, so the others' time includes sending and reading one"},
				peer{name: "authn-go", module: modAuthn, accepts: []string{"a credential the route is not for"},
					note: "the least that can be asked of it: a bearer token looked up in a map"},
				"the client signs each request; a memory store records its claim"),
				peer{name: "plain handler with the token", floor: true, note: "gets the token of tenantkit, and does not look at it"},
				peer{name: "plain handler with the signature", floor: true, note: "gets requests that the client signs, and does not look at that"}),
		},
		{ // the only row that times processes instead of calls
			name: "Server", title: "CPU of a whole server for a request",
			text: "The CPU time, user and system, of a server's process for each request, with eight concurrent connections. " +
				"Of ten requests, five read an object, four read a page of ten with all properties, and one writes an object.",
			because: "It checks credentials, stores everything in SQL (here in memory), filters replies by scope, and logs each request.",
			peers: []peer{
				{name: "plain server", floor: true, note: "net/http, encoding/json and a map: no credentials, no scopes, no log, and nothing is stored"},
				{name: ours, note: "the reference server with -db memory:, all three credentials in turn"},
				{name: "tenantkit signature", note: "signed requests only"},
				{name: "tenantkit bearer", note: "a bearer token only"},
				{name: "tenantkit session", note: "a session cookie only"},
			},
		},
	},
	jsonRows(""), jsonRows(nextGo),
	pagingRows())

func bearerPeers(floor peer) []peer {
	return []peer{
		floor,
		{name: ours, accepts: []string{"no expiry"}, note: "tokens without an expiry are part of the interface"},
		{name: "golang-jwt", module: modJWT, accepts: []string{"a claim twice"}},
		{name: "go-jose", module: modJose, accepts: []string{"no expiry"}},
		{name: "jwx", module: modJWX, accepts: []string{"a claim twice"}},
		{name: "kataras", module: modKataras, accepts: []string{"no expiry", "a claim twice"}},
		{name: "auth0 validator", module: modAuth0, accepts: []string{"no expiry"}},
	}
}

func chainPeers(floor, least peer, signed string) []peer {
	anyRoute := []string{"a credential the route is not for"}
	return []peer{
		floor,
		{name: ours, note: "a bearer token seen before, and a need"},
		{name: "tenantkit signature", note: signed},
		{name: "tenantkit session", note: "a session cookie"},
		least,
		{name: "go-jwt-middleware", module: modAuth0, accepts: anyRoute, note: "a bearer token, verified each time"},
		{name: "scs", module: modSCS, accepts: anyRoute, note: "LoadAndSave with an idle timeout, and a handler that reads the account"},
		{name: "gorilla cookie", module: modGorilla, accepts: anyRoute, note: "a handler that reads the account"},
	}
}

// counts are the lengths of the lists of chains.
var counts = []string{"1", "10", "100", "1000"}

// scopePrefix begins the names of the rows in scope.svg.
const scopePrefix = "Scope/"

func scopeRows() (all []row) {
	for _, n := range counts {
		all = append(all, row{
			name: scopePrefix + n, title: "Scope check, chains: " + n,
			text: "Checks whether a list of that many chains, compiled beforehand, allows one operation, given by its parts. " + scopeLists +
				" Each check builds the request from the parts, unless a note says otherwise.",
			peers: []peer{
				{name: "map", floor: true, note: "one look-up of a finished text"},
				{name: ours, note: "builds the need from its parts at each check"},
				{name: "tenantkit need", note: "a need built beforehand, like a route's"},
				{name: "casbin", module: modCasbin, note: "compares object, identifier and verb as text"},
				{name: "casbin cached", module: modCasbin, note: "caches its answers, and here always gets the same question"},
				{name: "cedar-go", module: modCedar, note: "one policy per chain"},
			},
		})
	}
	return all
}

const scopeLists = "Each chain names one object, without a wildcard; the chain that allows is in the middle."

// scopeTextPrefix begins the names of the rows in scopetext.svg.
const scopeTextPrefix = "ScopeText/"

func scopeTextRows() (all []row) {
	for _, n := range counts {
		all = append(all, row{
			name: scopeTextPrefix + n, title: "Scope check by text, chains: " + n,
			text: "Checks whether a list of that many chains allows one operation, given as text. Peers that can compile the list do so beforehand. " +
				scopeLists,
			because: "A list of one text is one comparison. Ours looks up each part, whatever the length of the list.",
			peers: []peer{
				{name: "map", floor: true, note: "one look-up of the text"},
				{name: ours, note: "parses the need from the text at each check"},
				{name: "fosite wildcard", module: modFosite, note: "a loop over the list"},
				{name: "fosite hierarchic", module: modFosite, note: "a loop over the list"},
				{name: "minio wildcard", module: modMinio, note: "a loop over the list"},
				{name: "NATS sublist", module: modNATS, note: "gsl.SimpleSublist, which caches no answers"},
			},
		})
	}
	return all
}

// nextGo is another version of Go, with another implementation of encoding/json.
const nextGo = "go1.27.0"

// jsonRows returns the rows that compare with encoding/json.
func jsonRows(toolchain string) []row {
	all := []row{
		{
			name: "Where", title: "Parse a where of 211 bytes", text: "From text to a checked filter. No other module parses this language; a parser of one's own would start with encoding/json.",
			peers: []peer{
				{name: ours},
				{name: "json into any", accepts: []string{"an unknown operator", "a member twice", "$in without a list"},
					note: "json.Unmarshal alone: knows no operators"},
			},
		},
		{
			name: "PageDecode", title: "Decode a page of 1000 items",
			text: "From a stream of unknown length, such as a body, to typed items. The others are encoding/json in three ways: plain, " +
				"short and careful.",
			peers: []peer{
				{name: "json.Unmarshal", floor: true, note: "reads all, and decodes once"},
				{name: ours, note: "envelope.Decode, which reads at most a limit"},
				{name: "json.Decoder", accepts: []string{"a fault", "a body beyond the limit", "text behind it"}, note: "one Decode"},
				{name: "RawMessage first", accepts: []string{"a fault", "a body beyond the limit"}, note: "then each item"},
			},
		},
		{
			name: "PageWalk", title: "Iterate a page of 1000 items",
			text:    "From the round trip, answered in the process, to the last item of the loop.",
			because: "A quarter of the time is json.Unmarshal's check that the body is valid JSON.",
			peers: []peer{
				{name: "json.Unmarshal", floor: true, note: "reads the body, decodes it once, and loops over the slice"},
				{name: ours, note: "walk.List, which also checks that each item comes after the previous one"},
				{name: "stripe-go", module: modStripe, accepts: []string{"a page that does not advance"},
					note: "GetIter over one json.Unmarshal; items are boxed"},
			},
		},
	}
	if toolchain != "" {
		for i, r := range all {
			all[i] = r.with(toolchain)
		}
	}
	return all
}

// depth is the first row of a page.
type depth struct{ perMille, title string }

var depths = []depth{
	{"0", "the first"}, {"10", "behind 1 % of the rows"}, {"100", "behind 10 %"}, {"500", "behind 50 %"},
	{"900", "behind 90 %"}, {"1000", "the last"},
}

// pagingPrefix begins the names of the rows in paging.svg.
const pagingPrefix = "Paging/"

func pagingRows() (all []row) {
	for _, d := range depths {
		all = append(all, row{
			name: pagingPrefix + d.perMille, title: "List page in SQLite, " + d.title,
			text:    "100 identifiers, sorted by a value that many rows share and then by the identifier.",
			because: "Each page writes the statement anew from the query, and looks it up among the prepared ones. With few rows to skip, counting them is cheap.",
			peers: []peer{
				{name: "row comparison", module: modSQLite, floor: true, note: "written by hand and prepared once"},
				{name: ours, module: modSQLite, note: "sqlpage.Pages: writes a client's query as a statement and runs it"},
				{name: "OFFSET", module: modSQLite, note: "what counting paginators send, prepared once"},
				{name: "OR expansion", module: modSQLite, note: "what most keyset libraries send, prepared once"},
				{name: "bun", module: modBun, note: "a row comparison written by hand, for a query builder that prepares nothing"},
				{name: "gorm", module: modGorm, note: "the OR expansion of gorm-cursor-paginator, with PrepareStmt; gorm repeats a parameter, so SQLite does not see one range"},
			},
		})
	}
	return all
}

// dropped lists peers that are missing from the report, and why.
var dropped = []string{
	"go-jwt-middleware v3: v2 is measured instead.",
	"gorm-cursor-paginator: the module proxy in use does not have it. gorm with its condition is measured instead.",
}

// elsewhere lists figures that need an engine or the inside of a package, and the
// commands that measure them.
var elsewhere = []struct{ operation, target, where string }{
	{"Replay claim in Redis", "one round trip, ≤ 1.2 × a bare SET NX",
		"`go test -run '^$' -bench RedisClaim -count 5 ./internal/enginetest`"},
	{"Replay claim in PostgreSQL and SQLite, durable", "≤ 1.35 × and ≤ 1.3 × a bare INSERT",
		"`go test -run '^$' -bench ClaimBesideInsert ./internal/enginetest`"},
	{"Reads of sessions, tokens and keys in SQLite", "≤ 1.3 × a SELECT prepared by hand",
		"`go test -run '^$' -bench ReadBesideSelect ./internal/enginetest`"},
	{"List page in PostgreSQL, the first and deep ones, beside one by hand", "≤ 1.0 × the same prepared by hand, at any depth",
		"`go test -run '^$' -bench Page -rows 1000000 ./internal/enginetest`"},
	{"Growth in PostgreSQL, and of SQLite on a disk", "flat except for the depth of an index",
		"`go test -run '^$' -bench Growth -entries 10,1000,100000,1000000 ./internal/enginetest`"},
	{"Replay claim in memory, ten million live", "exact: none is accepted twice, no new one is refused",
		"`go test -run MemoryIsExact -live 10000000 ./signing`"},
	{"Iterator of decoded items", "≤ 5 ns per item", "`go test -run '^$' -bench Iterator ./paging/walk`"},
	{"Writes of a session in use", "≤ 1 per idle/20", "`go test -run TouchesAreFew ./auth/session`"},
}
