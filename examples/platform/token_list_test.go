package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/token"
)

// byID returns the items of a reply by their _id.
func byID(t *testing.T, got answer) map[string]value {
	t.Helper()
	all := map[string]value{}
	for _, item := range items(t, got.ok(t), false) {
		all[item.(value)["_id"].(string)] = item.(value)
	}
	return all
}

func TestTokensOfAnApp(t *testing.T) {
	t.Parallel()
	s := start(t)
	jti := func(data value) string { return data["jti"].(string) }
	list := func(t *testing.T) map[string]value {
		t.Helper()
		return byID(t, s.as(t, "", "GET", s.tokensPath(), ""))
	}
	var limited string
	for limited = range list(t) { // the demo's
	}

	admins := s.mint(t, "", wish(s.AdminAccountID, `,"permanent":true`))
	member := s.mint(t, s.AccountID, wish(s.AccountID, `,"maxUses":3,"expiresIn":60`))
	child := s.bearing(t, admins["token"].(string), "POST", s.tokensPath(), wish(s.AccountID, `,"permanent":true`)).ok(t)["data"].(value)
	grandchild := s.bearing(t, child["token"].(string), "POST", s.tokensPath(), wish(s.AccountID, `,"permanent":true`)).ok(t)["data"].(value)

	t.Run("an administrator sees all, and who made them", func(t *testing.T) {
		want := map[string]value{
			jti(admins): {"subject": s.AdminAccountID, "kind": "permanent", "uses": 0.0, "maker": s.AdminAccountID, "makerApp": s.ClientKey},
			jti(member): {"subject": s.AccountID, "kind": "limited", "uses": 0.0, "maxUses": 3.0, "expires": member["expires"],
				"maker": s.AdminAccountID, "makerApp": s.ClientKey}, // the administrator's key signed for the member
			jti(child):      {"subject": s.AccountID, "kind": "permanent", "uses": 0.0, "maker": s.AdminAccountID, "parent": jti(admins)},
			jti(grandchild): {"subject": s.AccountID, "kind": "permanent", "uses": 0.0, "maker": s.AdminAccountID, "parent": jti(child)},
			limited:         {"subject": s.AccountID, "kind": "limited", "uses": 0.0, "maxUses": 3.0},
		}
		got := list(t)
		for id, item := range got {
			if want[id] == nil {
				t.Fatalf("%v", item)
			}
			want[id]["_id"], want[id]["object"], want[id]["issued"], want[id]["scope"] = id, "token", item["issued"], []any{"*"}
			if id == jti(admins) || id == jti(child) { // which have made others
				want[id]["lastUsed"], want[id]["lastAddress"] = item["lastUsed"], "127.0.0.0/24"
			}
		}
		for _, name := range []string{"maker", "makerApp", "expires"} {
			if said, ok := got[limited][name]; ok {
				want[limited][name] = said
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		delete(want, jti(admins))
		if diff := cmp.Diff(want, byID(t, s.as(t, "", "GET", s.subjectPath(s.AccountID), ""))); diff != "" {
			t.Errorf("those of a subject (-want +got):\n%s", diff)
		}
	})
	t.Run("a subject sees its own, and nothing of others", func(t *testing.T) {
		got := byID(t, s.as(t, s.AccountID, "GET", s.subjectPath(s.AccountID), ""))
		if len(got) != 4 {
			t.Errorf("%v", got)
		}
		for id, item := range got {
			if item["maker"] != nil || item["makerApp"] != nil && item["makerApp"] != s.ClientKey {
				t.Errorf("%v", item)
			}
			if parent := item["parent"]; parent != nil && (id != jti(grandchild) || parent != jti(child)) {
				t.Errorf("%v", item)
			}
		}
		if got[jti(grandchild)]["parent"] != jti(child) {
			t.Errorf("%v does not name its parent, which is the subject's own", got[jti(grandchild)])
		}
	})
	t.Run("T35 nobody else", func(t *testing.T) {
		s.refused(t, s.as(t, s.AccountID, "GET", s.tokensPath(), ""), 403, "accessDenied.unspecified")
		s.scopeRefused(t, s.bearing(t, s.NarrowToken, "GET", s.tokensPath(), ""), "admin.read")
		s.refused(t, s.do(t, call{other: true, path: s.tokensPath()}), 403, "accessDenied.unspecified")
		s.refused(t, s.as(t, "", "GET", "/apps/"+s.OtherClientKey+"/tokens", ""), 404, "notFound.app")
		s.refused(t, s.as(t, "", "GET", "/apps/nobody/tokens", ""), 404, "notFound.app")
		reads := s.mint(t, "", `{"sub":"`+s.AdminAccountID+`","scope":["admin.read"]}`)["token"].(string)
		s.bearing(t, reads, "GET", s.tokensPath(), "").ok(t)
		updates := s.mint(t, "", `{"sub":"`+s.AdminAccountID+`","scope":["admin.update"]}`)["token"].(string)
		s.scopeRefused(t, s.bearing(t, updates, "GET", s.tokensPath(), ""), "admin.read")
	})
	t.Run("an app of its own has its own", func(t *testing.T) {
		other := s.as(t, "", "POST", "/apps", `{"name":"another"}`).ok(t)["_id"].(string)
		for range 2 { // without a key pair, and with one
			if got := items(t, s.as(t, "", "GET", "/apps/"+other+"/tokens", "").ok(t), false); len(got) != 0 {
				t.Errorf("%v", got)
			}
			s.as(t, "", "POST", "/apps/"+other+"/keypair", "").ok(t)
		}
	})
	t.Run("arguments", func(t *testing.T) {
		for _, query := range []string{"?where={%22subject%22:%22x%22}", "?sort=maker", "?limit=0", "?count=true"} {
			s.refused(t, s.as(t, "", "GET", s.tokensPath()+query, ""), 400, "invalidArgument.query")
		}
	})
	t.Run("M07 what a revocation ends is not listed", func(t *testing.T) {
		s.as(t, "", "DELETE", s.tokensPath()+"/"+jti(admins), "").ok(t)
		if got := list(t); len(got) != 2 || got[limited] == nil || got[jti(member)] == nil {
			t.Errorf("%v", got)
		}
	})
	t.Run("M07 what a disabled account made for others is not listed", func(t *testing.T) {
		second := s.account(t, `{"email":"second@acme.example","roles":["administrator"]}`)["_id"].(string)
		by := s.signer(s.app(t, `"account":"`+second+`"`))
		data := by.as(t, "", "POST", s.tokensPath(), wish(s.TOTPAccountID, `,"permanent":true`)).ok(t)["data"].(value)
		if got := list(t)[jti(data)]; got["maker"] != second || got["makerApp"] != by.ClientKey {
			t.Errorf("%v", got)
		}
		s.as(t, "", "POST", "/admin/accounts/"+second+"/deactivate", "").ok(t)
		if got := list(t); got[jti(data)] != nil || len(got) != 2 {
			t.Errorf("%v", got)
		}
	})
	t.Run("T22 tokens of a replaced key are not listed, those of a former key are", func(t *testing.T) {
		s.as(t, "", "POST", "/apps/"+s.ClientKey+"/keypair", `{"overlap":60}`).ok(t)
		if got := list(t); len(got) != 2 {
			t.Errorf("%v", got)
		}
		s.as(t, "", "POST", "/apps/"+s.ClientKey+"/keypair", "").ok(t)
		if got := list(t); len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
}

// countedLists counts the calls of List.
type countedLists struct {
	token.Ledger
	calls int
}

func (c *countedLists) List(ctx context.Context, of token.Holder, after token.Position, limit int) ([]token.Record, token.Position, error) {
	c.calls++
	return c.Ledger.List(ctx, of, after, limit)
}

// TestManyTokensOfAnApp pages through more tokens than the ledger returns at once. Some of them
// are not valid any more.
func TestManyTokensOfAnApp(t *testing.T) {
	t.Parallel()
	p := parts(t, io.Discard)
	facts, err := p.seed(t.Context(), options{demoMessages: fewMessages})
	if err != nil {
		t.Fatal(err)
	}
	s := &scoped{&server{faults: "service"}, p}
	key, err := p.stores.verifying(t.Context(), facts.ClientKey)
	if err != nil {
		t.Fatal(err)
	}
	path := "/apps/" + facts.ClientKey + "/tokens"
	all := listedTokens(t, s.get(t, path, "admin.read")) // the demo's own
	begin := time.Now().Add(-time.Hour).Truncate(time.Second).UTC()
	for i := range 2*token.MaxPage + 300 {
		r := token.Record{
			ID: fmt.Sprintf("%05d", i*7919%10007), Org: acme, ClientKey: facts.ClientKey, Subject: fmt.Sprint("subject", i), KeyID: key[0],
			Issued: begin.Add(time.Duration(i/3) * time.Second),
		}
		switch i % 10 {
		case 3:
			r.KeyID = "replaced"
		case 5:
			r.Maker = "gone"
		case 7:
			r.MakerApp = "gone"
		default:
			all = append(all, listedToken{r.ID, date(r.Issued)})
		}
		if err := p.stores.ledger.Issue(t.Context(), r, nil, 1); err != nil {
			t.Fatal(err)
		}
	}
	counted := &countedLists{Ledger: p.stores.ledger}
	p.stores.ledger = counted

	for _, sort := range [][]paging.Key{
		nil, {{Path: "_id", Desc: true}}, {{Path: "object"}, {Path: "_id"}},
		{{Path: "issued"}}, {{Path: "issued"}, {Path: "_id"}}, {{Path: "issued", Desc: true}}, {{Path: "issued"}, {Path: "_id", Desc: true}},
	} {
		q := paging.Query{Sort: sort}
		want := slices.SortedFunc(slices.Values(all), func(a, b listedToken) int { return a.compare(b, q.Order()) })
		inOrder := slices.Equal(q.Order(), []paging.Key{{Path: "issued"}, {Path: "_id"}})
		for _, limit := range []int{300, 1000} {
			t.Run(fmt.Sprint(sort, " in pages of ", limit), func(t *testing.T) {
				var got []listedToken
				for q, more := (paging.Query{Sort: sort, Limit: limit}), true; more; {
					counted.calls = 0
					reply := s.get(t, path+"?"+q.Encode(), "admin.read")
					page := listedTokens(t, reply)
					got, more = append(got, page...), reply.ok(t)["hasMore"] == true
					if inOrder && counted.calls > 2 || counted.calls > 3 {
						t.Errorf("a page takes %d calls of List", counted.calls)
					}
					if len(page) == 0 || more && len(page) != limit {
						t.Fatalf("a page of %d", len(page))
					}
					var err error
					if q, err = q.After(page[len(page)-1].values(q.Order())...); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(listedToken{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
		skipped := listedTokens(t, s.get(t, path+"?"+paging.Query{Sort: sort, Skip: 1400, Limit: 7}.Encode(), "admin.read"))
		if diff := cmp.Diff(want[1400:1407], skipped, cmp.AllowUnexported(listedToken{})); diff != "" {
			t.Errorf("%v, after 1400 (-want +got):\n%s", sort, diff)
		}
	}
	t.Run("a filter, and cursors that are no times", func(t *testing.T) {
		one := all[len(all)-1]
		where := url.QueryEscape(`{"_id":{"$in":["` + one.id + `","none"]}}`)
		if got := listedTokens(t, s.get(t, path+"?where="+where, "admin.read")); len(got) != 1 || got[0] != one {
			t.Errorf("%v, want %v", got, one)
		}
		for _, value := range []any{nil, true} {
			q, err := paging.Query{Sort: []paging.Key{{Path: "issued"}}, Limit: 1000}.After(value, "x")
			if err != nil {
				t.Fatal(err)
			}
			s.get(t, path+"?"+q.Encode(), "admin.read").ok(t)
		}
	})
}

// listedToken is an item of a list, as far as a list can be sorted by it.
type listedToken struct{ id, issued string }

func listedTokens(t *testing.T, got answer) (all []listedToken) {
	t.Helper()
	for _, item := range got.ok(t)["data"].([]any) {
		all = append(all, listedToken{item.(value)["_id"].(string), item.(value)["issued"].(string)})
	}
	return all
}

func (l listedToken) values(order []paging.Key) (values []any) {
	for _, key := range order {
		values = append(values, map[string]any{"_id": l.id, "issued": l.issued, "object": "token"}[key.Path])
	}
	return values
}

func (l listedToken) compare(m listedToken, order []paging.Key) int {
	a, b := l.values(order), m.values(order)
	for i, key := range order {
		n, _ := paging.Compare(a[i], b[i])
		if key.Desc {
			n = -n
		}
		if n != 0 {
			return n
		}
	}
	return 0
}
