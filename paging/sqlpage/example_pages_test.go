package sqlpage_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

func ExamplePages() {
	table := sqlpage.Table{
		Name:   "messages",
		Select: []string{"id", "body"},
		Properties: map[string]sqlpage.Column{
			"_id": {Name: "id", Type: paging.String, NotNull: true},
			"org": {Name: "org", Type: paging.String, NotNull: true},
		},
		Tenant: "org",
	}
	db := sql.OpenDB(&database{}) // sql.Open("sqlite", "file:service.db")
	pages := &sqlpage.Pages{DB: db, Dialect: sqlpage.SQLite}

	q := paging.Query{Limit: 2}
	rows, err := pages.Query(context.Background(), q, table, sqlpage.RowScope{Tenant: "acme", AllIDs: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			fmt.Println(err)
			return
		}
		ids = append(ids, id)
	}
	fmt.Println(ids, rows.More(), rows.Err())
	// Output:
	// [m1] false <nil>
}

// A page ends where its rows end. What a program adds to each item counts, too.
func ExampleRows() {
	table := sqlpage.Table{Name: "messages", Select: []string{"id", "body"}, SharedByAllTenants: true, Properties: map[string]sqlpage.Column{
		"_id": {Name: "id", Type: paging.String, NotNull: true},
	}}
	pages := &sqlpage.Pages{DB: sql.OpenDB(&database{}), Dialect: sqlpage.SQLite}
	var rows *sqlpage.Rows
	rows, err := pages.Query(context.Background(), paging.Query{Limit: 2}, table, sqlpage.RowScope{AllIDs: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			fmt.Println(err)
			return
		}
		rows.Use(paging.MaxBytes) // as if a signed link of each item had so many bytes
		fmt.Println(id)
	}
	fmt.Println("more:", rows.More())
	// Output:
	// m1
	// more: false
}

// database is a driver with one message. It counts the statements that it prepares
// and runs.
type database struct{ prepared, run int }

func (d *database) Driver() driver.Driver                        { return nil }
func (d *database) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *database) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (d *database) Close() error                                 { return nil }

func (d *database) Prepare(string) (driver.Stmt, error) {
	d.prepared++
	return preparedStatement{d}, nil
}

func (d *database) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	d.run++
	return &oneMessage{}, nil
}

type preparedStatement struct{ *database }

func (s preparedStatement) NumInput() int                              { return -1 }
func (s preparedStatement) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s preparedStatement) Query([]driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), "", nil)
}

type oneMessage struct{ read bool }

func (r *oneMessage) Columns() []string { return []string{"id", "body"} }
func (r *oneMessage) Close() error      { return nil }

func (r *oneMessage) Next(into []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	into[0], into[1] = "m1", `{"c_tag":"red"}`
	return nil
}
