package paging_test

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

func TestQueryEncode(t *testing.T) {
	q := paging.Query{
		Paths: []string{"c_text"},
		Where: paging.Gt("_id", "5f&=%"),
		Sort:  []paging.Key{{Path: "c_sent", Desc: true}, {Path: "c_author"}},
		Skip:  3, Limit: 2,
		Lists: map[string]paging.Query{"connections": {Paths: []string{"access"}, Where: paging.Eq("access", 4), Limit: 5}},
	}
	text, err := url.QueryUnescape(q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	want := `connections.limit=5&connections.where={"access":4}&limit=2&paths[]=c_text&paths[]=connections.access&skip=3&` +
		`sort={"c_sent":-1,"c_author":1}&where={"_id":{"$gt":"5f&=%"}}`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	byID, err := url.QueryUnescape(paging.Query{Where: paging.Gt("_id", "5f")}.Encode())
	if err != nil || byID != `where={"_id":{"$gt":"5f"}}` { // without an empty condition: by _id a condition and a cursor mean the same
		t.Errorf("%s, %v", byID, err)
	}
	if got := (paging.Query{}).Encode(); got != "" {
		t.Errorf("the zero query is %q", got)
	}
	again := accepted(t, q.Encode())
	once := accepted(t, again.Encode())
	if diff := cmp.Diff(again, once, sameFilter); diff != "" {
		t.Errorf("read back:\n%s", diff)
	}
}

func TestQueryWants(t *testing.T) {
	q := paging.Query{Paths: []string{"name.first", "c_meta", "c_set[]#c_foo.c_text", "c_tags", "connections.access"}}
	tests := map[string]bool{
		"_id":                    true,
		"object":                 true,
		"name.first":             true,
		"name":                   true,
		"name.last":              false,
		"nam":                    false,
		"c_meta":                 true,
		"c_meta.a.b":             true,
		"c_metal":                false,
		"c_set":                  true,
		"c_set[]":                true,
		"c_set[]#c_foo.c_text":   true,
		"c_set[]#c_foo.c_text.x": true,
		"c_set[]#c_bar.c_text":   false,
		"c_set[].c_text":         true,
		"c_set[]#c_foo.c_other":  false,
		"c_tags[]":               true,
		"c_tags[]#c_foo.x":       true,
		"connections":            true,
		"connections.access":     true,
		"connections.target":     false,
		"":                       false,
	}
	for path, want := range tests {
		if got := q.Wants(path); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
	if (paging.Query{}).Wants("c_text") {
		t.Error("P21 a query without paths wants a property")
	}
}

func TestQueryAnd(t *testing.T) {
	q := accepted(t, where(`{"$or":[{"c_text":"a"},{}]}`))
	server := q.And(paging.Eq("org", "acme"))
	if got := server.Where.String(); got != `{"org":"acme"}` {
		t.Errorf("P11 %s", got)
	}
	if got := q.Where.String(); got != `{}` {
		t.Errorf("the query itself became %s", got)
	}
}

func TestSchemaVisible(t *testing.T) {
	tests := map[string]bool{
		"_id":                        true,
		"object":                     true,
		"c_text":                     true,
		"c_text.below":               true,
		"c_meta":                     true,
		"c_meta.lang":                true,
		"c_meta.tone":                false,
		"c_tags[]":                   true,
		"c_tags":                     true,
		"c_tags[]#c_x.secret":        true,
		"c_secret":                   false,
		"c_secret.below":             false,
		"c_vault":                    false,
		"c_vault.key":                false,
		"c_vault[]#c_x.key":          false,
		"c_nosuch":                   false,
		"connections":                true,
		"connections.access":         true,
		"connections._id":            true,
		"connections.c_token":        false,
		"connections.nosuch":         false,
		"c_inbox":                    true,
		"c_inbox.connections.access": true,
		"c_hidden_list.access":       false,
		"":                           false,
	}
	for path, want := range tests {
		if got := messages.Visible(path); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
}
