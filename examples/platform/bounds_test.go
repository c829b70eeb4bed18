package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/signing"
)

func quoted(n int) string { return `"` + strings.Repeat("é", n/2) + `"` }

// TestLongTexts writes texts at their limits. PostgreSQL takes no longer ones into an
// index, and a page holds a thousand.
func TestLongTexts(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ plural, path, member string }{
		{"c_messages", "c_text", "%s"},
		{"c_messages", "c_meta.lang", "%s"},
		{"c_messages", "c_author", "%s"},
		{"c_conversations", "c_title", "%s"},
		{"connections", "target", "%s"},
	} {
		t.Run("K42 "+c.path, func(t *testing.T) {
			body := func(n int) string {
				name, below, nested := strings.Cut(c.path, ".")
				if nested {
					return `{"` + name + `":{"` + below + `":` + quoted(n) + `}}`
				}
				return `{"` + name + `":` + quoted(n) + `}`
			}
			most := 200
			if c.path == "c_text" {
				most = 64 << 10
			}
			made := s.as(t, "", "POST", "/"+c.plural, body(most)).ok(t)
			one := "/" + c.plural + "/" + made["_id"].(string)
			for _, refused := range []answer{s.as(t, "", "POST", "/"+c.plural, body(most+2)), s.as(t, "", "PATCH", one, body(most+2))} {
				if got := children(s.refused(t, refused, 400, "invalidArgument.body")); got[c.path] != fmt.Sprintf("must have at most %d bytes", most) {
					t.Errorf("got %v", got)
				}
			}
		})
	}
}

// TestRoomOfAnAccount fills what an account may store, and frees some of it.
func TestRoomOfAnAccount(t *testing.T) {
	s, p := inside(t)
	p.store.room = 1000
	create := func(account string, n int) answer {
		return s.as(t, account, "POST", "/c_messages", `{"c_text":`+quoted(n)+`}`)
	}
	full := func(got answer) {
		t.Helper()
		s.refused(t, got, 409, "conflict.unspecified")
	}
	one := "/c_messages/" + create(s.AccountID, 700).ok(t)["_id"].(string)
	full(create(s.AccountID, 200))
	create(s.TOTPAccountID, 700).ok(t) // another account has room of its own
	full(s.as(t, s.AccountID, "PATCH", one, `{"c_text":`+quoted(990)+`}`))
	for range 5 { // changes take up no more than what is there
		s.as(t, s.AccountID, "PATCH", one, `{"c_text":"short"}`).ok(t)
		s.as(t, s.AccountID, "PATCH", one, `{"c_text":`+quoted(700)+`}`).ok(t)
	}
	full(create(s.AccountID, 200))
	s.as(t, s.AccountID, "DELETE", one, "").ok(t)
	create(s.AccountID, 700).ok(t)
	full(create(s.AccountID, 200))
}

// TestPagesWithListsAreBoundedInBytes has conversations with long messages. A page of them
// ends at paging.MaxBytes and one conversation, and the pages together have each once.
func TestPagesWithListsAreBoundedInBytes(t *testing.T) {
	s, p := inside(t)
	org, err := p.store.Org(t.Context(), s.Org)
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	var all []*object
	text := strings.Repeat("é", 32<<10)
	for range 8 { // clients cannot write their lists
		o := &object{Org: org.Key(), Type: conversations, ID: newID(), Owner: s.AccountID, Values: map[string]any{"c_title": "same"}}
		made, all = append(made, o.ID), append(all, o)
		for range 40 {
			all = append(all, &object{Org: org.Key(), Type: messages, ID: newID(), Owner: s.AccountID, Values: map[string]any{
				"c_text": text, authorPath: s.AccountID, sentPath: date(time.Now()), parentPath: o.ID,
			}})
		}
	}
	if err := p.store.createAll(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	where := ""
	var met []string
	for more := true; more; {
		got := s.as(t, "", "GET", "/c_conversations?limit=1000&c_messages.limit=1000&paths[]=c_messages.c_text&where="+
			url.QueryEscape(`{"$and":[{"c_title":"same"}`+where+`]}`), "")
		if len(got.text) > 3*paging.MaxBytes {
			t.Fatalf("P30 a page of %d bytes", len(got.text))
		}
		page := got.ok(t)
		for _, item := range page["data"].([]any) {
			met = append(met, item.(map[string]any)["_id"].(string))
		}
		more = page["hasMore"].(bool)
		where = fmt.Sprintf(`,{"_id":{"$gt":%q}}`, met[len(met)-1])
	}
	slices.Sort(made)
	if !slices.Equal(met, made) {
		t.Errorf("met %v, want %v", met, made)
	}
}

// unread is the connection of a client that does not read before it is closed.
type unread struct {
	*httptest.ResponseRecorder
	writes, read chan struct{}
}

func (w unread) Write(b []byte) (int, error) {
	w.writes <- struct{}{}
	<-w.read
	return w.ResponseRecorder.Write(b)
}

// TestPagesThatAreNotRead lets a caller keep as many pages in memory as it has slots.
func TestPagesThatAreNotRead(t *testing.T) {
	for _, path := range []string{"/c_messages?limit=1", "/views/messages?limit=1", "/admin/roles", "/admin/accounts", "/apps"} {
		t.Run("K43 "+path, func(t *testing.T) {
			s, p := inside(t)
			h := p.handler(p.routes())
			ask := func(w http.ResponseWriter) {
				r := httptest.NewRequest("GET", s.BaseURL+"/"+s.Org+"/v2"+path, nil)
				r.Header.Set("Authorization", "Bearer "+s.AdminToken)
				h.ServeHTTP(w, r)
			}
			writes, read, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			for range 4 {
				go func() {
					ask(unread{httptest.NewRecorder(), writes, read})
					ended <- struct{}{}
				}()
			}
			for range 4 {
				<-writes
			}
			w := httptest.NewRecorder()
			if ask(w); w.Code != 429 {
				t.Errorf("a fifth page: %d", w.Code)
			}
			s.do(t, call{path: "/c_messages?limit=1", other: true}).ok(t) // another org does not wait
			close(read)
			for range 4 {
				<-ended
			}
			w = httptest.NewRecorder()
			if ask(w); w.Code != 200 {
				t.Errorf("after the others: %d %s", w.Code, w.Body)
			}
		})
	}
}

// chainsOf returns n chains, as JSON. Each has a property with so many letters.
func chainsOf(n, letters int) string {
	chains := make([]string, n)
	for i := range chains {
		chains[i] = fmt.Sprintf("object.read.c_message.%024x.%s", i, strings.Repeat("c", letters))
	}
	text, _ := json.Marshal(chains) // texts always marshal
	return string(text)
}

func TestBoundsOfRoles(t *testing.T) {
	s, p := inside(t)
	role := func(name, scope string) answer {
		return s.as(t, "", "POST", "/admin/roles", `{"name":"`+name+`","scope":`+scope+`}`)
	}
	t.Run("K44 chains", func(t *testing.T) {
		role("wide", chainsOf(200, 1)).ok(t)
		s.refused(t, role("wider", chainsOf(201, 1)), 400, "invalidArgument.body")
		s.refused(t, role("longer", chainsOf(200, 100)), 400, "invalidArgument.body")
		s.refused(t, s.as(t, "", "PATCH", "/admin/roles/wide", `{"scope":`+chainsOf(201, 1)+`}`), 400, "invalidArgument.body")
	})
	t.Run("K44 roles of an earlier release may shrink", func(t *testing.T) {
		var old struct{ Scope []string }
		if err := json.Unmarshal([]byte(`{"Scope":`+chainsOf(300, 1)+`}`), &old); err != nil {
			t.Fatal(err)
		}
		row := roleRow(auth.OrgKey(s.Org), "wide")
		if err := execIn(t.Context(), p.store.db, nil, "UPDATE platform_roles SET record = $3 WHERE "+row.where, s.Org, "wide",
			asJSON(value{"Name": "wide", "Scope": old.Scope})); err != nil {
			t.Fatal(err)
		}
		p.store.found.Invalidate(auth.OrgKey(s.Org))
		s.as(t, "", "PATCH", "/admin/roles/wide", `{"scope":`+chainsOf(299, 1)+`}`).ok(t)
		s.refused(t, s.as(t, "", "PATCH", "/admin/roles/wide", `{"scope":`+chainsOf(300, 1)+`}`), 400, "invalidArgument.body")
	})
	t.Run("K44 roles of an org, and of an account", func(t *testing.T) {
		var names []string
		var last answer
		for n := 0; n < 300 && last.status != 409; n++ {
			name := fmt.Sprintf("role%d", n)
			if last = role(name, `["object.read"]`); last.status == 200 {
				names = append(names, `"`+name+`"`)
			}
		}
		s.refused(t, last, 409, "conflict.unspecified")
		all := items(t, s.as(t, "", "GET", "/admin/roles?limit=1000", "").ok(t), false)
		if len(all) != 100 {
			t.Errorf("%d roles", len(all))
		}
		give := func(n int) answer {
			return s.as(t, "", "PATCH", "/admin/accounts/"+s.AccountID, `{"roles":[`+strings.Join(names[:n], ",")+`]}`)
		}
		give(64).ok(t)
		if got := children(s.refused(t, give(65), 400, "invalidArgument.body")); got["roles"] != "must be at most 64" {
			t.Errorf("got %v", got)
		}
		s.as(t, "", "DELETE", "/admin/roles/role0", "").ok(t)
		role("again", `[]`).ok(t)
		s.refused(t, role("again", `[]`), 409, "conflict.unspecified")
	})
}

// TestCostlyWork repeats what takes this server long. The quotas are small beside it.
func TestCostlyWork(t *testing.T) {
	s, p := inside(t)
	p.pairs.burst, p.pairs.interval = 3, time.Hour // making a pair may take longer than the interval
	p.asking.interval = time.Hour
	refusedAfter := func(t *testing.T, ask func() answer, most int) {
		t.Helper()
		var last answer
		n := 0
		for ; n <= most && last.status != 429; n++ {
			last = ask()
		}
		s.refused(t, last, 429, "throttled.unspecified")
		if last.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	t.Run("K45 key pairs", func(t *testing.T) {
		app := s.as(t, "", "POST", "/apps", `{"name":"pairs"}`).ok(t)["_id"].(string)
		refusedAfter(t, func() answer { return s.as(t, "", "POST", "/apps/"+app+"/keypair", "") }, 20)
		s.refused(t, s.as(t, "", "POST", "/apps/"+app+"/keypair", `{"overlap":60}`), 429, "throttled.unspecified")
	})
	for path, body := range map[string]string{"/console/scope": `{}`, "/console/qr": `{"text":"x"}`} {
		t.Run("K45 "+path, func(t *testing.T) {
			refusedAfter(t, func() answer { return s.question(t, http.MethodPost, path, "application/json", body) }, 500)
		})
	}
}

// A tool gives thirty apps a pair in a row, and rotates one ten times.
func TestManyKeyPairsInARow(t *testing.T) {
	pairs := newPairQuota()
	for n := range 30 + 10 {
		if err := pairs.take(inOrg{org: acme}); err != nil {
			t.Fatalf("the pair %d: %v", n, err)
		}
	}
}

// TestAPartnerTakesNothingOfItsAccount lets an app with the right to act as mia use up
// what it may do. Mia's own session goes on.
func TestAPartnerTakesNothingOfItsAccount(t *testing.T) {
	s, p := inside(t)
	b := s.browser(t)
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	t.Run("K46 minting", func(t *testing.T) {
		var last answer
		for n := 0; n < 500 && last.status != 429; n++ {
			last = s.as(t, s.AccountID, "POST", s.tokensPath(), wish(s.AccountID, ""))
		}
		s.refused(t, last, 429, "throttled.unspecified")
		refused := 0
		for range 30 {
			if got := b.send(t, "POST", s.tokensPath(), wish(s.AccountID, `,"expiresIn":60`)); got.status == 429 {
				refused++
			}
		}
		if refused != 0 {
			t.Errorf("%d of 30 tokens of mia's own session are refused", refused)
		}
	})
	t.Run("K46 pages", func(t *testing.T) {
		as := auth.With(t.Context(), auth.Principal{Org: auth.OrgKey(s.Org), App: s.ClientKey, Account: s.AccountID})
		for range queriesEach {
			leave, err := p.store.queries.enter(as)
			if err != nil {
				t.Fatal(err)
			}
			defer leave()
		}
		s.refused(t, s.as(t, s.AccountID, "GET", "/c_messages?limit=1", ""), 429, "throttled.unspecified")
		b.get(t, "/c_messages?limit=1").ok(t)
	})
}

// TestACapturedViewMakesNoTokens repeats a GET of version 1 with other nonces, as whoever
// has seen it can. A path that reads would be read again, and this one would make tokens
// that outlast the 2 s: it makes one.
func TestACapturedViewMakesNoTokens(t *testing.T) {
	s := start(t)
	const path = "/views/message_token"
	t.Run("F34 version 1", func(t *testing.T) {
		captured, err := http.NewRequest("GET", s.BaseURL+"/"+s.Org+"/v2"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.sign(captured, path, s.ClientKey, s.ClientSecret)
		tokens := 0
		for range 10 {
			captured.Header.Set("Service-Client-Nonce", hex.EncodeToString(random(8)))
			if got := send(t, captured); got.status == 200 {
				tokens++
			}
		}
		if tokens != 1 {
			t.Errorf("%d tokens", tokens)
		}
	})
	t.Run("F34 a token, and version 2", func(t *testing.T) {
		s.bearing(t, s.AdminToken, "GET", path, "").ok(t)
		// A new record of replays accepts version 2 from its next full second on.
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		r, err := http.NewRequest("GET", s.BaseURL+"/"+s.Org+"/v2"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &signing.Transport{BaseURL: s.BaseURL + "/" + s.Org + "/v2", ClientKey: s.V2ClientKey,
			Secret: signing.Secret(s.V2ClientSecret), Version: 2}}
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.StatusCode != 200 {
			t.Errorf("version 2: %d", reply.StatusCode)
		}
	})
}
