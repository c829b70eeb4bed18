package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/signing"
)

func TestTokenOfAClient(t *testing.T) {
	w := newWorld(t)
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}})
	narrow := func(chains ...string) func(*signature.Credential) {
		return func(c *signature.Credential) { c.Scope = append([]string{}, chains...) }
	}
	for _, c := range []struct {
		name  string
		alter func(*signature.Credential)
		pairs []string
		scope string
	}{
		{"without a scope, everything of an unlimited client", nil, nil, "*"},
		{"without a scope, everything of a limited client", narrow("object.read.c_note", "admin.read"), nil, "object.read.c_note admin.read"},
		{"an empty scope counts as none", nil, []string{"scope", ""}, "*"},
		{"a narrower scope", nil, []string{"scope", "object.read.c_note"}, "object.read.c_note"},
		{"a part of the client's scope", narrow("object.read"), []string{"scope", "object.read.c_note object.read.c_todo"}, "object.read.c_note object.read.c_todo"},
		{"the star is everything", nil, []string{"scope", "*"}, "*"},
		{"a client that may do nothing", narrow(), nil, ""},
		{"the issuer as resource", nil, []string{"resource", "https://api.example.test/base/acme/v2"}, "*"},
		{"the own client id", nil, []string{"client_id", acmeKey}, "*"},
		{"parameters that nobody knows are ignored", nil, []string{"audience", "elsewhere"}, "*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			honest := w.credentials[acmeKey]
			defer func() { w.credentials[acmeKey] = honest }()
			if c.alter != nil {
				w.change(acmeKey, c.alter)
			}
			a := w.token(t, c.pairs...)
			if a.Type != "Bearer" || a.Scope != c.scope || a.Ends < 898 || a.Ends > 900 {
				t.Errorf("the reply is %s", a.text)
			}
			if status := w.me(t, "acme", a.Token); status != 200 {
				t.Fatalf("the token is answered with %d", status)
			}
			got := fmt.Sprint(w.last.Account, " ", w.last.App, " ", w.last.TokenID, " ", w.last.Roles)
			if want := "ann " + acmeKey + "  [member]"; got != want {
				t.Errorf("the principal is %s, not %s", got, want)
			}
			if status := w.me(t, "globex", a.Token); status != 401 {
				t.Errorf("at another org the token is answered with %d", status)
			}
		})
	}
}

func TestTokensEndWithTheirClient(t *testing.T) {
	w := newWorld(t)
	w.change(acmeKey, func(c *signature.Credential) { c.NotAfter = time.Now().Add(100 * time.Second) })
	if a := w.token(t); a.Ends < 97 || a.Ends > 100 {
		t.Errorf("the token lasts %d s", a.Ends)
	}
	key, err := w.credentials[acmeKey].Key.WithFormer(otherSecret, time.Now().Add(50*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	w.change(acmeKey, func(c *signature.Credential) { c.Key = key })
	q := ask("/base/acme/v2/oauth/token", acmeKey, otherSecret, "grant_type", "client_credentials")
	if a := w.send(t, q); a.Ends < 47 || a.Ends > 50 {
		t.Errorf("the token of a former secret lasts %d s: %s", a.Ends, a.text)
	}
}

func TestClientsThatRolesLimit(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Roles = auth.RolesLimit })
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
	if a := w.token(t); a.Scope != "object.read.c_note" {
		t.Errorf("the scope is %q", a.Scope)
	}
	want(t, w.send(t, askToken("scope", "admin.read")), 400, "invalid_scope")
	// The roles of the subject add to a token, so both must be within the client.
	w = newWorld(t)
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
	w.change(acmeKey, func(c *signature.Credential) { c.Scope = []string{"admin.read"} })
	want(t, w.send(t, askToken()), 400, "invalid_scope")
}

// TestRefusals has each bad request of the token endpoint. The others read forms and clients in
// the same way.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	signed := func(q question) question { // as far as anybody reads it
		for name, value := range map[string]string{"Service-Client-Key": acmeKey, "Service-Client-Signature": strings.Repeat("0", 64),
			"Service-Client-Timestamp": "1767355200000", "Service-Client-Nonce": "0123456789abcdef"} {
			q.header.Set(name, value)
		}
		return q
	}
	with := func(q question, name string, values ...string) question {
		q.header[name] = values
		return q
	}
	body := func(q question, body string) question {
		q.body = body
		return q
	}
	path := func(q question, path string) question {
		q.path = path
		return q
	}
	plain := "grant_type=client_credentials"
	post := func(clientKey string, secret signing.Secret) question {
		return ask("/base/acme/v2/oauth/token", "", "", "grant_type", "client_credentials", "client_id", clientKey, "client_secret", string(secret))
	}
	for _, c := range []struct {
		name   string
		q      question
		status int
		code   string
	}{
		{"O23 a parameter twice", body(askToken(), plain+"&scope=admin.read&scope=admin.read"), 400, "invalid_request"},
		{"O23 a parameter twice, once empty", body(askToken(), plain+"&grant_type="), 400, "invalid_request"},
		{"O23 a malformed escape", body(askToken(), plain+"&scope=%zz"), 400, "invalid_request"},
		{"O23 a semicolon", body(askToken(), plain+";scope=admin.read"), 400, "invalid_request"},
		{"O23 not UTF-8", body(askToken(), plain+"&scope=%ff"), 400, "invalid_request"},
		{"O23 parameters in the query", path(askToken(), "/base/acme/v2/oauth/token?scope=admin.read"), 400, "invalid_request"},
		{"O23 an empty query", path(askToken(), "/base/acme/v2/oauth/token?"), 400, "invalid_request"},
		{"O24 JSON", body(with(askToken(), "Content-Type", "application/json"), `{"grant_type":"client_credentials"}`), 400, "invalid_request"},
		{"O24 JSON called a form", body(askToken(), `{"grant_type":"client_credentials"}`), 400, "invalid_request"},
		{"O24 no type", with(askToken(), "Content-Type"), 400, "invalid_request"},
		{"O24 two types", with(askToken(), "Content-Type", "application/x-www-form-urlencoded", "application/json"), 400, "invalid_request"},
		{"O24 multipart", with(askToken(), "Content-Type", "multipart/form-data; boundary=x"), 400, "invalid_request"},
		{"O24 another charset", with(askToken(), "Content-Type", "application/x-www-form-urlencoded; charset=utf-16"), 400, "invalid_request"},
		{"O24 compressed", with(askToken(), "Content-Encoding", "gzip"), 400, "invalid_request"},
		{"O24 too large", body(askToken(), plain+"&x="+strings.Repeat("a", 32<<10)), 413, "invalid_request"},
		{"O25 two Authorization headers", with(askToken(), "Authorization", askToken().header.Get("Authorization"), "Basic eDp5"), 400, "invalid_request"},
		{"O25 a secret in the form, too", askToken("client_secret", string(acmeSecret)), 400, "invalid_request"},
		{"O25 an assertion, too", askToken("client_assertion", "a.b.c"), 400, "invalid_request"},
		{"O25 a type of assertion, too", askToken("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"), 400, "invalid_request"},
		{"O25 a signature, too", signed(askToken()), 400, "invalid_request"},
		{"O25 an account header", with(askToken(), "Service-Client-Account", "ann"), 400, "invalid_request"},
		{"O26 no credential", ask("/base/acme/v2/oauth/token", "", "", "grant_type", "client_credentials"), 401, "invalid_client"},
		{"a secret in the form", post(acmeKey, acmeSecret), 200, ""},
		{"O42 a wrong secret in the form", post(acmeKey, otherSecret), 401, "invalid_client"},
		{"O42 a secret in the form, without a client", post("", acmeSecret), 401, "invalid_client"},
		{"O42 the secret of another org's client in the form", post(globexKey, globexSecret), 401, "invalid_client"},
		{"O42 an empty secret in the form", post(acmeKey, ""), 401, "invalid_client"},
		{"O42 a secret in the form beside Basic of another client", with(post(acmeKey, acmeSecret), "Authorization", "Basic eDp5"), 400, "invalid_request"},
		{"O43 a parameter for each byte", body(askToken(), plain+strings.Repeat("&x", 16<<10-20)), 400, "invalid_request"},
		{"O43 18 parameters", body(askToken(), plain+strings.Repeat("&", 17)), 400, "invalid_request"},
		{"17 parameters", body(askToken(), plain+strings.Repeat("&", 16)), 200, ""},
		{"O28 a token of more than 8 KiB", askToken("scope", strings.Join(distinct(900, 20), " ")), 400, "invalid_scope"},
		{"O26 only a signature", signed(ask("/base/acme/v2/oauth/token", "", "", "grant_type", "client_credentials")), 401, "invalid_client"},
		{"O26 another scheme", with(askToken(), "Authorization", "Bearer x"), 401, "invalid_client"},
		{"O26 Basic without anything", with(askToken(), "Authorization", "Basic"), 401, "invalid_client"},
		{"O26 Basic without base64", with(askToken(), "Authorization", "Basic %%%"), 401, "invalid_client"},
		{"O26 the id of another client", askToken("client_id", otherKey), 401, "invalid_client"},
		{"O28 a chain that does not parse", askToken("scope", "object.raed"), 400, "invalid_scope"},
		{"O28 a chain of an unknown root", askToken("scope", "openid"), 400, "invalid_scope"},
		{"O28 two blanks", askToken("scope", "admin.read  admin.update"), 400, "invalid_scope"},
		{"O28 a blank at the end", askToken("scope", "admin.read "), 400, "invalid_scope"},
		{"O28 a blank only", askToken("scope", " "), 400, "invalid_scope"},
		{"O28 a tab", askToken("scope", "admin.read\tadmin.update"), 400, "invalid_scope"},
		{"O28 more chains than a token holds", askToken("scope", strings.TrimSpace(strings.Repeat("object.read.c_note ", 1600))), 400, "invalid_scope"},
		{"O28 another resource", askToken("resource", "https://api.example.test/base/globex/v2"), 400, "invalid_target"},
		{"O29 no grant", ask("/base/acme/v2/oauth/token", acmeKey, acmeSecret), 400, "invalid_request"},
		{"O29 the grant of a password", ask("/base/acme/v2/oauth/token", acmeKey, acmeSecret, "grant_type", "password", "username", "ann"), 400, "unsupported_grant_type"},
		{"O29 a grant in upper case", ask("/base/acme/v2/oauth/token", acmeKey, acmeSecret, "grant_type", "CLIENT_CREDENTIALS"), 400, "unsupported_grant_type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.send(t, c.q)
			want(t, a, c.status, c.code)
			basic := strings.HasPrefix(c.q.header.Get("Authorization"), "Basic")
			if challenge := a.header.Get("WWW-Authenticate"); (challenge != "") != (c.status == 401 && basic) {
				t.Errorf("the challenge is %q", challenge)
			}
			if (c.code == "") != (a.Token != "") {
				t.Errorf("the token is %q", a.Token)
			}
		})
	}
	t.Run("O28 beyond a limited client", func(t *testing.T) {
		w.change(acmeKey, func(c *signature.Credential) { c.Scope = []string{"object.read.c_note"} })
		for _, scope := range []string{"*", "admin.read", "object.read", "object.read.c_note admin.read"} {
			want(t, w.send(t, askToken("scope", scope)), 400, "invalid_scope")
		}
	})
}

// TestRefusedClients checks that a stranger cannot tell one refused client from another.
func TestRefusedClients(t *testing.T) {
	w := newWorld(t)
	refuse := func(name string, q question) (text string) {
		t.Run(name, func(t *testing.T) {
			a := w.send(t, q)
			want(t, a, 401, "invalid_client")
			if challenge := a.header.Get("WWW-Authenticate"); challenge != `Basic realm="https://api.example.test/base/acme/v2"` {
				t.Errorf("the challenge is %q", challenge)
			}
			text = a.text
		})
		return text
	}
	client := func(clientKey string, secret signing.Secret) question {
		return ask("/base/acme/v2/oauth/token", clientKey, secret, "grant_type", "client_credentials")
	}
	replies := map[string]bool{}
	for name, q := range map[string]question{
		"O26 a wrong secret":                   client(acmeKey, otherSecret),
		"O26 an empty secret":                  client(acmeKey, ""),
		"O26 the secret with a NUL after it":   client(acmeKey, acmeSecret+"\x00"),
		"O26 a part of the secret":             client(acmeKey, acmeSecret[:63]),
		"O26 the boundary shifted":             client(acmeKey+string(acmeSecret[:1]), acmeSecret[1:]),
		"O26 an unknown client":                client(nobodyKey, acmeSecret),
		"O26 an unknown client, long":          client(strings.Repeat("x", 4096), acmeSecret),
		"O26 an unknown client, with a NUL":    client("acme\x00", acmeSecret),
		"O26 an empty client":                  client(" ", acmeSecret),
		"O26 a client of another org":          client(globexKey, globexSecret),
		"O26 the client key in other letters":  client(strings.ToUpper(acmeKey), acmeSecret),
		"O26 a secret that is encoded wrongly": {"POST", client("", "").path, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Authorization": {"Basic YTolenp6"}}, "grant_type=client_credentials"},
	} {
		replies[refuse(name, q)] = true
	}
	honest := w.credentials[acmeKey]
	for name, alter := range map[string]func(*signature.Credential){
		"O27 a disabled credential":       func(c *signature.Credential) { c.Disabled = true },
		"O27 an ended credential":         func(c *signature.Credential) { c.NotAfter = past() },
		"O27 a credential not yet valid":  func(c *signature.Credential) { c.NotBefore = time.Now().Add(time.Minute) },
		"O27 from another network":        func(c *signature.Credential) { c.Networks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} },
		"O27 the account of another org":  func(c *signature.Credential) { c.Account = "gus" },
		"O27 an account that is disabled": func(c *signature.Credential) { c.Account = "off" },
	} {
		w.change(acmeKey, alter)
		replies[refuse(name, client(acmeKey, acmeSecret))] = true
		w.credentials[acmeKey] = honest
	}
	former, err := signing.NewKey(acmeKey, otherSecret)
	if err != nil {
		t.Fatal(err)
	}
	if former, err = former.WithFormer(acmeSecret, past()); err != nil {
		t.Fatal(err)
	}
	w.change(acmeKey, func(c *signature.Credential) { c.Key = former })
	replies[refuse("O27 a former secret that has ended", client(acmeKey, acmeSecret))] = true
	w.credentials[acmeKey] = honest
	w.directory.PutApp(auth.App{ClientKey: acmeKey, Org: "acme", Disabled: true})
	replies[refuse("O27 a disabled app", client(acmeKey, acmeSecret))] = true
	if len(replies) != 1 {
		t.Errorf("%d different replies: %v", len(replies), replies)
	}
	w.directory.PutApp(auth.App{ClientKey: acmeKey, Org: "acme"})
	w.token(t)
}

func TestClientsWithoutAnAccountOrAKeyPair(t *testing.T) {
	w := newWorld(t)
	if err := w.keys.Delete(t.Context(), "acme", otherKey); err != nil {
		t.Fatal(err)
	}
	q := ask("/base/acme/v2/oauth/token", otherKey, otherSecret, "grant_type", "client_credentials")
	want(t, w.send(t, q), 400, "unauthorized_client")
	w.change(acmeKey, func(c *signature.Credential) { c.Account, c.Accounts = "", []string{"ann"} })
	// Nobody's rights bound who makes such a credential, so it serves for nothing here.
	raw := w.record(t, acmeKey, "acme", "ann", 0)
	for name, q := range map[string]question{
		"O44 a token":       askToken(),
		"O44 introspection": ask("/base/acme/v2/oauth/introspect", acmeKey, acmeSecret, "token", raw),
		"O44 revocation":    ask("/base/acme/v2/oauth/revoke", acmeKey, acmeSecret, "token", raw),

		"O44 a token of no grant":      ask("/base/acme/v2/oauth/token", acmeKey, acmeSecret),
		"O44 introspection of nothing": ask("/base/acme/v2/oauth/introspect", acmeKey, acmeSecret),
		"O44 revocation of nothing":    ask("/base/acme/v2/oauth/revoke", acmeKey, acmeSecret),
	} {
		t.Run(name, func(t *testing.T) { want(t, w.send(t, q), 400, "unauthorized_client") })
	}
	if status := w.me(t, "acme", raw); status != 200 {
		t.Errorf("the token is answered with %d", status)
	}
}

// distinct returns n chains of the given length.
func distinct(n, length int) (chains []string) {
	for i := range n {
		chain := fmt.Sprintf("object.read.c_%d", i)
		chains = append(chains, chain+strings.Repeat("x", max(0, length-len(chain))))
	}
	return chains
}

// A Ceiling is that of the clients' tokens, too: a client that is narrower than its account gets
// what its credential has.
func TestANarrowClientUnderACeiling(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Ceiling = true })
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
	w.change(acmeKey, func(c *signature.Credential) { c.Scope = []string{"admin.read"} })
	for _, pairs := range [][]string{nil, {"scope", "admin.read"}} {
		if a := w.token(t, pairs...); a.Scope != "admin.read" {
			t.Errorf("the scope is %q", a.Scope)
		}
	}
	want(t, w.send(t, askToken("scope", "object.read.c_note")), 400, "invalid_scope")
}

func TestASecretIsDecodedAsAParameter(t *testing.T) {
	w := newWorld(t)
	odd := signing.Secret("a b+c%25:ä/" + strings.Repeat("x", 20))
	key, err := signing.UnsafeKey(acmeKey, odd)
	if err != nil {
		t.Fatal(err)
	}
	w.change(acmeKey, func(c *signature.Credential) { c.Key = key })
	q := ask("/base/acme/v2/oauth/token", acmeKey, odd, "grant_type", "client_credentials")
	want(t, w.send(t, q), 200, "")
}

func TestPermit(t *testing.T) {
	var refusal error
	var admitted auth.Principal
	w := newWorld(t, func(w *world) {
		w.server.Permit = func(_ context.Context, client auth.Principal) error {
			admitted = client
			return refusal
		}
	})
	w.token(t)
	if admitted.App != acmeKey || admitted.Account != "ann" || admitted.Org != "acme" {
		t.Errorf("admitted %+v", admitted)
	}
	refusal = &auth.Error{Detail: auth.DetailThrottled, RetryAfter: 3 * time.Second}
	a := w.send(t, askToken())
	want(t, a, 429, "temporarily_unavailable")
	if got := a.header.Get("Retry-After"); got != "3" {
		t.Errorf("Retry-After is %q", got)
	}
	refusal = &auth.Error{Detail: auth.DetailForbidden}
	want(t, w.send(t, askToken()), 400, "unauthorized_client")
	refusal = errors.New("a secret of the server")
	a = w.send(t, askToken())
	want(t, a, 500, "server_error")
	if strings.Contains(a.text, "secret") {
		t.Errorf("the reply is %s", a.text)
	}
	for _, status := range []int{500, 502, 504} { // OAuth describes one status of a server_error
		refusal = ownFault(status)
		want(t, w.send(t, askToken()), 500, "server_error")
	}
}

// ownFault is an error of the application with a status of its own.
type ownFault int

func (ownFault) Error() string { return "the quotas do not answer" }
func (f ownFault) Fault() *envelope.Fault {
	return &envelope.Fault{Detail: "own.quotas", Status: int(f)}
}

// downCredentials, downDirectory and downKeys do not answer.
type downCredentials struct{}

func (downCredentials) Credential(context.Context, string) (*signature.Credential, error) {
	return nil, http.ErrServerClosed
}

type downDirectory struct{ auth.Directory }

func (downDirectory) Account(context.Context, auth.OrgKey, string) (*auth.Account, error) {
	return nil, http.ErrServerClosed
}

func (downDirectory) App(context.Context, string) (*auth.App, error) {
	return nil, http.ErrServerClosed
}

func TestOutages(t *testing.T) {
	for name, alter := range map[string]func(*world){
		"the credentials": func(w *world) { w.signature.Credentials = downCredentials{} },
		"the directory":   func(w *world) { w.guard.Directory = downDirectory{w.directory} },
	} {
		t.Run("O32 "+name, func(t *testing.T) {
			w := newWorld(t, alter)
			a := w.send(t, askToken())
			want(t, a, 503, "temporarily_unavailable")
			if a.header.Get("Retry-After") == "" || a.header.Get("WWW-Authenticate") != "" {
				t.Errorf("the header is %v", a.header)
			}
			w.givePublic(t, signer)
			want(t, w.send(t, askToken()), 503, "temporarily_unavailable")
		})
	}
}

func TestRefusalsByTheGuardAreFaults(t *testing.T) {
	w := newWorld(t)
	q := askToken()
	q.path = "/base/nowhere/v2/oauth/token"
	if a := w.send(t, q); a.status != 404 || !strings.Contains(a.text, "notFound.env") {
		t.Errorf("got %d %s", a.status, a.text)
	}
	if a := w.send(t, question{method: "GET", path: "/base/acme/v2/oauth/token"}); a.status != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("got %d %s", a.status, a.text)
	}
}

func TestObserversLearnWhy(t *testing.T) {
	w := newWorld(t)
	q := ask("/base/acme/v2/oauth/token", acmeKey, otherSecret, "grant_type", "client_credentials")
	w.send(t, q)
	if text := w.events[1].Err.Error(); strings.Contains(text, url.QueryEscape(string(otherSecret))) {
		t.Errorf("the error has the secret: %s", text)
	}
}

// The routes are Public for the Guard. Its observer learns from the Server who asked, or whom a
// credential that was refused names.
func TestObserversLearnWho(t *testing.T) {
	w := newWorld(t)
	raw := w.record(t, acmeKey, "acme", "ann", 0)
	const grant = "client_credentials"
	for name, c := range map[string]struct {
		q    question
		want []string
	}{
		"a token":        {askToken(), []string{acmeKey + " ann ok"}},
		"introspection":  {ask("/base/acme/v2/oauth/introspect", acmeKey, acmeSecret, "token", raw), []string{acmeKey + " ann ok"}},
		"revocation":     {ask("/base/acme/v2/oauth/revoke", otherKey, otherSecret, "token", raw), []string{otherKey + " ann ok"}},
		"a scope beyond": {askToken("scope", "openid"), []string{acmeKey + " ann ok", acmeKey + " ann invalidArgument.authScope"}},
		"a wrong secret": {ask("/base/acme/v2/oauth/token", acmeKey, otherSecret, "grant_type", grant),
			[]string{"claimed " + acmeKey + " accessDenied.invalidCredentials"}},
		"a wrong secret in the form": {ask("/base/acme/v2/oauth/token", "", "", "client_id", acmeKey, "client_secret", "x"),
			[]string{"claimed " + acmeKey + " accessDenied.invalidCredentials"}},
		"another client_id": {askToken("client_id", otherKey), []string{"claimed " + acmeKey + " accessDenied.invalidCredentials"}},
		"nothing":           {ask("/base/acme/v2/oauth/token", "", "", "grant_type", grant), []string{"claimed  accessDenied.invalidCredentials"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.events = nil
			w.send(t, c.q)
			var got []string
			for _, e := range w.events[1:] { // the first says that a Public route admits everybody
				switch {
				case e.Verb != "":
				case e.Detail == "":
					got = append(got, e.App+" "+e.Account+" ok")
				case e.App != "":
					got = append(got, e.App+" "+e.Account+" "+e.Detail)
				default:
					got = append(got, "claimed "+e.Claimed.App+" "+e.Detail)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBasicOpensNoOtherRoute(t *testing.T) {
	w := newWorld(t)
	q := ask("/base/acme/v2/me", acmeKey, acmeSecret)
	q.method, q.body = "GET", ""
	if a := w.send(t, q); a.status != 401 {
		t.Errorf("got %d %s", a.status, a.text)
	}
}
