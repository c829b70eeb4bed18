package main

import "slices"

const (
	modAuth0   = "github.com/auth0/go-jwt-middleware/v2"
	modAuthn   = "connectrpc.com/authn"
	modAWS     = "github.com/aws/aws-sdk-go-v2"
	modCasbin  = "github.com/casbin/casbin/v2"
	modCedar   = "github.com/cedar-policy/cedar-go"
	modFosite  = "github.com/ory/fosite"
	modGitHub  = "github.com/google/go-github/v75"
	modGorilla = "github.com/gorilla/sessions"
	modJose    = "github.com/go-jose/go-jose/v4"
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

// rows is the report, in order. The tests hold it to the benchmarks.
var rows = slices.Concat([]row{
	{
		name: "Signature", title: "Request signature, verified without a store",
		text: "One signed GET of a few headers; those that sign bodies get the same 30 bytes as a body. Keys are 64 bytes and at hand.",
		peers: []peer{
			{name: "HMAC", floor: true, note: "one HMAC-SHA256 of the message over pooled state"},
			{name: ours, note: "the path checked and cut to what was signed, then verified"},
			{name: "tenantkit verify", note: "Verifier.Verify alone, for a caller whose router has cut the path"},
			{name: "go-github signature", module: modGitHub, accepts: []string{"signed an hour ago", "a nonce of another shape"},
				note: "ValidateSignature of bytes at hand"},
			{name: "go-github request", module: modGitHub, accepts: []string{"signed an hour ago", "a nonce of another shape"},
				note: "ValidatePayload, which reads the body"},
			{name: "stripe-go webhook", module: modStripe, accepts: []string{"a nonce of another shape"}},
			{name: "standard-webhooks", module: modStd, accepts: []string{"a nonce of another shape"}},
			{name: "aws v4", module: modAWS, accepts: []string{"signed an hour ago", "a nonce of another shape"},
				note: "has no verifier: the request is signed again, and the results compared; it covers the headers, too"},
		},
	},
	{
		name: "Replay", title: "Replay claim in memory",
		text: "A new request is recorded, by its nonce and by its signature, in a store that holds many already. " +
			"Making up the request is in the time, and its share of what the store grows by.",
		because: "Most of the time goes into waiting for memory: a third to look the request up, and more to find room for it where others have to move. " +
			"What is allocated are tables that grow by a third.",
		peers: []peer{
			{name: "cache misses", floor: true, note: "two reads, one after the other, from somewhere in as much memory as ours takes, and the making of the request"},
			{name: ours},
			{name: "otter", module: modOtter, accepts: []string{"an accepted one once the store is full"},
				note: "two caches; no bound per client, no siblings"},
			{name: "ttlcache", module: modTTL, accepts: []string{"an accepted one once the store is full"},
				note: "two caches; no bound per client, no siblings"},
			{name: "golang-lru expirable", module: modLRU, accepts: []string{"an accepted one once the store is full"},
				note: "two caches; no bound per client, no siblings; has no atomic check-and-set, so two claims at once may both pass"},
		},
	},
	{
		name: "BearerFirst", title: "Bearer token, first sight",
		text:  "An RS256 token of 2048 bits, from text to checked claims (issuer, audience, times).",
		peers: bearerPeers(peer{name: "RSA", floor: true, note: "crypto/rsa alone"}),
	},
	{
		name: "BearerAgain", title: "Bearer token, seen before",
		text: "The same token again. Ours remembers it and checks anew what can change; the others have no memory and verify again. " +
			"Whoever puts a map of tokens in front of one of them begins at the floor, and has times, revocation and bounds left to do.",
		peers: bearerPeers(peer{name: "map", floor: true, note: "one look-up by the whole token"}),
	},
},
	scopeRows(), scopeTextRows(),
	[]row{
		{
			name: "ScopeRoute", title: "A route's need with a path value",
			text: "May this request, routed and authenticated before, read the object that its path names? Its principal holds 1000 chains, " +
				"each of which names one object.",
			peers: []peer{
				{name: "map", floor: true, note: "one look-up of a finished text"},
				{name: ours, note: "Guard.Require of object.read.c_message.{id}, around an empty handler"},
				{name: "tenantkit authenticated", accepts: []string{"another instance", "a star", "a longer id"},
					note: "Guard.Require of nothing but a principal: what a Require costs without the need"},
				{name: "map of texts", note: "the path value put behind the rest of the text, and one look-up; knows no wildcards"},
				{name: "NATS sublist", module: modNATS, note: "the path value put behind the rest of the text; gsl.SimpleSublist, which keeps no answers"},
			},
		},
		{
			name: "ScopeCompile", title: "Compile 1000 chains",
			text: "From a list of texts to what can be asked, for the peers of the scope check that have such a step.",
			peers: []peer{
				{name: "map", floor: true, note: "each text put into a map"},
				{name: ours},
				{name: "NATS sublist", module: modNATS},
				{name: "casbin", module: modCasbin, accepts: []string{"an empty segment"}, note: "AddPolicies; it is given parts and parses nothing"},
				{name: "cedar-go", module: modCedar, note: "parses a language that can say far more"},
			},
		},
		{
			name: "Session", title: "Session check in memory",
			text:    "A request with a session cookie, until the account is known; with the use of the session written down, where no note says otherwise.",
			because: "A sixth of the time is SHA-256 of the cookie, and a tenth the look-up of the account, which scs and gorilla/sessions do without.",
			peers: []peer{
				{name: "map", floor: true, note: "cookie parsed, SHA-256, one look-up, the account in a context"},
				{name: ours, note: "Manager.Authenticate: the account is looked up, too; writing down the use is left to the Guard"},
				{name: "tenantkit guard", note: "the whole Guard: also the org, the origin, and the use written down, once in idle/20"},
				{name: "scs", module: modSCS, accepts: []string{"an account that was disabled"},
					note: "with an idle timeout, which it writes with each request"},
				{name: "scs without idle timeout", module: modSCS,
					accepts: []string{"an account that was disabled", "a session unused for too long"}, note: "loads, and has nothing to write"},
				{name: "gorilla cookie", module: modGorilla,
					accepts: []string{"an account that was disabled", "a session that was ended", "a session unused for too long"},
					note:    "keeps the session in the cookie, signed and not encrypted; no idle timeout"},
			},
		},
		{
			name: "Guard", title: "Guard and need, whole chain",
			text: "An http.Handler around an empty one, from the request to the principal in its context. Ours also finds the org of the URL, " +
				"routes, sets the server's time, and bounds its look-ups in time.",
			because: "A third of the time is the mechanism, a quarter memory (its record of the call, which holds the copy of the request that carries it), and the rest checking the path and " +
				"finding the route. authn-go passes on what its function returns.",
			peers: chainPeers(
				peer{name: "context value", floor: true, note: "a middleware that sets one value"},
				peer{name: "authn-go", module: modAuthn, accepts: []string{"a credential the route is not for"},
					note: "the least that can be asked of it: a bearer token looked up in a map"},
				"a request signed anew each time, its claim in a memory store that grows to 32768 included"),
		},
		{
			name: "Loopback", title: "A request over loopback",
			text: "An http.Server and an http.Client in one process, eight connections at once, a reply of two bytes. " +
				"The time is of the whole run for each request: the inverse of the throughput.",
			because: "The library has no part in most of this time; what it allocates is as in the row above.",
			peers: chainPeers(
				peer{name: "plain handler", floor: true, note: "asks for no credential and is sent none, so that reading one counts, too"},
				peer{name: "authn-go", module: modAuthn, accepts: []string{"a credential the route is not for"},
					note: "the least that can be asked of it: a bearer token looked up in a map"},
				"the client signs each request, and its claim goes to a memory store"),
		},
		{ // the only one of processes, and not of calls
			name: "Server", title: "CPU of a whole server for a request",
			text: "The CPU, user and system, that the process of a server takes for each request, of eight connections at once: " +
				"of ten requests five read an object, four a page of ten of all properties, one writes an object.",
			because: "It asks for credentials, keeps everything in SQL, in memory here, narrows replies to scopes, and logs each request.",
			peers: []peer{
				{name: "plain server", floor: true, note: "net/http, encoding/json and a map: no credentials, no scopes, no log, and nothing is kept"},
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
		{name: ours, accepts: []string{"no expiry"}, note: "tokens without an end are part of the interface"},
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
		{name: "scs", module: modSCS, accepts: anyRoute, note: "LoadAndSave with an idle timeout, and a handler that asks for the account"},
		{name: "gorilla cookie", module: modGorilla, accepts: anyRoute, note: "a handler that asks for the account"},
	}
}

// counts are the lengths of the lists of chains.
var counts = []string{"1", "10", "100", "1000"}

// scopePrefix begins the names of the rows that scope.svg plots.
const scopePrefix = "Scope/"

func scopeRows() (all []row) {
	for _, n := range counts {
		all = append(all, row{
			name: scopePrefix + n, title: "Scope check, chains: " + n,
			text: "Is one operation, known by its parts, allowed by a list of that many chains, compiled beforehand? " + scopeLists +
				" The request is made of the parts with each check, where no note says otherwise.",
			peers: []peer{
				{name: "map", floor: true, note: "one look-up of a finished text"},
				{name: ours, note: "the need made of its parts with each check"},
				{name: "tenantkit need", note: "a need made beforehand, as a route's is"},
				{name: "casbin", module: modCasbin, note: "object, identifier and verb compared as text"},
				{name: "casbin cached", module: modCasbin, note: "keeps its answers, and here is always asked the same"},
				{name: "cedar-go", module: modCedar, note: "one policy per chain"},
			},
		})
	}
	return all
}

const scopeLists = "Each chain names one object and none has a wildcard; the one that allows stands in the middle."

// scopeTextPrefix begins the names of the rows that scopetext.svg plots.
const scopeTextPrefix = "ScopeText/"

func scopeTextRows() (all []row) {
	for _, n := range counts {
		all = append(all, row{
			name: scopeTextPrefix + n, title: "Scope check by text, chains: " + n,
			text: "Is one operation, known by its finished text, allowed by a list of that many chains, compiled beforehand where a peer can? " +
				scopeLists,
			because: "A list of one text is one comparison; ours looks each part up, however long the list is.",
			peers: []peer{
				{name: "map", floor: true, note: "one look-up of the text"},
				{name: ours, note: "the need parsed from the text with each check"},
				{name: "fosite wildcard", module: modFosite, note: "a loop over the list"},
				{name: "fosite hierarchic", module: modFosite, note: "a loop over the list"},
				{name: "minio wildcard", module: modMinio, note: "a loop over the list"},
				{name: "NATS sublist", module: modNATS, note: "gsl.SimpleSublist, which keeps no answers"},
			},
		})
	}
	return all
}

// nextGo is another version of Go, with another encoding/json.
const nextGo = "go1.27.0"

// jsonRows are beside encoding/json.
func jsonRows(toolchain string) []row {
	all := []row{
		{
			name: "Where", title: "Parse a where of 211 bytes", text: "From text to a checked filter. No other module parses this language; encoding/json is where one would begin.",
			peers: []peer{
				{name: ours},
				{name: "json into any", accepts: []string{"an unknown operator", "a member twice", "$in without a list"},
					note: "json.Unmarshal: nothing is known of operators yet"},
			},
		},
		{
			name: "PageDecode", title: "Decode a page of 1000 items",
			text: "From a stream of unknown length, as a body is, to typed items. The others are encoding/json, used the plain way, " +
				"the shortest and the careful one.",
			peers: []peer{
				{name: "json.Unmarshal", floor: true, note: "once, of all that was read"},
				{name: ours, note: "envelope.Decode, which reads no more than a limit"},
				{name: "json.Decoder", accepts: []string{"a fault", "a body beyond the limit", "text behind it"}, note: "one Decode"},
				{name: "RawMessage first", accepts: []string{"a fault", "a body beyond the limit"}, note: "then each item"},
			},
		},
		{
			name: "PageWalk", title: "Iterate a page of 1000 items",
			text:    "From the round trip, answered in the process, to the last item of the loop.",
			because: "A quarter of the time is json.Unmarshal's check that all is JSON.",
			peers: []peer{
				{name: "json.Unmarshal", floor: true, note: "the body read, decoded once, and a loop over the slice"},
				{name: ours, note: "walk.List, which also checks that each item is behind the one before"},
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

// depth is where a page begins.
type depth struct{ perMille, title string }

var depths = []depth{
	{"0", "the first"}, {"10", "behind 1 % of the rows"}, {"100", "behind 10 %"}, {"500", "behind 50 %"},
	{"900", "behind 90 %"}, {"1000", "the last"},
}

// pagingPrefix begins the names of the rows that paging.svg plots.
const pagingPrefix = "Paging/"

func pagingRows() (all []row) {
	for _, d := range depths {
		all = append(all, row{
			name: pagingPrefix + d.perMille, title: "List page in SQLite, " + d.title,
			text:    "100 identifiers in the order of a value that many rows share, and of the identifier.",
			because: "The statement is written anew from the query with each page, and looked up among those that are kept; with few rows to skip, counting them is cheap.",
			peers: []peer{
				{name: "row comparison", module: modSQLite, floor: true, note: "written by hand and prepared once"},
				{name: ours, module: modSQLite, note: "sqlpage.Pages: the query as a client sends it, written as a statement and run"},
				{name: "OFFSET", module: modSQLite, note: "what counting paginators send, prepared once"},
				{name: "OR expansion", module: modSQLite, note: "what most keyset libraries send, prepared once"},
			},
		})
	}
	return all
}

// dropped are peers that would belong in the report.
var dropped = []string{
	"go-jwt-middleware v3: measured in v2.",
}

// elsewhere are figures of the same table that need an engine or the inside of
// a package, and where they are measured.
var elsewhere = []struct{ operation, target, where string }{
	{"Replay claim in Redis", "one round trip, ≤ 1.2 × a bare SET NX",
		"`go test -run '^$' -bench RedisClaim -count 5 ./internal/enginetest`"},
	{"Replay claim in PostgreSQL and SQLite, durable", "≤ 1.35 × and ≤ 1.3 × a bare INSERT",
		"`go test -run '^$' -bench ClaimBesideInsert ./internal/enginetest`"},
	{"Reads of sessions, tokens and keys in SQLite", "≤ 1.3 × a SELECT prepared by hand",
		"`go test -run '^$' -bench ReadBesideSelect ./internal/enginetest`"},
	{"List page in PostgreSQL, first and in the depth, beside one by hand", "≤ 1.0 × the same prepared by hand, at any depth",
		"`go test -run '^$' -bench Page -rows 1000000 ./internal/enginetest`"},
	{"Growth in PostgreSQL, and of SQLite on a disk", "flat but for the depth of an index",
		"`go test -run '^$' -bench Growth -entries 10,1000,100000,1000000 ./internal/enginetest`"},
	{"Replay claim in memory, ten million live", "exact: none accepted twice, none refused that is new",
		"`go test -run MemoryIsExact -live 10000000 ./signing`"},
	{"Iterator of decoded items", "≤ 5 ns per item", "`go test -run '^$' -bench Iterator ./paging/walk`"},
	{"Writes of a session in use", "≤ 1 per idle/20", "`go test -run TouchesAreFew ./auth/session`"},
}
