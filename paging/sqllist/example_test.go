package sqllist_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/tenantkit/tenantkit/paging/sqllist"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

type note struct {
	envelope.Item `page:"id,uuid"`
	_             string `page:"tenant_id,uuid,tenant"`
	Title         string `json:"title" page:"title,filter,sort"`
	Body          string `json:"body" page:"body"`
}

var notes = sqllist.Must[note](sqllist.Declaration{Table: "notes", Object: "note"})

const acme = "aaaaaaaa-0000-4000-8000-000000000001" // auth.From(r.Context()).Org

func ExampleList_Page() {
	db := sql.OpenDB(database{}) // sql.Open("pgx", os.Getenv("DATABASE_URL"))
	pages := &sqlpage.Pages{DB: db, Dialect: sqlpage.PostgreSQL}

	// auth.From(r.Context()).Scope
	may, err := scope.Compile("token", "object.read.note.*.title")
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := notes.Page(context.Background(), pages, acme, may, "paths[]=title&paths[]=body&sort=title")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := envelope.Encode(page) // auth.Reply(w, r, page)
	fmt.Println(string(text), err)
	// Output:
	// {"object":"list","data":[{"_id":"5b000000-0000-4000-8000-000000000001","object":"note","title":"Anvils"}],"hasMore":false} <nil>
}

func ExampleList_Get() {
	db := sql.OpenDB(database{})
	pages := &sqlpage.Pages{DB: db, Dialect: sqlpage.PostgreSQL}

	const id = "5b000000-0000-4000-8000-000000000001" // r.PathValue("id")
	note, err := notes.Get(context.Background(), pages, acme, scope.Unscoped(), id, "")
	fmt.Println(string(note), err)
	// Output:
	// {"_id":"5b000000-0000-4000-8000-000000000001","object":"note","title":"Anvils","body":"sold out"} <nil>
}

func ExampleNew() {
	type country struct {
		ID   string `json:"_id" page:"code"`
		Name string `json:"name" page:"name,filter,sort"`
	}
	_, err := sqllist.New[country](sqllist.Declaration{Table: "countries", Object: "country"})
	fmt.Println(err)
	// Output:
	// sqllist: table countries, sqllist_test.country: sqlpage: table countries: set either Tenant or SharedByAllTenants
}

func ExampleMust() {
	type country struct {
		ID   string `json:"_id" page:"code"`
		Name string `json:"name" page:"name,filter,sort"`
	}
	countries := sqllist.Must[country](sqllist.Declaration{Table: "countries", Object: "country", SharedByAllTenants: true})
	indexes, err := countries.Indexes(sqlpage.SQLite)
	fmt.Println(indexes[0], err)
	// Output:
	// CREATE INDEX IF NOT EXISTS "countries__id" ON "countries" ("code" COLLATE BINARY) <nil>
}

func ExampleDeclaration() {
	type order struct {
		envelope.Item `page:"id,uuid"`
		_             string      `page:"tenant_id,uuid,tenant"`
		Made          time.Time   `json:"made" page:"made_at,filter,sort"`
		Due           *time.Time  `json:"due" page:"due,day,filter"`
		State         string      `json:"state" page:"state,enum,filter"`
		Price         json.Number `json:"price" page:"price,filter,sort"`
		Tags          []string    `json:"tags" page:"tags,array,filter"`
		Meta          struct {
			PO *string `json:"po" page:",filter"`
		} `json:"meta" page:"meta"`
	}
	orders := sqllist.Must[order](sqllist.Declaration{Table: "orders", Object: "order", Count: true, Max: 200})
	// GET /orders?paths[]=price&where={"tags[]":"urgent","meta.po":{"$prefix":"A-"}}&count=true
	for _, p := range orders.Schema().Properties {
		fmt.Println(p.Path, p.Type)
	}
	// Output:
	// made date
	// due date
	// state string
	// price number
	// tags[] string
	// meta any
	// meta.po string
}

func ExampleList_Where() {
	type job struct {
		envelope.Item `page:"id,bigint"`
		_             string `page:"company_id,bigint,tenant"`
		_             string `page:"technician,uuid"`
		Title         string `json:"title" page:"title,filter,sort"`
	}
	own := sqllist.Must[job](sqllist.Declaration{Table: "jobs", Object: "job", Where: []string{"technician"}})
	indexes, err := own.Indexes(sqlpage.PostgreSQL)
	fmt.Println(indexes[0], err)
	// A handler answers own.Where("technician", p.Account).Page(…), and without Where nothing:
	_, err = own.Page(context.Background(), &sqlpage.Pages{DB: sql.OpenDB(database{}), Dialect: sqlpage.PostgreSQL}, "7", scope.Unscoped(), "")
	fmt.Println(err)
	// Output:
	// CREATE INDEX IF NOT EXISTS "jobs_company_id_technician__id" ON "jobs" ("company_id", "technician", "id") <nil>
	// sqllist: table jobs: sqlpage: table jobs: "" is no value for "technician"
}

func ExampleItems() {
	type comment struct {
		envelope.Item `page:"id,uuid"`
		_             string `page:"tenant_id,uuid,tenant"`
		_             string `page:"note_id,uuid"`
		Text          string `json:"text" page:"text,filter,sort"`
	}
	comments := sqllist.Must[comment](sqllist.Declaration{Table: "comments", Object: "comment"})
	notes := sqllist.Must[note](sqllist.Declaration{Table: "notes", Object: "note", Lists: map[string]sqllist.Items{
		"comments": {List: comments, Parent: "note_id"},
	}})
	// GET /notes?paths[]=title&paths[]=comments.text&comments.limit=3
	fmt.Println(notes.Schema().Visible("comments.text"), notes.Schema().Visible("comments.note_id"))
	// Output:
	// true false
}

// auth.Fail answers with the fault of an error.
func ExampleList_Page_unavailable() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := notes.Page(ctx, &sqlpage.Pages{DB: sql.OpenDB(database{}), Dialect: sqlpage.PostgreSQL}, acme, scope.Unscoped(), "")
	fmt.Println(err)
	fmt.Println(err.(interface{ Fault() *envelope.Fault }).Fault().Status)
	// Output:
	// sqllist: table notes: context canceled
	// 503
}

// database is a driver with one note.
type database struct{}

func (database) Driver() driver.Driver                          { return nil }
func (d database) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (database) Begin() (driver.Tx, error)                      { return nil, driver.ErrSkip }
func (database) Prepare(string) (driver.Stmt, error)            { return nil, driver.ErrSkip }
func (database) Close() error                                   { return nil }

func (database) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &result{}, nil
}

type result struct{ read bool }

func (r *result) Columns() []string { return []string{"id", "title", "body"} }
func (r *result) Close() error      { return nil }

func (r *result) Next(values []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	copy(values, []driver.Value{"5b000000-0000-4000-8000-000000000001", "Anvils", "sold out"})
	return nil
}
