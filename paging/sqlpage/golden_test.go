package sqlpage_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

var update = flag.Bool("update", false, "write what is compiled to testdata")

// golden are queries. testdata has their statements.
var golden = []struct{ name, where, sort string }{
	{"everything", `{}`, ``},
	{"nothing", `{"$nor":[{}]}`, ``},
	{"equal text", `{"title":"a"}`, ``},
	{"equal null", `{"title":null}`, ``},
	{"not equal", `{"title":{"$ne":"a"}}`, ``},
	{"not null", `{"title":{"$ne":null}}`, ``},
	{"greater", `{"title":{"$gt":"a"}}`, ``},
	{"greater or equal", `{"likes":{"$gte":5}}`, ``},
	{"less", `{"price":{"$lt":5.25}}`, ``},
	{"less or equal", `{"weight":{"$lte":1e320}}`, ``},
	{"equal number, whole", `{"price":5.0}`, ``},
	{"less or equal, double", `{"weight":{"$lte":0.1}}`, ``},
	{"in", `{"title":{"$in":["a",null,"b",5]}}`, ``},
	{"in, a text among integers", `{"rank":{"$in":[1,"x",true]}}`, ``},
	{"in nothing", `{"title":{"$in":[]}}`, ``},
	{"not in", `{"likes":{"$nin":[1,2.0,2.5]}}`, ``},
	{"exists", `{"title":{"$exists":true}}`, ``},
	{"exists not", `{"title":{"$exists":false}}`, ``},
	{"prefix", `{"title":{"$prefix":"a_%"}}`, ``},
	{"not a prefix", `{"title":{"$not":{"$prefix":"\udbff\udfff"}}}`, ``},
	{"prefix of an enum", `{"state":{"$prefix":"op"}}`, ``},
	{"prefix of a uuid", `{"by":{"$prefix":"0e98"}}`, ``},
	{"not", `{"likes":{"$not":{"$gt":5,"$lt":9}}}`, ``},
	{"and, or, nor", `{"title":"a","$or":[{"likes":1},{"likes":2,"rank":3}],"$nor":[{"rank":1},{"rank":2}]}`, ``},
	{"boolean", `{"open":{"$gte":true}}`, ``},
	{"boolean that is false", `{"open":false,"pinned":{"$ne":true}}`, ``},
	{"date", `{"at":{"$gt":"2026-01-02T03:04:05.000Z"}}`, ``},
	{"date of any precision", `{"moment":{"$lte":"2026-01-02T03:04:05.000Z"}}`, `{"moment":-1}`},
	{"day", `{"day":"2026-01-02T00:00:00.000Z"}`, `{"day":1}`},
	{"within a day", `{"day":{"$gte":"2026-01-02T03:04:05.000Z"},"$nor":[{"day":"2026-01-02T03:04:05.000Z"}]}`, ``},
	{"uuid", `{"by":{"$gt":"0e984725-c51c-4bf4-9960-e1c80e27aba0"}}`, `{"by":-1}`},
	{"enum", `{"state":{"$in":["open","x"]}}`, `{"state":-1}`},
	{"uuid in", `{"by":{"$in":["0e984725-c51c-4bf4-9960-e1c80e27aba0","0E984725-C51C-4BF4-9960-E1C80E27ABA0",null,7]}}`, ``},
	{"uuid that is none", `{"by":{"$lt":"x"},"$nor":[{"by":{"$gte":""}}]}`, ``},
	{"keyset of uuid and date", `{"$or":[{"moment":{"$gt":"2026-01-02T03:04:05.000Z"}},{"moment":"2026-01-02T03:04:05.000Z","by":{"$gt":"0e984725-c51c-4bf4-9960-e1c80e27aba0"}},{"moment":"2026-01-02T03:04:05.000Z","by":"0e984725-c51c-4bf4-9960-e1c80e27aba0","_id":{"$gt":"n7"}}]}`, `{"moment":1,"by":1}`},
	{"a text for an integer", `{"likes":{"$gt":"5"}}`, ``},
	{"between integers", `{"likes":{"$gt":5.5},"rank":{"$gte":-5.5}}`, ``},
	{"below what is between integers", `{"likes":{"$lt":5.5},"rank":{"$lte":-5.5}}`, ``},
	{"below all integers", `{"likes":{"$gt":-1e30},"rank":{"$lt":-1e30}}`, ``},
	{"document equal text", `{"c_a":"x"}`, ``},
	{"document equal number", `{"c_b.c-d":1.50}`, ``},
	{"document null", `{"c_a":null}`, ``},
	{"document boolean", `{"c_a":{"$lte":true}}`, ``},
	{"document boolean below none", `{"c_a":{"$lt":false}}`, ``},
	{"document boolean above one", `{"c_a":{"$gt":false}}`, ``},
	{"document boolean of both", `{"c_a":{"$gte":false}}`, ``},
	{"document greater", `{"c_a":{"$gt":5}}`, ``},
	{"document prefix", `{"c_a":{"$prefix":"x"}}`, ``},
	{"document not less", `{"c_a":{"$not":{"$lt":"x"}}}`, ``},
	{"document in", `{"c_a":{"$in":[1,"x",true,null,2]}}`, ``},
	{"document exists", `{"c_b.c-d":{"$exists":true}}`, ``},
	{"element", `{"tags[]":"a"}`, ``},
	{"no element", `{"tags[]":{"$nin":["a",5,"b",null]}}`, ``},
	{"element above", `{"tags[]":{"$gt":"a"},"$nor":[{"tags[]":{"$lte":5}}]}`, ``},
	{"array exists", `{"tags[]":{"$exists":true,"$ne":null}}`, ``},
	{"document with a base", `{"meta.po":"x"}`, ``},
	{"expression", `{"email":{"$ne":"a"}}`, `{"email":-1}`},
	{"keyset of an expression", `{"$or":[{"email":{"$gt":"a"}},{"email":"a","_id":{"$gt":"n7"}}]}`, `{"email":1}`},
	{"sort", `{}`, `{"title":-1,"likes":1}`},
	{"sort by a document", `{}`, `{"c_a":-1}`},
	{"sort by _id first", `{}`, `{"_id":-1,"title":1}`},
	{"keyset by _id", `{"_id":{"$gt":"n7"}}`, ``},
	{"keyset of one direction", `{"org":"acme","$or":[{"likes":{"$gt":5}},{"likes":5,"_id":{"$gt":"n7"}}]}`, `{"likes":1}`},
	{"keyset of one direction down", `{"$or":[{"$nor":[{"likes":{"$gte":5}}]},{"likes":5,"_id":{"$lt":"n7"}}]}`, `{"likes":-1,"_id":-1}`},
	{"keyset of mixed directions", `{"org":"acme","$or":[{"$nor":[{"likes":{"$gte":5}}]},{"likes":5,"_id":{"$gt":"n7"}}]}`, `{"likes":-1}`},
	{"keyset from a null", `{"$or":[{"title":{"$ne":null}},{"title":null,"_id":{"$gt":"n7"}}]}`, `{"title":1}`},
	{"keyset down to null", `{"$or":[{"$nor":[{"title":{"$gte":"a"}}]},{"title":"a","_id":{"$gt":"n7"}}]}`, `{"title":-1}`},
	{"keyset down to null, of one direction", `{"$or":[{"$nor":[{"title":{"$gte":"a"}}]},{"title":"a","_id":{"$lt":"n7"}}]}`, `{"title":-1,"_id":-1}`},
	{"keyset of a document", `{"$or":[{"c_a":{"$gt":5}},{"c_a":5,"_id":{"$gt":"n7"}}]}`, `{"c_a":1}`},
	{"keyset of a document down", `{"$or":[{"$nor":[{"c_a":{"$gte":"x"}}]},{"c_a":"x","_id":{"$gt":"n7"}}]}`, `{"c_a":-1}`},
	{"keyset with null not last", `{"$or":[{"likes":{"$gt":5}},{"likes":5,"rank":null,"_id":{"$gt":"n7"}}]}`, `{"likes":1,"rank":-1}`},
	{"keyset of a text among integers", `{"$or":[{"rank":{"$gt":"x"}},{"rank":"x","_id":{"$gt":"n7"}}]}`, `{"rank":1}`},
	{"keyset of a text among integers down", `{"$or":[{"$nor":[{"rank":{"$gte":"x"}}]},{"rank":"x","_id":{"$gt":"n7"}}]}`, `{"rank":-1}`},
	{"keyset between integers", `{"$or":[{"rank":{"$gt":5.5}},{"rank":5.5,"_id":{"$gt":"n7"}}]}`, `{"rank":1}`},
	{"keyset after all texts", `{"$or":[{"$nor":[{"title":{"$gte":5}}]},{"title":5,"_id":{"$gt":"n7"}}]}`, `{"title":-1}`},
	{"keyset after all booleans", `{"$or":[{"open":{"$gt":5}},{"open":5,"_id":{"$gt":"n7"}}]}`, `{"open":1}`},
	{"keyset after all booleans down", `{"$or":[{"$nor":[{"open":{"$gte":5}}]},{"open":5,"_id":{"$gt":"n7"}}]}`, `{"open":-1}`},
	{"keyset before all integers", `{"$or":[{"rank":{"$gt":true}},{"rank":true,"_id":{"$gt":"n7"}}]}`, `{"rank":1}`},
	{"keyset before all integers down", `{"$or":[{"$nor":[{"rank":{"$gte":true}}]},{"rank":true,"_id":{"$gt":"n7"}}]}`, `{"rank":-1}`},
	{"keyset of a document's null", `{"$or":[{"c_a":{"$ne":null}},{"c_a":null,"_id":{"$gt":"n7"}}]}`, `{"c_a":1}`},
	{"keyset of a document's null down", `{"$or":[{"likes":{"$gt":5}},{"likes":5,"c_a":null,"_id":{"$gt":"n7"}}]}`, `{"likes":1,"c_a":-1}`},
	{"keyset of a document's boolean", `{"$or":[{"c_a":{"$gt":false}},{"c_a":false,"_id":{"$gt":"n7"}}]}`, `{"c_a":1}`},
	{"keyset of a date down", `{"$or":[{"$nor":[{"at":{"$gte":"2026-01-02T03:04:05.000Z"}}]},{"at":"2026-01-02T03:04:05.000Z","_id":{"$gt":"n7"}}]}`, `{"at":-1}`},
	{"keyset of a boolean down", `{"$or":[{"$nor":[{"pinned":{"$gte":true}}]},{"pinned":true,"_id":{"$gt":"n7"}}]}`, `{"pinned":-1}`},
	{"not the keyset of this sort", `{"$or":[{"likes":{"$gt":5}},{"likes":5,"_id":{"$gt":"n7"}}]}`, `{"likes":-1}`},
	{"not the same value", `{"$or":[{"likes":{"$gt":5}},{"likes":6,"_id":{"$gt":"n7"}}]}`, `{"likes":1}`},
	{"less, which is no keyset", `{"$or":[{"title":{"$lt":"a"}},{"title":"a","_id":{"$gt":"n7"}}]}`, `{"title":-1}`},
}

func TestGolden(t *testing.T) {
	for name, dialect := range dialects {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for _, g := range golden {
				text, args, err := sqlpage.Statement(query(t, g.where, g.sort), notes, acme, dialect)
				if err != nil {
					fmt.Fprintf(&got, "-- %s\n-- %v\n\n", g.name, err)
					continue
				}
				checkPlaceholders(t, text, args, dialect)
				fmt.Fprintf(&got, "-- %s\n%s;\n-- %#v\n\n", g.name, text, args)
			}
			compareGolden(t, name+".sql", got.String())
		})
	}
}

// TestGoldenCounts has the statements that count, which have the conditions of pages.
func TestGoldenCounts(t *testing.T) {
	some := sqlpage.RowScope{Tenant: "acme", IDs: []string{"n1", "n2"}}
	for name, dialect := range dialects {
		var got strings.Builder
		for _, where := range []string{`{}`, `{"title":{"$prefix":"a"},"likes":5}`, `{"_id":{"$gt":"n7"}}`} {
			for _, visible := range []sqlpage.RowScope{acme, some} {
				q := query(t, where, `{"likes":-1}`)
				q.CountTo, q.Skip = 10_000, 7
				text, args, err := sqlpage.CountStatement(q, notes, visible, dialect)
				if err != nil {
					t.Fatal(err)
				}
				checkPlaceholders(t, text, args, dialect)
				fmt.Fprintf(&got, "-- %s\n%s;\n-- %#v\n\n", where, text, args)
			}
		}
		compareGolden(t, name+"_counts.sql", got.String())
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
