package sqllist_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

type stamps struct {
	Made time.Time `json:"made" page:"made_at,sort"`
}

type key [16]byte

func (key) MarshalText() ([]byte, error) { return []byte("a key"), nil }

type state string

// extra is a document. Callers can filter and sort by some of its properties.
type extra struct {
	PO    string  `json:"po" page:",filter,sort"`
	Size  *int    `json:"size,omitempty" page:",filter"`
	Other float64 `json:"other"`
	Deep  struct {
		Ratio float64 `json:"ratio" page:",filter"`
	} `json:"deep"`
	Again *extra `json:"again"`
}

type everything struct {
	envelope.Item `page:"id,uuid"`
	stamps
	_        string          `page:"tenant_id,uuid,tenant"`
	Folder   *string         `json:"-" page:"folder_id,uuid"`
	Title    string          `json:"title" page:"title,filter,sort"`
	By       *key            `json:"by" page:"by_id,uuid,filter"`
	State    state           `json:"state" page:"state,enum,filter"`
	Size     int             `json:"size" page:"bytes,filter"`
	Ratio    *float64        `json:"ratio" page:"ratio,filter"`
	Price    json.Number     `json:"price" page:"price,filter"`
	Open     bool            `json:"open" page:"open,filter"`
	Due      *time.Time      `json:"due" page:"due,day"`
	Seen     time.Time       `json:"seen" page:"seen,milliseconds"`
	Meta     json.RawMessage `json:"meta" page:"meta"`
	Tags     []string        `json:"tags" page:"tags,array,filter"`
	Labels   *[]*string      `json:"labels" page:"label_texts,array"`
	Extra    extra           `json:"extra" page:"extra_doc"`
	Computed string          `json:"computed" page:"-"`
	note     string
}

var _ = everything{}.note // not exported, so it needs no tag

func TestDeclared(t *testing.T) {
	l := sqllist.Must[everything](sqllist.Declaration{Table: "public.things", Object: "thing", Default: 5, Max: 10})
	if diff := cmp.Diff(&paging.Schema{Object: "thing", ExampleID: "5b000000-0000-4000-8000-000000000001", Default: 5, Max: 10, RefuseUnknown: true, Properties: []paging.Property{
		{Path: "made", Type: paging.Date, Sort: true},
		{Path: "title", Type: paging.String, Filter: true, Sort: true},
		{Path: "by", Type: paging.String, Filter: true, Null: true},
		{Path: "state", Type: paging.String, Filter: true},
		{Path: "size", Type: paging.Integer, Filter: true},
		{Path: "ratio", Type: paging.Number, Filter: true, Null: true},
		{Path: "price", Type: paging.Number, Filter: true},
		{Path: "open", Type: paging.Boolean, Filter: true},
		{Path: "due", Type: paging.Date, Null: true},
		{Path: "seen", Type: paging.Date},
		{Path: "meta"},
		{Path: "tags[]", Type: paging.String, Filter: true},
		{Path: "labels[]", Type: paging.String, Null: true},
		{Path: "extra"},
		{Path: "extra.po", Type: paging.String, Filter: true, Sort: true},
		{Path: "extra.size", Type: paging.Integer, Filter: true, Null: true},
		{Path: "extra.deep.ratio", Type: paging.Number, Filter: true},
	}}, l.Schema()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sqlpage.Table{Name: "public.things", Object: "thing", Tenant: "tenant_id",
		Select: strings.Fields("id made_at title by_id state bytes ratio price open due seen meta tags label_texts extra_doc"),
		Properties: map[string]sqlpage.Column{
			"_id":       {Name: "id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
			"tenant_id": {Name: "tenant_id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
			"folder_id": {Name: "folder_id", Type: paging.String, Storage: sqlpage.UUID},
			"made":      {Name: "made_at", Type: paging.Date, NotNull: true},
			"title":     {Name: "title", Type: paging.String, NotNull: true},
			"by":        {Name: "by_id", Type: paging.String, Storage: sqlpage.UUID},
			"state":     {Name: "state", Type: paging.String, NotNull: true, Storage: sqlpage.Enum},
			"size":      {Name: "bytes", Type: paging.Integer, NotNull: true},
			"ratio":     {Name: "ratio", Type: paging.Number, Storage: sqlpage.Double},
			"price":     {Name: "price", Type: paging.Number, NotNull: true},
			"open":      {Name: "open", Type: paging.Boolean, NotNull: true},
			"due":       {Name: "due", Type: paging.Date, Storage: sqlpage.Day},
			"seen":      {Name: "seen", Type: paging.Date, NotNull: true, Storage: sqlpage.Milliseconds},
			"tags[]":    {Name: "tags", Type: paging.String, NotNull: true, Storage: sqlpage.Array},
			"labels[]":  {Name: "label_texts", Type: paging.String, Storage: sqlpage.Array},

			"extra.po":         {Name: "extra_doc", Base: "extra"},
			"extra.size":       {Name: "extra_doc", Base: "extra"},
			"extra.deep.ratio": {Name: "extra_doc", Base: "extra"},
		},
	}, l.Table()); diff != "" {
		t.Error(diff)
	}
	indexes, err := l.Indexes(sqlpage.PostgreSQL)
	if err != nil || len(indexes) != 7 || !strings.Contains(indexes[0], `"tenant_id", "id"`) {
		t.Error(indexes, err)
	}
}

// A struct that is wrong fails at the start of the program, not at a request.
func TestWrongDeclarations(t *testing.T) {
	fail := func(name, want string, declare func(sqllist.Declaration) (*sqllist.List, error), d sqllist.Declaration) {
		t.Helper()
		if _, err := declare(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	notes := sqllist.Declaration{Table: "notes", Object: "note"}
	shared := sqllist.Declaration{Table: "notes", Object: "note", SharedByAllTenants: true}

	fail("the tenant is forgotten", "set either Tenant or SharedByAllTenants", sqllist.New[struct {
		envelope.Item `page:"id"`
	}], notes)
	fail("a tenant beside SharedByAllTenants", "set either Tenant or SharedByAllTenants", sqllist.New[struct {
		envelope.Item `page:"id"`
		_             string `page:"tenant,tenant"`
	}], shared)
	fail("two tenants", "a second tenant", sqllist.New[struct {
		envelope.Item `page:"id"`
		A             string `json:"a" page:"a,tenant"`
		_             string `page:"b,tenant"`
	}], notes)
	fail("a tenant that is a number", `"tenant" of Tenant or Where is no property of type String`, sqllist.New[struct {
		envelope.Item `page:"id"`
		_             int `page:"tenant,tenant"`
	}], notes)
	fail("no struct", "no struct", sqllist.New[string], shared)
	fail("no table", "no table name", sqllist.New[struct {
		envelope.Item `page:"id"`
	}], sqllist.Declaration{Object: "note", SharedByAllTenants: true})
	fail("no object", "no object name", sqllist.New[struct {
		envelope.Item `page:"id"`
	}], sqllist.Declaration{Table: "notes", SharedByAllTenants: true})
	fail("no _id", "_id is not the first field", sqllist.New[struct {
		Title string `json:"title" page:"title"`
	}], shared)
	fail("a later _id", "_id is not the first field", sqllist.New[struct {
		Title         string `json:"title" page:"title"`
		envelope.Item `page:"id"`
	}], shared)
	fail("an _id without a column", "names of columns", sqllist.New[struct{ envelope.Item }], shared)
	fail("an _id that is a number", "_id is no string", sqllist.New[struct {
		ID int `json:"_id" page:"id"`
	}], shared)
	fail("a field without a tag", "field Title: it has no tag page", sqllist.New[struct {
		envelope.Item `page:"id"`
		Title         string `json:"title"`
	}], shared)
	fail("a field that is not exported", "not exported", sqllist.New[struct {
		envelope.Item `page:"id"`
		title         string `page:"title"`
	}], shared)
	fail("an unknown option", `unknown option "filtre"`, sqllist.New[struct {
		envelope.Item `page:"id"`
		Title         string `json:"title" page:"title,filtre"`
	}], shared)
	fail("an option of json", `does not apply "omitempty"`, sqllist.New[struct {
		envelope.Item `page:"id"`
		Title         string `json:"title,omitempty" page:"title"`
	}], shared)
	fail("a path of two segments", "no name of a property", sqllist.New[struct {
		envelope.Item `page:"id"`
		Title         string `json:"name.first" page:"title"`
	}], shared)
	fail("a column that must be quoted", "names of columns", sqllist.New[struct {
		envelope.Item `page:"id"`
		Title         string `json:"title" page:"ti\"tle"`
	}], shared)
	fail("a path twice", `"title" is declared twice`, sqllist.New[struct {
		envelope.Item `page:"id"`
		Title         string `json:"title" page:"title"`
		_             string `page:"title"`
	}], shared)
	fail("a column for object", `"object" is declared twice`, sqllist.New[struct {
		ID     string `json:"_id" page:"id"`
		Object string `json:"object" page:"object"`
	}], shared)
	fail("a filter by a document", "cannot filter or sort", sqllist.New[struct {
		envelope.Item `page:"id"`
		Meta          map[string]any `json:"meta" page:"meta,filter"`
	}], shared)
	fail("a filter by what callers never see", "cannot filter or sort", sqllist.New[struct {
		envelope.Item `page:"id"`
		Secret        string `json:"-" page:"secret,filter"`
	}], shared)
	fail("a filter by a type with a form of its own", "cannot filter or sort", sqllist.New[struct {
		envelope.Item `page:"id"`
		By            key `json:"by" page:"by,filter"`
	}], shared)
	fail("a day that is a text", "storage that its type has not", sqllist.New[struct {
		envelope.Item `page:"id"`
		Due           string `json:"due" page:"due,day"`
	}], shared)
	fail("an array that is a text", "a storage that its type has not", sqllist.New[struct {
		envelope.Item `page:"id"`
		Tags          string `json:"tags" page:"tags,array"`
	}], shared)
	fail("a sort by an array", "nothing is sorted by", sqllist.New[struct {
		envelope.Item `page:"id"`
		Tags          []string `json:"tags" page:"tags,array,sort"`
	}], shared)
	fail("an array and its element", `"tags" is declared twice`, sqllist.New[struct {
		envelope.Item `page:"id"`
		Tags          []string `json:"tags" page:"tags,array"`
		_             string   `page:"tags"`
	}], shared)
	fail("a document and a column of its name", `"meta" is declared twice`, sqllist.New[struct {
		envelope.Item `page:"id"`
		Meta          map[string]any `json:"meta" page:"doc"`
		_             string         `page:"meta"`
	}], shared)
	fail("an expression", "no column name", sqllist.New[struct {
		envelope.Item `page:"id"`
		_             string `page:"lower(title)"`
	}], shared)
	fail("a document that is a day", "a storage that its type has not", sqllist.New[struct {
		envelope.Item `page:"id"`
		Meta          map[string]any `json:"meta" page:"meta,day"`
	}], shared)
	fail("an _id of a type with a name", "_id is no string", sqllist.New[struct {
		ID state `json:"_id" page:"id"`
	}], shared)
	const inDocument = "in a document only filter and sort"
	fail("a column in a document", inDocument, sqllist.New[struct {
		envelope.Item `page:"id"`
		Meta          struct {
			PO string `json:"po" page:"po,filter"`
		} `json:"meta" page:"meta"`
	}], shared)
	fail("a date in a document", inDocument, sqllist.New[struct {
		envelope.Item `page:"id"`
		Meta          struct {
			At time.Time `json:"at" page:",filter"`
		} `json:"meta" page:"meta"`
	}], shared)
	fail("an array in a document", inDocument, sqllist.New[struct {
		envelope.Item `page:"id"`
		Meta          struct {
			Tags []string `json:"tags" page:",array,filter"`
		} `json:"meta" page:"meta"`
	}], shared)
	fail("a tenant in a document", inDocument, sqllist.New[struct {
		envelope.Item `page:"id"`
		Meta          struct {
			Org string `json:"org" page:",tenant"`
		} `json:"meta" page:"meta"`
	}], shared)
	fail("a number that is a text in a document", inDocument, sqllist.New[struct {
		envelope.Item `page:"id"`
		Meta          struct {
			Size int `json:"size,string" page:",filter"`
		} `json:"meta" page:"meta"`
	}], shared)
	fail("two storages", "a second storage", sqllist.New[struct {
		envelope.Item `page:"id"`
		Due           time.Time `json:"due" page:"due,day,milliseconds"`
	}], shared)
}

func TestWrongLists(t *testing.T) {
	type item struct {
		envelope.Item `page:"id"`
		_             string   `page:"tenant,tenant"`
		_             int      `page:"number"`
		Parent        string   `json:"parent" page:"parent"`
		Parents       []string `json:"parents" page:"parents,array"`
	}
	type shared struct {
		envelope.Item `page:"id"`
		Parent        string `json:"parent" page:"parent"`
	}
	items := sqllist.Must[item](sqllist.Declaration{Table: "items", Object: "item"})
	of := sqllist.Must[shared](sqllist.Declaration{Table: "items", Object: "item", SharedByAllTenants: true})
	for path, wrong := range map[string]sqllist.Items{
		"":        {List: items, Parent: "parent"},
		"a.b":     {List: items, Parent: "parent"},
		"_id":     {List: items, Parent: "parent"},
		"parent":  {List: items, Parent: "parent"},
		"nothing": {Parent: "parent"},
		"unknown": {List: items, Parent: "none"},
		"numbers": {List: items, Parent: "number"},
		"arrays":  {List: items, Parent: "parents[]"},
		"shared":  {List: of, Parent: "parent"},
	} {
		d := sqllist.Declaration{Table: "objects", Object: "object", Lists: map[string]sqllist.Items{path: wrong}}
		if _, err := sqllist.New[item](d); err == nil {
			t.Errorf("list %q is declared", path)
		}
	}
	if _, err := sqllist.New[item](sqllist.Declaration{Table: "objects", Object: "object", Lists: map[string]sqllist.Items{
		"items": {List: items, Parent: "parent"}, "own": {List: items, Parent: "tenant"},
	}}); err != nil {
		t.Error(err)
	}
}

func TestMustPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	sqllist.Must[everything](sqllist.Declaration{})
}
